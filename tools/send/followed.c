/* SPDX-License-Identifier: MIT */
#include "tools/send/followed.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/client/mapped.h"
#include "tools/send/follow_beacons.h"

static enum status
fail(struct followed *f, enum status st, const char *path, const char *why)
{
	if (f->error[0] == '\0')
		snprintf(f->error, sizeof(f->error), "%s: %s", path, why);
	return st;
}

static enum status
no_memory(struct followed *f)
{
	return fail(f, E_NOMEM, "follow", "out of memory");
}

enum status
followed_open(struct followed *f, const char *directory)
{
	*f = (struct followed){ .notify = -1 };
	list_init(&f->traces);
	f->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	f->root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->root < 0)
		return E_IO;
	follow_beacons_ask(f);
	return OK;
}

static void
close_stream(struct followed_stream *s)
{
	struct list *n, *tmp;

	list_for_each (n, tmp, &s->files) {
		struct grown *g = list_entry(n, struct grown, node);

		grown_close(g);
		list_del(&g->node);
		free(g);
	}
	list_del(&s->node);
	free(s->name);
	free(s);
}

void
followed_close(struct followed *f)
{
	while (!list_empty(&f->traces)) {
		struct followed_trace *t = list_first(
		    &f->traces, struct followed_trace, node);

		while (!list_empty(&t->streams))
			close_stream(list_first(
			    &t->streams, struct followed_stream, node));
		list_del(&t->node);
		buf_free(&t->text);
		tsdl_free(&t->tsdl);
		free(t->path);
		free(t);
	}
	for (unsigned i = 0; i < f->resume_n; i++) {
		free(f->resume[i].path);
		free(f->resume[i].name);
	}
	free(f->resume);
	buf_free(&f->beacons);
	if (f->root >= 0)
		close(f->root);
	if (f->notify >= 0)
		close(f->notify);
}

enum status
followed_add_resume(struct followed *f, const struct followed_resume *r)
{
	struct followed_resume *more = realloc(
	    f->resume, (f->resume_n + 1) * sizeof(*more));

	if (more == NULL)
		return E_NOMEM;
	f->resume = more;
	more += f->resume_n++;
	*more = *r;
	more->path = strdup(r->path);
	more->name = strdup(r->name);
	return more->path != NULL && more->name != NULL ? OK : E_NOMEM;
}

static struct followed_resume *
find_resume(const struct followed *f, const struct followed_stream *s)
{
	for (unsigned i = 0; i < f->resume_n; i++) {
		struct followed_resume *r = &f->resume[i];

		if (r->ctf_stream == s->ctf_stream &&
		    r->ctf_instance == s->ctf_instance &&
		    strcmp(r->path, s->trace->path) == 0)
			return r;
	}
	return NULL;
}

static enum status
note_stream(struct followed *f, const struct followed_stream *s, bool is_stored)
{
	struct followed_resume *r = find_resume(f, s);

	if (r != NULL) {
		r->next_seq = is_stored ? s->marked_seq : r->next_seq;
		return OK;
	}
	return followed_add_resume(f,
	    &(struct followed_resume){ s->trace->path, s->name, s->ctf_stream,
		s->ctf_instance, is_stored ? s->marked_seq : 0 });
}

enum status
followed_note(struct followed *f, bool is_stored)
{
	const struct followed_trace *t;
	const struct followed_stream *s;
	enum status st = OK;

	list_each (t, &f->traces, struct followed_trace, node)
		list_each (s, &t->streams, struct followed_stream, node)
			if (st == OK && s->is_announced)
				st = note_stream(f, s, is_stored);
	return st;
}

enum status
followed_begin_again(struct followed *f, const char *directory)
{
	struct followed again;
	enum status st = followed_note(f, false);

	if (st != OK)
		return st;
	st = followed_open(&again, directory);
	again.missing = f->missing;
	again.resume = f->resume;
	again.resume_n = f->resume_n;
	f->resume = NULL;
	f->resume_n = 0;
	followed_close(f);
	*f = again;
	/* An empty list points at itself. */
	list_init(&f->traces);
	return st;
}

/* Is it "20261127T142416+0000-...", the name of a trace chunk? */
static bool
is_chunk_name(const char *name, size_t n)
{
	static const char form[] = "00000000T000000+0000-";

	if (n < sizeof(form))
		return false;
	for (size_t i = 0; form[i] != '\0'; i++)
		if (form[i] == '0'   ? !isdigit((unsigned char)name[i])
		    : form[i] == '+' ? name[i] != '+' && name[i] != '-'
				     : name[i] != form[i])
			return false;
	return true;
}

const char *
followed_trace_path(const char *path)
{
	const char *slash = strchr(path, '/');
	size_t n = slash == NULL ? strlen(path) : (size_t)(slash - path);

	if (n == strlen("archives") && strncmp(path, "archives", n) == 0 &&
	    slash != NULL)
		return followed_trace_path(slash + 1);
	/* During a rotation a chunk has such a name. */
	if (is_chunk_name(path, n) || strncmp(path, ".tmp_", 5) == 0)
		return slash == NULL ? "" : slash + 1;
	return path;
}

static struct followed_trace *
find_trace(struct followed *f, const char *path)
{
	struct followed_trace *t;

	list_each (t, &f->traces, struct followed_trace, node)
		if (strcmp(t->path, path) == 0)
			return t;
	t = calloc(1, sizeof(*t));
	if (t == NULL || (t->path = strdup(path)) == NULL) {
		free(t);
		return NULL;
	}
	/* Until the metadata is there. */
	t->tsdl.clock.freq = NS_PER_S;
	list_init(&t->streams);
	list_append(&f->traces, &t->node);
	return t;
}

/* T has the metadata TEXT, which begins with what it has already. */
static void
take_text(struct followed_trace *t, struct buf *take_text)
{
	struct tsdl tsdl = { 0 };

	/* What is only partly written is read again later. */
	if (tsdl_parse(&tsdl, (const char *)buf_data(take_text),
		buf_len(take_text)) != OK) {
		tsdl_free(&tsdl);
		buf_free(take_text);
		return;
	}
	tsdl_free(&t->tsdl);
	buf_free(&t->text);
	t->tsdl = tsdl;
	t->text = *take_text;
}

/* Each chunk has the metadata again: the longest counts. */
static enum status
read_metadata(struct followed *f, struct followed_trace *t, int dir)
{
	const size_t had = buf_len(&t->text);
	char path[64];
	struct buf text = { 0 };
	struct mapped m;
	const char *why;
	enum status st;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/metadata", dir);
	if (mapped_open(&m, path, false) != OK)
		return OK;
	st = m.n == 0 ? E_LATER : tsdl_unpack(&text, m.p, m.n, &why);
	mapped_close(&m);
	if (st == E_REFUSED)
		(void)fail(f, st, t->path, why);
	else if (st != OK || buf_len(&text) <= had)
		st = OK;
	else if (had > 0 &&
		 memcmp(buf_data(&text), buf_data(&t->text), had) != 0)
		st = fail(f, E_MALFORMED, t->path, "the metadata has changed");
	else
		take_text(t, &text);
	if (t->text.mem != text.mem)
		buf_free(&text);
	return st;
}

/* Where an earlier run has stopped. */
static enum status
resume(const struct followed *f, struct followed_stream *s)
{
	const struct followed_resume *r = find_resume(f, s);

	if (r == NULL)
		return OK;
	s->has_seq = r->next_seq > 0;
	s->next_seq = s->marked_seq = r->next_seq;
	s->is_named = true;
	s->name = strdup(r->name);
	return s->name != NULL ? OK : E_NOMEM;
}

static struct followed_stream *
new_stream(
    struct followed *f, struct followed_trace *t, const struct index_record *r)
{
	struct followed_stream *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->trace = t;
	s->ctf_stream = r->ctf_stream;
	s->ctf_instance = r->ctf_instance;
	list_init(&s->files);
	list_append(&t->streams, &s->node);
	s->since = f->n_beacons;
	f->n_streams++;
	return resume(f, s) == OK ? s : NULL;
}

static struct followed_stream *
find_stream(
    struct followed *f, struct followed_trace *t, const struct index_record *r)
{
	struct followed_stream *s;

	list_each (s, &t->streams, struct followed_stream, node)
		if (s->ctf_stream == r->ctf_stream &&
		    s->ctf_instance == r->ctf_instance)
			return s;
	return new_stream(f, t, r);
}

/* The relay will have one file of it, with the name of the first one here. */
static bool
name_stream(struct followed_stream *s, const struct grown *g, const char *name)
{
	const struct grown *other;

	if (s->is_announced || s->is_named)
		return true;
	list_each (other, &s->files, struct grown, node)
		if (other->first.packet_seq_num < g->first.packet_seq_num)
			return true;
	free(s->name);
	s->name = strndup(name, strlen(name) - strlen(".idx"));
	return s->name != NULL;
}

/* The file of this identity, if it was found before. */
static struct grown *
find_file(const struct followed_trace *t, const struct grown *like)
{
	struct followed_stream *s;
	struct grown *g;

	list_each (s, &t->streams, struct followed_stream, node)
		list_each (g, &s->files, struct grown, node)
			if (g->ino == like->ino && g->born == like->born)
				return g;
	return NULL;
}

static enum status
add_file(struct followed *f, struct followed_trace *t, struct grown *take_g,
    const char *name)
{
	struct followed_stream *s = find_stream(f, t, &take_g->first);
	struct grown *g = malloc(sizeof(*g));

	if (s == NULL || g == NULL || !name_stream(s, take_g, name)) {
		free(g);
		grown_close(take_g);
		return no_memory(f);
	}
	*g = *take_g;
	g->seen = f->scans;
	list_append(&s->files, &g->node);
	return OK;
}

static enum status
see_index(struct followed *f, struct followed_trace *t, int dir, int index_dir,
    const char *name)
{
	struct grown g, *known;
	enum status st = grown_open(&g, dir, index_dir, name);

	if (st == E_REFUSED)
		return fail(f, st, name,
		    "following needs index files of version 1.1 (LTTng 2.8)");
	if (st == E_NOMEM)
		return no_memory(f);
	/* Not there yet, or no longer. */
	if (st != OK)
		return OK;
	known = find_file(t, &g);
	if (known == NULL)
		return add_file(f, t, &g, name);
	known->seen = f->scans;
	if (known->index >= 0 || grown_is_same(&g, known)) {
		grown_close(&g);
		return OK;
	}
	/* It was closed too early, or a ring began it anew: take it from its
	 * begin; what was sent is skipped. */
	g.seen = f->scans;
	g.node = known->node;
	*known = g;
	return OK;
}

static bool
is_index(const char *name)
{
	const size_t n = strlen(name);

	return name[0] != '.' && n > 4 && strcmp(name + n - 4, ".idx") == 0;
}

/* Without inotify(7) new files are found a little later. */
static void
watch(const struct followed *f, int dir)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	if (f->notify >= 0)
		(void)inotify_add_watch(
		    f->notify, path, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
}

bool
followed_has_changed(const struct followed *f)
{
	char events[4096];
	bool has = false;

	while (f->notify >= 0 && read(f->notify, events, sizeof(events)) > 0)
		has = true;
	return has;
}

/* The folder of a trace. */
static enum status
scan_trace(struct followed *f, int dir, const char *path)
{
	struct followed_trace *t = find_trace(f, followed_trace_path(path));
	int fd = openat(
	    dir, "index", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *index = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	enum status st = t == NULL ? no_memory(f) : read_metadata(f, t, dir);

	if (fd >= 0)
		watch(f, fd);
	while (st == OK && index != NULL && (e = readdir(index)) != NULL)
		if (is_index(e->d_name))
			st = see_index(f, t, dir, fd, e->d_name);
	if (index != NULL)
		closedir(index);
	else if (fd >= 0)
		close(fd);
	return st;
}

static enum status scan_dir(
    struct followed *f, int take_fd, const char *path, unsigned depth);

static enum status
scan_below(struct followed *f, int dir, const char *path, const char *name,
    unsigned depth)
{
	int fd = openat(
	    dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	enum status st;
	char *below;

	if (fd < 0) /* a file, or it was moved */
		return OK;
	if (asprintf(&below, "%s%s%s", path, path[0] == '\0' ? "" : "/", name) <
	    0) {
		close(fd);
		return no_memory(f);
	}
	st = scan_dir(f, fd, below, depth + 1);
	free(below);
	return st;
}

static enum status
scan_dir(struct followed *f, int take_fd, const char *path, unsigned depth)
{
	DIR *dir = fdopendir(take_fd);
	const struct dirent *e;
	enum status st = OK;

	if (dir == NULL) {
		close(take_fd);
		return fail(f, E_IO, path, strerror(errno));
	}
	watch(f, take_fd);
	if (depth > FOLLOWED_DEPTH_MAX)
		st = fail(f, E_LIMIT, path, "nested too deeply");
	if (st == OK && faccessat(take_fd, "metadata", F_OK, 0) == 0)
		st = scan_trace(f, take_fd, path);
	else
		while (st == OK && (e = readdir(dir)) != NULL)
			if (e->d_type != DT_REG &&
			    strcmp(e->d_name, ".") != 0 &&
			    strcmp(e->d_name, "..") != 0)
				st = scan_below(
				    f, take_fd, path, e->d_name, depth);
	closedir(dir);
	return st;
}

/* Forget the files of a ring that are gone and read. */
static void
forget_gone(struct followed *f)
{
	struct followed_trace *t;
	struct followed_stream *s;
	struct list *n, *tmp;

	list_each (t, &f->traces, struct followed_trace, node) {
		list_each (s, &t->streams, struct followed_stream, node) {
			list_for_each (n, tmp, &s->files) {
				struct grown *g = list_entry(
				    n, struct grown, node);

				if (g->seen == f->scans || grown_look(g) == OK)
					continue;
				grown_close(g);
				list_del(&g->node);
				free(g);
			}
		}
	}
}

enum status
followed_scan(struct followed *f)
{
	int fd = openat(f->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum status st;

	if (fd < 0)
		return fail(f, E_IO, ".", strerror(errno));
	f->scans++;
	f->has_gap = false;
	st = scan_dir(f, fd, "", 0);
	/* A rotation moves folders: what was not seen may be seen next time.
	 */
	if (st == OK && f->scans % 4 == 0)
		forget_gone(f);
	return st;
}

/* Close the oldest file that is read to its end, if many are open. Those of a
 * ring stay open: it begins them anew. */
static void
close_oldest(struct followed_stream *s)
{
	struct grown *g, *oldest = NULL;
	unsigned n = 0;

	list_each (g, &s->files, struct grown, node) {
		n += g->index >= 0;
		if (g->index >= 0 && !g->has_next &&
		    (oldest == NULL ||
			g->first.packet_seq_num < oldest->first.packet_seq_num))
			oldest = g;
	}
	if (n > FOLLOWED_OPEN_MAX && oldest != NULL)
		grown_close(oldest);
}

struct grown *
followed_next(struct followed *f, struct followed_stream *s)
{
	struct grown *g, *first = NULL;

	list_each (g, &s->files, struct grown, node) {
		while (grown_look(g) == OK && s->has_seq &&
		       g->next.packet_seq_num < s->next_seq)
			grown_skip(g);
		if (g->has_next &&
		    (first == NULL ||
			g->next.packet_seq_num < first->next.packet_seq_num))
			first = g;
	}
	if (first == NULL)
		return NULL;
	if (!s->has_seq || first->next.packet_seq_num == s->next_seq) {
		s->gap_scan = 0;
		close_oldest(s);
		return first;
	}
	/* What is missing may be in a file that is not found yet. */
	if (s->gap_scan == 0)
		s->gap_scan = f->scans;
	if (f->scans == s->gap_scan) {
		f->has_gap = true;
		return NULL;
	}
	f->missing += first->next.packet_seq_num - s->next_seq;
	s->next_seq = first->next.packet_seq_num;
	s->gap_scan = 0;
	return first;
}

void
followed_lose(struct followed *f, struct followed_stream *s, struct grown *g)
{
	f->missing++;
	s->has_seq = true;
	s->next_seq = g->next.packet_seq_num + 1;
	grown_skip(g);
}

bool
followed_is_written(const struct followed *f)
{
	struct followed_trace *t;
	struct followed_stream *s;
	struct grown *g;

	/* A relay that records here has locked the directory. */
	if (flock(f->root, LOCK_EX | LOCK_NB) != 0)
		return true;
	(void)flock(f->root, LOCK_UN);
	list_each (t, &f->traces, struct followed_trace, node)
		list_each (s, &t->streams, struct followed_stream, node)
			list_each (g, &s->files, struct grown, node)
				if (grown_is_written(g))
					return true;
	return false;
}

void
followed_mark(struct followed *f)
{
	struct followed_trace *t;
	struct followed_stream *s;

	list_each (t, &f->traces, struct followed_trace, node)
		list_each (s, &t->streams, struct followed_stream, node)
			s->marked_seq = s->next_seq;
}
