/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/live_offset.h"

#include <inttypes.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/ftrace/trace_clock.h"

void
live_offset_begin(struct live_offset *o, bool is_local, uint64_t connected_ns)
{
	*o = (struct live_offset){ .is_local = is_local,
		.connected_ns = connected_ns,
		.first_ns = UINT64_MAX };
}

void
live_offset_first(struct live_offset *o, uint64_t ns)
{
	o->first_ns = clock_earlier(o->first_ns, ns);
}

void
live_offset_last(struct live_offset *o, uint64_t ns)
{
	const int64_t ahead = (int64_t)(clock_wall_ns() - ns);

	if (!o->has_arrival || ahead < o->arrival_ns)
		o->arrival_ns = ahead;
	o->has_arrival = true;
}

static bool
measure(
    const struct live_offset *o, struct kernel_settings *s, const struct dat *d)
{
	struct trace_clock_offset m;
	int64_t age;

	if (!o->is_local || d->offset_from == DAT_OFFSET_GIVEN ||
	    !trace_clock_is_ours(d->hostname, d->release) ||
	    !trace_clock_measure(d->clock, &m))
		return false;
	age = o->arrival_ns - m.ns;
	if (age < -(int64_t)m.error_ns ||
	    age > LIVE_OFFSET_AGE_MAX_MS * (int64_t)NS_PER_MS)
		return false;
	s->has_offset = s->has_error = true;
	s->offset_ns = m.ns;
	s->error_ns = m.error_ns;
	s->offset_from = "measured";
	return true;
}

void
live_offset_set(
    const struct live_offset *o, struct kernel_settings *s, const struct dat *d)
{
	const int64_t least = (int64_t)(o->connected_ns - o->first_ns);

	if (!o->has_arrival || measure(o, s, d) || s->has_offset)
		return;
	s->has_offset = true;
	s->offset_ns = o->arrival_ns;
	s->offset_from = "arrival";
	/* Times are what the peer says: none, or any. */
	s->error_ns = (uint64_t)o->arrival_ns - (uint64_t)least;
	s->has_error = o->connected_ns > 0 && least <= o->arrival_ns &&
		       s->error_ns <= (uint64_t)KERNEL_OFFSET_MAX;
}

void
live_offset_log(
    const struct kernel_settings *s, const struct dat *d, const char *peer)
{
	if (s->has_error)
		log_peer(LOG_INFO,
		    "peer=%s: Unix time by its clock %s: %s, wrong by at most "
		    "%" PRIu64 " us",
		    peer, d->clock, s->offset_from, (s->error_ns + 999) / 1000);
	else
		log_peer(LOG_INFO,
		    "peer=%s: Unix time by its clock %s: %s; nobody knows how "
		    "wrong it is",
		    peer, d->clock, s->offset_from);
}
