/* SPDX-License-Identifier: MIT */
#include "tests/replay/player.h"

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "proto/relay.h"
#include "relayd/record/control.h"
#include "relayd/record/ingest.h"
#include "relayd/record/shard.h"
#include "relayd/record/cycle.h"
#include "store/store.h"
#include "tests/lib/fake_fs.h"
#include "tests/lib/one_registry.h"

struct endpoint {
	bool is_open;
	struct control *control;
	struct ingest *ingest;
	size_t fed, used;  /* bytes handed over, bytes understood */
	struct buf out;	   /* replies not compared yet */
	size_t n_answered; /* messages */
};

struct player {
	const struct recorded *r;
	struct shard *shard;
	struct control_config control_config;
	struct account memory;
	struct published session_ids;
	struct endpoint ends[RECORDED_WIRES];
	uint64_t n_streams; /* added */
	char failure[512];
};

static void __attribute__((format(printf, 2, 3)))
fail(struct player *p, const char *fmt, ...)
{
	va_list ap;

	if (p->failure[0] != '\0')
		return;
	va_start(ap, fmt);
	(void)vsnprintf(p->failure, sizeof(p->failure), fmt, ap);
	va_end(ap);
}

struct player *
player_create(const struct recorded *r)
{
	struct player *p = calloc(1, sizeof(*p));
	struct shard_config shard = { .allow_clear = true,
		.max_packet_size = UINT64_C(1) << 28 };
	struct store_config store = { .base_fd = fake_fs_begin(),
		.max_files = 4,
		.index_lock_timeout_ns = NS_PER_S,
		.registry = one_registry() };

	if (p == NULL)
		err(EXIT_FAILURE, "player");
	p->r = r;
	p->control_config.allow_clear = true;
	account_init(&p->memory, UINT64_C(1) << 28, UINT64_C(1) << 29,
	    (UINT64_C(1) << 28) / ACCOUNT_FAIR_PART);
	shard.memory = &p->memory;
	store.memory = &p->memory.used;
	shard.session_ids = &p->session_ids;
	if (shard_create(&p->shard, &shard, &store) != OK)
		errx(EXIT_FAILURE, "player: no shard");
	p->shard->ids.is_sequence = true;
	return p;
}

/* What a worker does at the end of a turn. */
static void
turn_end(struct player *p)
{
	cycle_commit(p->shard);
	(void)cycle_delete_some(p->shard);
	(void)cycle_tick(p->shard, clock_now_ns());
}

void
player_open(struct player *p, unsigned wire)
{
	struct endpoint *e = &p->ends[wire];
	static char peer[] = "recorded";
	enum status st;

	if (p->r->wires[wire].is_data) {
		st = ingest_create(&e->ingest, p->shard, peer, NULL);
	} else {
		st = control_create(&e->control, &p->control_config, peer);
		e->control->shard = p->shard;
	}
	if (st != OK)
		errx(EXIT_FAILURE, "player: no endpoint");
	e->is_open = true;
}

/* Differences that tests/vectors allows. */
static bool
is_equal(const struct recorded_message *m, const uint8_t *want,
    const uint8_t *got, size_t n)
{
	static const uint8_t version[] = { 0, 0, 0, RELAY_MAJOR, 0, 0, 0,
		RELAY_MINOR };

	switch ((enum relay_cmd)m->cmd) {
	case RELAY_CMD_version:
		return n == sizeof(version) && memcmp(got, version, n) == 0;
	case RELAY_CMD_data_pending:
	case RELAY_CMD_end_data_pending:
	case RELAY_CMD_trace_chunk_exists:
		return n == m->reply_len && memcmp(got, want, n - 1) == 0 &&
		       got[n - 1] <= 1;
	case RELAY_CMD_close_trace_chunk:
		/* streaming 9.20: the first archive's own name */
		if (n > m->reply_len && memcmp(got, want, 4) == 0)
			return memcmp(got + 8, want + 8, m->reply_len - 9) ==
				   0 &&
			       memcmp(got + m->reply_len - 1, "/archives/",
				   10) == 0;
		break;
	default:
		break;
	}
	return n == m->reply_len && memcmp(got, want, n) == 0;
}

/* How long the reply at P is, of N bytes that are there; 0: not all of it. */
static size_t
whole_reply(const struct recorded_message *m, const uint8_t *p, size_t n)
{
	size_t len = m->reply_len;

	if (m->cmd == RELAY_CMD_close_trace_chunk && n >= 8)
		len = 8 + (size_t)(p[6] << 8 | p[7]);
	return n >= len ? len : 0;
}

static void
compare_replies(struct player *p, unsigned wire)
{
	const struct recorded_wire *w = &p->r->wires[wire];
	struct endpoint *e = &p->ends[wire];
	const struct recorded_message *m;
	size_t n;

	while (e->n_answered < w->n) {
		m = &w->messages[e->n_answered];
		if (m->end > e->used)
			break;
		n = buf_len(&e->out) == 0
			? 0
			: whole_reply(m, buf_data(&e->out), buf_len(&e->out));
		if (n == 0 && m->reply_len > 0) {
			fail(p, "%s: no reply to message %zu", w->name,
			    e->n_answered);
			return;
		}
		if (m->reply_len > 0 &&
		    !is_equal(m, w->replies.p + m->reply, buf_data(&e->out), n))
			fail(p, "%s: reply to message %zu, command %u, differs",
			    w->name, e->n_answered, (unsigned)m->cmd);
		if (m->reply_len > 0)
			buf_consume(&e->out, n);
		p->n_streams += m->cmd == RELAY_CMD_add_stream;
		e->n_answered++;
	}
	if (buf_len(&e->out) > 0)
		fail(p, "%s: %zu bytes too much after message %zu", w->name,
		    buf_len(&e->out), e->n_answered);
}

void
player_feed(struct player *p, unsigned wire, size_t end)
{
	const struct recorded_wire *w = &p->r->wires[wire];
	struct endpoint *e = &p->ends[wire];
	struct bytes b;
	enum status st;
	size_t used;

	if (!e->is_open || end <= e->fed)
		return;
	/* Exactly what a socket would have brought, and what was left over. */
	b = bytes_copy(w->sent.p + e->used, end - e->used);
	if (w->is_data)
		st = ingest_input(e->ingest, b.p, b.n, &used);
	else
		st = control_input(e->control, b.p, b.n, &used, &e->out);
	free(b.p);
	e->fed = end;
	e->used += used;
	if (st != OK)
		fail(
		    p, "%s: %s at byte %zu", w->name, status_text(st), e->used);
	if (w->is_data && e->used != e->fed)
		fail(p, "%s: held at byte %zu", w->name, e->used);
	if (!w->is_data)
		compare_replies(p, wire);
	turn_end(p);
}

void
player_fin(struct player *p, unsigned wire)
{
	const struct recorded_wire *w = &p->r->wires[wire];
	struct endpoint *e = &p->ends[wire];

	if (!e->is_open)
		return;
	player_feed(p, wire, w->sent.n);
	if (!w->is_data && e->n_answered < w->n)
		fail(p, "%s: %zu messages were not answered", w->name,
		    w->n - e->n_answered);
	control_destroy(e->control, false);
	ingest_destroy(e->ingest);
	buf_free(&e->out);
	e->is_open = false;
	turn_end(p);
}

void
player_destroy(struct player *p)
{
	for (unsigned i = 0; i < p->r->n_wires; i++)
		if (!p->r->wires[i].is_data)
			player_fin(p, i);
	for (unsigned i = 0; i < p->r->n_wires; i++)
		player_fin(p, i);
	cycle_last(p->shard);
	shard_destroy(p->shard);
	if (account_used(&p->memory) != 0)
		errx(EXIT_FAILURE, "player: packet memory is left");
	free(p);
}

size_t
player_fed(const struct player *p, unsigned wire)
{
	return p->ends[wire].fed;
}

bool
player_may_feed(const struct player *p, unsigned wire, size_t end)
{
	const struct recorded_wire *w = &p->r->wires[wire];

	for (size_t i = 0; i < w->n && w->messages[i].start < end; i++)
		if (w->messages[i].handle > p->n_streams ||
		    (!w->is_data &&
			w->messages[i].data_needed > p->ends[wire + 1].fed))
			return false;
	return true;
}

const char *
player_failure(const struct player *p)
{
	return p->failure[0] == '\0' ? NULL : p->failure;
}
