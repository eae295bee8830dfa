/* SPDX-License-Identifier: MIT */
/* A session whose sender left without closing it, and comes back (resume 2 to
 * 4). */
#include <inttypes.h>

#include "common/log.h"
#include "common/publish.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "relayd/record/stream.h"
#include "relayd/stats/stats.h"

bool
session_continues_files(const struct session *s)
{
	return s->request.may_resume && s->siblings->window == NULL;
}

/* The one that has been kept longest, if there are too many. */
static struct session *
surplus(const struct shard *sh)
{
	struct session *s, *oldest = NULL;
	unsigned n = 0;

	list_each (s, &sh->work.parked, struct session, ending_node) {
		n++;
		if (oldest == NULL ||
		    s->parked_until_ns < oldest->parked_until_ns)
			oldest = s;
	}
	return n > SESSION_PARKED_MAX ? oldest : NULL;
}

/* S begins to wait (N is 1), or waits no longer (-1). */
static void
count_waiting(const struct session *s, uint64_t n)
{
	stats_add(s->shard->stats, STAT_sessions_waiting, n);
	stats_add(s->shard->stats, STAT_sessions_active, -n);
}

void
session_leave_park(struct session *s)
{
	if (s->parked_until_ns == 0)
		return;
	list_del(&s->ending_node);
	s->parked_until_ns = 0;
	count_waiting(s, UINT64_MAX);
}

bool
session_park(struct session *s)
{
	struct shard *sh = s->shard;
	struct session *other;

	if (!s->request.may_resume || sh->config.resume_ns == 0 ||
	    sh->is_stopping || !session_has_open_stream(s))
		return false;
	s->parked_until_ns = clock_now_ns() + sh->config.resume_ns;
	list_append(&sh->work.parked, &s->ending_node);
	count_waiting(s, 1);
	log_peer(LOG_NOTICE, "%s is kept for its sender for %" PRIu64 " s",
	    s->tag, sh->config.resume_ns / NS_PER_S);
	other = surplus(sh);
	if (other != NULL) {
		log_peer(LOG_WARN,
		    "%s ends: more than %u sessions wait for their senders",
		    other->tag, SESSION_PARKED_MAX);
		session_leave_park(other);
		session_close(other, false);
	}
	return true;
}

uint64_t
session_end_parked(struct shard *sh, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	struct session *s, *tmp;

	list_each_safe (s, tmp, &sh->work.parked, struct session, ending_node) {
		if (s->parked_until_ns > now_ns) {
			next = clock_earlier(next, s->parked_until_ns);
			continue;
		}
		log_info("%s its sender has not come back", s->tag);
		session_leave_park(s);
		session_close(s, false);
		if (shard_step_is_late(sh))
			return now_ns;
	}
	return next;
}

/* The session that was created with the same key, names and time. */
static struct session *
find(const struct shard *sh, const struct relay_create_session *q)
{
	struct session *s;

	list_each (s, &sh->sessions, struct session, shard_node) {
		const struct relay_create_session *o = &s->request;

		if (o->may_resume && secret_equal(&o->key, &q->key) &&
		    o->creation_time == q->creation_time &&
		    relpath_equal(o->session_name, q->session_name) &&
		    relpath_equal(o->hostname, q->hostname))
			return s;
	}
	return NULL;
}

/* Whatever its previous connections still bring belongs to nobody. */
static void
leave_inputs(struct session *s)
{
	struct session_input *in, *next;

	list_each_safe (in, next, &s->inputs.list, struct session_input, node) {
		list_del(&in->node);
		in->ops->session_gone(in);
	}
	s->inputs.had_any = false;
}

/* The placement that came with the previous connection. */
static void
leave_placement(struct session *s)
{
	const struct session_gone gone = s->gone;

	s->gone = (struct session_gone){ 0 };
	if (gone.call != NULL)
		gone.call(gone.what, gone.arg);
}

static enum status
begin_again(struct session *s, const char *peer)
{
	struct stream *t, *next;
	enum status st = session_set_peer(s, peer);

	leave_inputs(s);
	list_each_safe (t, next, &s->streams, struct stream, session_node)
		if (st == OK)
			st = stream_begin_again(t);
	if (st != OK)
		return st;
	session_leave_park(s);
	leave_placement(s);
	log_peer(LOG_NOTICE, "%s its sender goes on: streams=%u", s->tag,
	    s->n_streams);
	return OK;
}

enum status
session_resume(struct session **out, struct shard *sh,
    const struct relay_create_session *request, unsigned minor,
    const char *peer)
{
	struct session *s;
	enum status st;

	/* Its files may be among those that are cut. */
	if (sh->config.is_recovering != NULL &&
	    published(sh->config.is_recovering) != 0) {
		log_peer(LOG_NOTICE,
		    "peer=%s session %s cannot be resumed yet: files of an "
		    "earlier relay are being recovered",
		    peer, request->session_name->s);
		return E_REFUSED;
	}
	if (request->is_snapshot)
		return E_REFUSED;
	s = find(sh, request);
	if (s == NULL)
		return E_NOENT;
	/* It has ended, and waits for bytes that are sent again now. */
	if (s->is_ended) {
		session_destroy(s);
		return E_NOENT;
	}
	if (s->minor != minor)
		return E_REFUSED;
	st = begin_again(s, peer);
	if (st == OK)
		*out = s;
	return st;
}
