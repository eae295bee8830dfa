/* SPDX-License-Identifier: MIT */
#include "store/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/log.h"
#include "store/notes_format.h"
#include "store/notes_internal.h"

/* Bytes that are read at a time, and written at once when all is written
 * anew. */
#define PIECE (64 * 1024)
/* Another relay may take a name at the same time. */
#define MAKE_TRIES 10

struct notes {
	int base_fd;
	struct notes_file own;
	struct notes_file others[NOTES_RELAYS_MAX];
	unsigned n_others;
	struct buf waiting; /* lines for notes_flush() */
	uint64_t n_waiting, n_lines;
	bool is_failing; /* it was logged */
	/* Between begin and end of writing anew. */
	bool is_anew;
	int new_fd;
	uint64_t new_lines, new_length;
	bool new_failed;
};

struct loading {
	void (*each)(void *arg, const struct notes_line *l);
	void *arg;
	char *line; /* of NOTES_LINE_MAX + 1 bytes */
	size_t n;
	bool is_long, has_head;
	uint64_t n_lines, n_bad;
};

static void
end_line(struct loading *d)
{
	struct notes_line l;

	d->line[d->n] = '\0';
	if (!d->has_head)
		d->has_head = strcmp(d->line, "tracepulse-notes 1") == 0;
	else if (!d->is_long && notes_decode(&l, d->line, d->n))
		d->each(d->arg, &l);
	else if (d->n > 0)
		d->n_bad++;
	d->n_lines++;
	d->n = 0;
	d->is_long = false;
}

/* False: the first line says that the file is of another version. */
static bool
take_bytes(struct loading *d, const char *p, size_t n)
{
	for (; n > 0; p++, n--) {
		if (*p == '\n')
			end_line(d);
		else if (d->n < NOTES_LINE_MAX)
			d->line[d->n++] = *p;
		else
			d->is_long = true;
		if (d->n_lines > 0 && !d->has_head)
			return false;
	}
	return true;
}

static enum status
load_bytes(struct notes_file *f, struct loading *d)
{
	static char piece[PIECE];
	ssize_t got;

	while (
	    (got = pread(f->fd, piece, sizeof(piece), (off_t)f->length)) > 0) {
		if (!take_bytes(d, piece, (size_t)got))
			return E_MALFORMED;
		f->length += (uint64_t)got;
	}
	f->is_torn = d->n > 0 || d->is_long;
	return got == 0 ? OK : E_IO;
}

/* Give all lines of F. E_MALFORMED: it is not in a version that we know. */
static enum status
load(struct notes *n, struct notes_file *f, struct loading *d)
{
	char name[NOTES_NAME_LEN];
	enum status st;

	d->n = 0;
	d->is_long = d->has_head = false;
	d->n_lines = d->n_bad = 0;
	st = load_bytes(f, d);
	notes_file_name(f->number, "", name);
	if (st == E_IO)
		log_errno(LOG_ERROR, "%s", name);
	else if (st != OK)
		log_warn("%s is not used: it is of another version", name);
	if (d->n_bad > 0)
		log_warn("%s: %llu damaged lines were skipped", name,
		    (unsigned long long)d->n_bad);
	n->n_lines += d->n_lines;
	return st;
}

/* Take the file NUMBER, if no relay has it. */
static void
take_file(struct notes *n, unsigned number, struct loading *d)
{
	struct notes_file f;
	enum status st = notes_file_open(&f, n->base_fd, number);

	if (st == E_NOENT && n->own.number == 0)
		n->own.number = number;
	if (st != OK)
		return;
	if (load(n, &f, d) != OK) {
		close(f.fd);
		return;
	}
	if (n->own.fd < 0) {
		/* A file that is there is better than one to be made. */
		n->own = f;
		return;
	}
	n->others[n->n_others++] = f;
}

enum status
notes_open(struct notes **out, int base_fd,
    void (*each)(void *arg, const struct notes_line *l), void *arg)
{
	struct loading d = { .each = each, .arg = arg };
	struct notes *n = calloc(1, sizeof(*n));

	*out = NULL;
	d.line = malloc(NOTES_LINE_MAX + 1);
	if (n == NULL || d.line == NULL) {
		free(n);
		free(d.line);
		return E_NOMEM;
	}
	n->base_fd = base_fd;
	n->own.fd = n->new_fd = -1;
	for (unsigned i = 1; i <= NOTES_RELAYS_MAX; i++) {
		notes_file_remove_left(base_fd, i);
		take_file(n, i, &d);
	}
	free(d.line);
	if (n->own.number == 0) {
		log_error("no notes of the relay can be made: none of its "
			  "directories is deleted");
		notes_close(n);
		return E_IO;
	}
	*out = n;
	return OK;
}

static void
close_anew(struct notes *n)
{
	if (n->new_fd >= 0)
		close(n->new_fd);
	n->new_fd = -1;
}

void
notes_close(struct notes *n)
{
	if (n == NULL)
		return;
	for (unsigned i = 0; i < n->n_others; i++)
		close(n->others[i].fd);
	close_anew(n);
	if (n->own.fd >= 0)
		close(n->own.fd);
	buf_free(&n->waiting);
	free(n);
}

bool
notes_has_others(const struct notes *n)
{
	return n->n_others > 0;
}

void
notes_drop_others(struct notes *n)
{
	char name[NOTES_NAME_LEN];

	for (unsigned i = 0; i < n->n_others; i++) {
		notes_file_name(n->others[i].number, "", name);
		if (notes_file_is_at(n->base_fd, name, n->others[i].fd))
			(void)unlinkat(n->base_fd, name, 0);
		close(n->others[i].fd);
	}
	n->n_others = 0;
}

/* All N bytes at AT, or none that count. */
static bool
write_at(int fd, const void *p, size_t n, uint64_t at)
{
	const char *from = p;
	ssize_t done;

	while (n > 0) {
		done = pwrite(fd, from, n, (off_t)at);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		from += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return true;
}

/* Make the file, locked before anybody may take it for one that is left. */
static bool
make_own(struct notes *n)
{
	char name[NOTES_NAME_LEN];

	for (int i = 0; i < MAKE_TRIES && n->own.number <= NOTES_RELAYS_MAX;
	     i++) {
		notes_file_name(n->own.number, "", name);
		n->own.fd = openat(n->base_fd, name,
		    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (n->own.fd < 0 && errno != EEXIST)
			return false;
		if (n->own.fd >= 0 &&
		    flock(n->own.fd, LOCK_EX | LOCK_NB) == 0 &&
		    notes_file_is_at(n->base_fd, name, n->own.fd)) {
			n->own.length = 0;
			n->own.is_torn = false;
			n->n_lines = 0;
			return true;
		}
		if (n->own.fd >= 0)
			close(n->own.fd);
		n->own.fd = -1;
		n->own.number++;
	}
	return false;
}

void
notes_add(struct notes *n, const struct notes_line *l)
{
	const size_t before = buf_len(&n->waiting);

	if (n->is_anew) {
		notes_encode(&n->waiting, l);
		n->new_lines++;
		if (buf_len(&n->waiting) < PIECE)
			return;
		n->new_failed |= n->waiting.bad ||
				 !write_at(n->new_fd, buf_data(&n->waiting),
				     buf_len(&n->waiting), n->new_length);
		n->new_length += buf_len(&n->waiting);
		buf_truncate(&n->waiting, 0);
		return;
	}
	notes_encode(&n->waiting, l);
	if (n->waiting.bad)
		buf_truncate(&n->waiting, before);
	else
		n->n_waiting++;
}

static bool
append(struct notes *n)
{
	struct notes_file *f = &n->own;
	const char *head;
	size_t head_len;

	if (f->fd < 0 && !make_own(n))
		return false;
	head = f->length == 0 ? NOTES_HEAD : "\n";
	head_len = f->length == 0 || f->is_torn ? strlen(head) : 0;
	if (write_at(f->fd, head, head_len, f->length) &&
	    write_at(f->fd, buf_data(&n->waiting), buf_len(&n->waiting),
		f->length + head_len)) {
		f->length += head_len + buf_len(&n->waiting);
		f->is_torn = false;
		return true;
	}
	/* A part of a line would be in the way of the next. */
	f->is_torn |= ftruncate(f->fd, (off_t)f->length) != 0;
	return false;
}

enum status
notes_flush(struct notes *n, bool syncs)
{
	bool is_done = true;

	if (buf_len(&n->waiting) > 0)
		is_done = append(n);
	if (is_done && syncs && n->own.fd >= 0)
		is_done = fdatasync(n->own.fd) == 0;
	if (is_done)
		n->n_lines += n->n_waiting;
	else if (!n->is_failing)
		log_errno(LOG_ERROR,
		    NOTES_NAME ": what the relay notes of its "
			       "directories cannot be written");
	/* Nothing to write proves nothing. */
	if (!is_done || n->n_waiting > 0)
		n->is_failing = !is_done;
	n->n_waiting = 0;
	buf_truncate(&n->waiting, 0);
	return is_done ? OK : E_IO;
}

bool
notes_is_gone(const struct notes *n)
{
	char name[NOTES_NAME_LEN];

	notes_file_name(n->own.number, "", name);
	return n->own.fd >= 0 && !notes_file_is_at(n->base_fd, name, n->own.fd);
}

uint64_t
notes_lines(const struct notes *n)
{
	return n->n_lines;
}

void
notes_begin_anew(struct notes *n)
{
	char name[NOTES_NAME_LEN];

	n->is_anew = true;
	notes_file_name(n->own.number, ".new", name);
	/* It is left over from a relay that was killed. */
	(void)unlinkat(n->base_fd, name, 0);
	n->new_fd = openat(n->base_fd, name,
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	n->new_failed = n->new_fd < 0 ||
			flock(n->new_fd, LOCK_EX | LOCK_NB) != 0;
	n->new_lines = n->new_length = 0;
	buf_truncate(&n->waiting, 0);
	n->n_waiting = 0;
	buf_bytes(&n->waiting, NOTES_HEAD, strlen(NOTES_HEAD));
}

/* No line is left: no file is needed. */
static enum status
remove_all(struct notes *n, const char *name, const char *new_name)
{
	(void)unlinkat(n->base_fd, new_name, 0);
	close_anew(n);
	if (n->own.fd >= 0) {
		if (notes_file_is_at(n->base_fd, name, n->own.fd))
			(void)unlinkat(n->base_fd, name, 0);
		close(n->own.fd);
	}
	n->own.fd = -1;
	n->own.length = n->n_lines = 0;
	return OK;
}

enum status
notes_end_anew(struct notes *n)
{
	char name[NOTES_NAME_LEN], new_name[NOTES_NAME_LEN];
	const size_t rest = buf_len(&n->waiting);
	bool is_done;

	notes_file_name(n->own.number, "", name);
	notes_file_name(n->own.number, ".new", new_name);
	is_done = !n->new_failed && !n->waiting.bad &&
		  write_at(
		      n->new_fd, buf_data(&n->waiting), rest, n->new_length) &&
		  fdatasync(n->new_fd) == 0;
	buf_truncate(&n->waiting, 0);
	n->is_anew = false;
	if (is_done && n->new_lines == 0)
		return remove_all(n, name, new_name);
	if (!is_done || renameat(n->base_fd, new_name, n->base_fd, name) != 0) {
		if (!n->is_failing)
			log_errno(
			    LOG_ERROR, "%s: cannot be written anew", name);
		n->is_failing = true;
		(void)unlinkat(n->base_fd, new_name, 0);
		close_anew(n);
		return E_IO;
	}
	if (n->own.fd >= 0)
		close(n->own.fd);
	n->own.fd = n->new_fd;
	n->new_fd = -1;
	n->own.length = n->new_length + rest;
	n->own.is_torn = false;
	n->n_lines = n->new_lines;
	n->is_failing = false;
	return OK;
}
