/* SPDX-License-Identifier: MIT */
#include "relayd/live/live_objects.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/state.h"
#include "store/metadata_log.h"
#include "store/packet_log.h"

static size_t
seats_size(unsigned n_workers)
{
	return n_workers * sizeof(struct live_seat);
}

static void
init_object(struct live_object *o, bool is_stream, struct live_seat *seats,
    unsigned n_workers)
{
	ref_init(&o->ref);
	o->is_stream = is_stream;
	o->seats = seats;
	for (unsigned i = 0; i < n_workers; i++) {
		list_init(&seats[i].node);
		list_init(&seats[i].streams);
		seats[i].object = o;
	}
}

enum status
live_session_create(struct live_session **out, unsigned n_workers, uint64_t id,
    uint32_t live_timer_us, bool is_ctf2, const char *hostname,
    const char *name)
{
	struct live_session *s = calloc(1, sizeof(*s) + seats_size(n_workers));

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	init_object(&s->object, false, s->seats, n_workers);
	s->n_workers = n_workers;
	s->id = id;
	s->live_timer_us = live_timer_us;
	s->is_ctf2 = is_ctf2;
	s->hostname = strdup(hostname);
	s->name = strdup(name);
	if (s->hostname == NULL || s->name == NULL) {
		live_put(s);
		return E_NOMEM;
	}
	*out = s;
	return OK;
}

enum status
live_stream_create(struct live_stream **out, struct live_session *session,
    uint64_t id, uint64_t trace_id, const char *path, const char *channel,
    struct packet_log *log, struct metadata_log *metadata)
{
	const size_t seats = seats_size(session->n_workers);
	const size_t path_size = strlen(path) + 1;
	const size_t channel_size = strlen(channel) + 1;
	struct live_stream *s = calloc(
	    1, sizeof(*s) + seats + path_size + channel_size);
	char *text;

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	init_object(&s->object, true, s->seats, session->n_workers);
	s->id = id;
	s->trace_id = trace_id;
	s->is_metadata = metadata != NULL;
	s->session = live_get(session);
	s->log = log == NULL ? NULL : packet_log_get(log);
	s->metadata = metadata == NULL ? NULL : metadata_log_get(metadata);
	text = (char *)s->seats + seats;
	s->path = memcpy(text, path, path_size);
	s->channel = memcpy(text + path_size, channel, channel_size);
	*out = s;
	return OK;
}

void *
live_get(void *object)
{
	ref_get(&((struct live_object *)object)->ref);
	return object;
}

static void
release(struct ref *r)
{
	struct live_object *o = container_of(r, struct live_object, ref);
	struct live_session *session = (void *)o;
	struct live_stream *stream = (void *)o;

	if (o->is_stream) {
		live_put(stream->session);
		packet_log_put(stream->log);
		metadata_log_put(stream->metadata);
	} else {
		free(session->hostname);
		free(session->name);
	}
	free(o);
}

void
live_put(void *object)
{
	if (object != NULL)
		ref_put(&((struct live_object *)object)->ref, release);
}

void
live_inbox_init(struct live_inbox *b)
{
	cds_wfcq_init(&b->head, &b->tail);
}

/* Of the events of a seat: which one is this? */
static unsigned
place_of(enum live_event what)
{
	return what == LIVE_EVENT_SESSION_ENDED ||
	       what == LIVE_EVENT_STREAM_CLOSED;
}

bool
live_inbox_post(
    struct live_inbox *b, enum live_event what, void *object, unsigned worker)
{
	struct live_seat *seat = &((struct live_object *)object)->seats[worker];
	struct live_event_node *n = &seat->events[place_of(what)];

	assert(published(&n->what) == 0);
	(void)live_get(object);
	cds_wfcq_node_init(&n->node);
	publish(&n->what, (uint64_t)what + 1);
	return !cds_wfcq_enqueue(&b->head, &b->tail, &n->node);
}

bool
live_inbox_take(struct live_inbox *b, enum live_event *what, void **object)
{
	struct cds_wfcq_node *node = __cds_wfcq_dequeue_blocking(
	    &b->head, &b->tail);
	struct live_event_node *n;

	if (node == NULL)
		return false;
	n = container_of(node, struct live_event_node, node);
	*what = (enum live_event)(published(&n->what) - 1);
	n -= place_of(*what);
	*object = container_of(n, struct live_seat, events[0])->object;
	return true;
}

static const struct state_member notifier_members[] = {
	STATE_DROP(struct live_notifier, n_workers),
	STATE_DROP(struct live_notifier, notify),
	STATE_DROP(struct live_notifier, wake),
	STATE_PUBLISHED(struct live_notifier, stream_ids),
	STATE_PUBLISHED(struct live_notifier, trace_ids),
};
STATE_TABLE(live_notifier_state, struct live_notifier, notifier_members);

void
live_session_put_state(struct state_out *o, struct live_session *s)
{
	o->bad = true;
}

enum status
live_session_get_state(struct live_session **out, struct state_in *in,
    const struct live_notifier *notifier)
{
	*out = NULL;
	return E_MALFORMED;
}

void
live_stream_put_state(struct state_out *o, struct live_stream *s)
{
	o->bad = true;
}

enum status
live_stream_get_state(struct live_stream **out, struct state_in *in,
    const struct live_notifier *notifier)
{
	*out = NULL;
	return E_MALFORMED;
}
