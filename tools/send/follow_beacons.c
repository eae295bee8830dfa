/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/send/follow_beacons.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/beacons.h"
#include "tools/send/followed.h"

void
follow_beacons_ask(const struct followed *f)
{
	struct flock wish = {
		.l_type = F_RDLCK, .l_start = BEACONS_LOCK, .l_len = 1
	};

	(void)fcntl(f->root, F_OFD_SETLK, &wish);
}

static enum status
read_file(struct buf *out, int dir)
{
	struct stat sb;
	uint8_t *to;
	ssize_t n = -1;
	int fd = openat(
	    dir, BEACONS_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return E_NOENT;
	while (flock(fd, LOCK_SH) != 0 && errno == EINTR)
		;
	if (fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode) &&
	    sb.st_size <= FOLLOW_BEACONS_MAX) {
		to = buf_reserve(out, (size_t)sb.st_size);
		n = to == NULL ? -1 : pread(fd, to, (size_t)sb.st_size, 0);
	}
	close(fd);
	if (n <= 0)
		return E_IO;
	buf_added(out, (size_t)n);
	return OK;
}

static struct span
span_of(const struct buf *b)
{
	return (struct span){ (const char *)buf_data(b), buf_len(b) };
}

bool
follow_beacons_read(struct followed *f)
{
	struct buf text = { 0 };
	struct span lines;
	enum status st = read_file(&text, f->root);

	lines = span_of(&text);
	if (st == OK)
		st = beacons_read(&lines);
	if (st != OK || (buf_len(&text) == buf_len(&f->beacons) &&
			    memcmp(buf_data(&text), buf_data(&f->beacons),
				buf_len(&text)) == 0)) {
		buf_free(&text);
		return false;
	}
	buf_free(&f->beacons);
	f->beacons = text;
	f->n_beacons++;
	return true;
}

static void
note_one(struct followed *f, const struct beacon *b)
{
	struct followed_trace *t;
	struct followed_stream *s;

	list_each (t, &f->traces, struct followed_trace, node) {
		if (strlen(t->path) != b->path.n ||
		    memcmp(t->path, b->path.p, b->path.n) != 0)
			continue;
		list_each (s, &t->streams, struct followed_stream, node)
			if (s->ctf_stream == b->ctf_stream &&
			    s->ctf_instance == b->ctf_instance) {
				s->beacon = b->cycles;
				s->listed = f->n_beacons;
			}
	}
}

void
follow_beacons_note(struct followed *f)
{
	struct span text = span_of(&f->beacons);
	struct beacon b;

	if (text.n == 0 || beacons_read(&text) != OK)
		return;
	while (beacons_next(&text, &b) == OK)
		note_one(f, &b);
}
