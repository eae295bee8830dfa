/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/send/follow.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/heap.h"
#include "tools/client/client.h"
#include "tools/client/retry.h"
#include "tools/send/follow_beacons.h"
#include "tools/send/follow_state.h"
#include "tools/send/followed.h"
#include "tools/send/sender.h"
#include "tools/send/trace.h"

struct follow {
	const struct send_options *options;
	struct report *report;
	volatile sig_atomic_t *stop;
	struct send_output *out; /* NULL: not open yet */
	struct followed all;
	/* when each is due next */
	uint64_t scan_ns, state_ns, beacon_ns, ended_ns;
	uint64_t moved_ns; /* when something was last sent, or found */
	struct send_output_config config;
	char name[TRACES_NAME_MAX];
	struct retry retry;
	bool resumes;	/* the session can be continued there */
	bool is_asking; /* what is on the relay's disk */
	bool is_ending;
};

/* Of struct send_output_config. */
static bool
goes_on(void *arg)
{
	struct follow *f = arg;
	struct send_stats s = { 0 };

	if (report_is_due(f->report)) {
		if (f->out != NULL)
			f->out->ops->stats(f->out, &s);
		report_progress(f->report,
		    &(struct progress_now){ .phase = f->out == NULL
							 ? PROGRESS_CONNECTING
							 : PROGRESS_FOLLOWING,
			.ns = clock_now_ns(),
			.bytes = s.bytes_out,
			.packets = s.sent.packets,
			.left_ns = UINT64_MAX });
	}
	return f->is_ending || !*f->stop;
}

static enum status
announce_metadata(struct follow *f, struct followed_trace *t)
{
	send_position position;
	enum status st = f->out->ops->add_stream(
	    f->out, t->path, "metadata", &t->number, &position);

	t->is_announced = st == OK;
	if (st == OK && position > buf_len(&t->text)) {
		report_error(f->report,
		    "%s: the relay has more metadata than there is here",
		    t->path);
		return E_MALFORMED;
	}
	if (st == OK)
		t->sent = (size_t)position;
	return st;
}

static enum status
announce_stream(struct follow *f, struct followed_stream *s)
{
	send_position position;
	enum status st = f->out->ops->add_stream(
	    f->out, s->trace->path, s->name, &s->number, &position);

	s->is_announced = st == OK;
	if (st != OK || position == 0)
		return st;
	s->has_seq = true;
	s->next_seq = s->marked_seq = position;
	return OK;
}

/* Tell the relay of new streams; what it has of them decides where they
 * continue. */
static enum status
announce(struct follow *f)
{
	struct followed_trace *t;
	struct followed_stream *s;
	enum status st = OK;

	list_each (t, &f->all.traces, struct followed_trace, node) {
		if (st == OK && !t->is_announced && !list_empty(&t->streams))
			st = announce_metadata(f, t);
		list_each (s, &t->streams, struct followed_stream, node)
			if (st == OK && !s->is_announced)
				st = announce_stream(f, s);
	}
	return st;
}

static enum status
send_metadata(struct follow *f)
{
	struct followed_trace *t;
	enum status st = OK;

	list_each (t, &f->all.traces, struct followed_trace, node) {
		const size_t n = buf_len(&t->text);

		if (st != OK || !t->is_announced || n == t->sent)
			continue;
		st = f->out->ops->metadata(f->out, t->number,
		    buf_data(&t->text) + t->sent, n - t->sent);
		t->sent = n;
		f->moved_ns = clock_now_ns();
	}
	return st;
}

/* Viewers ask for metadata as soon as they see a stream. LTTng may write it
 * long after the first packets, which are sent meanwhile: a ring might
 * overwrite them. */
static bool
may_be_shown(const struct follow *f)
{
	const struct followed_trace *t;

	if (f->all.n_shown == f->all.n_streams)
		return false;
	list_each (t, &f->all.traces, struct followed_trace, node)
		if (t->is_announced && t->sent == 0)
			return false;
	return true;
}

static enum status
look_for_new(struct follow *f)
{
	const unsigned n = f->all.n_streams;
	enum status st = followed_scan(&f->all);

	if (f->all.n_streams != n)
		f->moved_ns = clock_now_ns();
	if (st == OK)
		st = announce(f);
	if (st == OK)
		st = send_metadata(f);
	if (st != OK || !may_be_shown(f))
		return st;
	f->all.n_shown = f->all.n_streams;
	return f->out->ops->streams_sent(f->out);
}

/* Send one packet of S. */
static enum status
send_one(struct follow *f, struct followed_stream *s, struct grown *g)
{
	struct client_packet packet;
	enum status st = grown_take(g, &packet);

	if (st == E_NOENT) {
		followed_lose(&f->all, s, g);
		return OK;
	}
	if (st == E_LIMIT)
		report_error(f->report, "%s/%s: a packet that no relay takes",
		    s->trace->path, s->name);
	if (st != OK)
		return st;
	s->is_busy = true;
	f->report->late += packet.index.timestamp_begin < s->floor;
	s->floor = packet.index.timestamp_end;
	s->next_seq = packet.index.packet_seq_num + 1;
	s->has_seq = true;
	f->moved_ns = clock_now_ns();
	st = f->out->ops->packet(f->out, s->number, &packet);
	if (st != OK)
		client_packet_done(&packet);
	return st;
}

static enum status
queue(struct follow *f, struct heap *h, struct followed_stream *s)
{
	struct grown *g = s->is_announced ? followed_next(&f->all, s) : NULL;

	return g == NULL
		   ? OK
		   : heap_push(
			 h, tsdl_ns(&s->trace->tsdl, g->next.timestamp_end), s);
}

/* What is there now, in the order in which the packets ended. */
static enum status
send_packets(struct follow *f)
{
	struct heap h = { 0 };
	struct followed_trace *t;
	struct followed_stream *s;
	struct grown *g;
	enum status st = OK;

	list_each (t, &f->all.traces, struct followed_trace, node)
		list_each (s, &t->streams, struct followed_stream, node)
			st = st == OK ? queue(f, &h, s) : st;
	while (st == OK && (s = heap_pop(&h)) != NULL) {
		g = followed_next(&f->all, s);
		if (g != NULL)
			st = send_one(f, s, g);
		if (st == OK)
			st = queue(f, &h, s);
	}
	heap_free(&h);
	return st;
}

/* S has no later event before CYCLES. */
static enum status
send_beacon(struct follow *f, struct followed_stream *s, uint64_t cycles)
{
	if (cycles <= s->floor || s->trace->sent == 0 || !s->is_announced ||
	    s->gap_scan != 0)
		return OK;
	s->floor = cycles;
	return f->out->ops->beacon(f->out, s->number, cycles, s->ctf_stream);
}

/* The latest time that a stream has reached, in ns. */
static uint64_t
latest(const struct follow *f)
{
	const struct followed_trace *t;
	const struct followed_stream *s;
	uint64_t ns = 0, floor;

	list_each (t, &f->all.traces, struct followed_trace, node) {
		list_each (s, &t->streams, struct followed_stream, node) {
			floor = tsdl_ns(&t->tsdl, s->floor);
			ns = s->floor > 0 && floor > ns ? floor : ns;
		}
	}
	return ns;
}

/* Packets that came before these beacons are sent. A stream that has ended is
 * never older than the others. It is not closed: a session that is resumed
 * would begin it again. */
static enum status
send_recorded_beacons(struct follow *f)
{
	const uint64_t now = clock_now_ns();
	const bool is_due = now >= f->ended_ns;
	struct followed_trace *t;
	struct followed_stream *s;
	uint64_t newest, cycles;
	enum status st = OK;

	if (is_due)
		f->ended_ns = now + FOLLOW_ENDED_MS * NS_PER_MS;
	newest = is_due ? latest(f) : 0;
	list_each (t, &f->all.traces, struct followed_trace, node) {
		list_each (s, &t->streams, struct followed_stream, node) {
			cycles = s->beacon;
			if (is_due && follow_beacons_has_ended(&f->all, s))
				cycles = tsdl_cycles(&t->tsdl, newest);
			if (st == OK)
				st = send_beacon(f, s, cycles);
		}
	}
	return st;
}

/* A stream without a packet for --quiet-after has none that is older. */
static enum status
send_quiet_beacons(struct follow *f)
{
	const uint64_t now = clock_now_ns();
	const uint64_t quiet = (uint64_t)(f->options->quiet_s * 1000) *
			       NS_PER_MS;
	const uint64_t before = clock_wall_ns() - quiet;
	struct followed_trace *t;
	struct followed_stream *s;
	enum status st = OK;

	if (quiet == 0 || now < f->beacon_ns)
		return OK;
	f->beacon_ns = now + f->options->live_timer_us * UINT64_C(1000);
	list_each (t, &f->all.traces, struct followed_trace, node) {
		list_each (s, &t->streams, struct followed_stream, node) {
			if (st == OK && !s->is_busy)
				st = send_beacon(
				    f, s, tsdl_cycles(&t->tsdl, before));
			s->is_busy = false;
		}
	}
	return st;
}

static enum status
write_state(struct follow *f)
{
	enum status st = OK;

	if (f->options->state != NULL)
		st = follow_state_write(
		    &f->all, &f->config.session, f->options->state);
	if (st != OK)
		report_error(
		    f->report, "%s: %s", f->options->state, strerror(errno));
	return st;
}

/* What is marked is on the relay's disk. */
static enum status
note_stored(struct follow *f)
{
	enum status st = followed_note(&f->all, true);

	return st == OK ? write_state(f) : st;
}

/* Note what is on the relay's disk, also in the state file. */
static enum status
save_state(struct follow *f)
{
	const uint64_t now = clock_now_ns();
	bool is_all;
	enum status st;

	if (!f->is_asking && now < f->state_ns)
		return OK;
	if (!f->is_asking)
		followed_mark(&f->all);
	f->is_asking = true;
	st = f->out->ops->stored(f->out, &is_all);
	if (st != OK)
		return st == E_BUSY ? OK : st;
	f->is_asking = false;
	f->state_ns = now + FOLLOW_STATE_MS * NS_PER_MS;
	return is_all ? note_stored(f) : OK;
}

/* Has the recording ended? Somebody who records has a file open for writing, or
 * the lock of a relay. */
static bool
has_ended(const struct follow *f)
{
	return clock_now_ns() - f->moved_ns > FOLLOW_END_MS * NS_PER_MS &&
	       f->all.n_streams > 0 && !followed_is_written(&f->all);
}

/* Send what is there, with what a scan finds for gaps. */
static enum status
catch_up(struct follow *f)
{
	enum status st;

	do {
		st = look_for_new(f);
		if (st == OK)
			st = send_packets(f);
	} while (st == OK && f->all.has_gap);
	return st;
}

static enum status
step(struct follow *f)
{
	const uint64_t now = clock_now_ns();
	const bool has_beacons = follow_beacons_read(&f->all);
	enum status st = OK;

	if (now >= f->scan_ns || followed_has_changed(&f->all) || has_beacons) {
		st = look_for_new(f);
		follow_beacons_note(&f->all);
		f->scan_ns = now + FOLLOW_SCAN_MS * NS_PER_MS;
	}
	if (st == OK)
		st = send_packets(f);
	if (st == OK && f->all.has_gap)
		st = catch_up(f);
	if (st == OK)
		st = send_recorded_beacons(f);
	if (st == OK)
		st = send_quiet_beacons(f);
	if (st == OK)
		st = save_state(f);
	return st == OK ? f->out->ops->work(f->out, FOLLOW_LOOK_MS) : st;
}

/* What is there is sent; then the session is closed. */
static enum status
end(struct follow *f)
{
	enum status st;

	f->is_ending = true;
	st = catch_up(f);
	followed_mark(&f->all);
	if (st == OK)
		st = f->out->ops->finish(f->out);
	return st == OK ? note_stored(f) : st;
}

/* Until the session ends, or its connection. */
static enum status
run(struct follow *f)
{
	enum status st = OK;

	f->moved_ns = clock_now_ns();
	f->scan_ns = 0;
	f->is_asking = f->is_ending = false;
	while (st == OK && !*f->stop && !has_ended(f))
		st = step(f);
	if (st == OK || st == E_STOPPED)
		st = end(f);
	return st == OK && *f->stop ? E_STOPPED : st;
}

/* One connection; WHY it failed, or "". */
static enum status
run_once(struct follow *f, struct send_sink *sink, char why[SEND_ERROR_MAX])
{
	enum status st = sink->ops->open(sink, &f->config, &f->out, why);

	if (st != OK)
		return st;
	retry_reset(&f->retry);
	f->resumes = why[0] == '\0';
	if (!f->resumes && f->options->state != NULL)
		report_note(f->report,
		    "%s: after a failure packets may be stored twice", why);
	st = run(f);
	(void)snprintf(why, SEND_ERROR_MAX, "%s", f->out->ops->error(f->out));
	report_progress_end(f->report);
	report_session(f->report, f->out, &(struct traces){ 0 });
	f->out->ops->destroy(f->out);
	f->out = NULL;
	return st;
}

/* A connection failed with ST, because of WHY. Wait, unless what follows is not
 * worth it or would not go on in the session. */
static bool
tries_again(struct follow *f, enum status st, const char *why)
{
	const bool may = f->resumes && !*f->stop && why[0] != '\0' &&
			 f->all.error[0] == '\0' && retry_may_help(st, true);
	uint64_t until;

	if (may)
		report_note(f->report, "%s; trying again", why);
	else if (f->all.error[0] != '\0')
		report_error(f->report, "%s", f->all.error);
	else if (why[0] != '\0')
		report_error(f->report, "%s", why);
	until = clock_now_ns() + (may ? retry_pause(&f->retry) : 0);
	while (may && !*f->stop && clock_now_ns() < until)
		(void)poll(NULL, 0, FOLLOW_LOOK_MS);
	return may && !*f->stop;
}

/* As it is in the state file; or a new one, which is there before the relay
 * hears of it. */
static enum status
choose_identity(struct follow *f)
{
	struct send_session *s = &f->config.session;
	struct client_identity id;
	enum status st = OK;

	if (f->options->state != NULL)
		st = follow_state_read(&f->all, s, f->options->state);
	if (st != OK || s->creation_time != 0)
		return st;
	st = client_identity_make(&id);
	s->identity = id.uuid;
	s->creation_time = id.creation_time;
	return st == OK ? write_state(f) : st;
}

static enum status
open_followed(struct follow *f)
{
	const struct send_options *o = f->options;
	enum status st = followed_open(&f->all, o->directories[0]);

	if (st != OK)
		report_error(
		    f->report, "%s: %s", o->directories[0], strerror(errno));
	if (st == OK && !traces_name(o->directories[0], f->name))
		st = E_IO;
	f->config.session = sender_session(o, f->name);
	if (st == OK)
		st = choose_identity(f);
	if (st != OK && f->all.error[0] != '\0')
		report_error(f->report, "%s", f->all.error);
	return st;
}

enum status
follow_run(const struct send_options *o, struct send_sink *sink,
    struct report *r, volatile sig_atomic_t *stop)
{
	struct follow f = { .options = o, .report = r, .stop = stop };
	char why[SEND_ERROR_MAX];
	enum status st;

	f.config.goes_on = goes_on;
	f.config.arg = &f;
	st = open_followed(&f);
	while (st == OK) {
		st = run_once(&f, sink, why);
		if (st == OK || !tries_again(&f, st, why))
			break;
		st = followed_begin_again(&f.all, o->directories[0]);
		if (st != OK)
			report_error(r, "%s: %s", o->directories[0],
			    st == E_IO ? strerror(errno) : status_text(st));
	}
	/* A signal came while it was not connected: nothing is lost. */
	if (f.resumes && *stop && retry_may_help(st, true))
		st = E_STOPPED;
	/* It may have had several connections. */
	r->sessions = r->sessions > 0;
	r->streams = f.all.n_streams;
	r->missing = f.all.missing;
	followed_close(&f.all);
	return st;
}
