/* SPDX-License-Identifier: MIT */
/* Traces that a tracer begins again: each generation in a folder of its own,
 * with real files. */
#include "relayd/record/trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/cycle.h"
#include "store/chunk.h"
#include "store/store.h"
#include "tests/lib/live_pair.h"
#include "tests/lib/unit.h"

#define PATH "ust/pid/app-1-20261121-231513"
#define BYTES 64
#define NEVER UINT64_MAX

static struct live_pair pair;
static struct session *session;

/* What one process adds. */
struct process {
	struct stream *c0, *c1, *metadata;
};

static void
open_pair(uint32_t live_us)
{
	live_pair_open(&pair, false, 0);
	session = live_pair_session(&pair, "s", live_us, false);
}

static void
close_pair(void)
{
	session_end(session, false);
	live_pair_close(&pair);
}

/* Below the session's directory. */
static const char *
place(const char *below)
{
	static char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s/%s", pair.dir,
	    session_path(session), below);
	return path;
}

/* Bytes of a file there; -1: there is none. FOLDER may be a pattern. */
static long
size_of(const char *folder, const char *file)
{
	char pattern[256];

	(void)snprintf(pattern, sizeof(pattern), "%s/%s/%s",
	    session_path(session), folder, file);
	return live_pair_size(&pair, pattern);
}

static struct stream *
add(const char *channel)
{
	return live_pair_stream(session, PATH, channel, 0, 0);
}

static struct process
begin(void)
{
	struct process p = { .c0 = add("c_0") };

	p.c1 = add("c_1");
	p.metadata = add("metadata");
	session_publish(session);
	return p;
}

static void
packet(struct stream *t, uint64_t seq)
{
	live_pair_packet(t, &(struct live_pair_packet){ .seq = seq,
				.begin = 10 * seq,
				.end = 10 * seq + 9,
				.bytes = BYTES });
}

/* As lttng-consumerd does: the metadata first. */
static void
end(struct process *p, uint64_t last_0, uint64_t last_1)
{
	stream_close(p->metadata, NEVER);
	stream_close(p->c1, last_1);
	stream_close(p->c0, last_0);
}

static void
check_folder(const char *folder, long c0, long c1, long metadata)
{
	ck_assert_msg(size_of(folder, "c_0") == c0 &&
			  size_of(folder, "c_1") == c1 &&
			  size_of(folder, "metadata") == metadata,
	    "%s: %ld %ld %ld", folder, size_of(folder, "c_0"),
	    size_of(folder, "c_1"), size_of(folder, "metadata"));
}

EACH_TEST(NULL, close_pair)

TEST(each_has_a_folder_and_is_a_trace_for_viewers)
{
	const char *const folders[] = { PATH, PATH "-1", PATH "-2" };
	uint64_t ids[3];

	open_pair(1000000);
	for (unsigned i = 0; i < 3; i++) {
		struct process p = begin();

		ck_assert_str_eq(p.c0->live->path, folders[i]);
		ids[i] = p.c0->live->trace_id;
		ck_assert_uint_eq(p.c1->live->trace_id, ids[i]);
		ck_assert_uint_eq(p.metadata->live->trace_id, ids[i]);
		for (uint64_t seq = 0; seq <= i; seq++)
			packet(p.c0, seq);
		packet(p.c1, 0);
		live_pair_metadata(p.metadata, "declarations", 10 + i);
		end(&p, i, 0);
	}
	ck_assert(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
	for (unsigned i = 0; i < 3; i++)
		check_folder(folders[i], BYTES * (i + 1), BYTES, 10 + i);
	ck_assert_int_eq(size_of(PATH "-3", "."), -1);
}

/* The streams of the new one come before those of the old one are closed, and
 * these still get packets. */
TEST(the_old_one_may_close_late)
{
	struct process old, new;

	open_pair(1000000);
	old = begin();
	packet(old.c0, 0);
	new = begin();
	ck_assert_uint_ne(new.c0->live->trace_id, old.c0->live->trace_id);
	packet(new.c0, 0);
	packet(old.c0, 1);
	packet(old.c1, 0);
	live_pair_metadata(new.metadata, "two", 3);
	live_pair_metadata(old.metadata, "first", 5);
	end(&old, 1, 0);
	packet(new.c1, 0);
	end(&new, 0, 0);
	check_folder(PATH, 2 * BYTES, BYTES, 5);
	check_folder(PATH "-1", BYTES, BYTES, 3);
}

/* A channel that is enabled while the trace is open belongs to it; one that
 * is enabled in between, and comes first, to the next one. */
TEST(a_new_channel_goes_where_its_metadata_is)
{
	struct process p;

	open_pair(0);
	p = begin();
	ck_assert_str_eq(add("d_0")->path->s, PATH);
	end(&p, NEVER, NEVER); /* but for d_0, which is late */
	ck_assert_str_eq(add("e_0")->path->s, PATH "-1");
	p = begin();
	ck_assert_str_eq(p.c0->path->s, PATH "-1");
	ck_assert_str_eq(p.metadata->path->s, PATH "-1");
}

/* A tracer that sends all metadata first has not ended its trace. */
TEST(metadata_that_is_closed_first_ends_nothing)
{
	struct stream *metadata;

	open_pair(0);
	metadata = add("metadata");
	live_pair_metadata(metadata, "all", 3);
	stream_close(metadata, NEVER);
	ck_assert_str_eq(add("c_0")->path->s, PATH);
	ck_assert_str_eq(add("c_1")->path->s, PATH);
}

/* The streams of a snapshot are closed one by one, in any order. */
TEST(a_snapshot_is_one_trace)
{
	const char *const names[] = { "c_0", "metadata", "c_1" };
	struct stream *t;

	open_pair(0);
	session->request.is_snapshot = true;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 3; i++) {
			t = add(names[i]);
			ck_assert_str_eq(t->path->s, PATH);
			stream_close(t, NEVER);
		}
		live_pair_create_chunk(session, round + 1);
		live_pair_close_chunk(session, round, RELAY_CLOSE_ARCHIVE);
	}
}

/* What somebody else put there is not touched, and not written to. */
TEST(names_that_are_taken_are_skipped)
{
	struct process p;
	int fd;

	open_pair(0);
	p = begin();
	end(&p, NEVER, NEVER);
	ck_assert_int_eq(mkdir(place(PATH "-1"), 0700), 0);
	fd = open(place(PATH "-2"), O_CREAT | O_EXCL | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(close(fd), 0);
	p = begin();
	ck_assert_str_eq(p.c0->path->s, PATH "-3");
	end(&p, NEVER, NEVER);
	ck_assert_int_eq(size_of(PATH "-1", "c_0"), -1);
	p = begin();
	ck_assert_str_eq(p.c0->path->s, PATH "-4");
}

/* A file that the session has not made is in the way: the stream is refused,
 * as ever. */
TEST(files_of_others_are_not_part_of_our_traces)
{
	struct stream *t;
	int fd;

	open_pair(0);
	t = add("c_0");
	fd = open(place(PATH "/c_1"), O_CREAT | O_EXCL | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_ptr_null(add("c_1"));
	ck_assert_int_eq(size_of(PATH, "c_1"), 0);
	ck_assert_int_eq(size_of(PATH "-1", "."), -1);
	ck_assert_str_eq(add("c_2")->path->s, PATH);
	packet(t, 0);
	ck_assert_int_eq(size_of(PATH, "c_0"), BYTES);
}

TEST(rings_are_of_one_generation)
{
	struct stream *t;

	open_pair(0);
	for (unsigned round = 0; round < 2; round++) {
		t = live_pair_stream(session, PATH, "r_0", BYTES, 2);
		(void)add("metadata");
		for (uint64_t seq = 0; seq < 3 + round; seq++)
			packet(t, seq);
		stream_close(list_entry(t->session_node.next, struct stream,
				 session_node),
		    NEVER);
		stream_close(t, 2 + round);
	}
	ck_assert_int_eq(size_of(PATH, "r_0_0"), BYTES);
	ck_assert_int_eq(size_of(PATH, "r_0_1"), BYTES);
	ck_assert_int_eq(size_of(PATH "-1", "r_0_0"), BYTES);
	ck_assert_int_eq(size_of(PATH "-1", "r_0_1"), BYTES);
	ck_assert_int_eq(size_of(PATH "-1", "index/r_0_1.idx"), 16 + 72);
}

static void
rotate(struct process *p, uint64_t to, uint64_t at_0, uint64_t at_1)
{
	live_pair_rotate(p->c0, true, to, at_0);
	live_pair_rotate(p->c1, true, to, at_1);
	live_pair_rotate(p->metadata, true, to, 0);
}

/* The folder's name is kept in later chunks; where nothing of the kind is, a
 * new generation has the plain one. */
TEST(rotations_keep_generations_apart)
{
	struct process p;

	open_pair(0);
	p = begin();
	end(&p, NEVER, NEVER);
	p = begin(); /* -1 */
	packet(p.c0, 0);
	live_pair_create_chunk(session, 1);
	rotate(&p, 1, 1, 0);
	packet(p.c0, 1);
	end(&p, 1, NEVER);
	p = begin();
	ck_assert_str_eq(p.c0->path->s, PATH "-2");
	live_pair_close_chunk(session, 0, RELAY_CLOSE_ARCHIVE);
	end(&p, NEVER, NEVER);
	live_pair_create_chunk(session, 2);
	p = begin();
	ck_assert_str_eq(p.c0->path->s, PATH);
	ck_assert_int_eq(size_of("archives/*-0/" PATH "-1", "c_0"), BYTES);
	ck_assert_int_eq(size_of(".tmp_old*/" PATH "-1", "c_0"), BYTES);
}

/* Its packets up to the rotation are late, so it is in the chunk before. */
TEST(a_slow_stream_keeps_its_name_in_the_next_chunk)
{
	struct process old, new;

	open_pair(0);
	old = begin();
	stream_close(old.metadata, NEVER);
	live_pair_create_chunk(session, 1);
	live_pair_rotate(old.c0, true, 1, 1);
	live_pair_rotate(old.c1, true, 1, 0);
	stream_close(old.c1, NEVER);
	ck_assert_ptr_ne(old.c0->place.chunk, session->chunks.current);
	new = begin();
	ck_assert_str_eq(new.c0->path->s, PATH "-1");
	packet(old.c0, 0);
	packet(old.c0, 1);
	stream_close(old.c0, 1);
	packet(new.c0, 0);
	end(&new, 0, NEVER);
	live_pair_close_chunk(session, 0, RELAY_CLOSE_ARCHIVE);
}

TEST(a_clear_deletes_all_generations)
{
	struct process p;

	open_pair(0);
	for (unsigned i = 0; i < 3; i++) {
		p = begin();
		packet(p.c0, 0);
		if (i < 2)
			end(&p, 0, NEVER);
	}
	live_pair_create_chunk(session, 1);
	rotate(&p, 1, 1, 0);
	live_pair_close_chunk(session, 0, RELAY_CLOSE_DELETE);
	while (cycle_delete_some(pair.shard))
		;
	/* What is open was made again, empty. */
	ck_assert_int_eq(size_of(PATH, "."), -1);
	ck_assert_int_eq(size_of(PATH "-1", "."), -1);
	check_folder(PATH "-2", 0, 0, 0);
}

/* Nothing is kept of traces whose chunk is gone. */
TEST(what_is_over_is_forgotten)
{
	struct process p;
	char path[64];

	open_pair(0);
	for (unsigned chunk = 0; chunk < 20; chunk++) {
		for (unsigned i = 0; i < 5; i++) {
			(void)snprintf(
			    path, sizeof(path), "ust/pid/%u-%u", chunk, i);
			p.c0 = live_pair_stream(session, path, "c_0", 0, 0);
			stream_close(p.c0, NEVER);
		}
		ck_assert_uint_eq(session->traces.keys.n, 5);
		ck_assert_uint_ge(
		    session->traces.names_bytes, 5 * sizeof(struct trace));
		ck_assert_uint_ge(pair.shard->store->names_bytes,
		    5 * sizeof(struct chunk_family));
		live_pair_create_chunk(session, chunk + 1);
		live_pair_close_chunk(session, chunk, RELAY_CLOSE_DELETE);
		while (cycle_delete_some(pair.shard))
			;
		ck_assert_uint_eq(session->traces.keys.n, 0);
		ck_assert_uint_eq(session->traces.names_bytes, 0);
		ck_assert_uint_eq(pair.shard->store->names_bytes, 0);
	}
}

/* A cycle frees some of them; their names are free at once. */
TEST(many_are_forgotten_in_slices)
{
	struct stream *t;
	char path[64];

	open_pair(0);
	for (unsigned i = 0; i < TRACE_FREE_SLICE + 10; i++) {
		(void)snprintf(path, sizeof(path), "ust/pid/%u", i);
		t = live_pair_stream(session, path, "c_0", 0, 0);
		stream_close(t, NEVER);
	}
	live_pair_create_chunk(session, 1);
	live_pair_close_chunk(session, 0, RELAY_CLOSE_NOTHING);
	t = live_pair_stream(session, path, "c_0", 0, 0);
	ck_assert_str_eq(t->path->s, path);
	ck_assert(cycle_delete_some(pair.shard));
	ck_assert_uint_gt(session->traces.keys.n, 1);
	while (cycle_delete_some(pair.shard))
		;
	ck_assert_uint_eq(session->traces.keys.n, 1);
	ck_assert(list_empty(&pair.shard->store->old_families));
}

/* Random order of what a tracer does: no stream is refused, none shares a
 * file with another, and those of one process are in one folder. */
#define CHANNELS 3
#define PROCESSES 30

static struct {
	struct stream *t[CHANNELS + 1]; /* the last is the metadata */
	uint64_t sent[CHANNELS];
	unsigned n_open;
	char folder[128];
} runs[PROCESSES];

static unsigned n_runs;
static uint64_t rng;

static unsigned
below(unsigned n)
{
	rng = rng * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)((rng >> 33) % n);
}

static void
begin_run(void)
{
	static const char *const names[] = { "c_0", "c_1", "c_2", "metadata" };
	unsigned n = n_runs++;

	memset(&runs[n], 0, sizeof(runs[n]));
	for (unsigned i = 0; i <= CHANNELS; i++) {
		runs[n].t[i] = add(names[i]);
		ck_assert_ptr_nonnull(runs[n].t[i]);
	}
	runs[n].n_open = CHANNELS + 1;
	(void)snprintf(runs[n].folder, sizeof(runs[n].folder), "%s",
	    runs[n].t[0]->path->s);
	for (unsigned i = 1; i <= CHANNELS; i++)
		ck_assert_str_eq(runs[n].t[i]->path->s, runs[n].folder);
	session_publish(session);
}

static void
close_one(unsigned n)
{
	unsigned i = below(CHANNELS + 1);

	if (runs[n].t[i] == NULL)
		return;
	stream_close(runs[n].t[i],
	    i < CHANNELS && runs[n].sent[i] > 0 ? runs[n].sent[i] - 1 : NEVER);
	runs[n].t[i] = NULL;
	runs[n].n_open--;
}

static void
rotate_all(uint64_t to)
{
	live_pair_create_chunk(session, to);
	for (unsigned n = 0; n < n_runs; n++)
		for (unsigned i = 0; i <= CHANNELS; i++)
			if (runs[n].t[i] != NULL)
				live_pair_rotate(runs[n].t[i], true, to,
				    i < CHANNELS ? runs[n].sent[i] : 0);
	live_pair_close_chunk(session, to - 1,
	    below(2) == 0 ? RELAY_CLOSE_DELETE : RELAY_CLOSE_ARCHIVE);
}

/* Each open stream is in its own folder of the current chunk, or on the way. */
static void
check_runs(void)
{
	for (unsigned n = 0; n < n_runs; n++) {
		for (unsigned i = 0; i <= CHANNELS; i++)
			ck_assert(
			    runs[n].t[i] == NULL ||
			    strcmp(runs[n].t[i]->path->s, runs[n].folder) == 0);
		for (unsigned o = 0; runs[n].n_open > 0 && o < n; o++)
			ck_assert(runs[o].n_open == 0 ||
				  strcmp(runs[o].folder, runs[n].folder) != 0);
	}
}

TEST_ROWS(any_order_keeps_them_apart, 40)
{
	uint64_t chunk = 0;
	unsigned n, i;

	rng = (uint64_t)_i;
	n_runs = 0;
	open_pair(_i % 2 == 0 ? 0 : 1000000);
	while (n_runs < PROCESSES) {
		if (n_runs == 0 || below(20) == 0)
			begin_run();
		n = below(n_runs);
		i = below(CHANNELS);
		if (runs[n].t[i] != NULL && below(2) == 0)
			packet(runs[n].t[i], runs[n].sent[i]++);
		if (below(3) == 0)
			close_one(n);
		if (below(30) == 0)
			rotate_all(++chunk);
		check_runs();
	}
	ck_assert_uint_eq(pair.shard->figures.packets_dropped, 0);
}
