/* SPDX-License-Identifier: MIT */
/*
 * tracepulse tail: babeltrace2 with our plug-in on live sessions. The relay
 * tells which there are; babeltrace2 ends with the sessions that it shows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/ctl/ctl.h"
#include "tools/ctl/pick.h"
#include "tools/ctl/session.h"
#include "tools/ctl/sink.h"
#include "tools/ctl/status.h"
#include "tools/ctl/viewer.h"

/* Between two looks for a session, at least: packets that a stream had before
 * babeltrace2 is there are not shown, and the first one comes after a live
 * timer. */
#define LOOK_NS (NS_PER_S / 5)

/* Sessions that were shown. */
struct shown {
	struct one {
		uint64_t id, began; /* the relay may have been restarted */
	} * all;
	size_t n;
};

static bool
was_shown(const struct shown *shown, const struct relay_session *s)
{
	for (size_t i = 0; i < shown->n; i++)
		if (shown->all[i].id == s->id &&
		    shown->all[i].began == s->began)
			return true;
	return false;
}

/* Note all sessions that babeltrace2 shows with those of P. */
static void
note_shown(
    struct shown *shown, const struct sessions *s, const struct picked *p)
{
	shown->all = ctl_memory(
	    realloc(shown->all, (shown->n + s->n + 1) * sizeof(*shown->all)));
	for (size_t i = 0; i < s->n; i++)
		if (pick_has(p, &s->all[i]))
			shown->all[shown->n++] = (struct one){ s->all[i].id,
				s->all[i].began };
}

static void
leave_out_shown(const struct shown *shown, struct sessions *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!was_shown(shown, &s->all[i]))
			s->all[n++] = s->all[i];
	s->n = n;
}

/* Load the sessions of STATE that were not shown. */
static enum status
load(struct ctl *c, const struct shown *shown, const char *state,
    struct sessions *s)
{
	const enum status st = sessions_load(c, state, c->options.host, s);

	if (st == OK)
		leave_out_shown(shown, s);
	return st;
}

static void
say_waiting(const struct ctl *c)
{
	fputs("tracepulse: waiting for ", stderr);
	if (c->options.n_operands == 0)
		fputs("any session", stderr);
	for (size_t i = 0; i < c->options.n_operands; i++)
		fprintf(
		    stderr, "%s%s", i > 0 ? ", " : "", c->options.operands[i]);
	putc('\n', stderr);
}

/* Wait until each operand has a live session. A relay that does not answer may
 * come back. */
static int
wait_for_sessions(struct ctl *c, const struct shown *shown, struct sessions *s)
{
	uint64_t begin, pause = LOOK_NS;
	enum status st;

	say_waiting(c);
	for (;;) {
		(void)usleep((useconds_t)(pause / 1000));
		begin = clock_now_ns();
		st = load(c, shown, "active", s);
		pause = LOOK_NS + (clock_now_ns() - begin) * (CTL_ASK_PART - 1);
		if (st == OK && pick_is_complete(c, s))
			return CTL_OK;
		if (st == OK)
			sessions_free(s);
		else if (st != E_IO)
			return ctl_fail_fetch(c);
	}
}

/* Fill *S with sessions to pick from. IS_AGAIN: a successor is wanted. */
static int
find_sessions(
    struct ctl *c, const struct shown *shown, bool is_again, struct sessions *s)
{
	const bool may_wait = is_again || c->options.wait;
	const enum status st = load(c, shown, NULL, s);

	if (st != OK && !may_wait)
		return ctl_fail_fetch(c);
	if (st == OK && (!may_wait || pick_is_complete(c, s)))
		return CTL_OK;
	if (st == OK)
		sessions_free(s);
	return wait_for_sessions(c, shown, s);
}

static int
show_once(const struct ctl *c, const struct viewer *v)
{
	pid_t pid;

	if (!c->options.follow_name)
		return viewer_become(v);
	pid = viewer_start(v);
	if (pid < 0)
		return CTL_FAILED;
	return viewer_wait(pid) ? CTL_OK : CTL_FAILED;
}

static int
show(struct ctl *c, const struct relay_status *r, const struct picked *p)
{
	char **urls = viewer_urls(c, r, p);
	struct viewer v = { 0 };
	int status;

	if (urls == NULL)
		return CTL_FAILED;
	viewer_add(&v, VIEWER);
	for (size_t i = 0; i < p->n; i++)
		viewer_live(&v, urls[i]);
	sink_add_filter(&v, &c->options);
	sink_add(&v, c, sink_chosen(c), c->options.perfetto, p->n > 1);
	status = show_once(c, &v);
	viewer_free(&v);
	viewer_free_urls(urls, p->n);
	return status;
}

/* One round: from the search to the end of the sessions. */
static int
tail(struct ctl *c, struct shown *shown, bool is_again)
{
	struct relay_status r;
	struct sessions s;
	struct picked p;
	int status = find_sessions(c, shown, is_again, &s);

	if (status != CTL_OK)
		return status;
	if (status_load(c, &r) != OK) {
		sessions_free(&s);
		return ctl_fail_fetch(c);
	}
	status = pick_sessions(c, &s, &p);
	if (status == CTL_OK) {
		note_shown(shown, &s, &p);
		status = show(c, &r, &p);
	}
	free(p.all);
	status_free(&r);
	sessions_free(&s);
	return status;
}

int
command_tail(struct ctl *c)
{
	struct shown shown = { 0 };
	int status;

	if (!sink_is_there(sink_chosen(c)))
		return CTL_FAILED;
	status = tail(c, &shown, false);
	while (status == CTL_OK && c->options.follow_name)
		status = tail(c, &shown, true);
	free(shown.all);
	return status;
}
