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

static unsigned
find_session(const char *text)
{
	return script_is(text, "two");
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

/* deliver [streams]: what is known to the writer gets to the live worker; only
 * until no stream is waiting */
static void
do_deliver(char **w)
{
	while ((w[0] == NULL || fixture.pair.n_waiting > 0) &&
	       live_pair_deliver(&fixture.pair))
		;
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

/* beacon STREAM TIME */
static void
do_beacon(char **w)
{
	live_pair_beacon(find_name(w[0])->t, script_number(w[1]));
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

/* end: the session one */
static void
do_end(char **w)
{
	session_end(sessions[0], false);
	sessions[0] = NULL;
	live_pair_deliver_all(&fixture.pair);
}

/* ---- what the test does */

/* wait MS */
static void
do_wait(char **w)
{
	fixture_wait_ms(script_number(w[0]));
}

/* timer US: the session's live period */
static void
do_timer(char **w)
{
	sessions[0]->live->live_timer_us = (uint32_t)script_number(w[0]);
}

/* hide-new-traces: until they have data, or for a second and the period */
static void
do_hide_new_traces(char **w)
{
	fixture.pair.viewers.class_ns = VIEWER_CLASS_NS;
}

/* max-viewers N: of one session */
static void
do_max_viewers(char **w)
{
	publish(&fixture.pair.viewers.max_viewers, script_number(w[0]));
}

/* viewer bt2|bt1 MINOR: instead of the one that is there */
static void
do_viewer(char **w)
{
	viewer_destroy(fixture.viewer);
	fixture.viewer = viewers[0] = fixture_viewer(
	    script_is(w[0], "bt2"), (uint32_t)script_number(w[1]));
}

/* use 1|2: this viewer asks; 2 is made when it is first used */
static void
do_use(char **w)
{
	const unsigned i = (unsigned)script_number(w[0]) - 1;

	if (viewers[i] == NULL)
		viewers[i] = fixture_viewer(true, 4);
	fixture.viewer = viewers[i];
}

/* leave: its connection breaks */
static void
do_leave(char **w)
{
	viewer_destroy(fixture.viewer);
	viewers[fixture.viewer == viewers[1]] = NULL;
	fixture.viewer = NULL;
}

/* woken: the log whose news woke the worker since the last time */
static void
do_woken(char **w)
{
	script_say("%s", name_of_log(fixture.pair.woken));
	fixture.pair.woken = NULL;
}

/* turn STREAM: does its news end a wait for any stream's turn? */
static void
do_turn(char **w)
{
	script_say("%s",
	    viewer_is_its_turn(fixture.viewer, find_name(w[0])->log) ? "yes"
								     : "no");
}

/* count WHAT */
static void
do_count(char **w)
{
	const struct viewer *v = fixture.viewer;
	uint64_t n;

	if (script_is(w[0], "passed"))
		n = v->passed;
	else if (script_is(w[0], "lost"))
		n = v->lost;
	else if (script_is(w[0], "clients"))
		n = published(&sessions[0]->live->clients);
	else
		n = v->by_id.n; /* positions */
	script_say("%" PRIu64, n);
}

/* before STREAM: no event of it is earlier */
static void
do_before(char **w)
{
	script_say("%" PRIu64, find_name(w[0])->t->live->time_before);
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

/* ask STREAM: this may be held */
static void
do_ask(char **w)
{
	ask_stream(w[0], true, false);
}

/* tell STREAM: this may not be held any more */
static void
do_tell(char **w)
{
	ask_stream(w[0], false, false);
}

/* interrupted STREAM: nor may this, as the viewer sent more meanwhile */
static void
do_interrupted(char **w)
{
	ask_stream(w[0], false, true);
}

/* streams [two]: GET_NEW_STREAMS */
static void
do_streams(char **w)
{
	static const char *const statuses[] = { "?", "OK", "NO_NEW", "ERR",
		"HUP", "?", "?" };

	if (ask(&(struct live_request){ .cmd = LIVE_CMD_get_new_streams,
		    .id = session_ids[find_session(w[0])] },
		true, false))
		say_streams(statuses);
}

/* attach one|two first|last|SEEK */
static void
do_attach(char **w)
{
	static const char *const statuses[] = { "?", "OK", "ALREADY", "UNKNOWN",
		"NOT_LIVE", "SEEK_ERR", "NO_SESSION" };

	if (ask(&(struct live_request){ .cmd = LIVE_CMD_attach_session,
		    .id = session_ids[find_session(w[0])],
		    .seek = script_is(w[1], "first") ? LIVE_SEEK_BEGINNING
			    : script_is(w[1], "last")
				? LIVE_SEEK_LAST
				: (uint32_t)script_number(w[1]) },
		true, false))
		say_streams(statuses);
}

/* detach: from the session one */
static void
do_detach(char **w)
{
	static const char *const statuses[] = { "?", "OK", "UNKNOWN", "ERR" };

	script_say("%s",
	    statuses[fixture_tell(LIVE_CMD_detach_session, session_ids[0])]);
}

/* create: CREATE_SESSION, of a viewer session */
static void
do_create(char **w)
{
	(void)fixture_tell(LIVE_CMD_create_session, 0);
}

/* list: sessions, and the streams of the first */
static void
do_list(char **w)
{
	const uint32_t n = fixture_tell(LIVE_CMD_list_sessions, 0);

	script_say("%" PRIu32 " of", n);
	script_say(
	    " %" PRIu32, n > 0 ? live_pair_u32(&fixture.out, 4 + 16) : 0);
}

/* begins STREAM OFFSET: the begin time in the packet at OFFSET of its file */
static void
do_begins(char **w)
{
	uint64_t begin;

	(void)live_pair_tell(fixture.viewer,
	    &(struct live_request){ .cmd = LIVE_CMD_get_packet,
		.id = find_name(w[0])->id,
		.offset = script_number(w[1]) + 32,
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

static const struct script_word words[] = {
	{ "add", do_add },
	{ "session", do_session },
	{ "deliver", do_deliver },
	{ "packet", do_packet },
	{ "beacon", do_beacon },
	{ "text", do_text },
	{ "close", do_close },
	{ "clear", do_clear },
	{ "end", do_end },
	{ "wait", do_wait },
	{ "timer", do_timer },
	{ "hide-new-traces", do_hide_new_traces },
	{ "max-viewers", do_max_viewers },
	{ "viewer", do_viewer },
	{ "use", do_use },
	{ "leave", do_leave },
	{ "woken", do_woken },
	{ "turn", do_turn },
	{ "before", do_before },
	{ "count", do_count },
	{ "ask", do_ask },
	{ "tell", do_tell },
	{ "interrupted", do_interrupted },
	{ "streams", do_streams },
	{ "attach", do_attach },
	{ "detach", do_detach },
	{ "create", do_create },
	{ "list", do_list },
	{ "begins", do_begins },
};

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
	script_run(s->name, s->steps, words, ARRAY_LEN(words));
	fixture_close();
}
