/* SPDX-License-Identifier: MIT */
/*
 * Memory runs out: the n-th allocation of an operation fails, for each n until
 * the operation succeeds. Each time the operation reports the failure, nothing
 * is half changed and nothing is leaked (the sanitizer looks at the end), and
 * the operation works when there is memory again.
 */
#include <dirent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/frame.h"
#include "proto/udp.h"
#include "relayd/record/control.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/cycle.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/record/siblings.h"
#include "relayd/record/stream.h"
#include "relayd/record/trace.h"
#include "relayd/record/udp.h"
#include "relayd/worker.h"
#include "ctf/index.h"
#include "store/store.h"
#include "store/packet_log.h"
#include "tests/lib/fault.h"
#include "tests/lib/unit.h"
#include "tests/relayd/fixture.h"

#define WHERE "host/s-20170714-024000"
#define DATA WHERE "/ust/c"
#define INDEX WHERE "/ust/index/c.idx"
#define BYTES 64
#define RECORD 72
#define STREAMS 4
/* No operation has so many. */
#define ALLOCATIONS_MAX 1000

static struct live_pair pair;
static void (*live_pair_tell_news)(
    struct live_notifier *d, enum live_event what, void *object);

/* What the pair allocates is the test's. */
static void
notify(struct live_notifier *d, enum live_event what, void *object)
{
	const unsigned left = fault_pause();

	live_pair_tell_news(d, what, object);
	fault_go_on(left);
}

static void
open_pair(void)
{
	live_pair_open(&pair, false, 0);
	live_pair_tell_news = pair.notifier.notify;
	pair.notifier.notify = notify;
	pair.shard->config.udp_port = 1;
}

/* A live session that viewers see. */
static struct session *
live_session(void)
{
	struct session *s = live_pair_session(&pair, "s", 1000000, false);

	ck_assert_str_eq(session_path(s), WHERE);
	live_pair_deliver_all(&pair);
	return s;
}

/* Nothing is written before the next commit. */
static void
record(struct stream *t, uint64_t seq)
{
	ck_assert_int_eq(
	    stream_add_record(t, &(struct relay_index){ .stream = t->handle,
				     .net_seq = seq,
				     .packet_size = 8 * BYTES,
				     .content_size = 8 * BYTES,
				     .packet_seq_num = seq }),
	    OK);
}

static void
packet(struct stream *t, uint64_t seq)
{
	live_pair_data(
	    t, &(struct live_pair_packet){ .seq = seq, .bytes = BYTES });
	record(t, seq);
	cycle_commit(pair.shard);
}

static unsigned
descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static unsigned
length_of(const struct list *list)
{
	const struct list *n;
	unsigned length = 0;

	for (n = list->next; n != list; n = n->next)
		length++;
	return length;
}

static struct relay_create_session
session_wish(void)
{
	const struct relay_session_request q = { .session_name = "s",
		.hostname = "host",
		.base_path = "",
		.live_timer_us = 1000000,
		.uuid = { { 1 } },
		.peer_session = 1,
		.creation_time = 1500000000,
		.trace_format = 1 };
	struct relay_create_session wish;
	struct buf b = { 0 };
	struct reader r;

	relay_request_create_session(&b, 13, &q);
	r = reader_over(
	    buf_data(&b) + RELAY_HEADER_LEN, buf_len(&b) - RELAY_HEADER_LEN);
	ck_assert_int_eq(relay_create_session_decode(&r, 13, &wish), OK);
	buf_free(&b);
	return wish;
}

/* One round: true when allocation N is beyond what the operation has. */
static bool
create_session(unsigned n)
{
	struct relay_create_session wish;
	unsigned before;
	struct session *s;
	enum status st;
	bool failed;

	open_pair();
	/* The first one of all begins the journal, which stays open. */
	session_end(live_pair_session(&pair, "first", 0, false), false);
	live_pair_deliver_all(&pair);
	before = descriptors();
	wish = session_wish();
	fault_arm(n);
	st = session_create(&s, pair.shard, &wish, 13, "peer");
	failed = fault_disarm();
	ck_assert_int_eq(st, failed ? E_NOMEM : OK);
	if (failed) {
		ck_assert_ptr_null(s);
		ck_assert(list_empty(&pair.shard->sessions));
		ck_assert(list_empty(&pair.shard->siblings));
		ck_assert_uint_eq(descriptors(), before);
		ck_assert_ptr_null(pair.first); /* no event */
		wish = session_wish();
		ck_assert_int_eq(
		    session_create(&s, pair.shard, &wish, 13, "peer"), OK);
	}
	ck_assert_str_eq(session_path(s), WHERE);
	ck_assert_uint_eq(length_of(&pair.shard->sessions), 1);
	session_end(s, false);
	live_pair_close(&pair);
	return !failed;
}

static struct relay_add_stream
stream_wish(const char *channel)
{
	struct relay_add_stream q;
	struct buf b = { 0 };
	struct reader r;

	relay_request_add_stream(&b, 13, channel, "ust", 0, 0, 0);
	r = reader_over(
	    buf_data(&b) + RELAY_HEADER_LEN, buf_len(&b) - RELAY_HEADER_LEN);
	ck_assert_int_eq(relay_add_stream_decode(&r, 13, &q), OK);
	buf_free(&b);
	return q;
}

static bool
create_stream_of(const char *channel, unsigned n)
{
	struct relay_add_stream q;
	uint64_t handle, first;
	unsigned before;
	struct session *s;
	enum status st;
	bool failed;

	open_pair();
	s = live_session();
	before = descriptors();
	q = stream_wish(channel);
	fault_arm(n);
	st = stream_create(s, &q, &handle);
	failed = fault_disarm();
	ck_assert_int_eq(st, failed ? E_NOMEM : OK);
	if (failed) {
		first = handle;
		ck_assert(list_empty(&s->streams));
		ck_assert_ptr_null(session_stream(s, first));
		ck_assert_int_eq(live_pair_size(&pair, DATA), -1);
		ck_assert_uint_eq(descriptors(), before);
		q = stream_wish(channel);
		ck_assert_int_eq(stream_create(s, &q, &handle), OK);
		ck_assert_ptr_null(session_stream(s, first));
	}
	ck_assert_uint_eq(length_of(&s->streams), 1);
	ck_assert_uint_eq(s->traces.keys.n, 1);
	if (!session_stream(s, handle)->is_metadata) {
		packet(session_stream(s, handle), 0);
		ck_assert_int_eq(live_pair_size(&pair, DATA), BYTES);
	}
	session_end(s, false);
	live_pair_close(&pair);
	return !failed;
}

static bool
create_stream(unsigned n)
{
	return create_stream_of("c", n);
}

static bool
create_metadata(unsigned n)
{
	return create_stream_of("metadata", n);
}

static struct session *
session_of_many(struct stream *t[STREAMS])
{
	static const char *const channels[STREAMS] = { "metadata", "c", "d",
		"e" };
	struct session *s = live_session();

	for (unsigned i = 0; i < STREAMS; i++)
		t[i] = live_pair_stream(s, "ust", channels[i], 0, 0);
	return s;
}

/* After a failure the session can only end. */
static bool
open_udp(unsigned n)
{
	const struct udp_open q = { .version = UDP_VERSION };
	struct stream *t[STREAMS];
	struct udp_open_reply a;
	struct session *s;
	bool failed;

	open_pair();
	s = session_of_many(t);
	fault_arm(n);
	udp_open(s, &q, &a);
	failed = fault_disarm();
	ck_assert_uint_eq(a.code, failed ? RELAY_NO_MEMORY : RELAY_OK);
	for (unsigned i = 0; i < STREAMS && !failed; i++)
		ck_assert((t[i]->intake.udp == NULL) == (i == 0));
	session_end(s, false);
	live_pair_close(&pair);
	return !failed;
}

/* Packets that are ready, of which memory may cost one at most, with its
 * record: no other, and none after it. Where there is more than one, none. */
static bool
append_packets(unsigned n, uint64_t packets)
{
	struct shard *sh;
	uint64_t written;
	struct session *s;
	struct stream *t;
	bool failed;

	open_pair();
	sh = pair.shard;
	s = live_session();
	t = live_pair_stream(s, "ust", "c", 0, 0);
	for (uint64_t i = 0; i < packets; i++)
		live_pair_data(
		    t, &(struct live_pair_packet){ .seq = i, .bytes = BYTES });
	for (uint64_t i = 0; i < packets; i++)
		record(t, i);
	fault_arm(n);
	cycle_commit(sh);
	failed = fault_disarm();
	(void)cycle_tick(sh, 0); /* records that wait */
	ck_assert_uint_le(sh->figures.packets_dropped, packets > 1 ? 0 : 1);
	written = packets - sh->figures.packets_dropped;
	ck_assert_int_eq(live_pair_size(&pair, DATA), (long)written * BYTES);
	if (written > 0)
		ck_assert_int_eq(live_pair_size(&pair, INDEX),
		    INDEX_HEADER_LEN + (long)written * RECORD);
	/* The peer gets one error, then it continues. */
	ck_assert(
	    t->writer.has_write_error == (sh->figures.packets_dropped > 0));
	t->writer.has_write_error = false;
	packet(t, packets);
	ck_assert(!t->writer.has_write_error);
	ck_assert_int_eq(
	    live_pair_size(&pair, DATA), (long)(written + 1) * BYTES);
	ck_assert_int_eq(live_pair_size(&pair, INDEX),
	    INDEX_HEADER_LEN + (long)(written + 1) * RECORD);
	ck_assert_uint_eq(published(&t->log->count), written + 1);
	session_end(s, false);
	live_pair_close(&pair);
	return !failed;
}

static bool
append_one(unsigned n)
{
	return append_packets(n, 1);
}

static bool
append_some(unsigned n)
{
	return append_packets(n, 100);
}

/* A reply that finds no memory ends its connection. */
static struct viewer *
next_viewer(struct viewer *v)
{
	viewer_destroy(v);
	return fixture_viewer(true, 4);
}

static bool
ask(struct viewer *v, const struct live_request *q, unsigned n,
    struct live_reply *reply)
{
	const struct live_how how = { 0 };
	enum live_outcome outcome;
	struct live_held held;
	bool failed;

	buf_free(reply->out);
	fault_arm(n);
	outcome = viewer_serve(v, q, &how, reply, &held);
	failed = fault_disarm();
	live_list_free(&reply->list);
	ck_assert_int_eq(outcome, LIVE_REPLY);
	return failed;
}

static bool
attach_viewer(unsigned n)
{
	struct live_reply reply = { .out = &fixture.out };
	struct viewer *v;
	uint64_t clients;
	bool failed;

	fixture_open(false);
	v = fixture.viewer;
	failed = ask(v,
	    &(struct live_request){ .cmd = LIVE_CMD_attach_session,
		.id = fixture.session->live->id,
		.seek = LIVE_SEEK_BEGINNING },
	    n, &reply);
	clients = published(&fixture.session->live->clients);
	if (failed) {
		if (fixture.out.bad) {
			buf_free(&fixture.out);
			v = next_viewer(v);
			ck_assert_uint_eq(
			    published(&fixture.session->live->clients), 0);
		} else {
			ck_assert_uint_eq(live_pair_u32(&fixture.out, 0),
			    LIVE_ATTACH_UNKNOWN);
			ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), 0);
			ck_assert_uint_eq(clients, 0);
			ck_assert(list_empty(&v->attachments));
			ck_assert(list_empty(&v->announced));
			ck_assert(list_empty(&v->unannounced));
		}
		buf_free(&fixture.out);
		ck_assert_uint_eq(
		    fixture_attach(v, LIVE_SEEK_BEGINNING), LIVE_ATTACH_OK);
	}
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 0), LIVE_ATTACH_OK);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), 2);
	ck_assert_uint_eq(published(&fixture.session->live->clients), 1);
	fixture_close();
	return !failed;
}

/* A viewer whose reply found no memory is closed; the next one gets it. */
static bool
announce_streams(unsigned n)
{
	struct live_reply reply = { .out = &fixture.out };
	struct stream *t;
	bool failed;

	fixture_open_attached(false);
	(void)live_pair_stream(fixture.session, "ust/other", "metadata", 0, 0);
	t = live_pair_stream(fixture.session, "ust/other", "ch_0", 0, 0);
	session_publish(fixture.session);
	live_pair_packet(t, &(struct live_pair_packet){ .bytes = BYTES });
	live_pair_deliver_all(&fixture.pair);
	fixture_wait_ms(60000);
	failed = ask(fixture.viewer,
	    &(struct live_request){ .cmd = LIVE_CMD_get_new_streams,
		.id = fixture.session->live->id },
	    n, &reply);
	ck_assert(fixture.out.bad == failed);
	if (failed) {
		buf_free(&fixture.out);
		fixture.viewer = next_viewer(fixture.viewer);
		ck_assert_uint_eq(
		    fixture_attach(fixture.viewer, LIVE_SEEK_BEGINNING),
		    LIVE_ATTACH_OK);
	}
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 0), LIVE_STREAMS_OK);
	ck_assert_uint_eq(live_pair_u32(&fixture.out, 4), failed ? 4 : 2);
	fixture_close();
	return !failed;
}

static struct worker_config
worker_config(struct loop *acceptor, const struct shard_config *shard,
    const struct store_config *store, struct account *underway)
{
	static const struct control_config control;

	return (struct worker_config){ .shard = shard,
		.store = store,
		.control = &control,
		.underway = underway,
		.udp_fd = socket(
		    AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
		.acceptor = acceptor };
}

static bool
start_worker(unsigned n)
{
	struct account memory = { .soft = 1 << 30, .hard = 1 << 30 };
	struct account underway = { .hard = 1 };
	struct published ids = { 0 };
	const struct shard_config shard = {
		.n_workers = 1, .memory = &memory, .session_ids = &ids
	};
	struct store_config store = { .max_files = 64, .memory = &memory.used };
	struct worker_config config;
	struct loop acceptor = { 0 };
	struct worker *w;
	unsigned before;
	enum status st;
	bool failed;

	open_pair();
	store.base_fd = pair.base_fd;
	before = descriptors();
	config = worker_config(&acceptor, &shard, &store, &underway);
	fault_arm(n);
	st = worker_create(&w, &config);
	if (st == OK)
		st = worker_run(w);
	failed = fault_disarm();
	if (st != OK) {
		ck_assert(failed);
		worker_stop(w);
		ck_assert_uint_eq(descriptors(), before);
		config = worker_config(&acceptor, &shard, &store, &underway);
		ck_assert_int_eq(worker_create(&w, &config), OK);
		ck_assert_int_eq(worker_run(w), OK);
	}
	worker_stop(w);
	ck_assert_uint_eq(descriptors(), before);
	live_pair_close(&pair);
	return !failed;
}

static const struct {
	bool (*has_passed)(unsigned n);
	unsigned least; /* allocations that fail */
} rows[] = {
	{ create_session, 5 },
	{ create_stream, 5 },
	{ create_metadata, 5 },
	{ open_udp, STREAMS },
	{ append_one, 1 },
	{ append_some, 1 },
	{ attach_viewer, 5 },
	{ announce_streams, 1 },
	{ start_worker, 5 },
};

TEST_ROWS(each_allocation_may_fail, ARRAY_LEN(rows))
{
	unsigned n = 1;

	while (!rows[_i].has_passed(n))
		ck_assert_uint_le(++n, ALLOCATIONS_MAX);
	ck_assert_uint_gt(n, rows[_i].least);
}

int
main(void)
{
	/* The event library is not linked with FAULT_LDFLAGS. */
	event_set_mem_functions(malloc, realloc, free);
	return unit_run();
}
