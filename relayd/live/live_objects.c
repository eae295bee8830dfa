/* SPDX-License-Identifier: MIT */
#include "relayd/live/live_objects.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/metadata_log.h"
#include "store/packet_log.h"

/* An object has two events: it began, and it ended. */
#define EVENTS_PER_OBJECT 2

static size_t
size_of_events(unsigned n_workers)
{
	return n_workers * EVENTS_PER_OBJECT * sizeof(struct live_event_node);
}

static void
session_release(struct ref *r)
{
	struct live_session *s = container_of(r, struct live_session, ref);

	free(s->hostname);
	free(s->name);
	free(s);
}

enum status
live_session_create(struct live_session **out, unsigned n_workers, uint64_t id,
    uint32_t live_timer_us, bool is_ctf2, const char *hostname,
    const char *name)
{
	struct live_session *s = calloc(
	    1, sizeof(*s) + size_of_events(n_workers));

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	ref_init(&s->ref);
	s->n_workers = n_workers;
	s->id = id;
	s->live_timer_us = live_timer_us;
	s->is_ctf2 = is_ctf2;
	s->hostname = strdup(hostname);
	s->name = strdup(name);
	if (s->hostname == NULL || s->name == NULL) {
		live_session_put(s);
		return E_NOMEM;
	}
	*out = s;
	return OK;
}

struct live_session *
live_session_get(struct live_session *s)
{
	ref_get(&s->ref);
	return s;
}

void
live_session_put(struct live_session *s)
{
	if (s != NULL)
		ref_put(&s->ref, session_release);
}

static void
stream_release(struct ref *r)
{
	struct live_stream *s = container_of(r, struct live_stream, ref);

	live_session_put(s->session);
	packet_log_put(s->log);
	metadata_log_put(s->metadata);
	free(s);
}

enum status
live_stream_create(struct live_stream **out, struct live_session *session,
    uint64_t id, uint64_t trace_id, const char *path, const char *channel,
    struct packet_log *log, struct metadata_log *metadata)
{
	const size_t event_nodes = size_of_events(session->n_workers);
	const size_t path_size = strlen(path) + 1;
	const size_t channel_size = strlen(channel) + 1;
	struct live_stream *s = calloc(
	    1, sizeof(*s) + event_nodes + path_size + channel_size);
	char *text;

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	ref_init(&s->ref);
	s->id = id;
	s->trace_id = trace_id;
	s->is_metadata = metadata != NULL;
	s->session = live_session_get(session);
	s->log = log == NULL ? NULL : packet_log_get(log);
	s->metadata = metadata == NULL ? NULL : metadata_log_get(metadata);
	text = (char *)s->event_nodes + event_nodes;
	s->path = memcpy(text, path, path_size);
	s->channel = memcpy(text + path_size, channel, channel_size);
	*out = s;
	return OK;
}

struct live_stream *
live_stream_get(struct live_stream *s)
{
	ref_get(&s->ref);
	return s;
}

void
live_stream_put(struct live_stream *s)
{
	if (s != NULL)
		ref_put(&s->ref, stream_release);
}

static bool
is_of_stream(enum live_event what)
{
	return what == LIVE_EVENT_STREAM || what == LIVE_EVENT_STREAM_CLOSED;
}

void
live_event_get(enum live_event what, void *object)
{
	if (is_of_stream(what))
		live_stream_get(object);
	else
		live_session_get(object);
}

void
live_event_put(enum live_event what, void *object)
{
	if (is_of_stream(what))
		live_stream_put(object);
	else
		live_session_put(object);
}

static struct live_event_node *
node_of(enum live_event what, void *object, unsigned worker)
{
	struct live_event_node *event_nodes =
	    is_of_stream(what) ? ((struct live_stream *)object)->event_nodes
			       : ((struct live_session *)object)->event_nodes;
	const bool is_last = what == LIVE_EVENT_SESSION_ENDED ||
			     what == LIVE_EVENT_STREAM_CLOSED;

	return &event_nodes[worker * EVENTS_PER_OBJECT + (is_last ? 1 : 0)];
}

void
live_inbox_init(struct live_inbox *b)
{
	cds_wfcq_init(&b->head, &b->tail);
}

bool
live_inbox_post(
    struct live_inbox *b, enum live_event what, void *object, unsigned worker)
{
	struct live_event_node *n = node_of(what, object, worker);

	assert(n->object == NULL);
	live_event_get(what, object);
	n->what = what;
	n->object = object;
	cds_wfcq_node_init(&n->node);
	publish(&n->is_ready, 1);
	return !cds_wfcq_enqueue(&b->head, &b->tail, &n->node);
}

bool
live_inbox_take(struct live_inbox *b, enum live_event *what, void **object)
{
	struct cds_wfcq_node *node = __cds_wfcq_dequeue_blocking(
	    &b->head, &b->tail);
	const struct live_event_node *n;

	if (node == NULL)
		return false;
	n = container_of(node, struct live_event_node, node);
	assert(published(&n->is_ready) == 1);
	*what = n->what;
	*object = n->object;
	return true;
}
