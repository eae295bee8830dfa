/* SPDX-License-Identifier: MIT */
/*
 * The length is published before the classes that are declared in it: a reader
 * that sees a class finds its declaration in the bytes that it reads
 * afterwards.
 */
#include "store/metadata_log.h"

#include <stdlib.h>
#include <urcu.h>

#include "common/publish.h"
#include "common/ref.h"
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

void
metadata_log_append(
    struct metadata_log *log, const void *p, uint64_t n, uint32_t padding)
{
	struct version *v = published_pointer(&log->version);

	if (v == NULL)
		return;
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
