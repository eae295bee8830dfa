/* SPDX-License-Identifier: MIT */
/*
 * Which stream of a session uses the most memory, of those that can give a
 * packet up? Streams are sorted by the power of two of what they use, so that
 * nobody looks at all of them. A stream that uses less by now stays where it
 * was until it is found there: each time that it came up pays for one such
 * move.
 */
#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "relayd/record/udp_internal.h"

/* Of N > 0. */
static unsigned
power_of(uint64_t n)
{
	return 63 - (unsigned)__builtin_clzll(n);
}

void
udp_room_init(struct session_udp *u)
{
	for (unsigned i = 0; i < UDP_POWERS; i++)
		list_init(&u->users[i]);
}

/* Memory that its packets use that wait or are not yet whole. */
static uint64_t
used_by(const struct stream *t)
{
	return t->held_bytes + t->udp->arrivals.partial_bytes;
}

bool
udp_room_note(struct stream *t, uint64_t *to)
{
	struct session_udp *u = t->session->udp;
	struct stream_udp *su = t->udp;
	const uint64_t used = used_by(t);
	unsigned power;

	if (used == 0 || !arrivals_victim(&su->arrivals, to)) {
		list_del(&su->user_node);
		return false;
	}
	power = power_of(used);
	if (!list_empty(&su->user_node) && su->power == power)
		return true;
	list_del(&su->user_node);
	list_append(&u->users[power], &su->user_node);
	u->powers |= UINT64_C(1) << power;
	su->power = power;
	return true;
}

struct stream *
udp_room_greediest(struct session *s, uint64_t *to)
{
	struct session_udp *u = s->udp;
	struct stream_udp *su;
	unsigned power;

	while (u->powers != 0) {
		power = power_of(u->powers);
		if (list_empty(&u->users[power])) {
			u->powers &= ~(UINT64_C(1) << power);
			continue;
		}
		su = list_first(&u->users[power], struct stream_udp, user_node);
		if (udp_room_note(su->stream, to) && su->power >= power)
			return su->stream;
	}
	return NULL;
}
