/* SPDX-License-Identifier: MIT */
#include "tests/relayd/restart.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>

#include "relayd/live/live_objects.h"
#include "relayd/live/viewers.h"
#include "store/folder.h"
#include "store/metadata_log.h"
#include "store/packet_log.h"

#define OBJECTS 65536

/* Objects that were written, with a reference on each: their number here is
 * what stands for them. */
struct kept {
	void *objects[OBJECTS];
	uint32_t n;
};
static struct kept sessions, streams, folders, logs, metadata;

static void
keep(struct state_out *o, struct kept *k, void *object)
{
	ck_assert_uint_lt(k->n, OBJECTS);
	k->objects[k->n] = object;
	state_put_u32(o, k->n++);
}

static void *
find(struct state_in *in, const struct kept *k)
{
	const uint32_t n = state_get_u32(in, k->n - 1);

	return in->r.bad || k->n == 0 ? NULL : k->objects[n];
}

/* TYPE_put_state() and TYPE_get_state(), instead of those of the relay. */
#define KEPT(type, kept, get, context)                                       \
	void __wrap_##type##_put_state(struct state_out *o, struct type *x); \
	enum status __wrap_##type##_get_state context;                       \
	void __wrap_##type##_put_state(struct state_out *o, struct type *x)  \
	{                                                                    \
		keep(o, &(kept), x == NULL ? NULL : get(x));                 \
	}                                                                    \
	enum status __wrap_##type##_get_state context                        \
	{                                                                    \
		struct type *x = find(in, &(kept));                          \
                                                                             \
		*out = x == NULL ? NULL : get(x);                            \
		return state_in_status(in);                                  \
	}
KEPT(live_session, sessions, live_get,
    (struct live_session * *out, struct state_in *in,
	const struct live_notifier *notifier))
KEPT(live_stream, streams, live_get,
    (struct live_stream * *out, struct state_in *in,
	const struct live_notifier *notifier))
KEPT(folder, folders, folder_get, (struct folder * *out, struct state_in *in))
KEPT(packet_log, logs, packet_log_get,
    (struct packet_log * *out, struct state_in *in))
KEPT(metadata_log, metadata, metadata_log_get,
    (struct metadata_log * *out, struct state_in *in))

/* What viewers can see, except what lingers: with a reference on each. */
static unsigned
list_objects(const struct viewers *vs, struct live_object **objects)
{
	const struct live_seat *seat, *stream;
	unsigned n = 0;

	list_each (seat, &vs->sessions, struct live_seat, node) {
		if (!list_empty(&seat->linger_node))
			continue;
		objects[n++] = live_get(seat->object);
		list_each (stream, &seat->streams, struct live_seat, node)
			if (list_empty(&stream->linger_node))
				objects[n++] = live_get(stream->object);
	}
	return n;
}

void
restart_viewers(struct viewers *vs)
{
	static struct live_object *objects[OBJECTS];
	const unsigned n = list_objects(vs, objects);
	const struct viewers old = *vs;

	viewers_destroy(vs);
	ck_assert(list_empty(&vs->files.all));
	viewers_init(vs, old.worker, old.holds_replies,
	    (unsigned)published(&old.max_viewers), old.ids);
	viewers_begin(vs);
	vs->max_ended = old.max_ended;
	vs->max_ended_sessions = old.max_ended_sessions;
	vs->linger_ns = old.linger_ns;
	vs->max_lingering_sessions = old.max_lingering_sessions;
	vs->max_lingering_streams = old.max_lingering_streams;
	vs->class_ns = old.class_ns;
	account_init(
	    &vs->memory, old.memory.soft, old.memory.hard, old.memory.fair);
	vs->files.kept.hard = old.files.kept.hard;
	for (unsigned i = 0; i < n; i++)
		viewers_take_event(vs,
		    objects[i]->is_stream ? LIVE_EVENT_STREAM
					  : LIVE_EVENT_SESSION,
		    objects[i]);
	publish(&vs->events_sent, vs->events_arrived);
}

void
restart_read(struct state_in *in, const struct state_out *o)
{
	int *fds = calloc(o->n_fds + 1, sizeof(*fds));

	ck_assert_ptr_nonnull(fds);
	ck_assert(!state_out_is_bad(o));
	for (uint32_t i = 0; i < o->n_fds; i++)
		fds[i] = fcntl(o->fds[i], F_DUPFD_CLOEXEC, 0);
	ck_assert_int_eq(state_in_init(in, buf_data(&o->buf), buf_len(&o->buf),
			     fds, o->n_fds, o->n_objects),
	    OK);
}

void
restart_done(struct state_in *in, struct state_out *o)
{
	state_in_free(in);
	state_out_free(o);
	while (sessions.n > 0)
		live_put(sessions.objects[--sessions.n]);
	while (streams.n > 0)
		live_put(streams.objects[--streams.n]);
	while (folders.n > 0)
		folder_put(folders.objects[--folders.n]);
	while (logs.n > 0)
		packet_log_put(logs.objects[--logs.n]);
	while (metadata.n > 0)
		metadata_log_put(metadata.objects[--metadata.n]);
}
