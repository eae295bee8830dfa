/* SPDX-License-Identifier: MIT */
/*
 * Streams with files and rings of random sizes, while readers lock index files,
 * writes fail and memory runs out: what a viewer sees of a stream is in order
 * and as it was sent; it is what was sent, except reported losses; and it
 * ends. TP_MODEL_SEED=N repeats one run.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/cycle.h"
#include "store/store.h"
#include "tests/lib/fault.h"
#include "tests/lib/unit.h"
#include "tests/relayd/model.h"
#include "tests/relayd/fixture.h"

#define MODEL_STREAMS 3
#define LOCKS 4
#define STEPS 400
#define SEEDS 10
#define WORDS_MAX 30 /* of 8 bytes, in a packet */

ssize_t __real_pwritev(int fd, const struct iovec *iov, int n, off_t offset);
ssize_t __wrap_pwritev(int fd, const struct iovec *iov, int n, off_t offset);

struct locked_stream {
	struct stream *t; /* NULL: closed */
	uint64_t id, sent, next;
	uint64_t words[STEPS]; /* length of each packet */
	bool is_over;
};

static struct locked_stream all[MODEL_STREAMS];
static int locks[LOCKS];
static uint64_t given, chunk, dropped;
static bool disk_fails;

ssize_t
__wrap_pwritev(int fd, const struct iovec *iov, int n, off_t offset)
{
	if (disk_fails && one_in(4)) {
		errno = ENOSPC;
		return -1;
	}
	/* Only the first piece is written. */
	if (disk_fails && n > 1 && one_in(2))
		n = 1;
	return __real_pwritev(fd, iov, n, offset);
}

static struct live_pair_packet
packet(const struct locked_stream *s, uint64_t seq)
{
	return (struct live_pair_packet){ .seq = seq,
		.begin = seq * 100 + 10,
		.end = seq * 100 + 90,
		.bytes = (uint32_t)s->words[seq] * 8,
		.tag = (uint64_t)(s - all) << 40 | seq << 16,
		.ctf_stream = LIVE_PAIR_CLASS };
}

static void
begin(void)
{
	char channel[16];

	disk_fails = false;
	fixture_open(false);
	fixture.pair.shard->store->config.index_lock_timeout_ns = NS_PER_S;
	/* With few descriptors, files are closed and opened again. */
	if (one_in(2))
		fixture.pair.shard->store->config.max_files = 4;
	for (unsigned i = 0; i < MODEL_STREAMS; i++) {
		(void)snprintf(channel, sizeof(channel), "c%u", i);
		all[i] = (struct locked_stream){ 0 };
		all[i].t = live_pair_stream(fixture.session, "ust/uid", channel,
		    one_in(4) ? 0 : 8 + random_below(600),
		    one_in(3) ? 1 : random_below(4));
		ck_assert_ptr_nonnull(all[i].t);
	}
	session_publish(fixture.session);
	live_pair_deliver_all(&fixture.pair);
	for (unsigned i = 0; i < MODEL_STREAMS; i++)
		all[i].id = fixture_id(all[i].t);
	for (unsigned i = 0; i < LOCKS; i++)
		locks[i] = -1;
	given = chunk = dropped = 0;
	ck_assert_uint_eq(fixture_attach(fixture.viewer, LIVE_SEEK_BEGINNING),
	    LIVE_ATTACH_OK);
}

/* Sometimes without memory. Packets that are lost meanwhile are reported. */
static void
turn(void)
{
	struct shard *sh = fixture.pair.shard;
	bool is_told = false;

	if (one_in(8))
		fault_arm(1 + (unsigned)random_below(6));
	cycle_commit(sh);
	(void)cycle_tick(sh, clock_now_ns());
	(void)fault_disarm();
	for (unsigned i = 0; i < MODEL_STREAMS; i++)
		is_told |= all[i].t != NULL && all[i].t->writer.has_write_error;
	CHECK(is_told || sh->figures.packets_dropped == dropped ||
		  all[0].t == NULL || all[1].t == NULL || all[2].t == NULL,
	    "%llu packets lost in silence",
	    (unsigned long long)(sh->figures.packets_dropped - dropped));
	dropped = sh->figures.packets_dropped;
}

static void
send_packet(struct locked_stream *s)
{
	const uint64_t seq = s->sent++;
	struct live_pair_packet p;
	enum status st;

	s->words[seq] = 1 + random_below(WORDS_MAX);
	p = packet(s, seq);
	live_pair_data(s->t, &p);
	st = stream_add_record(
	    s->t, &(struct relay_index){ .stream = s->t->handle,
		      .net_seq = seq,
		      .packet_size = p.bytes * 8,
		      .content_size = p.bytes * 8,
		      .timestamp_begin = p.begin,
		      .timestamp_end = p.end,
		      .ctf_stream = p.ctf_stream,
		      .packet_seq_num = seq });
	CHECK(st == OK || st == E_IO, "status %d", (int)st);
	if (st == E_IO)
		dropped = fixture.pair.shard->figures.packets_dropped;
	if (one_in(3))
		return; /* in one batch with the next */
	turn();
}

static void
ask_pending(struct locked_stream *s)
{
	turn();
	if (s->sent > 0 && stream_pending(s->t, s->sent - 1) == 0)
		CHECK(s->t->writer.record_seq == s->sent - 1,
		    "what waits is acknowledged");
}

/* A reader locks one of the index files, or gives one back. */
static void
change_lock(void)
{
	int *lock = &locks[random_below(LOCKS)];
	glob_t found = { 0 };
	char path[512];

	if (*lock >= 0)
		close(*lock);
	*lock = -1;
	if (one_in(4))
		return;
	/* In the session's folder, and in those of later chunks. */
	(void)snprintf(
	    path, sizeof(path), "%s/*/*/ust/uid/index/*.idx", fixture.pair.dir);
	(void)glob(path, 0, NULL, &found);
	(void)snprintf(path, sizeof(path), "%s/*/*/*/ust/uid/index/*.idx",
	    fixture.pair.dir);
	(void)glob(path, GLOB_APPEND, NULL, &found);
	if (found.gl_pathc > 0) {
		*lock = open(found.gl_pathv[random_below(found.gl_pathc)],
		    O_RDONLY | O_CLOEXEC);
		if (*lock >= 0)
			(void)flock(*lock, LOCK_SH | LOCK_NB);
	}
	globfree(&found);
}

static void
rotate(void)
{
	turn();
	live_pair_create_chunk(fixture.session, ++chunk);
	live_pair_rotate(fixture.metadata, true, chunk, 0);
	live_pair_rotate(fixture.data, true, chunk, 0);
	for (unsigned i = 0; i < MODEL_STREAMS; i++)
		if (all[i].t != NULL)
			live_pair_rotate(all[i].t, true, chunk, all[i].sent);
	live_pair_close_chunk(fixture.session, chunk - 1, RELAY_CLOSE_ARCHIVE);
}

static void
close_stream(struct locked_stream *s)
{
	stream_close(s->t, s->sent - 1);
	s->t = NULL;
	live_pair_deliver_all(&fixture.pair);
}

/* False: there is none now. */
static bool
read_packet(struct locked_stream *s)
{
	struct live_pair_packet p;
	struct live_index i;

	(void)fixture_tell(LIVE_CMD_get_next_index, s->id);
	i = live_pair_index_of(&fixture.out);
	if (i.status == LIVE_INDEX_HUP)
		s->is_over = true;
	CHECK(i.status == LIVE_INDEX_OK || i.status == LIVE_INDEX_RETRY ||
		  (s->is_over && s->t == NULL),
	    "status %u", i.status);
	if (i.status != LIVE_INDEX_OK)
		return false;
	CHECK(i.timestamp_begin >= s->next * 100 + 10 &&
		  i.timestamp_begin < s->sent * 100 + 10,
	    "packet %llu again, or of the future",
	    (unsigned long long)i.timestamp_begin / 100);
	s->next = i.timestamp_begin / 100 + 1;
	p = packet(s, s->next - 1);
	CHECK(i.packet_size == p.bytes * 8, "size");
	(void)live_pair_tell(fixture.viewer,
	    &(struct live_request){ .cmd = LIVE_CMD_get_packet,
		.id = s->id,
		.offset = i.offset,
		.length = p.bytes },
	    &fixture.out);
	CHECK(live_pair_is_packet(&fixture.out, 12, &p), "not packet %llu",
	    (unsigned long long)p.seq);
	given++;
	return true;
}

/* All that was sent is given, or is reported as lost. */
static void
read_all(void)
{
	const struct shard *sh = fixture.pair.shard;
	uint64_t sent = 0;

	for (unsigned i = 0; i < MODEL_STREAMS; i++) {
		while (!all[i].is_over && read_packet(&all[i]))
			;
		CHECK(all[i].is_over == (all[i].t == NULL),
		    "stream %u does not end", i);
		sent += all[i].sent;
	}
	CHECK(
	    sent == given + fixture.viewer->lost + sh->figures.packets_dropped,
	    "%llu sent, %llu given, %llu overwritten, %llu told lost",
	    (unsigned long long)sent, (unsigned long long)given,
	    (unsigned long long)fixture.viewer->lost,
	    (unsigned long long)sh->figures.packets_dropped);
}

/* The time of all readers' locks ends. They may keep them. */
static void
wait_for_locks(void)
{
	turn();
	fixture_wait_ms(1000);
	turn();
	/* Files that were reached only now. */
	for (unsigned i = 0; i < LOCKS; i++) {
		fixture_wait_ms(1000);
		turn();
	}
	CHECK(list_empty(&fixture.pair.shard->work.locked),
	    "records wait for ever");
}

static void
step_once(void)
{
	struct locked_stream *s = &all[random_below(MODEL_STREAMS)];

	if (one_in(4))
		change_lock();
	if (one_in(20))
		disk_fails = one_in(3);
	if (one_in(30))
		fixture_wait_ms(random_below(1500));
	if (one_in(4) && !s->is_over)
		(void)read_packet(s);
	if (one_in(80) && !disk_fails)
		rotate();
	if (one_in(20)) {
		wait_for_locks();
		read_all();
	}
	if (s->t == NULL)
		return;
	if (one_in(10))
		ask_pending(s);
	if (one_in(250) && s->sent > 0)
		close_stream(s);
	else
		send_packet(s);
}

static void
finish(void)
{
	turn();
	for (unsigned i = 0; i < MODEL_STREAMS; i++)
		if (all[i].t != NULL)
			close_stream(&all[i]);
	wait_for_locks();
	read_all();
	for (unsigned i = 0; i < LOCKS; i++)
		if (locks[i] >= 0)
			close(locks[i]);
	fixture_close();
}

static void
run(uint64_t this_seed)
{
	random_seed(this_seed);
	begin();
	for (step = 0; step < STEPS; step++)
		step_once();
	finish();
}

TEST_ROWS(a_viewer_sees_what_was_sent_except_reported_losses,
    getenv("TP_TEST_LONG") != NULL ? 400 : 6)
{
	const char *one = getenv("TP_MODEL_SEED");

	if (one != NULL) {
		log_set_level(LOG_DEBUG);
		run(strtoull(one, NULL, 10));
		return;
	}
	log_set_level(LOG_ERROR);
	for (uint64_t n = 1; n <= SEEDS; n++)
		run((uint64_t)_i * SEEDS + n);
}
