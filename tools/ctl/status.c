/* SPDX-License-Identifier: MIT */
/* tracepulse status */
#include "tools/ctl/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/ctl/ctl.h"
#include "tools/ctl/text.h"

/* Do not report a disk that will be full later than this. */
#define FULL_SOON_S (30.0 * 86400)

static void
add_reason(char *out, size_t n, const char *reason)
{
	const size_t at = strlen(out);

	snprintf(out + at, n - at, "%s%s", at == 0 ? "" : ", ", reason);
}

static void
read_state(struct relay_status *s, struct json_answer *a, const json_t *j)
{
	const json_t *reasons = answer_array(a, j, "reasons"), *one;
	const json_t *threads = answer_array(a, j, "threads");
	size_t i;

	s->is_ready = answer_bool(a, j, "is_ready");
	s->is_healthy = answer_bool(a, j, "is_healthy");
	json_array_foreach(reasons, i, one) if (json_is_string(one))
	    add_reason(s->reasons, sizeof(s->reasons), json_string_value(one));
	json_array_foreach(threads, i, one)
	{
		s->threads++;
		s->busy_threads += strcmp(answer_text(a, one, "state"),
				       "busy") == 0;
	}
}

static void
read_totals(struct relay_status *s, struct json_answer *a, const json_t *j)
{
	const json_t *totals = answer_object(a, j, "totals");
	const json_t *rates = answer_object(a, j, "rates");
	const json_t *sessions = answer_object(a, totals, "sessions");

	/* Older relays have none that wait for their senders. */
	s->sessions = answer_number(a, sessions, "active") +
		      (uint64_t)json_integer_value(
			  json_object_get(sessions, "waiting")) +
		      answer_number(a, sessions, "ending");
	s->streams = answer_number(a, totals, "streams");
	s->viewers = answer_number(a, totals, "viewers");
	s->received_bytes = answer_sum(a, totals, "received_bytes_total");
	s->received_packets = answer_sum(a, totals, "received_packets_total");
	s->written_bytes = answer_number(a, totals, "written_bytes_total");
	s->sent_bytes = answer_number(a, totals, "sent_bytes_total");
	s->lost_packets = answer_sum(a, totals, "lost_packets_total");
	s->lost_by_cause = answer_object(a, totals, "lost_packets_total");
	/* Older relays do not report it. */
	s->cut_sessions = json_integer_value(
	    json_object_get(totals, "sessions_cut"));
	s->received_rate = answer_real(a, rates, "received_bytes_per_second");
	s->packet_rate = answer_real(a, rates, "received_packets_per_second");
	s->written_rate = answer_real(a, rates, "written_bytes_per_second");
	s->sent_rate = answer_real(a, rates, "sent_bytes_per_second");
	s->lost_rate = answer_real(a, rates, "lost_packets_per_second");
}

static void
read_limits(struct relay_status *s, struct json_answer *a, const json_t *j)
{
	const json_t *disk = answer_object(a, j, "disk");
	const json_t *limits = answer_object(a, j, "limits");
	const json_t *memory = answer_object(a, limits, "max_memory");
	const json_t *files = answer_object(a, limits, "descriptors");

	s->output = answer_text(a, disk, "output");
	s->disk_free = answer_number(a, disk, "free_bytes");
	s->disk_total = answer_number(a, disk, "total_bytes");
	s->full_in = json_is_integer(json_object_get(disk, "full_in_seconds"))
			 ? answer_real(a, disk, "full_in_seconds")
			 : -1;
	s->stored = answer_number(a, disk, "use_bytes");
	s->stored_limits = answer_object(a, disk, "limits");
	s->memory = answer_number(a, memory, "used");
	s->memory_limit = answer_number(a, memory, "limit");
	s->descriptors = answer_number(a, files, "used");
	s->descriptors_limit = answer_number(a, files, "limit");
	s->resident = answer_number(a, j, "resident_memory_bytes");
}

enum status
status_load(struct ctl *c, struct relay_status *s)
{
	struct json_answer a = { 0 };
	enum status st;

	*s = (struct relay_status){ 0 };
	st = fetch_json(c->fetch, "/api/v1/status", false, &s->answer);
	if (st != OK)
		return st;
	s->version = answer_text(&a, s->answer, "version");
	s->hostname = answer_text(&a, s->answer, "hostname");
	s->started = answer_number(&a, s->answer, "start_time_seconds");
	s->uptime = answer_number(&a, s->answer, "uptime_seconds");
	s->admin_socket = answer_text(&a, s->answer, "admin_socket");
	s->listeners = answer_object(&a, s->answer, "listeners");
	read_state(s, &a, s->answer);
	read_totals(s, &a, s->answer);
	read_limits(s, &a, s->answer);
	if (json_object_get(s->answer, "is_ready") == NULL)
		a.wrong = "is_ready";
	if (a.wrong == NULL)
		return OK;
	st = fetch_refuse(c->fetch, a.wrong);
	status_free(s);
	return st;
}

void
status_free(struct relay_status *s)
{
	json_decref(s->answer);
	*s = (struct relay_status){ 0 };
}

double
status_disk_percent(const struct relay_status *s)
{
	return s->disk_total == 0
		   ? -1
		   : 100.0 * (double)s->disk_free / (double)s->disk_total;
}

void
status_causes(char out[STATUS_CAUSES_MAX], const json_t *by_cause)
{
	const char *cause;
	json_t *j;
	size_t at = 0;

	out[0] = '\0';
	json_object_foreach((json_t *)(uintptr_t)by_cause, cause, j)
	{
		if (json_integer_value(j) <= 0 || at >= STATUS_CAUSES_MAX)
			continue;
		at += (size_t)snprintf(out + at, STATUS_CAUSES_MAX - at,
		    "%s%s %" JSON_INTEGER_FORMAT, at == 0 ? "" : ", ", cause,
		    json_integer_value(j));
	}
}

static void
print_state(const struct ctl *c, const struct relay_status *s)
{
	if (!s->is_healthy)
		ctl_line(c, "State", TONE_BAD,
		    "not healthy: a thread does not answer%s%s",
		    s->reasons[0] == '\0' ? "" : "; not ready: ", s->reasons);
	else if (!s->is_ready)
		ctl_line(c, "State", TONE_BAD, "not ready: %s", s->reasons);
	else if (s->busy_threads > 0)
		ctl_line(c, "State", TONE_WARNING,
		    "ready, %u of %u threads busy", s->busy_threads,
		    s->threads);
	else if (s->lost_rate > 0)
		ctl_line(c, "State", TONE_WARNING,
		    "ready, but packets are being lost");
	else
		ctl_line(c, "State", TONE_GOOD, "ready");
}

static void
print_losses(const struct ctl *c, const struct relay_status *s)
{
	char causes[STATUS_CAUSES_MAX], rate[TEXT_UNIT_MAX];
	char count[TEXT_UNIT_MAX];

	if (s->lost_packets == 0) {
		ctl_line(c, "Lost", TONE_GOOD, "nothing");
		return;
	}
	status_causes(causes, s->lost_by_cause);
	ctl_line(c, "Lost", s->lost_rate > 0 ? TONE_BAD : TONE_WARNING,
	    "%s (%s), %s/s now", text_count(count, s->lost_packets, "packet"),
	    causes, text_per_second(rate, s->lost_rate));
}

/* The tracers did not notice: the user has to act. */
static void
print_cut(const struct ctl *c, const struct relay_status *s)
{
	char count[TEXT_UNIT_MAX];

	if (s->cut_sessions > 0)
		ctl_line(c, "Cut", TONE_WARNING,
		    "%s interrupted when the relay last ended; destroy and "
		    "create them again",
		    text_count(count, (uint64_t)s->cut_sessions, "session"));
}

void
status_print_limits(const struct ctl *c, const json_t *limits)
{
	static const struct {
		const char *name, *before;
		bool is_time;
	} rows[] = {
		{ "max_use", "at most ", false },
		{ "keep_free", "keep free ", false },
		{ "max_age", "not older than ", true },
	};
	char line[256] = "", text[TEXT_UNIT_MAX];
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const json_t *j = json_object_get(limits, rows[i].name);
		const json_int_t n = json_integer_value(j);

		if (n <= 0)
			continue;
		at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s%s",
		    at == 0 ? "" : ", ", rows[i].before,
		    rows[i].is_time ? text_duration(text, (double)n)
				    : text_bytes(text, (uint64_t)n));
	}
	if (at > 0)
		ctl_line(c, "Limits", TONE_PLAIN, "%s", line);
}

static void
print_disk(const struct ctl *c, const struct relay_status *s)
{
	char free[TEXT_UNIT_MAX], total[TEXT_UNIT_MAX], when[TEXT_UNIT_MAX];
	const bool is_soon = s->full_in >= 0 && s->full_in < FULL_SOON_S;

	if (s->disk_total == 0) {
		ctl_line(c, "Disk", TONE_PLAIN, "%s", s->output);
		return;
	}
	ctl_line(c, "Disk",
	    status_disk_percent(s) < 5 ? TONE_WARNING : TONE_PLAIN,
	    "%s free of %s (%.0f %%)%s%s at %s", text_bytes(free, s->disk_free),
	    text_bytes(total, s->disk_total), status_disk_percent(s),
	    is_soon ? ", at this rate for " : "",
	    is_soon ? text_duration(when, s->full_in) : "", s->output);
}

/* Print "NAME HOST:PORT" or "NAME unix:PATH" of each listener. */
static void
print_ports(const struct ctl *c, const struct relay_status *s)
{
	struct json_answer a = { 0 };
	const char *name, *host;
	char text[512] = "";
	size_t at = 0;
	json_t *j;

	json_object_foreach((json_t *)(uintptr_t)s->listeners, name, j)
	{
		if (at >= sizeof(text))
			break;
		if (json_object_get(j, "path") != NULL) {
			at += (size_t)snprintf(text + at, sizeof(text) - at,
			    "%s%s unix:%s", at == 0 ? "" : ", ", name,
			    answer_text(&a, j, "path"));
			continue;
		}
		host = answer_text(&a, j, "host");
		if (answer_number(&a, j, "port") == 0)
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at,
		    strchr(host, ':') != NULL ? "%s%s [%s]:%u" : "%s%s %s:%u",
		    at == 0 ? "" : ", ", name, host,
		    (unsigned)answer_number(&a, j, "port"));
	}
	if (at > 0)
		ctl_line(c, "Ports", TONE_PLAIN, "%s", text);
}

static void
print_flow(const struct ctl *c, const struct relay_status *s)
{
	char rate[TEXT_UNIT_MAX], all[TEXT_UNIT_MAX], packets[TEXT_UNIT_MAX];
	char count[TEXT_UNIT_MAX];

	ctl_line(c, "Received", TONE_PLAIN, "%s, %s packets/s; %s, %s in all",
	    text_rate(rate, s->received_rate),
	    text_per_second(packets, s->packet_rate),
	    text_bytes(all, s->received_bytes),
	    text_count(count, s->received_packets, "packet"));
	ctl_line(c, "Written", TONE_PLAIN, "%s; %s in all",
	    text_rate(rate, s->written_rate),
	    text_bytes(all, s->written_bytes));
	ctl_line(c, "To viewers", TONE_PLAIN, "%s; %s in all",
	    text_rate(rate, s->sent_rate), text_bytes(all, s->sent_bytes));
}

static void
print_status(const struct ctl *c, const struct relay_status *s)
{
	char up[TEXT_UNIT_MAX], since[TEXT_UNIT_MAX];
	char used[TEXT_UNIT_MAX], limit[TEXT_UNIT_MAX], all[TEXT_UNIT_MAX];

	ctl_line(c, "Relay", TONE_HEAD,
	    "tracepulse-relayd %s%s%s, up %s, since %s", s->version,
	    s->hostname[0] != '\0' ? " on " : "", s->hostname,
	    text_duration(up, (double)s->uptime), text_time(since, s->started));
	print_state(c, s);
	ctl_line(c, "Sessions", TONE_PLAIN, "%" PRIu64 ", with %s; %s",
	    s->sessions, text_count(all, s->streams, "stream"),
	    text_count(used, s->viewers, "viewer"));
	print_flow(c, s);
	print_losses(c, s);
	print_cut(c, s);
	print_disk(c, s);
	if (s->stored > 0)
		ctl_line(
		    c, "Traces", TONE_PLAIN, "%s", text_bytes(all, s->stored));
	status_print_limits(c, s->stored_limits);
	ctl_line(c, "Memory", TONE_PLAIN,
	    "%s of packets, at most %s; %s in all", text_bytes(used, s->memory),
	    text_bytes(limit, s->memory_limit), text_bytes(all, s->resident));
	ctl_line(c, "Descriptors", TONE_PLAIN, "%" PRIu64 " of %" PRIu64,
	    s->descriptors, s->descriptors_limit);
	print_ports(c, s);
}

int
command_status(struct ctl *c)
{
	struct relay_status s;
	int status = CTL_OK;

	if (status_load(c, &s) != OK)
		return ctl_fail_fetch(c);
	if (c->options.json)
		status = ctl_print_json(c, s.answer);
	else
		print_status(c, &s);
	status_free(&s);
	return status;
}
