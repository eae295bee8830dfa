/* SPDX-License-Identifier: MIT */
/* Before each request, the relay is restarted, so that the tests of viewers
 * show that a viewer cannot tell (tests/relayd/restart.h). */
#include <check.h>

#include "relayd/live/viewer_internal.h"
#include "relayd/live/viewers.h"
#include "tests/lib/live_pair.h"
#include "tests/relayd/restart.h"

#define VIEWERS 16

enum live_outcome __real_viewer_serve(struct viewer *v,
    const struct live_request *q, const struct live_how *how,
    struct live_reply *reply, struct live_held *held);
enum live_outcome __wrap_viewer_serve(struct viewer *v,
    const struct live_request *q, const struct live_how *how,
    struct live_reply *reply, struct live_held *held);

static void
swap_lists(struct list *a, struct list *b)
{
	struct list held;

	list_init(&held);
	list_move_all(&held, a);
	list_move_all(a, b);
	list_move_all(b, &held);
}

/* Everything but their places among all viewers. */
static void
swap_viewers(struct viewer *a, struct viewer *b)
{
	struct viewer held = *a, other = *b;

	swap_lists(&a->attachments, &b->attachments);
	swap_lists(&a->unannounced, &b->unannounced);
	swap_lists(&a->announced, &b->announced);
	swap_lists(&a->incomplete, &b->incomplete);
	for (int i = 0; i < 2; i++) {
		struct viewer *to = i == 0 ? a : b;
		struct viewer copy = i == 0 ? other : held;

		copy.node = to->node;
		copy.attachments = to->attachments;
		copy.unannounced = to->unannounced;
		copy.announced = to->announced;
		copy.incomplete = to->incomplete;
		*to = copy;
	}
}

/* The tests keep their pointers to viewers: these become empty, and are filled
 * again. */
static void
empty(struct viewer *v)
{
	struct viewer *old;

	ck_assert_int_eq(viewer_create(&old, v->viewers, v->peer), OK);
	swap_viewers(v, old);
	viewer_destroy(old);
	list_del(&v->node);
}

static void
fill(struct viewer *v, struct viewers *vs, struct state_in *in)
{
	struct viewer *read;

	ck_assert_int_eq(viewer_get_state(&read, in, vs, v->peer, NULL), OK);
	list_append(&vs->all, &v->node);
	swap_viewers(v, read);
	viewer_destroy(read);
}

static void
restart(struct viewers *vs)
{
	struct state_out o = { 0 };
	struct viewer *all[VIEWERS];
	struct state_in in;
	struct viewer *v;
	unsigned n = 0;

	viewers_put_state(&o, vs);
	list_each (v, &vs->all, struct viewer, node) {
		ck_assert_uint_lt(n, VIEWERS);
		viewer_put_state(&o, v);
		all[n++] = v;
	}
	viewers_put_lingering(&o, vs);
	restart_read(&in, &o);
	for (unsigned i = 0; i < n; i++)
		empty(all[i]);
	restart_viewers(vs);
	ck_assert_int_eq(viewers_get_state(vs, &in, NULL), OK);
	for (unsigned i = 0; i < n; i++)
		fill(all[i], vs, &in);
	ck_assert_int_eq(viewers_get_lingering(vs, &in, NULL), OK);
	viewers_take_ends(vs);
	ck_assert_uint_eq(reader_left(&in.r), 0);
	restart_done(&in, &o);
}

enum live_outcome
__wrap_viewer_serve(struct viewer *v, const struct live_request *q,
    const struct live_how *how, struct live_reply *reply,
    struct live_held *held)
{
	const struct live_pair *pair = container_of(
	    v->viewers, struct live_pair, viewers);

	/* A relay takes in all events first. */
	if (pair->first == NULL)
		restart(v->viewers);
	return __real_viewer_serve(v, q, how, reply, held);
}
