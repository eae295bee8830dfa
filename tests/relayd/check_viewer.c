/* SPDX-License-Identifier: MIT */
/* Which answers a viewer gets, and which it must never get (live 2, 5, 6). */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fds.h"
#include "common/log.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/cycle.h"
#include "relayd/live/viewer_internal.h"
#include "store/packet_log.h"
#include "tests/lib/unit.h"
#include "tests/relayd/fixture.h"

static void
packet(uint64_t seq)
{
	struct live_pair_packet p = fixture_packet(seq);

	live_pair_packet(fixture.data, &p);
}

static uint32_t
index_status(void)
{
	return fixture_index().status;
}

static uint32_t
ask_packet(uint64_t id, uint64_t offset, uint32_t length)
{
	(void)live_pair_tell(fixture.viewer,
	    &(struct live_request){ .cmd = LIVE_CMD_get_packet,
		.id = id,
		.offset = offset,
		.length = length },
	    &fixture.out);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 8), 0);
	return live_pair_u32(&fixture.out, 0);
}

static void
assert_packet(uint64_t offset, uint64_t seq)
{
	struct live_pair_packet p = fixture_packet(seq);

	ck_assert_uint_eq(ask_packet(fixture_id(fixture.data), offset, p.bytes),
	    LIVE_PACKET_OK);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), p.bytes);
	ck_assert(live_pair_is_packet(&fixture.out, 12, &p));
}

EACH_TEST(NULL, fixture_close)

TEST_ROWS(ctf_2_is_for_viewers_that_know_it, 17)
{
	bool sees = _i >= 15;
	struct session *session;

	fixture_open(true);
	session = live_pair_session(&fixture.pair, "two", 1000, true);
	live_pair_deliver_all(&fixture.pair);
	viewer_destroy(fixture.viewer);
	fixture.viewer = fixture_viewer(true, (uint32_t)_i);
	(void)fixture_tell(LIVE_CMD_list_sessions, 0);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 0), sees ? 2 : 1);
	ck_assert_uint_eq(
	    buf_len(&fixture.out), sees ? 4 + 2 * (32 + 4 + 3) : 4 + 339);
	(void)live_pair_tell(fixture.viewer,
	    &(struct live_request){ .cmd = LIVE_CMD_attach_session,
		.id = session->live->id,
		.seek = 1 },
	    &fixture.out);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 0),
	    sees ? LIVE_ATTACH_OK : LIVE_ATTACH_UNKNOWN);
}

static void
data_path(char path[256], const char *name)
{
	ck_assert_int_lt(
	    snprintf(path, 256, "%s/host/one-20170714-024000/ust/uid/%s",
		fixture.pair.dir, name),
	    256);
}

static void
remove_data(const char *name)
{
	char path[256];

	data_path(path, name);
	ck_assert_int_eq(unlink(path), 0);
}

/* A stream of six packets, in files of two. */
static struct stream *
open_ring(void)
{
	struct live_pair_packet p;
	struct stream *t;

	fixture_open(true);
	t = live_pair_stream(fixture.session, "ust/uid", "ring", 128, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	for (uint64_t n = 0; n < 6; n++) {
		p = fixture_packet(n);
		live_pair_packet(t, &p);
	}
	fixture.data = t;
	return t;
}

/* W14: somebody removed the file. No hang, no ERR, and HUP at the end. */
TEST_ROWS(a_missing_file_is_skipped, 2)
{
	struct stream *t = open_ring();
	uint64_t id;

	remove_data("ring_0");
	remove_data(_i == 0 ? "ring_1" : "ring_2");
	ck_assert_uint_eq(fixture_attach(fixture.viewer, 1), LIVE_ATTACH_OK);
	ck_assert_uint_eq(index_status(), LIVE_INDEX_OK);
	assert_packet(0, _i == 0 ? 4 : 2);
	ck_assert_uint_eq(index_status(), LIVE_INDEX_OK);
	ck_assert_uint_eq(index_status(), LIVE_INDEX_RETRY);
	ck_assert_uint_eq(fixture.viewer->lost, 4);
	id = fixture_id(t);
	stream_close(t, 5);
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_next_index, id), LIVE_INDEX_HUP);
}

/* A link stands in its place, and the viewer asks again and again. */
TEST(a_file_that_cannot_be_opened_is_not_logged_for_each_request)
{
	char path[256];

	(void)open_ring();
	remove_data("ring_0");
	data_path(path, "ring_0");
	ck_assert_int_eq(symlink("elsewhere", path), 0);
	ck_assert_uint_eq(fixture_attach(fixture.viewer, 1), LIVE_ATTACH_OK);
	unit_capture_stderr();
	for (unsigned i = 0; i < 200; i++)
		ck_assert_uint_eq(index_status(), LIVE_INDEX_ERR);
	ck_assert_uint_eq(unit_stderr_lines(), LOG_PEER_LINES);
}

#define HALVES 20

/* Traces of metadata alone, which may stay so forever, and of data alone: no
 * request looks at them, and they are announced when they are whole. */
TEST(half_traces_cost_requests_nothing)
{
	struct viewer *v;
	struct stream *half[HALVES], *other;
	struct live_pair_packet p = fixture_packet(0);
	char path[32];

	fixture_open_attached(true);
	v = fixture.viewer;
	for (int n = 0; n < HALVES; n++) {
		snprintf(path, sizeof(path), "ust/pid/%d", n);
		half[n] = live_pair_stream(fixture.session, path,
		    n % 2 == 0 ? "metadata" : "ch_0", 0, 0);
	}
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	ck_assert(list_empty(&v->unannounced));
	ck_assert_uint_eq(v->by_id.n, 2 + HALVES);
	for (int n = 0; n < 2; n++) {
		snprintf(path, sizeof(path), "ust/pid/%d", n);
		other = live_pair_stream(fixture.session, path,
		    n % 2 == 0 ? "ch_0" : "metadata", 0, 0);
		session_publish(fixture.session);
		live_pair_metadata(n % 2 == 0 ? half[n] : other, "m", 1);
		live_pair_packet(n % 2 == 0 ? other : half[n], &p);
		live_pair_deliver_all(&fixture.pair);
		ck_assert(!list_empty(&v->unannounced));
		ck_assert_uint_eq(fixture_tell(LIVE_CMD_get_new_streams,
				      fixture.session->live->id),
		    LIVE_STREAMS_OK);
		ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), 2);
		ck_assert(list_empty(&v->unannounced));
		/* Its data is gone: the metadata waits apart again. */
		other = live_pair_stream(fixture.session, "ust/pid/2",
		    n == 0 ? "ch_0" : "ch_1", 0, 0);
		session_publish(fixture.session);
		live_pair_deliver_all(&fixture.pair);
		ck_assert(!list_empty(&v->unannounced));
		stream_close(other, UINT64_MAX);
		(void)fixture_index();
		live_pair_deliver_all(&fixture.pair);
		ck_assert(list_empty(&v->unannounced));
	}
	stream_close(half[2], UINT64_MAX);
	stream_close(half[3], UINT64_MAX);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_uint_eq(v->by_id.n, 2 + HALVES);
	(void)fixture_tell(LIVE_CMD_detach_session, fixture.session->live->id);
	ck_assert_uint_eq(v->by_id.n, 0);
	ck_assert_uint_eq(v->traces.n, 0);
	ck_assert(list_empty(&v->incomplete));
}

static unsigned
count_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* A chunk of a thousand short processes keeps none of their folders open. */
TEST(closed_streams_keep_no_descriptors)
{
	struct live_pair_packet p = fixture_packet(0);
	struct stream *metadata, *data;
	unsigned before;
	char path[32];

	fixture_open(true);
	before = count_descriptors();
	for (int n = 0; n < 20; n++) {
		snprintf(path, sizeof(path), "ust/pid/%d", n);
		metadata = live_pair_stream(
		    fixture.session, path, "metadata", 0, 0);
		data = live_pair_stream(fixture.session, path, "ch_0", 0, 0);
		session_publish(fixture.session);
		live_pair_metadata(metadata, "m", 1);
		live_pair_packet(data, &p);
		stream_close(data, 0);
		stream_close(metadata, UINT64_MAX);
		live_pair_deliver_all(&fixture.pair);
	}
	/* ThreadSanitizer may open one of its own meanwhile. */
	ck_assert_uint_lt(count_descriptors(), before + 2);
}

#define SENT 1000000 /* before the new process began */
#define MIN_BEGIN (SENT + VIEWER_MIN_BEGIN_TICKS)
#define LTTNG_BYTES 256
#define NONE LTTNG_BYTES

static uint8_t lttng_bytes[LTTNG_BYTES];
static struct stream *old_data; /* of the process before */

static void
put64(uint8_t *p, uint64_t value, bool is_big)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(value >> (is_big ? 56 - 8 * i : 8 * i));
}

/* A process begins, whose first packet, as LTTng lays it out, begins before
 * what the viewer was sent (live 4.11). The byte WRONG of it is another. */
static void
begin_too_early(bool is_big, unsigned wrong)
{
	struct live_pair_packet p = { .begin = SENT - 5,
		.end = MIN_BEGIN + 7,
		.bytes = LTTNG_BYTES,
		.raw = lttng_bytes,
		.ctf_stream = LIVE_PAIR_CLASS };
	uint8_t *b = lttng_bytes;

	fixture_open_attached(true);
	live_pair_beacon(fixture.data, SENT);
	ck_assert_uint_eq(fixture_index().timestamp_end, SENT);
	(void)live_pair_stream(fixture.session, "ust/2", "metadata", 0, 0);
	old_data = fixture.data;
	fixture.data = live_pair_stream(fixture.session, "ust/2", "ch_0", 0, 0);
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_new_streams, fixture.session->live->id),
	    LIVE_STREAMS_OK);
	for (unsigned i = 0; i < LTTNG_BYTES; i++)
		b[i] = (uint8_t)(i * 7);
	memcpy(b, is_big ? "\xc1\xfc\x1f\xc1" : "\xc1\x1f\xfc\xc1", 4);
	put64(b + 32, p.begin, is_big);
	put64(b + 40, p.end, is_big);
	put64(b + 48, LTTNG_BYTES * 8, is_big);
	put64(b + 56, LTTNG_BYTES * 8, is_big);
	if (wrong < LTTNG_BYTES)
		b[wrong] ^= 1;
	live_pair_packet(fixture.data, &p);
	ck_assert_uint_eq(index_status(), LIVE_INDEX_OK);
}

static void
assert_bytes(uint64_t offset, const uint8_t *want, uint32_t n)
{
	ck_assert_uint_eq(
	    ask_packet(fixture_id(fixture.data), offset, n), LIVE_PACKET_OK);
	ck_assert_uint_eq(buf_len(&fixture.out), 12 + n);
	ck_assert_mem_eq(buf_data(&fixture.out) + 12, want + offset, n);
}

static uint64_t
last_begin(void)
{
	return live_pair_index_of(&fixture.out).timestamp_begin;
}

/* In both byte orders, read whole and in any two pieces; another viewer still
 * reads the packet as it was written. */
TEST_ROWS(a_packet_that_begins_too_early_begins_later, 2)
{
	const bool is_big = _i == 1;
	uint8_t want[LTTNG_BYTES];

	begin_too_early(is_big, NONE);
	ck_assert_uint_eq(last_begin(), MIN_BEGIN);
	memcpy(want, lttng_bytes, LTTNG_BYTES);
	put64(want + 32, MIN_BEGIN, is_big);
	for (uint32_t cut = 0; cut <= LTTNG_BYTES; cut++) {
		assert_bytes(0, want, cut);
		assert_bytes(cut, want, LTTNG_BYTES - cut);
	}
	fixture.viewer = fixture_viewer(true, 4);
	ck_assert_uint_eq(fixture_attach(fixture.viewer, LIVE_SEEK_BEGINNING),
	    LIVE_ATTACH_OK);
	ck_assert_uint_eq(fixture_index().timestamp_begin, SENT - 5);
	assert_bytes(0, lttng_bytes, LTTNG_BYTES);
}

/* Its file was closed for want of descriptors, and is gone. */
TEST(it_begins_later_when_its_file_is_gone)
{
	struct live_pair_packet other = { .seq = 0,
		.begin = SENT + 1,
		.end = SENT + 1,
		.bytes = 64,
		.ctf_stream = LIVE_PAIR_CLASS };
	uint8_t want[LTTNG_BYTES];
	char path[256];

	begin_too_early(false, NONE);
	memcpy(want, lttng_bytes, LTTNG_BYTES);
	put64(want + 32, MIN_BEGIN, false);
	fds[FDS_VIEWER_FILES].hard = account_used(&fds[FDS_VIEWER_FILES]);
	live_pair_packet(old_data, &other);
	ck_assert_uint_eq(
	    fixture_tell(LIVE_CMD_get_next_index, fixture_id(old_data)),
	    LIVE_INDEX_OK);
	data_path(path, "../2/ch_0");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(
	    account_used(&fixture.pair.viewers.files.kept), LTTNG_BYTES);
	assert_bytes(0, want, 36);
	assert_bytes(36, want, 0);
	assert_bytes(36, want, LTTNG_BYTES - 36);
	/* The other file was closed to look for this one. */
	ck_assert_uint_eq(account_used(&fixture.pair.viewers.files.kept), 64);
	fds[FDS_VIEWER_FILES].hard = UINT64_MAX;
}

/* The magic, and the words that must say what the index says. */
static const unsigned lttng_words[] = { 0, 32, 40, 48, 56 };

TEST_ROWS(a_packet_of_another_layout_stays_as_it_is, ARRAY_LEN(lttng_words))
{
	begin_too_early(false, lttng_words[_i]);
	ck_assert_uint_eq(last_begin(), SENT - 5);
	assert_bytes(0, lttng_bytes, LTTNG_BYTES);
}

/* Traces that are published one after another move the limit of all, but not
 * that of one answer. */
TEST(an_answer_waits_a_limited_time)
{
	struct live_how how = { .may_hold = true };
	const struct live_request *q;
	char path[16];
	int n = 0;

	fixture_open_attached(true);
	fixture.pair.viewers.class_ns = VIEWER_CLASS_NS;
	packet(0);
	ck_assert_uint_eq(index_status(), LIVE_INDEX_OK);
	packet(1);
	q = &(struct live_request){ .cmd = LIVE_CMD_get_next_index,
		.id = fixture_id(fixture.data) };
	how.arrived_ns = clock_now_ns();
	do {
		snprintf(path, sizeof(path), "ust/more/%d", n++);
		(void)live_pair_stream(fixture.session, path, "metadata", 0, 0);
		(void)live_pair_stream(fixture.session, path, "ch_0", 0, 0);
		/* As if the second packet had not come before them. */
		fixture.session->time.latest = 90;
		session_publish(fixture.session);
		live_pair_deliver_all(&fixture.pair);
		fixture_wait_ms(n == 1 ? 0 : 1000);
		ck_assert_int_le(n, (int)(VIEWER_EARLY_NS / NS_PER_S) + 1);
	} while (live_pair_ask(fixture.viewer, q, &how, &fixture.out,
		     &fixture.held) == LIVE_HOLD);
	ck_assert_int_gt(n, 2);
	ck_assert_uint_eq(live_pair_index_of(&fixture.out).timestamp_end, 190);
}

static void *
from_another_thread(void *arg)
{
	bool has_ended;

	switch (*(int *)arg) {
	case 0:
		(void)viewers_find(&fixture.pair.viewers, 1);
		break;
	case 1:
		(void)viewers_are_behind(&fixture.pair.viewers);
		break;
	default:
		(void)viewer_has_news(fixture.viewer, &has_ended);
		break;
	}
	return NULL;
}

/* Aborts: a viewer and what it sees are one thread's own. */
TEST_ROWS(another_thread_may_not, 3)
{
	pthread_t other;
	int status;
	pid_t pid;

	fixture_open(false);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		MUST(freopen("/dev/null", "w", stderr) != NULL);
		if (pthread_create(&other, NULL, from_another_thread, &_i) == 0)
			pthread_join(other, NULL);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
