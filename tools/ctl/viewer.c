/* SPDX-License-Identifier: MIT */
#include "tools/ctl/viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/ctl/watch.h"

void
viewer_free(struct viewer *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->words[i]);
	free(v->words);
	*v = (struct viewer){ 0 };
}

void
viewer_add(struct viewer *v, const char *word)
{
	v->words = ctl_memory(
	    realloc(v->words, (v->n + 2) * sizeof(*v->words)));
	v->words[v->n++] = ctl_memory(strdup(word));
	v->words[v->n] = NULL;
}

void
viewer_component(struct viewer *v, const char *component, const char *params)
{
	viewer_add(v, "-c");
	viewer_add(v, component);
	if (*params == '\0')
		return;
	viewer_add(v, "-p");
	viewer_add(v, params);
}

void
viewer_live(struct viewer *v, const char *url)
{
	char *string = viewer_string(url);
	char *params = ctl_text(
	    "inputs=[%s],session-not-found-action=\"end\"", string);

	viewer_component(v, "source.ctf.lttng-live", params);
	free(params);
	free(string);
}

/* As in C. */
char *
viewer_string(const char *text)
{
	char *out = ctl_memory(malloc(2 * strlen(text) + sizeof("\"\"")));
	char *p = out;

	*p++ = '"';
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			*p++ = '\\';
		*p++ = *text;
	}
	*p++ = '"';
	*p = '\0';
	return out;
}

char **
viewer_urls(
    const struct ctl *c, const struct relay_status *r, const struct picked *p)
{
	struct json_answer a = { 0 };
	const json_t *live = answer_object(&a, r->listeners, "live");
	char **urls = ctl_memory(calloc(p->n + 1, sizeof(*urls)));
	const char *why = "";
	enum status st = OK;

	for (size_t i = 0; i < p->n && st == OK; i++) {
		urls[i] = ctl_memory(malloc(WATCH_URL_MAX));
		st = watch_url(urls[i], &c->options.address,
		    answer_text(&a, live, "host"),
		    (unsigned)answer_number(&a, live, "port"),
		    p->all[i].session, &why);
	}
	if (st == OK)
		return urls;
	(void)ctl_fail("%s", why);
	viewer_free_urls(urls, p->n);
	return NULL;
}

void
viewer_free_urls(char **urls, size_t n)
{
	for (size_t i = 0; urls != NULL && i < n; i++)
		free(urls[i]);
	free(urls);
}

static int
fail_to_start(int why)
{
	return ctl_fail(VIEWER " cannot be started: %s%s", strerror(why),
	    why == ENOENT ? " (the package " VIEWER ")" : "");
}

int
viewer_become(const struct viewer *v)
{
	execvp(VIEWER, v->words);
	return fail_to_start(errno);
}

pid_t
viewer_start(const struct viewer *v)
{
	const pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(viewer_become(v));
	}
	if (pid < 0)
		(void)fail_to_start(errno);
	return pid;
}

bool
viewer_wait(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Start it without input and without its messages. OUT: its standard output, or
 * -1 for none. */
static bool
start_quietly(const struct viewer *v, int out, pid_t *pid)
{
	posix_spawn_file_actions_t quiet;
	int why;

	(void)posix_spawn_file_actions_init(&quiet);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fd == STDOUT_FILENO && out >= 0)
			(void)posix_spawn_file_actions_adddup2(&quiet, out, fd);
		else
			(void)posix_spawn_file_actions_addopen(
			    &quiet, fd, "/dev/null", O_RDWR, 0);
	why = posix_spawnp(pid, VIEWER, &quiet, NULL, v->words, environ);
	(void)posix_spawn_file_actions_destroy(&quiet);
	return why == 0 || fail_to_start(why) == CTL_OK;
}

bool
viewer_ask(const struct viewer *v, void (*take)(const char *line, void *arg),
    void *arg)
{
	char *line = NULL;
	int pipes[2];
	FILE *answer;
	size_t n = 0;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) != 0)
		return false;
	if (!start_quietly(v, pipes[1], &pid)) {
		close(pipes[0]);
		close(pipes[1]);
		return false;
	}
	close(pipes[1]);
	answer = ctl_memory(fdopen(pipes[0], "r"));
	while (getline(&line, &n, answer) > 0)
		take(line, arg);
	free(line);
	fclose(answer);
	return viewer_wait(pid);
}

bool
viewer_has(const char *component)
{
	struct viewer v = { 0 };
	bool is_started;
	pid_t pid;

	viewer_add(&v, VIEWER);
	viewer_add(&v, "help");
	viewer_add(&v, component);
	is_started = start_quietly(&v, -1, &pid);
	viewer_free(&v);
	if (!is_started || viewer_wait(pid))
		return is_started;
	(void)ctl_fail(VIEWER " has no %s: install the package "
			      "babeltrace2-plugin-tracepulse of this version",
	    component);
	return false;
}
