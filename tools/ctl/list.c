/* SPDX-License-Identifier: MIT */
/* tracepulse sessions */
#include <stdio.h>

#include "tools/ctl/ctl.h"
#include "tools/ctl/session.h"
#include "tools/ctl/text_table.h"

/* "active", or why it ended. */
static void
cell_state(struct text_table *t, struct json_answer *a, const json_t *j,
    const char *member)
{
	const char *why = answer_text(a, j, "why");

	text_table_add(
	    t, TONE_PLAIN, why[0] != '\0' ? why : answer_text(a, j, member));
}

static void
cell_kind(struct text_table *t, struct json_answer *a, const json_t *j,
    const char *member)
{
	struct relay_session s;

	session_read(&s, a, (json_t *)(uintptr_t)j);
	text_table_add(t, TONE_PLAIN, session_kind(&s));
}

static const struct column short_columns[] = {
	{ "NUMBER", COLUMN_NUMBER, 5, "id", table_cell_number },
	{ "HOST", COLUMN_TEXT, 0, "host", table_cell_text },
	{ "NAME", COLUMN_TEXT, 0, "name", table_cell_text },
	{ "STATE", COLUMN_WORD, 3, "state", cell_state },
	{ "AGE", COLUMN_NUMBER, 2, "duration_seconds", table_cell_duration },
	{ "RECEIVED", COLUMN_NUMBER, 1, "received_bytes", table_cell_bytes },
	{ "STREAMS", COLUMN_NUMBER, 6, "open_streams", table_cell_number },
	{ "VIEWERS", COLUMN_NUMBER, 4, "open_viewers", table_cell_number },
	{ "LOST", COLUMN_NUMBER, 0, "lost_packets", table_cell_lost },
};

static const struct column long_columns[] = {
	{ "NUMBER", COLUMN_NUMBER, 0, "id", table_cell_number },
	{ "HOST", COLUMN_TEXT, 0, "host", table_cell_text },
	{ "NAME", COLUMN_TEXT, 0, "name", table_cell_text },
	{ "STATE", COLUMN_WORD, 0, "state", cell_state },
	{ "BEGAN", COLUMN_WORD, 0, "began", table_cell_time },
	{ "AGE", COLUMN_NUMBER, 0, "duration_seconds", table_cell_duration },
	{ "RECEIVED", COLUMN_NUMBER, 0, "received_bytes", table_cell_bytes },
	{ "PACKETS", COLUMN_NUMBER, 0, "received_packets", table_cell_number },
	{ "STREAMS", COLUMN_NUMBER, 0, "open_streams", table_cell_number },
	{ "VIEWERS", COLUMN_NUMBER, 0, "open_viewers", table_cell_number },
	{ "LOST", COLUMN_NUMBER, 0, "lost_packets", table_cell_lost },
	{ "HELD", COLUMN_NUMBER, 0, "held_bytes", table_cell_bytes },
	{ "KIND", COLUMN_WORD, 0, NULL, cell_kind },
	{ "BY", COLUMN_WORD, 0, "transport", table_cell_text },
	{ "PEER", COLUMN_WORD, 0, "peer", table_cell_text },
	{ "PATH", COLUMN_WORD, 0, "path", table_cell_text },
};

static void
print_list(const struct ctl *c, const struct sessions *s)
{
	struct terminal to = c->terminal;
	struct json_answer a = { 0 };
	struct text_table t;

	if (s->n == 0) {
		fprintf(stderr, "tracepulse: no sessions%s\n",
		    c->options.all ? ""
				   : " are open (those that ended: --all)");
		return;
	}
	if (c->options.is_long) {
		to.columns = 0; /* lines may be longer than the terminal */
		text_table_begin(&t, long_columns, ARRAY_LEN(long_columns));
	} else {
		text_table_begin(&t, short_columns, ARRAY_LEN(short_columns));
	}
	for (size_t i = 0; i < s->n; i++)
		text_table_add_object(&t, &a, s->all[i].json);
	text_table_print(&t, &to, 0, SIZE_MAX);
	text_table_free(&t);
	if (s->has_more)
		fprintf(stderr,
		    "tracepulse: only %zu sessions are shown; there are more\n",
		    s->n);
}

int
command_sessions(struct ctl *c)
{
	const struct ctl_options *o = &c->options;
	struct sessions s;
	int status = CTL_OK;

	if (sessions_load(c, o->all ? NULL : "active", o->host, &s) != OK)
		return ctl_fail_fetch(c);
	if (o->json)
		status = ctl_print_json(c, s.answer);
	else if (!o->names)
		print_list(c, &s);
	for (size_t i = 0; i < s.n && o->names && !o->json; i++)
		ctl_print_name(s.all[i].host, s.all[i].name);
	sessions_free(&s);
	return status;
}
