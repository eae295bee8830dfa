/* SPDX-License-Identifier: MIT */
#include "relayd/record/beacons.h"

#include <stddef.h>

#include "common/buf.h"
#include "ctf/beacons.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "relayd/record/stream.h"
#include "relayd/record/trace.h"
#include "store/output.h"
#include "store/packet_log.h"
#include "store/session_dir.h"

static void
write_later(struct session *s, uint64_t now_ns)
{
	s->beacons_ns = now_ns + BEACONS_NS + BEACONS_GRID_NS -
			(now_ns + BEACONS_NS) % BEACONS_GRID_NS;
	list_append(&s->shard->work.beacons, &s->beacons_node);
}

void
beacons_changed(struct session *s)
{
	if (list_empty(&s->beacons_node) && s->dir->path != NULL)
		write_later(s, clock_now_ns());
}

static void
add_streams(struct buf *out, const struct session *s)
{
	const struct packet_log *log;
	const struct stream *t;

	list_each (t, &s->streams, struct stream, session_node) {
		log = t->log;
		if (log != NULL && log->has_instance)
			beacons_add(
			    out, &(struct beacon){ .cycles = log->last_time,
				     .ctf_stream = published(&log->ctf_stream),
				     .ctf_instance = log->instance,
				     .path = { t->path->s, t->path->len } });
	}
}

/* The file of S and its siblings in the same directory, all of which need not
 * wait any longer. */
static enum status
write_file(struct session *s)
{
	struct buf text = { 0 };
	struct session *o;
	uint64_t n = 0;
	enum status st = OK;

	beacons_begin(&text);
	list_each (o, &s->siblings->sessions, struct session, siblings_node) {
		if (o->dir != s->dir)
			continue;
		list_del(&o->beacons_node);
		n += o->n_streams;
		if (n <= BEACONS_STREAMS_MAX)
			add_streams(&text, o);
	}
	if (n <= BEACONS_STREAMS_MAX && !text.bad &&
	    !s->dir->output->reserve.is_full)
		st = session_dir_write_beacons(
		    s->dir, buf_data(&text), buf_len(&text));
	buf_free(&text);
	return st;
}

uint64_t
beacons_tick(struct shard *sh, uint64_t now_ns)
{
	struct session *s;

	while (!list_empty(&sh->work.beacons)) {
		s = list_first(&sh->work.beacons, struct session, beacons_node);
		if (s->beacons_ns > now_ns)
			return s->beacons_ns;
		list_del(&s->beacons_node);
		if (session_dir_has_reader(s->dir) && write_file(s) == E_LATER)
			write_later(s, now_ns);
		if (shard_is_late(sh))
			return now_ns;
	}
	return UINT64_MAX;
}
