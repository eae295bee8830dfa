/* SPDX-License-Identifier: MIT */
#include "tools/ctl/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "tools/ctl/pages.h"
#include "tools/ctl/text_table.h"
#include "tools/ctl/text.h"

/* Sessions that are listed for a name that several have. */
#define CANDIDATES_MAX 20

void
session_read(struct relay_session *s, struct json_answer *a, json_t *j)
{
	*s = (struct relay_session){
		.json = j,
		.id = answer_number(a, j, "id"),
		.host = answer_text(a, j, "host"),
		.name = answer_text(a, j, "name"),
		.state = answer_text(a, j, "state"),
		.why = answer_text(a, j, "why"),
		.why_text = answer_text(a, j, "why_text"),
		.path = answer_text(a, j, "path"),
		.peer = answer_text(a, j, "peer"),
		.transport = answer_text(a, j, "transport"),
		.is_snapshot = answer_bool(a, j, "is_snapshot"),
		.live_timer_us = answer_number(a, j, "live_timer_us"),
		.began = answer_number(a, j, "began"),
		.duration = answer_real(a, j, "duration_seconds"),
		.streams = answer_number(a, j, "open_streams"),
		.viewers = answer_number(a, j, "open_viewers"),
		.received_bytes = answer_number(a, j, "received_bytes"),
		.received_packets = answer_number(a, j, "received_packets"),
		.written_bytes = answer_number(a, j, "written_bytes"),
		.sent_bytes = answer_number(a, j, "sent_bytes"),
		.held_bytes = answer_number(a, j, "held_bytes"),
		.lost_packets = answer_number(a, j, "lost_packets"),
		.rate = -1,
	};
	s->is_active = strcmp(s->state, "closed") != 0;
}

const char *
session_kind(const struct relay_session *s)
{
	return s->is_snapshot	      ? "snapshot"
	       : s->live_timer_us > 0 ? "live"
				      : "disk";
}

static int
compare_ids(const void *a, const void *b)
{
	const uint64_t x = ((const struct relay_session *)a)->id;
	const uint64_t y = ((const struct relay_session *)b)->id;

	return x < y ? -1 : x > y;
}

static enum status
read_all(struct sessions *s, struct json_answer *a)
{
	const json_t *list = answer_array(a, s->answer, "sessions");
	json_t *j;
	size_t i;

	s->n = json_array_size(list);
	s->has_more = json_is_integer(json_object_get(s->answer, "next"));
	s->all = ctl_memory(calloc(s->n + 1, sizeof(*s->all)));
	json_array_foreach(list, i, j) session_read(&s->all[i], a, j);
	qsort(s->all, s->n, sizeof(*s->all), compare_ids);
	return list == NULL || a->wrong != NULL ? E_MALFORMED : OK;
}

enum status
sessions_load(
    struct ctl *c, const char *state, const char *host, struct sessions *out)
{
	char *by_state = pages_query("state", state);
	char *by_host = pages_query("host", host);
	char *query = ctl_text("%s%s", by_state, by_host);
	struct json_answer a = { 0 };
	enum status st;

	*out = (struct sessions){ 0 };
	st = pages_fetch(
	    c->fetch, "/api/v1/sessions", "sessions", query, &out->answer);
	if (st == OK) {
		st = read_all(out, &a);
		if (st == E_MALFORMED)
			fetch_refuse(
			    c->fetch, a.wrong != NULL ? a.wrong : "sessions");
	}
	free(by_state);
	free(by_host);
	free(query);
	if (st != OK)
		sessions_free(out);
	return st;
}

void
sessions_free(struct sessions *s)
{
	json_decref(s->answer);
	free(s->all);
	*s = (struct sessions){ 0 };
}

bool
session_is_called(const struct relay_session *s, const char *text)
{
	uint64_t id;

	return ctl_is_called(text, s->host, s->name) ||
	       (parse_u64(text, 0, UINT64_MAX, &id) == OK && id == s->id);
}

/* List the sessions of that name on standard error. */
static void
print_candidates(
    const struct ctl *c, const struct sessions *s, const char *text)
{
	static const struct column columns[] = {
		{ "NUMBER", COLUMN_NUMBER, 0, "id", table_cell_number },
		{ "HOST", COLUMN_TEXT, 0, "host", table_cell_text },
		{ "NAME", COLUMN_TEXT, 0, "name", table_cell_text },
		{ "STATE", COLUMN_WORD, 0, "state", table_cell_text },
		{ "BEGAN", COLUMN_WORD, 1, "began", table_cell_time },
	};
	struct terminal to = { .out = stderr, .columns = c->terminal.columns };
	struct json_answer a = { 0 };
	struct text_table t;

	text_table_begin(&t, columns, ARRAY_LEN(columns));
	/* The newest first: they are most likely the ones. */
	for (size_t i = s->n; i-- > 0 && text_table_rows(&t) < CANDIDATES_MAX;)
		if (session_is_called(&s->all[i], text))
			text_table_add_object(&t, &a, s->all[i].json);
	text_table_print(&t, &to, 0, SIZE_MAX);
	text_table_free(&t);
}

bool
session_find(const struct ctl *c, const struct sessions *s, const char *text,
    const struct relay_session **out)
{
	const struct relay_session *active = NULL, *any = NULL;
	unsigned n_active = 0, n = 0;
	char shown[256];

	for (size_t i = 0; i < s->n; i++) {
		if (!session_is_called(&s->all[i], text))
			continue;
		n++;
		any = &s->all[i];
		if (any->is_active) {
			n_active++;
			active = any;
		}
	}
	text_escape(shown, sizeof(shown), text);
	if (n == 1 || n_active == 1) {
		*out = n == 1 ? any : active;
		return true;
	}
	if (n == 0) {
		(void)ctl_fail("%s: no such session", shown);
		return false;
	}
	(void)ctl_fail("%s: %u sessions have this name%s", shown, n,
	    n > CANDIDATES_MAX ? "; these are the newest" : "");
	print_candidates(c, s, text);
	return false;
}
