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
		list_init(&seats[i].linger_node);
		seats[i].object = o;
	}
}

static struct live_session *
alloc_session(unsigned n_workers)
{
	struct live_session *s = calloc(1, sizeof(*s) + seats_size(n_workers));

	if (s == NULL)
		return NULL;
	init_object(&s->object, false, s->seats, n_workers);
	s->n_workers = n_workers;
	return s;
}

enum status
live_session_create(struct live_session **out, unsigned n_workers, uint64_t id,
    uint32_t live_timer_us, bool is_ctf2, const char *hostname,
    const char *name)
{
	struct live_session *s = alloc_session(n_workers);

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
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

static const struct state_member session_members[] = {
	STATE_DROP(struct live_session, object), /* its seats are made again */
	STATE_DROP(struct live_session, n_workers),
	STATE_KEEP(struct live_session, id),
	STATE_KEEP(struct live_session, live_timer_us),
	STATE_KEEP(struct live_session, is_ctf2),
	STATE_TEXT(struct live_session, hostname),
	STATE_TEXT(struct live_session, name),
	STATE_DROP(struct live_session, clients), /* counted again */
	STATE_PUBLISHED(struct live_session, sent_bytes),
	STATE_PUBLISHED(struct live_session, streams),
	STATE_TAIL(struct live_session, seats),
};
static STATE_TABLE(live_session_state, struct live_session, session_members);

static const struct state_member stream_members[] = {
	STATE_DROP(struct live_stream, object), /* as a session's */
	STATE_KEEP(struct live_stream, id),
	STATE_KEEP(struct live_stream, trace_id),
	STATE_KEEP(struct live_stream, time_before),
	STATE_DROP(struct live_stream, is_metadata), /* its log says it */
	STATE_CODE(struct live_stream, path),
	STATE_CODE(struct live_stream, channel),
	STATE_CODE(struct live_stream, session),
	STATE_CODE(struct live_stream, log),
	STATE_CODE(struct live_stream, metadata),
	STATE_TAIL(struct live_stream, seats),
};
static STATE_TABLE(live_stream_state, struct live_stream, stream_members);

void
live_session_put_state(struct state_out *o, struct live_session *s)
{
	if (state_put_object(o, s))
		state_put(o, &live_session_state, s);
}

enum status
live_session_get_state(struct live_session **out, struct state_in *in,
    const struct live_notifier *notifier)
{
	struct live_session *s;
	uint32_t number;
	void *object;
	enum status st;

	*out = NULL;
	if (state_get_object(in, &live_session_state, &object, &number)) {
		*out = object == NULL ? NULL : live_get(object);
		return state_in_status(in);
	}
	s = alloc_session(notifier->n_workers);
	if (s == NULL)
		return E_NOMEM;
	st = state_get(in, &live_session_state, s);
	if (st == OK && (s->hostname == NULL || s->name == NULL))
		st = E_MALFORMED;
	if (st != OK) {
		live_put(s);
		return st;
	}
	state_made_shared(
	    in, number, &live_session_state, live_get(s), live_put);
	*out = s;
	return OK;
}

void
live_stream_put_state(struct state_out *o, struct live_stream *s)
{
	if (!state_put_object(o, s))
		return;
	live_session_put_state(o, s->session);
	packet_log_put_state(o, s->log);
	metadata_log_put_state(o, s->metadata);
	state_put_text(o, s->path);
	state_put_text(o, s->channel);
	state_put(o, &live_stream_state, s);
}

/* What a stream refers to. */
struct stream_parts {
	struct live_session *session;
	struct packet_log *log;
	struct metadata_log *metadata;
	const char *path, *channel;
};

static enum status
get_parts(struct stream_parts *parts, struct state_in *in,
    const struct live_notifier *notifier)
{
	enum status st = live_session_get_state(&parts->session, in, notifier);

	if (st == OK)
		st = packet_log_get_state(&parts->log, in);
	if (st == OK)
		st = metadata_log_get_state(&parts->metadata, in);
	parts->path = state_get_text(in);
	parts->channel = state_get_text(in);
	if (st == OK && (parts->session == NULL || parts->path == NULL ||
			    parts->channel == NULL ||
			    (parts->log == NULL) == (parts->metadata == NULL)))
		st = E_MALFORMED;
	return st;
}

static enum status
get_stream(struct live_stream **out, struct state_in *in, uint32_t number,
    const struct live_notifier *notifier)
{
	struct stream_parts of = { 0 };
	enum status st = get_parts(&of, in, notifier);
	struct live_stream *s = NULL;

	if (st == OK)
		st = live_stream_create(&s, of.session, 0, 0, of.path,
		    of.channel, of.log, of.metadata);
	if (st == OK)
		st = state_get(in, &live_stream_state, s);
	live_put(of.session);
	packet_log_put(of.log);
	metadata_log_put(of.metadata);
	if (st != OK) {
		live_put(s);
		return st;
	}
	state_made_shared(
	    in, number, &live_stream_state, live_get(s), live_put);
	*out = s;
	return OK;
}

enum status
live_stream_get_state(struct live_stream **out, struct state_in *in,
    const struct live_notifier *notifier)
{
	uint32_t number;
	void *object;

	*out = NULL;
	if (!state_get_object(in, &live_stream_state, &object, &number))
		return get_stream(out, in, number, notifier);
	*out = object == NULL ? NULL : live_get(object);
	return state_in_status(in);
}
