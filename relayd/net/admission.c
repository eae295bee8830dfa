/* SPDX-License-Identifier: MIT */
#include "relayd/net/admission.h"

#include <inttypes.h>

#include "common/clock.h"
#include "common/fds.h"
#include "common/log.h"
#include "relayd/stats/stats.h"
#include "relayd/net/conn.h"
#include "relayd/record/control.h"
#include "relayd/net/descriptors.h"

/* A host whose connections use less than one part in so many of the share may
 * replace a connection of another host. */
#define FEW_SHARE 4

static bool
is_silent(const struct conn *c)
{
	return c->is_closing || c->control == NULL || c->control->minor == 0;
}

static struct conn *
oldest_control(struct conns *set)
{
	struct conn *c, *oldest = NULL;
	struct list *n, *tmp;

	list_for_each (n, tmp, &set->conns) {
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

/* NULL if there is none, or if too many connections of NEW_C's host wait. */
static struct conn *
newest_data_of_others(struct conns *set, const struct conn *new_c)
{
	struct conn *c, *newest = NULL;
	struct list *n, *tmp;
	uint64_t same = 0;

	list_for_each (n, tmp, &set->conns) {
		c = list_entry(n, struct conn, node);
		if (c->kind != CONN_DATA)
			continue;
		if (peer_host_is_same(&c->host, &new_c->host))
			same++;
		else
			newest = c;
	}
	return same < fds[FDS_DATA].hard / FEW_SHARE ? newest : NULL;
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
admission_connect(struct conns *set, struct conn *c)
{
	const bool is_control = c->kind == CONN_CONTROL;
	const enum fds_share s = is_control ? FDS_CONTROL : FDS_DATA;
	struct conn *victim;

	if (take(c, s))
		return true;
	stats_refused(conn_port(c), REFUSAL_crowded);
	victim = is_control ? oldest_control(set)
			    : newest_data_of_others(set, c);
	if (log_ratelimit(&set->last_admission_log, LOG_AGAIN_NS))
		log_warn("peer=%s %s connection turned away: %" PRIu64
			 " wait without a session (--fd-pool-size)",
		    victim == NULL ? c->peer : victim->peer,
		    stats_port_names[conn_port(c)], fds[s].hard);
	conn_destroy(victim, false);
	return victim != NULL && take(c, s);
}

bool
admission_take_session(struct conns *set, struct conn *c)
{
	if (take(c, FDS_SESSIONS))
		return true;
	stats_refused(conn_port(c), REFUSAL_descriptors);
	if (log_ratelimit(&set->last_full_log, LOG_AGAIN_NS))
		log_error("peer=%s %s connection refused: sessions use all of "
			  "their %" PRIu64 " descriptors (--fd-pool-size)",
		    c->peer, stats_port_names[conn_port(c)],
		    fds[FDS_SESSIONS].hard);
	return false;
}

/* Slots for sessions: the account of hosts, N of it used. */
static struct account
slots(unsigned n)
{
	const uint64_t max = (fds[FDS_SESSIONS].hard - fds[FDS_EXTRA].hard) /
			     SESSION_FDS;
	uint64_t reserve = max / HOST_RESERVE_PART;
	struct account a;

	if (reserve < HOST_RESERVE_MIN)
		reserve = HOST_RESERVE_MIN;
	if (reserve > max / 4)
		reserve = max / 4;
	account_init(&a, max - reserve, max, HOST_FEW);
	account_add(&a, n);
	return a;
}

void
admission_session_gone(unsigned n)
{
	(void)fds_promise(SESSION_FDS * (uint64_t)n);
}

bool
admission_new_session(
    struct conns *set, struct conn *c, unsigned n, unsigned of_host)
{
	const struct account all = slots(n);
	const bool is_full = n >= all.hard ||
			     fds_left(FDS_SESSIONS) < SESSION_FDS ||
			     !fds_promise(SESSION_FDS * ((uint64_t)n + 1));

	if (!is_full && account_may_take(&all, of_host, 1))
		return admission_take_session(set, c);
	stats_refused(PORT_CONTROL, REFUSAL_descriptors);
	if (is_full && log_ratelimit(&set->last_full_log, LOG_AGAIN_NS))
		log_error("peer=%s session refused: the %u sessions "
			  "need all descriptors (--fd-pool-size)",
		    c->peer, n);
	else if (!is_full && log_ratelimit(&set->last_host_log, LOG_AGAIN_NS))
		log_error("peer=%s session refused: its host has %u of %u "
			  "sessions, and the last %" PRIu64
			  " slots are reserved for hosts with fewer than %u "
			  "(--fd-pool-size)",
		    c->peer, of_host, n, all.hard - all.soft, HOST_FEW);
	return false;
}
