/* SPDX-License-Identifier: MIT */
#include "tests/relayd/viewer_script.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/record/cycle.h"
#include "relayd/record/session.h"
#include "relayd/record/stream.h"
#include "tests/lib/script.h"
#include "tests/relayd/fixture.h"

#define PACKET_BYTES 256
#define NAMES 10

/* The streams that a script may name. */
struct name {
	const char *name, *path, *channel;
	bool is_second; /* of the session "two", not of "one" */
	/* While it runs. */
	struct stream *t; /* NULL: closed */
	uint64_t id, packets;
	const void *log; /* that a held request waits for */
};

static const struct name all_names[NAMES] = {
	{ .name = "metadata", .path = "ust/uid", .channel = "metadata" },
	{ .name = "data", .path = "ust/uid", .channel = "ch_0" },
	{ .name = "other", .path = "ust/uid", .channel = "ch_1" },
	{ .name = "metadata2", .path = "ust/2", .channel = "metadata" },
	{ .name = "data2", .path = "ust/2", .channel = "ch_0" },
	{ .name = "other2", .path = "ust/2", .channel = "ch_1" },
	{ .name = "metadata3", .path = "ust/3", .channel = "metadata" },
	{ .name = "data3", .path = "ust/3", .channel = "ch_0" },
	{ "far-metadata", "ust/2", "metadata", .is_second = true },
	{ "far-data", "ust/2", "ch_0", .is_second = true },
};

static struct name names[NAMES];
static struct session *sessions[2];
static uint64_t session_ids[2];
static struct viewer *viewers[2];
static uint64_t chunk;

static struct name *
find_name(const char *text)
{
	for (unsigned i = 0; i < NAMES; i++)
		if (text != NULL && strcmp(names[i].name, text) == 0)
			return &names[i];
	script_fail("unknown stream");
	return NULL;
}

static const char *
name_of_log(const void *log)
{
	for (unsigned i = 0; i < NAMES; i++)
		if (log != NULL && names[i].log == log)
			return names[i].name;
	return "none";
}

static void
note_stream(struct name *n, struct stream *t)
{
	n->t = t;
	n->log = n->t->metadata != NULL ? (void *)n->t->metadata
					: (void *)n->t->log;
}

/* ---- what the tracer does */

/* add STREAM...: create and publish these */
static void
do_add(char **w)
{
	for (; *w != NULL; w++) {
		struct name *n = find_name(*w);

		note_stream(n, live_pair_stream(sessions[n->is_second], n->path,
				   n->channel, 0, 0));
	}
	for (unsigned i = 0; i < 2; i++)
		if (sessions[i] != NULL)
			session_publish(sessions[i]);
	for (unsigned i = 0; i < NAMES; i++)
		if (names[i].t != NULL)
			names[i].id = names[i].t->live->id;
}

/* session HOST: the session "two" */
static void
do_session(char **w)
{
	fixture.pair.host = script_is(w[0], "host") ? "host" : "elsewhere";
	sessions[1] = live_pair_session(&fixture.pair, "two", 1000, false);
	session_ids[1] = sessions[1]->live->id;
	live_pair_deliver_all(&fixture.pair);
}

static void
put64(uint8_t *p, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(value >> 8 * i);
}

/* packet STREAM BEGIN-END [BITS of content]: laid out as LTTng does */
static void
do_packet(char **w)
{
	struct name *n = find_name(w[0]);
	uint8_t bytes[PACKET_BYTES] = { 0xc1, 0x1f, 0xfc, 0xc1 };
	struct live_pair_packet p = { .seq = n->packets++,
		.bytes = PACKET_BYTES,
		.raw = bytes,
		.content_bits = w[2] != NULL ? script_number(w[2]) : 2000,
		.ctf_stream = LIVE_PAIR_CLASS };

	if (sscanf(w[1], "%" SCNu64 "-%" SCNu64, &p.begin, &p.end) != 2)
		script_fail("no times");
	put64(bytes + 32, p.begin);
	put64(bytes + 40, p.end);
	put64(bytes + 48, p.content_bits);
	put64(bytes + 56, PACKET_BYTES * 8);
	live_pair_packet(n->t, &p);
}

/* text STREAM TEXT: metadata; some texts have names */
static void
do_text(char **w)
{
	static const char *const texts[][2] = {
		{ "trace", "/* CTF 1.8 */trace { };" },
		{ "class", "stream { id = 2; };" }, /* of all packets */
		{ "other", "/* CTF 1.8 */trace { };stream { id = 1; };" },
	};
	const char *text = w[1];

	for (unsigned i = 0; i < ARRAY_LEN(texts); i++)
		if (strcmp(w[1], texts[i][0]) == 0)
			text = texts[i][1];
	live_pair_metadata(find_name(w[0])->t, text, strlen(text));
}

/* close STREAM: after its last packet */
static void
do_close(char **w)
{
	struct name *n = find_name(w[0]);

	stream_close(n->t, n->packets - 1);
	n->t = NULL;
}

/* clear [end]: "lttng clear" of the session one; "end": no chunk follows */
static void
do_clear(char **w)
{
	const bool goes_on = w[0] == NULL;

	if (goes_on)
		live_pair_create_chunk(sessions[0], chunk + 1);
	for (unsigned i = 0; i < NAMES; i++)
		if (names[i].t != NULL && !names[i].is_second)
			live_pair_rotate(
			    names[i].t, goes_on, chunk + 1, names[i].packets);
	live_pair_close_chunk(sessions[0], chunk++, RELAY_CLOSE_DELETE);
	while (!goes_on && cycle_delete_some(fixture.pair.shard))
		;
}

/* Number I asks from now on; it is made when it is first used. */
static void
use_viewer(unsigned i)
{
	ck_assert_uint_lt(i, ARRAY_LEN(viewers));
	if (viewers[i] == NULL)
		viewers[i] = fixture_viewer(true, 4);
	fixture.viewer = viewers[i];
}

/* ---- what a viewer asks, and the replies as text */

static void
say_held(void)
{
	const struct live_held *h = &fixture.held;

	script_say("HOLD %" PRIu64, (h->until_ns - clock_now_ns()) / NS_PER_MS);
	if (h->source != NULL)
		script_say(" %s", name_of_log(h->source));
	script_say("%s%s%s", h->is_any ? " any" : "", h->is_turn ? " turn" : "",
	    h->is_early ? " early" : "");
}

static void
say_index(void)
{
	static const char *const statuses[] = { "?", "OK", "RETRY", "HUP",
		"ERR", "INACTIVE" };
	const struct live_index i = live_pair_index_of(&fixture.out);
	/* All that the text does not say. */
	struct live_index rest = { .status = i.status, .flags = i.flags };

	script_say("%s", statuses[i.status < 6 ? i.status : 0]);
	if (i.status == LIVE_INDEX_OK && i.packet_size != 0) {
		script_say(" %" PRIu64 "-%" PRIu64, i.timestamp_begin,
		    i.timestamp_end);
		rest = i;
		rest.packet_size = PACKET_BYTES * 8;
		rest.events_discarded = 0;
	} else if (i.status == LIVE_INDEX_OK) {
		script_say(" empty");
	} else if (i.status == LIVE_INDEX_INACTIVE) {
		script_say(" %" PRIu64, i.timestamp_end);
		rest.timestamp_end = i.timestamp_end;
	} else if (i.offset == UINT64_C(1) << 32) {
		/* The first four bytes read as the OK of a DETACH. */
		ck_assert_uint_eq(
		    live_pair_u32(&fixture.out, 0), LIVE_DETACH_OK);
		script_say(" detached");
		rest.offset = i.offset;
	}
	if (i.status == LIVE_INDEX_OK || i.status == LIVE_INDEX_INACTIVE)
		rest.ctf_stream = LIVE_PAIR_CLASS;
	if (memcmp(&rest, &i, sizeof(i)) != 0)
		script_say(" with a wrong field");
	script_say("%s%s",
	    (i.flags & LIVE_FLAG_NEW_STREAM) != 0 ? " +streams" : "",
	    (i.flags & LIVE_FLAG_NEW_METADATA) != 0 ? " +metadata" : "");
}

static void
say_metadata(void)
{
	const uint64_t n = live_pair_u64(&fixture.out, 0);
	const uint32_t status = live_pair_u32(&fixture.out, 8);

	if (buf_len(&fixture.out) != 12 + n)
		script_fail("length %" PRIu64, n);
	if (status == LIVE_METADATA_OK)
		script_say("OK %" PRIu64, n);
	else
		script_say("%s%s",
		    status == LIVE_METADATA_NO_NEW ? "NO_NEW" : "ERR",
		    n != 0 ? " with bytes" : "");
}

/* The replies that list streams: status and count. */
static void
say_streams(const char *const *statuses)
{
	const uint32_t status = live_pair_u32(&fixture.out, 0);

	script_say("%s", statuses[status < 7 ? status : 0]);
	if (live_pair_u32(&fixture.out, 4) != 0)
		script_say(" %" PRIu32, live_pair_u32(&fixture.out, 4));
}

/* Asks for Q; false: it is held, which was said. */
static bool
ask(const struct live_request *q, bool may_hold, bool is_interrupted)
{
	const struct live_how how = { .arrived_ns = clock_now_ns(),
		.may_hold = may_hold,
		.is_interrupted = is_interrupted };

	switch (live_pair_ask(
	    fixture.viewer, q, &how, &fixture.out, &fixture.held)) {
	case LIVE_HOLD:
		say_held();
		return false;
	case LIVE_REPLY:
		return true;
	default:
		script_fail("the connection was closed");
		return false;
	}
}

/* An index of a data stream, or the metadata. */
static void
ask_stream(const char *text, bool may_hold, bool is_interrupted)
{
	const struct name *n = find_name(text);
	const bool is_metadata = strcmp(n->channel, "metadata") == 0;
	const struct live_request q = { .cmd = is_metadata
						   ? LIVE_CMD_get_metadata
						   : LIVE_CMD_get_next_index,
		.id = n->id };

	if (ask(&q, may_hold, is_interrupted))
		is_metadata ? say_metadata() : say_index();
}

/* The sessions, and the streams of the first one. */
static void
say_list(void)
{
	const uint32_t n = fixture_tell(LIVE_CMD_list_sessions, 0);

	script_say("%" PRIu32 " of %" PRIu32, n,
	    n > 0 ? live_pair_u32(&fixture.out, 4 + 16) : 0);
}

/* The begin time in the packet at OFFSET of a stream's file. */
static void
say_begin(uint64_t id, uint64_t offset)
{
	uint64_t begin;

	(void)live_pair_tell(fixture.viewer,
	    &(struct live_request){ .cmd = LIVE_CMD_get_packet,
		.id = id,
		.offset = offset + 32,
		.length = 8 },
	    &fixture.out);
	if (live_pair_u32(&fixture.out, 0) != LIVE_PACKET_OK ||
	    buf_len(&fixture.out) != 12 + 8) {
		script_say("ERR");
		return;
	}
	memcpy(&begin, buf_data(&fixture.out) + 12, 8);
	script_say("%" PRIu64, le64toh(begin));
}

/* The session one. */
static void
end_session(void)
{
	session_end(sessions[0], false);
	sessions[0] = NULL;
	live_pair_deliver_all(&fixture.pair);
}

static bool
tracer_step(char **w)
{
	if (script_is(w[0], "add"))
		do_add(w + 1);
	else if (script_is(w[0], "session"))
		do_session(w + 1);
	else if (script_is(w[0], "packet"))
		do_packet(w + 1);
	else if (script_is(w[0], "beacon")) /* STREAM TIME */
		live_pair_beacon(find_name(w[1])->t, script_number(w[2]));
	else if (script_is(w[0], "text"))
		do_text(w + 1);
	else if (script_is(w[0], "close"))
		do_close(w + 1);
	else if (script_is(w[0], "clear"))
		do_clear(w + 1);
	else if (script_is(w[0], "end"))
		end_session();
	else if (script_is(w[0], "deliver")) /* the events to the live worker */
		live_pair_deliver_all(&fixture.pair);
	else if (script_is(w[0], "deliver-streams")) /* until none waits */
		while (fixture.pair.n_waiting > 0)
			ck_assert(live_pair_deliver(&fixture.pair));
	else
		return false;
	return true;
}

/* The test's own, and what it looks at. */
static bool
test_step(char **w)
{
	struct viewer *v = fixture.viewer;

	if (script_is(w[0], "wait")) { /* MS */
		fixture_wait_ms(script_number(w[1]));
	} else if (script_is(w[0], "timer")) { /* US, the live period */
		sessions[0]->live->live_timer_us = (uint32_t)script_number(
		    w[1]);
	} else if (script_is(w[0], "hide-new-traces")) { /* without data */
		fixture.pair.viewers.class_ns = VIEWER_CLASS_NS;
	} else if (script_is(w[0], "max-viewers")) { /* of a session */
		publish(&fixture.pair.viewers.max_viewers, script_number(w[1]));
	} else if (script_is(w[0], "viewer")) { /* bt2|bt1 MINOR: another */
		viewer_destroy(v);
		fixture.viewer = viewers[0] = fixture_viewer(
		    script_is(w[1], "bt2"), (uint32_t)script_number(w[2]));
	} else if (script_is(w[0], "use")) {
		use_viewer((unsigned)script_number(w[1]) - 1);
	} else if (script_is(w[0], "leave")) { /* its connection breaks */
		viewers[v == viewers[1]] = fixture.viewer = NULL;
		viewer_destroy(v);
	} else if (script_is(w[0], "woken")) { /* by this, since last time */
		script_say("%s", name_of_log(fixture.pair.woken));
		fixture.pair.woken = NULL;
	} else if (script_is(w[0], "turn")) { /* does STREAM end the wait? */
		script_say("%d", viewer_is_its_turn(v, find_name(w[1])->log));
	} else if (script_is(w[0], "passed")) { /* packets */
		script_say("%" PRIu64, v->passed);
	} else if (script_is(w[0], "lost")) { /* packets */
		script_say("%" PRIu64, v->lost);
	} else if (script_is(w[0], "positions")) {
		script_say("%zu", (size_t)v->by_id.n);
	} else if (script_is(w[0], "clients")) {
		script_say("%" PRIu64, published(&sessions[0]->live->clients));
	} else if (script_is(w[0], "before")) { /* STREAM has no event */
		script_say("%" PRIu64, find_name(w[1])->t->live->time_before);
	} else {
		return false;
	}
	return true;
}

static const char *const detached[] = { "?", "OK", "UNKNOWN", "ERR" };
static const char *const listed[] = { "?", "OK", "NO_NEW", "ERR", "HUP", "?",
	"?" };
static const char *const attached[] = { "?", "OK", "ALREADY", "UNKNOWN",
	"NOT_LIVE", "SEEK_ERR", "NO_SESSION" };

static bool
viewer_step(char **w)
{
	struct live_request q = { .id = session_ids[script_is(w[1], "two")] };

	if (script_is(w[0], "ask")) { /* STREAM; this may be held */
		ask_stream(w[1], true, false);
	} else if (script_is(w[0], "tell")) { /* this may not, any more */
		ask_stream(w[1], false, false);
	} else if (script_is(w[0], "interrupted")) { /* the viewer sent more */
		ask_stream(w[1], false, true);
	} else if (script_is(w[0], "streams")) { /* [two]: new ones */
		q.cmd = LIVE_CMD_get_new_streams;
		if (ask(&q, true, false))
			say_streams(listed);
	} else if (script_is(w[0], "attach")) { /* one|two first|last|SEEK */
		q.cmd = LIVE_CMD_attach_session;
		q.seek = script_is(w[2], "first")  ? LIVE_SEEK_BEGINNING
			 : script_is(w[2], "last") ? LIVE_SEEK_LAST
						   : 9;
		if (ask(&q, true, false))
			say_streams(attached);
	} else if (script_is(w[0], "detach")) {
		script_say("%s",
		    detached[fixture_tell(LIVE_CMD_detach_session, q.id)]);
	} else if (script_is(w[0], "create")) { /* a viewer session */
		(void)fixture_tell(LIVE_CMD_create_session, 0);
	} else if (script_is(w[0], "list")) {
		say_list();
	} else if (script_is(w[0], "begins")) { /* STREAM OFFSET */
		say_begin(find_name(w[1])->id, script_number(w[2]));
	} else {
		return false;
	}
	return true;
}

static bool
step(char **w)
{
	return tracer_step(w) || test_step(w) || viewer_step(w);
}

void
viewer_script_run(const struct viewer_script *s)
{
	memcpy(names, all_names, sizeof(names));
	memset(viewers, 0, sizeof(viewers));
	chunk = 0;
	if (s->start == OPEN)
		fixture_open(true);
	else
		fixture_open_attached(s->start == ATTACHED);
	viewers[0] = fixture.viewer;
	sessions[0] = fixture.session;
	sessions[1] = NULL;
	session_ids[0] = fixture.session->live->id;
	note_stream(&names[0], fixture.metadata);
	note_stream(&names[1], fixture.data);
	names[0].id = fixture_id(fixture.metadata);
	names[1].id = fixture_id(fixture.data);
	script_run(s->name, s->steps, step);
	fixture_close();
}
