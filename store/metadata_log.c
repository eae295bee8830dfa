/* SPDX-License-Identifier: MIT */
/*
 * The length is published before the classes that are declared in it: a reader
 * that sees a class finds its declaration in the bytes that it reads
 * afterwards.
 */
#include "store/metadata_log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <urcu.h>

#include "common/publish.h"
#include "common/ref.h"
#include "common/state.h"
#include "store/folder.h"
#include "ctf/stream_classes.h"

/* One file and its state. RCU replaces it as a whole. */
struct version {
	struct rcu_head rcu;
	struct folder *folder;
	struct published length;
	struct published classes; /* the set declared in it */
	/* writer only */
	struct stream_classes scan;
	bool has_no_scan; /* after a restart: read the file first */
};

enum status
metadata_log_create(struct metadata_log **out)
{
	struct metadata_log *log = calloc(1, sizeof(*log));

	*out = log;
	if (log == NULL)
		return E_NOMEM;
	ref_init(&log->ref);
	return OK;
}

struct metadata_log *
metadata_log_get(struct metadata_log *log)
{
	ref_get(&log->ref);
	return log;
}

static void
free_version(struct version *v)
{
	if (v == NULL)
		return;
	folder_put(v->folder);
	free(v);
}

static void
free_later(struct rcu_head *head)
{
	free_version(container_of(head, struct version, rcu));
}

static void
release(struct ref *r)
{
	struct metadata_log *log = container_of(r, struct metadata_log, ref);

	free_version(published_pointer(&log->version));
	free(log);
}

void
metadata_log_put(struct metadata_log *log)
{
	if (log != NULL)
		ref_put(&log->ref, release);
}

enum status
metadata_log_begin(struct metadata_log *log, struct folder *folder)
{
	struct version *old = published_pointer(&log->version);
	struct version *v = calloc(1, sizeof(*v));

	if (v == NULL)
		return E_NOMEM;
	v->folder = folder_get(folder);
	publish_pointer(&log->version, v);
	if (old != NULL)
		call_rcu(&old->rcu, free_later);
	return OK;
}

/* Read what is in the file, so that the scan goes on where it was. Metadata is
 * short, and comes seldom. What cannot be read counts as declaring nothing. */
static void
scan_again(struct version *v)
{
	const uint64_t length = published(&v->length);
	uint8_t piece[16 * 1024];
	uint64_t at = 0;
	ssize_t n = 1;
	int fd;

	v->has_no_scan = false;
	if (folder_open_file(&fd, v->folder, "metadata", O_RDONLY) != OK)
		return;
	while (at < length && at < STREAM_CLASSES_BYTES_MAX && n > 0) {
		const uint64_t left = length - at;

		n = pread(fd, piece,
		    left < sizeof(piece) ? left : sizeof(piece), (off_t)at);
		if (n > 0)
			stream_classes_feed(&v->scan, piece, (uint64_t)n, 0);
		at += n > 0 ? (uint64_t)n : 0;
	}
	close(fd);
}

void
metadata_log_continue(struct metadata_log *log, uint64_t length)
{
	struct version *v = published_pointer(&log->version);

	publish(&v->length, length);
	v->has_no_scan = true;
	metadata_log_append(log, NULL, 0, 0);
}

void
metadata_log_append(
    struct metadata_log *log, const void *p, uint64_t n, uint32_t padding)
{
	struct version *v = published_pointer(&log->version);

	if (v == NULL)
		return;
	if (v->has_no_scan)
		scan_again(v);
	stream_classes_feed(&v->scan, p, n, padding);
	publish(&v->length, published(&v->length) + n + padding);
	publish(&v->classes, stream_classes_set(&v->scan));
	publish(
	    &log->classes, published(&log->classes) | published(&v->classes));
}

void
metadata_log_end(struct metadata_log *log)
{
	publish(&log->is_ended, 1);
}

void
metadata_log_look(const struct metadata_log *log, struct metadata_view *view)
{
	const struct version *v;

	*view = (struct metadata_view){ 0 };
	rcu_read_lock();
	v = published_pointer(&log->version);
	if (v != NULL) {
		view->has_class = published(&v->classes) != 0;
		view->length = published(&v->length);
		view->folder = folder_get(v->folder);
	}
	rcu_read_unlock();
}

uint64_t
metadata_log_length(const struct metadata_log *log)
{
	const struct version *v;
	uint64_t length;

	rcu_read_lock();
	v = published_pointer(&log->version);
	length = v == NULL ? 0 : published(&v->length);
	rcu_read_unlock();
	return length;
}

static const struct state_member version_members[] = {
	STATE_DROP(struct version, rcu),
	STATE_CODE(struct version, folder),
	STATE_PUBLISHED(struct version, length),
	STATE_PUBLISHED(struct version, classes),
	STATE_DROP(struct version, scan), /* scan_again() */
	STATE_DROP(struct version, has_no_scan),
};
static STATE_TABLE(version_state, struct version, version_members);

static const struct state_member members[] = {
	STATE_DROP(struct metadata_log, ref),
	STATE_CODE(struct metadata_log, version),
	STATE_PUBLISHED(struct metadata_log, classes),
	STATE_PUBLISHED(struct metadata_log, is_ended),
	STATE_DROP(struct metadata_log, waiters), /* they ask again */
};
static STATE_TABLE(metadata_log_state, struct metadata_log, members);

void
metadata_log_put_state(struct state_out *o, struct metadata_log *log)
{
	const struct version *v;

	if (!state_put_object(o, log))
		return;
	v = published_pointer(&log->version);
	state_put(o, &metadata_log_state, log);
	state_put_bool(o, v != NULL);
	if (v == NULL)
		return;
	folder_put_state(o, v->folder);
	state_put(o, &version_state, v);
}

static void
put_log(void *log)
{
	metadata_log_put(log);
}

static enum status
get_version(struct metadata_log *log, struct state_in *in)
{
	struct folder *folder;
	struct version *v;
	enum status st;

	if (!state_get_bool(in))
		return state_in_status(in);
	st = folder_get_state(&folder, in);
	if (st == OK && folder == NULL)
		st = E_MALFORMED;
	if (st == OK)
		st = metadata_log_begin(log, folder);
	folder_put(folder);
	if (st != OK)
		return st;
	v = published_pointer(&log->version);
	v->has_no_scan = true;
	return state_get(in, &version_state, v);
}

enum status
metadata_log_get_state(struct metadata_log **out, struct state_in *in)
{
	uint32_t number;
	enum status st;
	void *found;

	*out = NULL;
	if (state_get_object(in, &metadata_log_state, &found, &number)) {
		if (found != NULL)
			*out = metadata_log_get(found);
		return state_in_status(in);
	}
	st = metadata_log_create(out);
	if (st == OK)
		st = state_get(in, &metadata_log_state, *out);
	if (st == OK)
		st = get_version(*out, in);
	if (st != OK) {
		metadata_log_put(*out);
		*out = NULL;
		return st;
	}
	state_made_shared(
	    in, number, &metadata_log_state, metadata_log_get(*out), put_log);
	return OK;
}
