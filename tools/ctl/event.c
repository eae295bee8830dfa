/* SPDX-License-Identifier: MIT */
#include "tools/ctl/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/fetch.h"
#include "tools/ctl/text.h"

/* Copy a value that fits and is visible ASCII: ids are sent back to the
 * relay. */
static void
take_word(char *out, size_t size, const char *value)
{
	const size_t n = strlen(value);

	for (size_t i = 0; i < n; i++)
		if (value[i] <= ' ' || value[i] > '~')
			return;
	if (n < size)
		memcpy(out, value, n + 1);
}

/* An empty line ends the event. */
static bool
dispatch(struct event_stream *e, event_fn *take, void *arg)
{
	bool goes_on = true;

	if (buf_len(&e->data) > 0) {
		buf_u8(&e->data, 0);
		if (e->data.bad)
			e->is_bad = true;
		else
			goes_on = take(
			    e, (const char *)buf_data(&e->data), arg);
	}
	buf_truncate(&e->data, 0);
	e->kind[0] = '\0';
	return goes_on && !e->is_bad;
}

/* LINE ends with a NUL (the HTML standard, "Server-sent events", 9.2.6). */
static bool
take_line(struct event_stream *e, char *line, event_fn *take, void *arg)
{
	char *value = strchr(line, ':');

	if (line[0] == '\0')
		return dispatch(e, take, arg);
	if (value == line || value == NULL)
		return true; /* a comment, or a field without a value */
	*value++ = '\0';
	value += *value == ' ';
	if (strcmp(line, "event") == 0) {
		take_word(e->kind, sizeof(e->kind), value);
	} else if (strcmp(line, "id") == 0) {
		take_word(e->id, sizeof(e->id), value);
	} else if (strcmp(line, "data") == 0) {
		if (buf_len(&e->data) > 0)
			buf_u8(&e->data, '\n');
		buf_bytes(&e->data, value, strlen(value));
		e->is_bad = e->data.bad || buf_len(&e->data) > EVENT_BYTES_MAX;
	}
	return !e->is_bad;
}

/* The line is complete. */
static bool
end_line(struct event_stream *e, event_fn *take, void *arg)
{
	bool goes_on;
	char *line;

	buf_u8(&e->line, 0);
	if (e->line.bad) {
		e->is_bad = true;
		return false;
	}
	line = (char *)e->line.mem + e->line.start;
	if (strlen(line) > 0 && line[strlen(line) - 1] == '\r')
		line[strlen(line) - 1] = '\0';
	goes_on = take_line(e, line, take, arg);
	buf_truncate(&e->line, 0);
	return goes_on;
}

bool
event_stream_take(
    struct event_stream *e, const char *p, size_t n, event_fn *take, void *arg)
{
	const char *end;
	size_t len;

	while (n > 0 && !e->is_bad) {
		end = memchr(p, '\n', n);
		len = end == NULL ? n : (size_t)(end - p);
		if (buf_len(&e->line) + len > EVENT_BYTES_MAX) {
			e->is_bad = true;
			break;
		}
		buf_bytes(&e->line, p, len);
		e->is_bad = e->line.bad;
		if (end == NULL)
			break;
		if (!end_line(e, take, arg))
			return false;
		p += len + 1;
		n -= len + 1;
	}
	return !e->is_bad;
}

void
event_stream_free(struct event_stream *e)
{
	buf_free(&e->line);
	buf_free(&e->data);
	*e = (struct event_stream){ 0 };
}

/* Members that are shown in words, or not at all; others are shown as
 * NAME=VALUE. */
static const char *const known_members[] = { "time", "id", "host", "name",
	"event", "lost_packets", "cause", "why", "received_bytes",
	"duration_seconds",
	/* Not shown. */
	"received_packets", "written_bytes", "written_packets", "index_records",
	"metadata_bytes", "lost_by_cause" };

static bool
is_known_member(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(known_members); i++)
		if (strcmp(name, known_members[i]) == 0)
			return true;
	return false;
}

static void
put_escaped(const struct terminal *t, const char *before, const char *text)
{
	char *escaped = text_escaped(text);

	fprintf(t->out, "%s%s", before, escaped);
	free(escaped);
}

/* Print " name=value" for all other members. */
static void
put_rest(const struct terminal *t, const json_t *j)
{
	const char *name;
	json_t *value;
	char *text;

	json_object_foreach((json_t *)(uintptr_t)j, name, value)
	{
		if (is_known_member(name))
			continue;
		put_escaped(t, " ", name);
		if (json_is_string(value)) {
			put_escaped(t, "=", json_string_value(value));
			continue;
		}
		text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
		put_escaped(t, "=", text == NULL ? "?" : text);
		fetch_free_text(text);
	}
}

static void
put_known(const struct terminal *t, struct json_answer *a, const json_t *j)
{
	char text[TEXT_UNIT_MAX];

	if (json_object_get(j, "why") != NULL)
		put_escaped(t, " ", answer_text(a, j, "why"));
	if (json_object_get(j, "duration_seconds") != NULL)
		fprintf(t->out, " after %s",
		    text_duration(text, answer_real(a, j, "duration_seconds")));
	if (json_object_get(j, "received_bytes") != NULL)
		fprintf(t->out, ", %s",
		    text_bytes(text, answer_number(a, j, "received_bytes")));
	if (answer_number(a, j, "lost_packets") > 0)
		fprintf(t->out, "%s%s lost",
		    json_object_get(j, "why") != NULL ? ", " : " ",
		    text_count(
			text, answer_number(a, j, "lost_packets"), "packet"));
	if (json_object_get(j, "cause") != NULL)
		put_escaped(t, ": ", answer_text(a, j, "cause"));
}

void
event_print(const struct terminal *t, struct json_answer *a, const char *kind,
    const json_t *j, enum event_place place)
{
	const bool is_loss = answer_number(a, j, "lost_packets") > 0;
	char time[TEXT_UNIT_MAX], escaped[EVENT_KIND_MAX * 4];

	fprintf(t->out, "%s  ", text_time(time, answer_number(a, j, "time")));
	text_escape(escaped, sizeof(escaped), kind);
	terminal_put(t, is_loss ? TONE_BAD : TONE_HEAD, escaped);
	if (place == EVENT_OF_ANY_SESSION &&
	    json_object_get(j, "name") != NULL) {
		put_escaped(t, "  ", answer_text(a, j, "host"));
		put_escaped(t, "/", answer_text(a, j, "name"));
	}
	put_known(t, a, j);
	put_rest(t, j);
	putc('\n', t->out);
}
