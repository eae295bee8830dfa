/* SPDX-License-Identifier: MIT */
/* tracepulse show */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/ctl/ctl.h"
#include "tools/ctl/event.h"
#include "tools/ctl/session.h"
#include "tools/ctl/status.h"
#include "tools/ctl/stored.h"
#include "tools/ctl/text_table.h"
#include "tools/ctl/text.h"

static void
print_summary(
    const struct ctl *c, const struct relay_session *s, const json_t *by_cause)
{
	char text[TEXT_UNIT_MAX], more[TEXT_UNIT_MAX];
	char causes[STATUS_CAUSES_MAX];

	ctl_line(c, "Received", TONE_PLAIN, "%s in %s",
	    text_bytes(text, s->received_bytes),
	    text_count(more, s->received_packets, "packet"));
	ctl_line(c, "Written", TONE_PLAIN, "%s; %s wait in memory",
	    text_bytes(text, s->written_bytes),
	    text_bytes(more, s->held_bytes));
	ctl_line(
	    c, "To viewers", TONE_PLAIN, "%s", text_bytes(text, s->sent_bytes));
	status_causes(causes, by_cause);
	if (s->lost_packets == 0)
		ctl_line(c, "Lost", TONE_GOOD, "nothing");
	else
		ctl_line(c, "Lost", TONE_BAD, "%s (%s)",
		    text_count(text, s->lost_packets, "packet"), causes);
}

static void
print_session(const struct ctl *c, const struct relay_session *s)
{
	char text[TEXT_UNIT_MAX], age[TEXT_UNIT_MAX];

	ctl_line(
	    c, "Session", TONE_HEAD, "%s, number %" PRIu64, s->name, s->id);
	ctl_line(c, "Host", TONE_PLAIN, "%s, from %s by %s", s->host, s->peer,
	    s->transport);
	if (s->why_text[0] != '\0')
		ctl_line(
		    c, "State", TONE_PLAIN, "%s: %s", s->state, s->why_text);
	else
		ctl_line(c, "State", TONE_GOOD, "%s", s->state);
	ctl_line(c, "Began", TONE_PLAIN, "%s, %s %s", text_time(text, s->began),
	    s->is_active ? "open for" : "was open for",
	    text_duration(age, s->duration));
	if (s->live_timer_us > 0)
		ctl_line(c, "Kind", TONE_PLAIN, "live, timer of %" PRIu64 " ms",
		    s->live_timer_us / 1000);
	else
		ctl_line(c, "Kind", TONE_PLAIN, "%s", session_kind(s));
	ctl_line(c, "Path", TONE_PLAIN, "%s%s", s->path,
	    !s->is_active && stored_is_gone(c, s->path)
		? ", no longer on the relay's disk"
		: "");
}

static const struct column stream_columns[] = {
	{ "STREAM", COLUMN_TEXT, 0, "name", table_cell_text },
	{ "WRITTEN", COLUMN_NUMBER, 0, "written_bytes", table_cell_bytes },
	{ "PACKETS", COLUMN_NUMBER, 2, "written_packets", table_cell_number },
	{ "HELD", COLUMN_NUMBER, 1, "held_bytes", table_cell_bytes },
	{ "LOST", COLUMN_NUMBER, 0, "lost_packets", table_cell_lost },
};
static const struct column viewer_columns[] = {
	{ "VIEWER", COLUMN_TEXT, 0, "peer", table_cell_text },
	{ "STREAMS", COLUMN_NUMBER, 1, "streams", table_cell_number },
	{ "MISSED", COLUMN_NUMBER, 0, "lost_packets", table_cell_number },
};

static void
print_table(const struct ctl *c, struct json_answer *a, const json_t *list,
    const struct column *columns, unsigned n)
{
	struct text_table t;

	if (json_array_size(list) == 0)
		return;
	text_table_begin(&t, columns, n);
	text_table_add_list(&t, a, list);
	putc('\n', c->terminal.out);
	text_table_print(&t, &c->terminal, 0, SIZE_MAX);
	text_table_free(&t);
}

static void
print_messages(const struct ctl *c, struct json_answer *a, const json_t *list)
{
	const json_t *j;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	putc('\n', c->terminal.out);
	json_array_foreach(list, i, j) event_print(&c->terminal, a,
	    answer_text(a, j, "event"), j, EVENT_OF_ONE_SESSION);
}

static int
print_all(struct ctl *c, json_t *j)
{
	struct json_answer a = { 0 };
	struct relay_session s;

	session_read(&s, &a, j);
	print_session(c, &s);
	print_summary(c, &s, answer_object(&a, j, "lost_by_cause"));
	print_table(c, &a, answer_array(&a, j, "streams"), stream_columns,
	    ARRAY_LEN(stream_columns));
	print_table(c, &a, answer_array(&a, j, "viewers"), viewer_columns,
	    ARRAY_LEN(viewer_columns));
	print_messages(c, &a, answer_array(&a, j, "messages"));
	if (a.wrong == NULL)
		return CTL_OK;
	(void)fetch_refuse(c->fetch, a.wrong);
	return ctl_fail_fetch(c);
}

int
command_show(struct ctl *c)
{
	const struct relay_session *one;
	struct sessions s;
	char path[64];
	json_t *j;
	int status;

	if (sessions_load(c, NULL, NULL, &s) != OK)
		return ctl_fail_fetch(c);
	if (!session_find(c, &s, c->options.operands[0], &one)) {
		sessions_free(&s);
		return CTL_FAILED;
	}
	snprintf(path, sizeof(path), "/api/v1/sessions/%" PRIu64, one->id);
	sessions_free(&s);
	if (fetch_json(c->fetch, path, false, &j) != OK)
		return ctl_fail_fetch(c);
	status = c->options.json ? ctl_print_json(c, j) : print_all(c, j);
	json_decref(j);
	return status;
}
