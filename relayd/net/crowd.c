/* SPDX-License-Identifier: MIT */
#include "relayd/net/crowd.h"

#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/fds.h"
#include "common/log.h"
#include "relayd/net/conn.h"
#include "relayd/record/control.h"
#include "relayd/net/descriptors.h"

#define LOG_NS (10 * NS_PER_S)
/* When connections of a host use less than this part of the share, a new one of
 * it may replace another host's. */
#define FEW_SHARE 4

static size_t
host_len(const char *peer)
{
	const char *colon = strrchr(peer, ':');

	return colon == NULL ? strlen(peer) : (size_t)(colon - peer);
}

static bool
is_same_host(const struct conn *a, const struct conn *b)
{
	size_t n = host_len(a->peer);

	return n == host_len(b->peer) && memcmp(a->peer, b->peer, n) == 0;
}

static bool
is_silent(const struct conn *c)
{
	return c->is_closing || c->control == NULL || c->control->minor == 0;
}

static struct conn *
oldest_control(struct desk *d)
{
	struct conn *c, *oldest = NULL;
	struct list *n, *tmp;

	list_for_each (n, tmp, &d->conns) {
		c = list_entry(n, struct conn, node);
		if (c->kind != CONN_CONTROL)
			continue;
		if (is_silent(c))
			return c;
		if (oldest == NULL)
			oldest = c;
	}
	return oldest;
}

/* NULL: there is none, or too many connections of NEW_C's host wait. */
static struct conn *
newest_data_of_others(struct desk *d, const struct conn *new_c)
{
	struct conn *c, *newest = NULL;
	struct list *n, *tmp;
	uint64_t same = 0;

	list_for_each (n, tmp, &d->conns) {
		c = list_entry(n, struct conn, node);
		if (c->kind != CONN_DATA)
			continue;
		if (is_same_host(c, new_c))
			same++;
		else
			newest = c;
	}
	return same < fds_max(FDS_DATA) / FEW_SHARE ? newest : NULL;
}

static const char *
kind_name(const struct conn *c)
{
	return c->kind == CONN_CONTROL ? "control" : "data";
}

static bool
take(struct conn *c, enum fds_share s)
{
	if (!fds_take(s))
		return false;
	conn_set_share(c, s);
	return true;
}

bool
crowd_admit(struct desk *d, struct conn *c)
{
	const bool is_control = c->kind == CONN_CONTROL;
	const enum fds_share s = is_control ? FDS_CONTROL : FDS_DATA;
	struct conn *victim;

	if (take(c, s))
		return true;
	victim = is_control ? oldest_control(d) : newest_data_of_others(d, c);
	if (log_ratelimit(&d->last_crowd_log, LOG_NS))
		log_warn("peer=%s %s connection turned away: %" PRIu64
			 " wait without a session (--fd-pool-size)",
		    victim == NULL ? c->peer : victim->peer, kind_name(c),
		    fds_max(s));
	conn_destroy(victim, false);
	return victim != NULL && take(c, s);
}

bool
crowd_leave(struct desk *d, struct conn *c)
{
	if (take(c, FDS_SESSIONS))
		return true;
	if (log_ratelimit(&d->last_full_log, LOG_NS))
		log_error("peer=%s %s connection turned away: sessions use all "
			  "%" PRIu64 " descriptors that are for them "
			  "(--fd-pool-size)",
		    c->peer, kind_name(c), fds_max(FDS_SESSIONS));
	return false;
}

bool
crowd_has_room_for_session(struct desk *d, const struct conn *c, unsigned n)
{
	if (fds_left(FDS_SESSIONS) >= SESSION_FDS &&
	    n < fds_max(FDS_SESSIONS) / SESSION_FDS)
		return true;
	if (log_ratelimit(&d->last_full_log, LOG_NS))
		log_error("peer=%s session refused: %u are there, and "
			  "descriptors are needed for them (--fd-pool-size)",
		    c->peer, n);
	return false;
}
