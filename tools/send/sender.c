/* SPDX-License-Identifier: MIT */
#include "tools/send/sender.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/send/schedule.h"

/* How long a session may take to end in order after a signal. A relay that does
 * not answer for longer ends it by itself, when the connections close. */
#define STOP_NS NS_PER_S

struct sender {
	const struct send_options *options;
	struct traces *traces;
	struct report *report;
	volatile sig_atomic_t *stop;
	struct send_output *out; /* NULL: not open yet */
	struct schedule schedule;
	uint64_t begin_ns;  /* when sending began, our clock */
	uint64_t sent_ns;   /* end of the last packet, the trace's clock */
	uint64_t beacon_ns; /* when the next beacons are due, our clock */
	enum progress_phase phase;
	uint64_t linger_ns; /* until when the session stays open, our clock */
	uint64_t stop_ns;   /* deadline for the end; 0: no signal arrived */
};

static uint64_t trace_now_ns(const struct sender *s);

/* The time until the end of the phase; UINT64_MAX: not known. */
static uint64_t
left_ns(const struct sender *s, uint64_t now)
{
	uint64_t end = s->schedule.last_ns, at = now;

	if (s->phase == PROGRESS_LINGERING)
		end = s->linger_ns;
	else if (s->phase == PROGRESS_SENDING && s->options->realtime)
		at = trace_now_ns(s);
	else
		return UINT64_MAX;
	return end > at ? end - at : 0;
}

static void
show(struct sender *s)
{
	const uint64_t now = clock_now_ns();
	struct send_stats stats = { 0 };

	if (!report_is_due(s->report))
		return;
	if (s->out != NULL)
		s->out->ops->stats(s->out, &stats);
	report_progress(s->report, &(struct progress_now){ .phase = s->phase,
				       .ns = now,
				       .bytes = stats.bytes_out,
				       .packets = stats.sent.packets,
				       .left_ns = left_ns(s, now) });
}

/* Of struct send_output_config. */
static bool
goes_on(void *arg)
{
	struct sender *s = arg;

	show(s);
	return s->stop_ns == 0 ? !*s->stop : clock_now_ns() < s->stop_ns;
}

static enum status
add_streams(struct sender *s, struct disk_trace *t)
{
	struct send_output *out = s->out;
	send_position position;
	enum status st = OK;

	for (unsigned i = 0; i < t->n_streams && st == OK; i++)
		st = out->ops->add_stream(out, t->path, t->streams[i].name,
		    &t->streams[i].number, &position);
	if (st == OK)
		st = out->ops->add_stream(
		    out, t->path, "metadata", &t->metadata_number, &position);
	return st;
}

/* Metadata goes out before STREAMS_SENT: viewers ask for it as soon as they see
 * a stream. */
static enum status
announce(struct sender *s)
{
	enum status st = OK;

	for (unsigned i = 0; i < s->traces->n && st == OK; i++)
		st = add_streams(s, s->traces->traces[i]);
	for (unsigned i = 0; i < s->traces->n && st == OK; i++) {
		const struct disk_trace *t = s->traces->traces[i];

		st = s->out->ops->metadata(s->out, t->metadata_number,
		    t->metadata.p, (size_t)t->metadata.n);
	}
	return st == OK ? s->out->ops->streams_sent(s->out) : st;
}

/* The current time of the trace's clock. */
static uint64_t
trace_now_ns(const struct sender *s)
{
	if (!s->options->realtime)
		return s->sent_ns;
	return s->schedule.first_ns + (clock_now_ns() - s->begin_ns);
}

static enum status
send_beacons(struct sender *s)
{
	const uint64_t now = clock_now_ns();
	uint64_t cycles, ctf_stream;
	enum status st = OK;

	if (s->options->live_timer_us == 0 || now < s->beacon_ns)
		return OK;
	s->beacon_ns = now + s->options->live_timer_us * UINT64_C(1000);
	for (unsigned i = 0; i < s->schedule.n && st == OK; i++)
		if (schedule_beacon(
			&s->schedule, i, trace_now_ns(s), &cycles, &ctf_stream))
			st = s->out->ops->beacon(s->out,
			    s->schedule.streams[i].stream->number, cycles,
			    ctf_stream);
	return st;
}

/* Wait until UNTIL_NS of our clock. E_STOPPED: a signal arrived. */
static enum status
wait_until(struct sender *s, uint64_t until_ns)
{
	const uint64_t timer_ms = s->options->live_timer_us / 1000 + 1;
	enum status st = OK;
	int ms;

	while (st == OK && (ms = clock_ms_until(until_ns)) > 0) {
		if (!goes_on(s))
			return E_STOPPED;
		if (ms > CLIENT_TICK_MS)
			ms = CLIENT_TICK_MS;
		if (s->options->live_timer_us != 0 && timer_ms < (unsigned)ms)
			ms = (int)timer_ms;
		st = s->out->ops->work(s->out, ms);
		if (st == OK)
			st = send_beacons(s);
	}
	return st;
}

/* When a packet is due, our clock; UINT64_MAX, which is never reached, if that
 * is too large. Packets of a stream need not be in order. */
static uint64_t
due_at(const struct sender *s, uint64_t due_ns)
{
	const uint64_t first = s->schedule.first_ns;
	const uint64_t after = due_ns > first ? due_ns - first : 0;

	return after > UINT64_MAX - s->begin_ns ? UINT64_MAX
						: s->begin_ns + after;
}

static enum status
send_packet(struct sender *s)
{
	const uint64_t due = schedule_due_ns(&s->schedule);
	const struct trace_stream *from;
	struct client_packet packet;
	enum status st = OK;

	if (s->options->realtime)
		st = wait_until(s, due_at(s, due));
	if (st != OK)
		return st;
	st = schedule_take(&s->schedule, &packet, &from);
	if (st != OK) {
		report_error(s->report, "%s/%s: the file has changed",
		    from->trace->path, from->name);
		return st;
	}
	s->sent_ns = due;
	return s->out->ops->packet(s->out, from->number, &packet);
}

static enum status
send_packets(struct sender *s)
{
	enum status st = OK;

	s->phase = PROGRESS_SENDING;
	s->begin_ns = s->beacon_ns = clock_now_ns();
	s->sent_ns = s->schedule.first_ns;
	while (st == OK && !schedule_is_empty(&s->schedule)) {
		st = goes_on(s) ? send_packet(s) : E_STOPPED;
		if (st == OK)
			st = send_beacons(s);
	}
	return st == OK ? s->out->ops->flush(s->out) : st;
}

/* A signal arrived: close the session without the packets that are left, if the
 * relay answers soon. */
static void
end_early(struct sender *s)
{
	s->out->ops->cut(s->out);
	s->phase = PROGRESS_ENDING;
	s->stop_ns = clock_now_ns() + STOP_NS;
	if (s->out->ops->finish(s->out) == E_STOPPED)
		report_error(s->report,
		    "the relay does not answer: the session was not closed");
}

static enum status
run(struct sender *s)
{
	enum status st = announce(s);

	if (st == OK)
		st = send_packets(s);
	if (st == OK) {
		s->phase = PROGRESS_LINGERING;
		s->linger_ns = clock_now_ns() +
			       (uint64_t)(s->options->linger_s * 1000) *
				   NS_PER_MS;
		st = wait_until(s, s->linger_ns);
	}
	if (st == OK) {
		s->phase = PROGRESS_FINISHING;
		st = s->out->ops->finish(s->out);
	}
	if (st == E_STOPPED)
		end_early(s);
	report_progress_end(s->report);
	if (s->out->ops->error(s->out)[0] != '\0')
		report_error(s->report, "%s", s->out->ops->error(s->out));
	report_session(s->report, s->out, s->traces);
	s->out->ops->destroy(s->out);
	return st;
}

struct send_session
sender_session(const struct send_options *o, const char *name)
{
	static char host[HOST_NAME_MAX + 1] = "localhost";

	(void)gethostname(host, sizeof(host) - 1);
	return (struct send_session){
		.name = o->session != NULL ? o->session : name,
		.hostname = o->hostname != NULL ? o->hostname : host,
		.live_timer_us = o->live_timer_us,
	};
}

enum status
sender_run(const struct send_options *o, struct send_sink *sink,
    struct traces *t, struct report *r, volatile sig_atomic_t *stop)
{
	struct sender s = {
		.options = o, .traces = t, .report = r, .stop = stop
	};
	const struct send_output_config config = {
		.session = sender_session(o, t->name),
		.goes_on = goes_on,
		.arg = &s,
	};
	char why[SEND_ERROR_MAX];
	enum status st = schedule_init(&s.schedule, t);

	if (st != OK)
		(void)snprintf(why, sizeof(why), "%s", status_text(st));
	else
		st = sink->ops->open(sink, &config, &s.out, why);
	if (st == OK)
		st = run(&s);
	else if (why[0] != '\0')
		report_error(r, "%s", why);
	schedule_free(&s.schedule);
	return st;
}
