/* SPDX-License-Identifier: MIT */
/*
 * tracepulse get: download a finished trace. What has arrived is in a file
 * whose name has the relay's tag of the trace, so that the next call continues
 * it, unless it is another trace by then.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/ctl/answer.h"
#include "tools/ctl/ctl.h"
#include "tools/ctl/progress.h"
#include "tools/ctl/stored.h"
#include "tools/ctl/text.h"

struct download {
	struct ctl *c;
	const char *name; /* of the file, as it can be shown */
	int fd;
	uint64_t at, size;
	struct progress progress;
	int error; /* of a write; 0: none */
};

static bool
take(const char *p, size_t n, void *arg)
{
	struct download *d = arg;
	ssize_t done;

	while (n > 0) {
		done = write(d->fd, p, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			d->error = errno;
			return false;
		}
		p += done;
		n -= (size_t)done;
		d->at += (uint64_t)done;
	}
	progress_show(&d->progress, d->at);
	return true;
}

/* Fetch what PART, a file of at most D->size bytes, does not have yet. */
static int
fetch_rest(struct download *d, const char *path, const char *tag)
{
	enum status st = OK;

	progress_begin(&d->progress, d->name, d->at, d->size);
	if (d->at < d->size)
		st = fetch_part(d->c->fetch, path, tag, d->at, take, d);
	progress_end(&d->progress, d->at);
	if (d->error == 0 && st == OK && d->at == d->size && fsync(d->fd) != 0)
		d->error = errno;
	if (d->error != 0)
		return ctl_fail(
		    "%s: cannot write: %s", d->name, strerror(d->error));
	if (st != OK)
		(void)ctl_fail_fetch(d->c);
	if (st == OK && d->at == d->size)
		return CTL_OK;
	return ctl_fail("%s: not complete; to continue, run the same command "
			"again",
	    d->name);
}

static int
fetch_to(
    struct download *d, const char *path, const char *part, const char *tag)
{
	struct stat sb;
	int status;

	d->fd = open(part, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (d->fd < 0 || fstat(d->fd, &sb) != 0)
		return ctl_fail("%s: %s", part, strerror(errno));
	d->at = (uint64_t)sb.st_size;
	if (d->at > d->size)
		status = ctl_fail(
		    "%s is longer than the trace: remove it", part);
	else
		status = fetch_rest(d, path, tag);
	close(d->fd);
	return status;
}

/* Download ID to the file NAME, below the directory DIR, unless it exists. */
static int
download(struct ctl *c, const char *id, const char *dir, const char *name)
{
	char *path = ctl_text("/api/v1/stored/%s/trace.tar", id);
	char *file = ctl_text("%s/%s.tar", dir, name), *part;
	struct download d = { .c = c, .name = file };
	char tag[FETCH_TAG_MAX], size[TEXT_UNIT_MAX];
	int status = CTL_OK;

	if (access(file, F_OK) == 0)
		status = ctl_fail("%s exists already", file);
	else if (fetch_look(c->fetch, path, tag, &d.size) != OK)
		status = ctl_fail_fetch(c);
	part = ctl_text("%s.%s.part", file, tag);
	if (status == CTL_OK)
		status = fetch_to(&d, path, part, tag);
	if (status == CTL_OK && rename(part, file) != 0)
		status = ctl_fail("%s: %s", file, strerror(errno));
	if (status == CTL_OK)
		fprintf(c->terminal.out, "%s: %s\n", file,
		    text_bytes(size, d.size));
	free(part);
	free(file);
	free(path);
	return status;
}

/* The name of the file for a trace at PATH: what a relay says is no path. */
static char *
file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = ctl_memory(strdup(slash == NULL ? path : slash + 1));

	for (char *p = name; *p != '\0'; p++)
		if (strchr(
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			"0123456789-_.@+",
			*p) == NULL)
			*p = '_';
	if (*name == '.' || *name == '\0') {
		free(name);
		name = ctl_memory(strdup("trace"));
	}
	return name;
}

int
command_get(struct ctl *c)
{
	const char *dir = c->options.n_operands > 1 ? c->options.operands[1]
						    : ".";
	struct json_answer a = { 0 };
	const char *id, *path;
	int status = CTL_FAILED;
	char *name;
	json_t *all, *one;

	all = stored_choose(c, c->options.operands[0], false);
	if (all == NULL)
		return CTL_FAILED;
	one = json_array_get(all, 0);
	id = answer_text(&a, one, "id");
	path = answer_text(&a, one, "path");
	name = file_name(path);
	if (a.wrong != NULL || id[strspn(id, "0123456789abcdef-")] != '\0')
		(void)ctl_fail("this relay is too old for downloads");
	else
		status = download(c, id, dir, name);
	free(name);
	json_decref(all);
	return status;
}
