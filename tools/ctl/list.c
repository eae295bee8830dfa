/* SPDX-License-Identifier: MIT */
/* tracepulse sessions */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/ctl/ctl.h"
#include "tools/ctl/session.h"
#include "tools/ctl/table.h"
#include "tools/ctl/text.h"

static const struct column short_columns[] = {
	{ "NUMBER", COLUMN_NUMBER, 5 },
	{ "HOST", COLUMN_TEXT, 0 },
	{ "NAME", COLUMN_TEXT, 0 },
	{ "STATE", COLUMN_WORD, 3 },
	{ "AGE", COLUMN_NUMBER, 2 },
	{ "RECEIVED", COLUMN_NUMBER, 1 },
	{ "STREAMS", COLUMN_NUMBER, 6 },
	{ "VIEWERS", COLUMN_NUMBER, 4 },
	{ "LOST", COLUMN_NUMBER, 0 },
};

static const struct column long_columns[] = {
	{ "NUMBER", COLUMN_NUMBER, 0 },
	{ "HOST", COLUMN_TEXT, 0 },
	{ "NAME", COLUMN_TEXT, 0 },
	{ "STATE", COLUMN_WORD, 0 },
	{ "BEGAN", COLUMN_WORD, 0 },
	{ "AGE", COLUMN_NUMBER, 0 },
	{ "RECEIVED", COLUMN_NUMBER, 0 },
	{ "PACKETS", COLUMN_NUMBER, 0 },
	{ "STREAMS", COLUMN_NUMBER, 0 },
	{ "VIEWERS", COLUMN_NUMBER, 0 },
	{ "LOST", COLUMN_NUMBER, 0 },
	{ "HELD", COLUMN_NUMBER, 0 },
	{ "KIND", COLUMN_WORD, 0 },
	{ "BY", COLUMN_WORD, 0 },
	{ "PEER", COLUMN_WORD, 0 },
	{ "PATH", COLUMN_WORD, 0 },
};

static enum tone
tone_of_lost(uint64_t n)
{
	return n > 0 ? TONE_BAD : TONE_PLAIN;
}

/* "active", or why it ended. */
static const char *
state_of(const struct session *s)
{
	return s->why[0] != '\0' ? s->why : s->state;
}

static void
add_short(struct table *t, const struct session *s)
{
	char text[TEXT_UNIT_MAX];

	table_addf(t, TONE_PLAIN, "%" PRIu64, s->id);
	table_add(t, TONE_PLAIN, s->host);
	table_add(t, TONE_PLAIN, s->name);
	table_add(t, TONE_PLAIN, state_of(s));
	table_add(t, TONE_PLAIN, text_duration(text, s->duration));
	table_add(t, TONE_PLAIN, text_bytes(text, s->received_bytes));
	table_addf(t, TONE_PLAIN, "%" PRIu64, s->streams);
	table_addf(t, TONE_PLAIN, "%" PRIu64, s->viewers);
	table_addf(
	    t, tone_of_lost(s->lost_packets), "%" PRIu64, s->lost_packets);
}

static void
add_long(struct table *t, const struct session *s)
{
	char text[TEXT_UNIT_MAX];

	table_addf(t, TONE_PLAIN, "%" PRIu64, s->id);
	table_add(t, TONE_PLAIN, s->host);
	table_add(t, TONE_PLAIN, s->name);
	table_add(t, TONE_PLAIN, state_of(s));
	table_add(t, TONE_PLAIN, text_time(text, s->began));
	table_add(t, TONE_PLAIN, text_duration(text, s->duration));
	table_add(t, TONE_PLAIN, text_bytes(text, s->received_bytes));
	table_addf(t, TONE_PLAIN, "%" PRIu64, s->received_packets);
	table_addf(t, TONE_PLAIN, "%" PRIu64, s->streams);
	table_addf(t, TONE_PLAIN, "%" PRIu64, s->viewers);
	table_addf(
	    t, tone_of_lost(s->lost_packets), "%" PRIu64, s->lost_packets);
	table_add(t, TONE_PLAIN, text_bytes(text, s->held_bytes));
	table_add(t, TONE_PLAIN, session_kind(s));
	table_add(t, TONE_PLAIN, s->transport);
	table_add(t, TONE_PLAIN, s->peer);
	table_add(t, TONE_PLAIN, s->path);
}

static int
print_list(const struct ctl *c, const struct sessions *s)
{
	const bool is_long = c->options.is_long;
	/* What asks for all columns takes longer lines for them. */
	struct terminal to = c->terminal;
	bool lacks_memory;
	struct table t;

	if (s->n == 0) {
		fprintf(stderr, "tracepulse: no sessions%s\n",
		    c->options.all ? ""
				   : " are open (those that ended: --all)");
		return CTL_OK;
	}
	if (is_long) {
		to.columns = 0;
		table_begin(&t, long_columns, ARRAY_LEN(long_columns));
	} else {
		table_begin(&t, short_columns, ARRAY_LEN(short_columns));
	}
	for (size_t i = 0; i < s->n; i++)
		(is_long ? add_long : add_short)(&t, &s->all[i]);
	lacks_memory = t.lacks_memory;
	if (!lacks_memory)
		table_print(&t, &to, 0, SIZE_MAX);
	table_free(&t);
	if (s->has_more)
		fprintf(stderr, "tracepulse: there are more than these %zu\n",
		    s->n);
	return lacks_memory ? ctl_fail("out of memory") : CTL_OK;
}

static int
print_names(const struct sessions *s)
{
	for (size_t i = 0; i < s->n; i++)
		ctl_print_name(s->all[i].host, s->all[i].name);
	return CTL_OK;
}

int
command_sessions(struct ctl *c)
{
	const struct ctl_options *o = &c->options;
	struct sessions s;
	int status;

	if (sessions_load(c, o->all ? NULL : "active", o->host, &s) != OK)
		return ctl_fail_fetch(c);
	if (o->json)
		status = ctl_print_json(c, s.answer);
	else
		status = o->names ? print_names(&s) : print_list(c, &s);
	sessions_free(&s);
	return status;
}
