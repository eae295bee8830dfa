/* SPDX-License-Identifier: MIT */
/*
 * Recorded sessions through the endpoints, without sockets: as recorded, byte
 * by byte, cut at every byte of every connection, and with the connections
 * interleaved by seeded chance. The tree must always be the recorded one.
 *
 * A cut at byte R of a message is made in all messages of a recording at once:
 * between messages endpoints keep no state of the one before, so this is every
 * boundary, in as many replays as the longest message has bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/log.h"
#include "tests/lib/fake_fs.h"
#include "tests/lib/sha256.h"
#include "tests/lib/unit.h"
#include "tests/replay/player.h"

#define SCHEDULES 200

static const char *const vectors[] = {
	"clear-first",
	"live",
	"perpid",
	"rotate-clear",
	"simple",
	"snapshot",
	"tracefile",
};

/* How one event's bytes are handed over. */
typedef void feeder(struct player *p, const struct recorded *r,
    const struct recorded_event *e, size_t arg);

static void
feed_whole(struct player *p, const struct recorded *r,
    const struct recorded_event *e, size_t arg)
{
	player_feed(p, e->wire, e->end);
}

/* Pieces of ARG bytes. */
static void
feed_small(struct player *p, const struct recorded *r,
    const struct recorded_event *e, size_t arg)
{
	size_t at = player_fed(p, e->wire);

	for (; at < e->end; at += arg)
		player_feed(p, e->wire, at + arg < e->end ? at + arg : e->end);
}

/* Each message in two pieces, the first of ARG bytes. */
static void
feed_cut(struct player *p, const struct recorded *r,
    const struct recorded_event *e, size_t arg)
{
	const struct recorded_wire *w = &r->wires[e->wire];

	for (size_t i = 0; i < w->n; i++) {
		const struct recorded_message *m = &w->messages[i];

		if (m->end <= player_fed(p, e->wire) || m->start >= e->end)
			continue;
		if (m->start + arg < m->end && m->start + arg <= e->end)
			player_feed(p, e->wire, m->start + arg);
		player_feed(p, e->wire, m->end < e->end ? m->end : e->end);
	}
}

/* The end of each message comes with the first ARG bytes of the next. */
static void
feed_across(struct player *p, const struct recorded *r,
    const struct recorded_event *e, size_t arg)
{
	const struct recorded_wire *w = &r->wires[e->wire];

	for (size_t i = 0; i < w->n; i++) {
		size_t at = w->messages[i].start + arg;

		if (at < w->messages[i].end && at <= e->end)
			player_feed(p, e->wire, at);
	}
}

/* A peer would not send this yet: what it waited for first. */
static void
feed_event(struct player *p, const struct recorded *r,
    const struct recorded_event *e, size_t arg, feeder *feed,
    size_t sent[RECORDED_WIRES])
{
	sent[e->wire] = e->end;
	if (!player_may_feed(p, e->wire, e->end))
		for (unsigned i = 0; i < r->n_wires; i++)
			if (i != e->wire)
				player_feed(p, i, sent[i]);
	feed(p, r, e, arg);
}

/* The digest of the tree; failures end the test. */
static uint64_t
play(const struct recorded *r, feeder *feed, size_t arg)
{
	struct player *p = player_create(r);
	const struct recorded_event *e = r->events;
	size_t sent[RECORDED_WIRES] = { 0 };
	const char *failure;
	char text[512] = "";

	for (; e < r->events + r->n_events; e++) {
		if (e->kind == RECORDED_OPEN)
			player_open(p, e->wire);
		else if (e->kind == RECORDED_SENT)
			feed_event(p, r, e, arg, feed, sent);
		else
			player_fin(p, e->wire);
	}
	for (unsigned i = 0; i < r->n_wires; i++)
		player_feed(p, i, r->wires[i].sent.n);
	failure = player_failure(p);
	if (failure != NULL)
		(void)snprintf(text, sizeof(text), "%s", failure);
	player_destroy(p);
	ck_assert_msg(text[0] == '\0', "%s, %zu: %s", r->name, arg, text);
	return fake_fs_digest();
}

struct listing {
	char *lines[512];
	size_t n;
};

static void
list_one(const char *path, const uint8_t *p, size_t n, void *arg)
{
	struct listing *l = arg;
	char digest[65];
	int len;

	ck_assert_uint_lt(l->n, ARRAY_LEN(l->lines));
	if (p == NULL) {
		len = asprintf(&l->lines[l->n++], "dir  %s", path);
	} else {
		sha256(p, n, digest);
		len = asprintf(
		    &l->lines[l->n++], "%s %8zu %s", digest, n, path);
	}
	ck_assert_int_gt(len, 0);
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The tree is the recorded one: paths, sizes, digests. */
static void
check_tree(const struct recorded *r)
{
	char *save, *line, *text = strndup((char *)r->tree.p, r->tree.n);
	struct listing want = { 0 }, got = { 0 };

	for (line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		want.lines[want.n++] = line;
	fake_fs_walk(list_one, &got);
	qsort(want.lines, want.n, sizeof(want.lines[0]), by_text);
	qsort(got.lines, got.n, sizeof(got.lines[0]), by_text);
	for (size_t i = 0; i < want.n && i < got.n; i++)
		ck_assert_str_eq(got.lines[i], want.lines[i]);
	ck_assert_uint_eq(got.n, want.n);
	for (size_t i = 0; i < got.n; i++)
		free(got.lines[i]);
	free(text);
}

TEST_ROWS(as_recorded_it_makes_the_recorded_tree, ARRAY_LEN(vectors))
{
	struct recorded *r = recorded_load(vectors[_i]);

	play(r, feed_whole, 0);
	check_tree(r);
	recorded_free(r);
	fake_fs_end();
}

TEST_ROWS(in_small_pieces_it_makes_the_same_tree, ARRAY_LEN(vectors))
{
	struct recorded *r = recorded_load(vectors[_i]);
	const uint64_t want = play(r, feed_whole, 0);

	for (size_t n = 1; n < 40; n += 1 + n / 4)
		ck_assert_uint_eq(play(r, feed_small, n), want);
	recorded_free(r);
	fake_fs_end();
}

TEST_ROWS(cut_at_every_byte_it_makes_the_same_tree, ARRAY_LEN(vectors))
{
	struct recorded *r = recorded_load(vectors[_i]);
	const uint64_t want = play(r, feed_whole, 0);

	for (size_t at = 1; at < r->longest; at++)
		ck_assert_uint_eq(play(r, feed_cut, at), want);
	recorded_free(r);
	fake_fs_end();
}

TEST_ROWS(cut_across_messages_it_makes_the_same_tree, ARRAY_LEN(vectors))
{
	struct recorded *r = recorded_load(vectors[_i]);
	const uint64_t want = play(r, feed_whole, 0);

	/* beyond a header and the fixed part only lengths change */
	for (size_t at = 0; at < r->longest; at += at < 160 ? 1 : 37)
		ck_assert_uint_eq(play(r, feed_across, at), want);
	recorded_free(r);
	fake_fs_end();
}

static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* The second pair of a recording begins when the first was all sent. */
static bool
may_go_on(const struct player *p, const struct recorded *r, unsigned wire)
{
	const struct recorded_wire *w = &r->wires[wire];

	if (player_fed(p, wire) == w->sent.n)
		return false;
	if (strchr(w->name, '2') != NULL)
		for (unsigned i = 0; i < r->n_wires; i++)
			if (strchr(r->wires[i].name, '2') == NULL &&
			    player_fed(p, i) < r->wires[i].sent.n)
				return false;
	return player_may_feed(p, wire, player_fed(p, wire) + 1);
}

static size_t
message_end(const struct recorded_wire *w, size_t fed)
{
	size_t i = 0;

	while (w->messages[i].end <= fed)
		i++;
	return w->messages[i].end;
}

/* Control may run far ahead of data, and the other way round. */
static uint64_t
play_schedule(const struct recorded *r, uint64_t seed)
{
	uint64_t state = seed * 2654435761 + 88172645463325252;
	struct player *p = player_create(r);
	unsigned wire, stuck = 0, favour = (unsigned)(seed % 3);
	char text[512] = "";
	size_t end, at;

	for (unsigned i = 0; i < r->n_wires; i++)
		player_open(p, i);
	while (stuck < 1000) {
		wire = (unsigned)(next_random(&state) % r->n_wires);
		if (!may_go_on(p, r, wire)) {
			stuck++;
			continue;
		}
		/* two of three seeds let one kind come late */
		if (favour != 2 && r->wires[wire].is_data == (favour == 0) &&
		    next_random(&state) % 32 != 0)
			continue;
		stuck = 0;
		end = message_end(&r->wires[wire], player_fed(p, wire));
		at = player_fed(p, wire) + 1 + next_random(&state) % 5000;
		player_feed(p, wire, at < end ? at : end);
	}
	for (unsigned i = 0; i < r->n_wires; i++)
		if (player_fed(p, i) < r->wires[i].sent.n)
			(void)snprintf(text, sizeof(text), "%s: not all fed",
			    r->wires[i].name);
	if (player_failure(p) != NULL)
		(void)snprintf(text, sizeof(text), "%s", player_failure(p));
	player_destroy(p);
	ck_assert_msg(
	    text[0] == '\0', "%s, seed %u: %s", r->name, (unsigned)seed, text);
	return fake_fs_digest();
}

TEST_ROWS(
    in_any_order_of_connections_it_makes_the_same_tree, ARRAY_LEN(vectors))
{
	struct recorded *r = recorded_load(vectors[_i]);
	const uint64_t want = play(r, feed_whole, 0);

	for (uint64_t seed = 0; seed < SCHEDULES; seed++) {
		if (play_schedule(r, seed) == want)
			continue;
		check_tree(r); /* says what differs */
		ck_abort_msg("seed %u: another tree", (unsigned)seed);
	}
	recorded_free(r);
	fake_fs_end();
}

int
main(void)
{
	(void)setenv("TZ", "UTC", 1);
	tzset();
	log_set_level(LOG_WARN);
	clock_freeze(NS_PER_S, 1800000000);
	return unit_run();
}
