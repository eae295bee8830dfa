/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/child.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/sandbox.h"
#include "tools/capture/privileges.h"

/* Fewer switches between both processes; a larger pipe is refused. */
#define PIPE_SIZE (1 << 20)

bool
child_write(const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n > 0) {
		const ssize_t k = write(STDOUT_FILENO, p, n);

		if (k < 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

/* Its parent alone decides when it ends. */
static void
ignore_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1,
		SIGPIPE };

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		signal(numbers[i], SIG_IGN);
}

static void
limit(void)
{
	const struct rlimit none = { 0 };
#ifndef HAVE_SANITIZERS /* which reserve terabytes */
	const struct rlimit memory = { CHILD_MEMORY_MAX, CHILD_MEMORY_MAX };

	(void)setrlimit(RLIMIT_DATA, &memory);
#endif
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)setrlimit(RLIMIT_FSIZE, &none);
}

/* False: it has more than the three descriptors, or rights. */
static bool
give_up_everything(int input, int output)
{
	const struct sandbox sandbox = { .output_fd = -1, .is_quiet = true };
	const int null = open("/dev/null", O_RDWR);

	if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0)
		return false;
	closefrom(STDERR_FILENO + 1);
	if (privileges_drop() != OK)
		return false;
	limit();
	sandbox_enter(&sandbox);
	return true;
}

static void __attribute__((noreturn))
run(struct child *c, int input, int output, child_work *work, const void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ignore_signals();
	if (!give_up_everything(input, output)) {
		snprintf(c->why, SOURCE_WHY_MAX,
		    "cannot start a process without rights: %s",
		    strerror(errno));
		_exit(EXIT_FAILURE);
	}
	_exit(work(arg, c->why) ? EXIT_SUCCESS : EXIT_FAILURE);
}

enum status
child_start(struct child *c, int input, child_work *work, const void *arg)
{
	int ends[2];

	*c = (struct child){ 0 };
	if (pipe2(ends, O_CLOEXEC) != 0)
		return E_IO;
	(void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE);
	c->why = mmap(NULL, SOURCE_WHY_MAX, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->why != MAP_FAILED)
		c->pid = fork();
	if (c->why != MAP_FAILED && c->pid == 0)
		run(c, input, ends[1], work, arg);
	close(ends[1]);
	if (c->why != MAP_FAILED && c->pid > 0) {
		c->output = ends[0];
		return OK;
	}
	close(ends[0]);
	if (c->why != MAP_FAILED)
		munmap(c->why, SOURCE_WHY_MAX);
	*c = (struct child){ 0 };
	return E_IO;
}

/* Returns as wait(2) has it. */
static int
wait_for_end(struct child *c)
{
	int status = 0;

	/* One that has ended by itself keeps its status. */
	kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
	return status;
}

/* It may be somebody else's text by now. */
static void
copy_text(char out[SOURCE_WHY_MAX], const char *text)
{
	size_t n;

	for (n = 0; n < SOURCE_WHY_MAX - 1 && text[n] != '\0'; n++)
		out[n] = (char)(isprint((unsigned char)text[n]) ? text[n]
								: '?');
	out[n] = '\0';
}

bool
child_complains(const struct child *c)
{
	return c->why != NULL && c->why[0] != '\0';
}

enum status
child_end(struct child *c, char why[SOURCE_WHY_MAX])
{
	const int status = wait_for_end(c);

	copy_text(why, c->why);
	child_kill(c);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
		return OK;
	if (why[0] == '\0')
		snprintf(why, SOURCE_WHY_MAX,
		    "the process that reads it has crashed (%s), as the file "
		    "is damaged or hostile; what was read before it is kept",
		    WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
					: "an error");
	return E_REFUSED;
}

void
child_kill(struct child *c)
{
	if (c->pid > 0)
		(void)wait_for_end(c);
	if (c->why != NULL)
		munmap(c->why, SOURCE_WHY_MAX);
	c->why = NULL;
}
