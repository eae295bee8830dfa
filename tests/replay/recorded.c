/* SPDX-License-Identifier: MIT */
#include "tests/replay/recorded.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/reader.h"
#include "proto/data.h"
#include "proto/frame.h"
#include "proto/relay.h"

static void *
grow(void *p, size_t n, size_t size)
{
	/* doubling, at powers of two */
	if ((n & (n - 1)) == 0)
		p = realloc(p, (n == 0 ? 1 : 2 * n) * size);
	if (p == NULL)
		err(EXIT_FAILURE, "recorded");
	return p;
}

static uint64_t
get_u64(const uint8_t *p)
{
	struct reader r = reader_over(p, 8);

	return reader_u64(&r);
}

static uint32_t
get_u32(const uint8_t *p)
{
	struct reader r = reader_over(p, 4);

	return reader_u32(&r);
}

/* Handle N is N << 8 on worker 0: moved up by one byte. */
static void
translate(uint8_t *p)
{
	memmove(p, p + 1, 7);
	p[7] = 0;
}

static void
translate_request(uint8_t *body, size_t size, uint32_t cmd)
{
	switch ((enum relay_cmd)cmd) {
	case RELAY_CMD_send_metadata:
	case RELAY_CMD_close_stream:
	case RELAY_CMD_data_pending:
	case RELAY_CMD_quiescent_control:
	case RELAY_CMD_send_index:
	case RELAY_CMD_reset_metadata:
		translate(body);
		break;
	case RELAY_CMD_rotate_streams:
		for (uint32_t i = 0, n = get_u32(body); i < n; i++)
			translate(body + size - (size_t)16 * (n - i));
		break;
	default:
		break;
	}
}

static size_t
reply_len(uint32_t cmd, const uint8_t *reply)
{
	switch ((enum relay_cmd)cmd) {
	case RELAY_CMD_create_session:
		return 16 + get_u32(reply + 12);
	case RELAY_CMD_close_trace_chunk:
		return 8 + get_u32(reply + 4);
	case RELAY_CMD_add_stream:
	case RELAY_CMD_get_configuration:
		return 12;
	case RELAY_CMD_version:
		return 8;
	case RELAY_CMD_trace_chunk_exists:
		return 5;
	case RELAY_CMD_send_metadata:
		return 0;
	default:
		return 4;
	}
}

static struct recorded_message *
add_message(struct recorded_wire *w, size_t start, size_t end)
{
	struct recorded_message *m;

	if (end > w->sent.n)
		errx(EXIT_FAILURE, "%s ends in mid-message", w->name);
	w->messages = grow(w->messages, w->n, sizeof(*m));
	m = &w->messages[w->n++];
	*m = (struct recorded_message){ .start = start, .end = end };
	return m;
}

static void
cut_control(struct recorded_wire *w)
{
	size_t at = 0, reply = 0;

	while (at < w->sent.n) {
		uint8_t *p = w->sent.p + at;
		size_t size = (size_t)get_u64(p + 8);
		struct recorded_message *m = add_message(
		    w, at, at + RELAY_HEADER_LEN + size);

		m->cmd = get_u32(p + 16);
		translate_request(p + RELAY_HEADER_LEN, size, m->cmd);
		m->reply = reply;
		m->reply_len = reply_len(m->cmd, w->replies.p + reply);
		if (m->cmd == RELAY_CMD_add_stream)
			translate(w->replies.p + reply);
		reply += m->reply_len;
		at = m->end;
	}
	if (reply != w->replies.n)
		errx(EXIT_FAILURE, "%s: replies do not match", w->name);
}

static void
cut_data(struct recorded_wire *w)
{
	for (size_t at = 0; at < w->sent.n;) {
		uint8_t *p = w->sent.p + at;
		struct recorded_message *m = add_message(
		    w, at, at + DATA_HEADER_LEN + get_u32(p + 24));

		m->handle = get_u64(p + 8);
		translate(p + 8);
		at = m->end;
	}
}

static struct bytes
load(const char *vector, const char *file, const char *end)
{
	char path[256];

	(void)snprintf(
	    path, sizeof(path), "tests/vectors/%s/%s%s", vector, file, end);
	return bytes_source_file(path);
}

static unsigned
wire_of(struct recorded *r, const char *name)
{
	struct recorded_wire *w;
	unsigned i;

	for (i = 0; i < r->n_wires; i++)
		if (strcmp(r->wires[i].name, name) == 0)
			return i;
	if (i == RECORDED_WIRES)
		errx(EXIT_FAILURE, "%s: too many connections", r->name);
	w = &r->wires[r->n_wires++];
	(void)snprintf(w->name, sizeof(w->name), "%s", name);
	w->is_data = name[0] == 'd';
	w->sent = load(r->name, name, ".c2s.bin");
	if (w->is_data) {
		cut_data(w);
	} else {
		w->replies = load(r->name, name, ".s2c.bin");
		cut_control(w);
	}
	for (size_t k = 0; k < w->n; k++)
		if (w->messages[k].end - w->messages[k].start > r->longest)
			r->longest = w->messages[k].end - w->messages[k].start;
	return i;
}

/* Did a stream of the rotation P rotate before? */
static bool
is_again(struct recorded_wire *w, const uint8_t *p, size_t size)
{
	uint64_t bit;
	bool again = false;

	for (uint32_t i = 0, n = get_u32(p); i < n; i++) {
		bit = UINT64_C(1)
		      << (get_u64(p + size - (size_t)16 * (n - i)) >> 8) % 64;
		again = again || (w->rotated & bit) != 0;
		w->rotated |= bit;
	}
	return again;
}

/* The messages of control connection W that begin between FROM and TO. */
static void
note_data(struct recorded_wire *w, size_t from, size_t to, size_t data)
{
	for (size_t i = 0; i < w->n; i++) {
		struct recorded_message *m = &w->messages[i];
		size_t body = m->start + RELAY_HEADER_LEN;

		if (m->start >= from && m->start < to &&
		    m->cmd == RELAY_CMD_rotate_streams &&
		    is_again(w, w->sent.p + body, m->end - body))
			m->data_needed = data;
	}
}

static void
add_event(struct recorded *r, const char *line)
{
	char name[8], kind[16];
	struct recorded_event e = { 0 };
	size_t offset, n;

	if (sscanf(line, "%*f %7s %15s %zu %zu", name, kind, &offset, &n) != 4)
		errx(EXIT_FAILURE, "%s: timeline: %s", r->name, line);
	if (strcmp(kind, "open") == 0)
		e.kind = RECORDED_OPEN;
	else if (strcmp(kind, "c2s") == 0)
		e.kind = RECORDED_SENT;
	else if (strcmp(kind, "c2s-fin") == 0)
		e.kind = RECORDED_FIN;
	else
		return;
	e.wire = wire_of(r, name);
	e.end = offset + n;
	if (e.kind == RECORDED_SENT && !r->wires[e.wire].is_data)
		note_data(&r->wires[e.wire], offset, e.end,
		    r->wires[e.wire + 1].said);
	if (e.kind == RECORDED_SENT)
		r->wires[e.wire].said = e.end;
	r->events = grow(r->events, r->n_events, sizeof(e));
	r->events[r->n_events++] = e;
}

struct recorded *
recorded_load(const char *name)
{
	struct recorded *r = calloc(1, sizeof(*r));
	struct bytes timeline;
	char *line, *save, *text;

	if (r == NULL)
		err(EXIT_FAILURE, "recorded");
	r->name = name;
	r->tree = load(name, "expected-tree.txt", "");
	timeline = load(name, "timeline.tsv", "");
	text = strndup((char *)timeline.p, timeline.n);
	if (text == NULL)
		err(EXIT_FAILURE, "recorded");
	line = strtok_r(text, "\n", &save); /* the heading */
	while ((line = strtok_r(NULL, "\n", &save)) != NULL)
		add_event(r, line);
	free(text);
	free(timeline.p);
	return r;
}

void
recorded_free(struct recorded *r)
{
	for (unsigned i = 0; i < r->n_wires; i++) {
		free(r->wires[i].sent.p);
		free(r->wires[i].replies.p);
		free(r->wires[i].messages);
	}
	free(r->events);
	free(r->tree.p);
	free(r);
}
