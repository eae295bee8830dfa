/* SPDX-License-Identifier: MIT */
/* Restarts of a store that writes a stream: the next process goes on with the
 * same file. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/state.h"
#include "ctf/index.h"
#include "store/journal_format.h"
#include "store/packet_log.h"
#include "store/recovery.h"
#include "tests/lib/bytes.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/one_stream.h"
#include "tests/store/test_store.h"

#define LENGTH (ONE_STREAM_SIZE + ONE_STREAM_PADDING)
#define DATA "h/s/ust/0/c_0"
#define INDEX "h/s/ust/0/index/c_0.idx"
#define RECORD 72

/* All that the stream has on the disk, one after the other. */
static struct bytes
all_files(void)
{
	struct bytes all = { 0 }, one;
	char name[64];

	for (unsigned i = 0; i < 2 * ONE_STREAM_FILES; i++) {
		(void)snprintf(name, sizeof(name),
		    i % 2 == 0 ? "h/s/ust/0/c_%u" : "h/s/ust/0/index/c_%u.idx",
		    i / 2);
		if (!scratch_exists(name))
			continue;
		one = bytes_file(scratch_path(name));
		all.p = realloc(all.p, all.n + 1 + sizeof(one.n) + one.n);
		MUST(all.p != NULL);
		all.p[all.n++] = (uint8_t)i;
		memcpy(all.p + all.n, &one.n, sizeof(one.n));
		memcpy(all.p + all.n + sizeof(one.n), one.p, one.n);
		all.n += sizeof(one.n) + one.n;
		free(one.p);
	}
	return all;
}

struct result {
	struct bytes files;
	uint64_t in_chunk, records, first; /* of the log */
};

/* The story with a restart before each step whose bit is set. */
static struct result
play(const char *story, enum tracefile_index format, uint64_t restarts)
{
	struct result r = { 0 };

	one_stream_begin(format);
	for (unsigned i = 0; i == 0 || story[i - 1] != '\0'; i++) {
		if ((restarts >> i & 1) != 0)
			one_stream_restart();
		one_stream_step(story[i]);
	}
	one_stream_lock(false);
	MUST(tracefile_write_records(one_stream.tf, true, NULL) == OK);
	tracefile_close(one_stream.tf);
	one_stream.tf = NULL;
	r.files = all_files();
	r.in_chunk = test_store.chunk->bytes;
	if (one_stream.log != NULL) {
		r.records = published(&one_stream.log->count);
		r.first = published(&one_stream.log->start);
	}
	one_stream_end();
	return r;
}

static const char *const stories[] = {
	"ppp",
	"pgwgfp",	    /* what waits is written again */
	"gfp",		    /* before the first packet */
	"pggxp",	    /* it is given up, then more comes */
	"pwwx",		    /* or nothing comes */
	"pgpgfdpp",	    /* the file grows over the tail */
	"pgnfp",	    /* what waits goes into the next file */
	"ppnpgnfpnpnpwfnp", /* a ring of files */
	"pLppUpLpgfUp",	    /* records wait for a reader */
	"ppLpnp",
};
static const enum tracefile_index formats[] = { TRACEFILE_NO_INDEX,
	TRACEFILE_INDEX_1_0, TRACEFILE_INDEX_1_1 };

static void
compare(const char *story, enum tracefile_index format, uint64_t restarts,
    const struct result *good)
{
	struct result r = play(story, format, restarts);

	ck_assert_msg(r.files.n == good->files.n &&
			  memcmp(r.files.p, good->files.p, r.files.n) == 0,
	    "%s, restarts %#llx: other files", story,
	    (unsigned long long)restarts);
	ck_assert_uint_eq(r.in_chunk, good->in_chunk);
	ck_assert_uint_eq(r.records, good->records);
	ck_assert_uint_eq(r.first, good->first);
	free(r.files.p);
}

TEST_ROWS(
    files_are_as_without_a_restart, ARRAY_LEN(stories) * ARRAY_LEN(formats))
{
	const char *story = stories[(size_t)_i / ARRAY_LEN(formats)];
	const enum tracefile_index format =
	    formats[(size_t)_i % ARRAY_LEN(formats)];
	struct result good = play(story, format, 0);

	ck_assert_uint_gt(good.files.n, LENGTH);
	for (unsigned i = 0; i <= strlen(story); i++)
		compare(story, format, UINT64_C(1) << i, &good);
	compare(story, format, UINT64_MAX, &good);
	free(good.files.p);
}

TEST(metadata_goes_on)
{
	struct result good = play("mm", TRACEFILE_NO_INDEX, 0);

	compare("mm", TRACEFILE_NO_INDEX, UINT64_MAX, &good);
	free(good.files.p);
}

/* Nobody comes to write the rest. */
TEST(metadata_that_is_there_in_part_is_cut_off)
{
	one_stream_begin(TRACEFILE_NO_INDEX);
	one_stream_step('m');
	ck_assert_int_eq(
	    tracefile_write_ahead(one_stream.tf, "event {", 7, 0), OK);
	ck_assert_int_eq(
	    test_store_size(DATA), (long)one_stream.tf->data.length + 7);
	one_stream_settle();
	ck_assert_int_eq(
	    test_store_size(DATA), (long)one_stream.tf->data.length);
	one_stream_restart();
	one_stream_step('m');
	ck_assert_int_eq(
	    test_store_size(DATA), (long)one_stream.tf->data.length);
	one_stream_end();
}

static void
check_record(unsigned i, uint64_t seq, uint64_t offset)
{
	struct bytes b = bytes_file(scratch_path(INDEX));
	struct index_record rec;

	ck_assert_uint_ge(b.n, INDEX_HEADER_LEN + (i + 1) * RECORD);
	index_decode(b.p + INDEX_HEADER_LEN + i * RECORD, &rec, 1);
	ck_assert_uint_eq(rec.packet_seq_num, seq);
	ck_assert_uint_eq(rec.offset, offset);
	free(b.p);
}

/* Row 0: another process comes; 1: it comes, but cannot go on with the stream;
 * 2: nobody comes. */
TEST_ROWS(what_waits_is_behind_the_end, 3)
{
	const long all = 4 * LENGTH;

	one_stream_begin(TRACEFILE_INDEX_1_1);
	one_stream_step('p');
	one_stream_step('g');
	one_stream_step('w');
	one_stream_step('g');
	if (_i == 2)
		one_stream_settle();
	else
		one_stream_restart();
	ck_assert_int_eq(test_store_size(DATA), all);
	ck_assert_int_eq(test_store_size(INDEX), INDEX_HEADER_LEN + 3 * RECORD);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(
		    test_store_byte(DATA, (long)i * LENGTH), (int)i + 1);
	check_record(0, 0, 0);
	check_record(1, 1, LENGTH);
	check_record(2, 3, 3 * LENGTH);
	ck_assert_uint_eq(one_stream.tf->data.length, LENGTH);
	ck_assert_uint_eq(
	    test_store.chunk->bytes, LENGTH + INDEX_HEADER_LEN + RECORD);
	ck_assert_uint_eq(published(&one_stream.log->count), 1);
	ck_assert_uint_eq(test_store.store->packets_written, _i == 2 ? 1 : 0);
	if (_i == 0) {
		tracefile_close(one_stream.tf);
	} else {
		tracefile_leave(one_stream.tf);
	}
	one_stream.tf = NULL;
	ck_assert_int_eq(test_store_size(DATA), _i == 0 ? LENGTH : all);
	ck_assert_int_eq(test_store_size(INDEX),
	    INDEX_HEADER_LEN + (_i == 0 ? 1 : 3) * RECORD);
	one_stream_end();
}

static void
limit_files(rlim_t bytes)
{
	const struct rlimit limit = { bytes, RLIM_INFINITY };

	(void)signal(SIGXFSZ, SIG_IGN);
	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* Row 0: the packets, 1: the records find no space. */
TEST_ROWS(what_cannot_be_written_moves, 2)
{
	struct state_out o = { 0 };

	one_stream_begin(TRACEFILE_INDEX_1_1);
	one_stream_step('p');
	for (unsigned i = 0; i < 4; i++) {
		one_stream_hold(test_store_packet(++one_stream.seq, 7,
		    _i == 0 ? ONE_STREAM_SIZE : 1, 0, true));
	}
	limit_files(
	    _i == 0 ? 3 * ONE_STREAM_SIZE : INDEX_HEADER_LEN + 2 * RECORD);
	one_stream_settle();
	one_stream_put_state(&o);
	limit_files(RLIM_INFINITY);
	ck_assert(!state_out_is_bad(&o));
	state_out_free(&o);
	ck_assert_int_eq(test_store_size(DATA), LENGTH);
	ck_assert_int_eq(test_store_size(INDEX), INDEX_HEADER_LEN + RECORD);
	one_stream_restart();
	ck_assert_int_eq(test_store_size(INDEX), INDEX_HEADER_LEN + 5 * RECORD);
	one_stream_step('f');
	ck_assert_int_eq(test_store_size(INDEX), INDEX_HEADER_LEN + 5 * RECORD);
	one_stream_end();
}

/* A reader's lock was passed over at the settle: the next wait, of a process
 * that goes on because nobody came, has its whole time. */
TEST(a_lock_at_the_end_shortens_no_later_wait)
{
	struct packet *p;
	unsigned done;

	one_stream_begin(TRACEFILE_INDEX_1_1);
	one_stream_step('p');
	one_stream_step('g');
	one_stream_step('L');
	one_stream_settle();
	clock_freeze(
	    NS_PER_S + test_store.store->config.index_lock_timeout_ns, 0);
	p = one_stream_packet(true);
	ck_assert_int_eq(tracefile_append(one_stream.tf, p, &done), OK);
	packet_destroy(&test_store.store->packets, p);
	ck_assert_int_eq(
	    tracefile_write_records(one_stream.tf, false, NULL), E_BUSY);
	one_stream_step('U');
	ck_assert_int_eq(
	    tracefile_write_records(one_stream.tf, false, NULL), OK);
	check_record(1, 2, LENGTH);
	ck_assert_int_eq(test_store_size(INDEX), INDEX_HEADER_LEN + 2 * RECORD);
	one_stream_end();
}

/* While nobody had it, the file was removed (row 0), replaced (1), or cut
 * (2). */
TEST_ROWS(a_file_that_is_not_as_it_was_left_is_left_alone, 3)
{
	struct packet *p;
	unsigned done;

	one_stream_begin(TRACEFILE_INDEX_1_1);
	one_stream_step('p');
	one_stream_step('g');
	one_stream_restart();
	if (_i < 2)
		ck_assert_int_eq(unlink(scratch_path(DATA)), 0);
	if (_i == 1)
		scratch_write(DATA, "of another program");
	if (_i == 2)
		ck_assert_int_eq(truncate(scratch_path(DATA), LENGTH - 1), 0);
	p = one_stream_packet(true);
	ck_assert_int_eq(tracefile_append(one_stream.tf, p, &done),
	    _i == 0 ? E_NOENT : E_IO);
	packet_destroy(&test_store.store->packets, p);
	tracefile_close(one_stream.tf);
	one_stream.tf = NULL;
	if (_i == 1)
		ck_assert_str_eq(scratch_read(DATA), "of another program");
	else
		ck_assert_int_eq(
		    test_store_size(DATA), _i == 0 ? -1 : LENGTH - 1);
	one_stream_end();
}

/* As if they had been written before the machine was started. */
static void
forget_boot(void)
{
	const size_t at = offsetof(struct journal_slot, head.boot);
	DIR *dir = opendir(scratch_path(""));
	const struct dirent *e;
	int fd;

	ck_assert_ptr_nonnull(dir);
	while ((e = readdir(dir)) != NULL) {
		if (strncmp(
			e->d_name, JOURNAL_PREFIX, strlen(JOURNAL_PREFIX)) != 0)
			continue;
		fd = open(scratch_path(e->d_name), O_WRONLY | O_CLOEXEC);
		ck_assert_int_eq(pwrite(fd, "other", 5, (off_t)at), 5);
		close(fd);
	}
	closedir(dir);
}

struct death {
	enum store_sync sync;
	bool is_power_cut;
	long data; /* what is left of the data file */
};

static const struct death deaths[] = {
	{ STORE_SYNC_NONE, false, 2 * LENGTH },
	{ STORE_SYNC_PACKET, false, 2 * LENGTH },
	{ STORE_SYNC_PACKET, true, 2 * LENGTH },
	/* Nothing is known of it: its records say what is whole. */
	{ STORE_SYNC_NONE, true, 2 * LENGTH },
};

/* The next process dies before it has written anything but half a packet. */
static void
restart_and_die(const struct death *d)
{
	int fd;

	one_stream_begin_in(TRACEFILE_INDEX_1_1, d->sync);
	one_stream_step('p');
	one_stream_step('p');
	one_stream_restart();
	fd = open(scratch_path(DATA), O_WRONLY | O_APPEND | O_CLOEXEC);
	MUST(write(fd, "half", 4) == 4);
	_exit(0);
}

TEST_ROWS(the_journal_of_the_next_one_has_the_files, ARRAY_LEN(deaths))
{
	const struct death *d = &deaths[_i];
	int status;
	pid_t pid;

	test_store_open(10);
	pid = fork();
	if (pid == 0)
		restart_and_die(d);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	if (d->is_power_cut)
		forget_boot();
	(void)recovery_run(test_store.base, NULL);
	ck_assert_int_eq(test_store_size(DATA), d->data);
	ck_assert_int_eq(test_store_size(INDEX), INDEX_HEADER_LEN + 2 * RECORD);
	test_store_close();
}

/* A file as it was: its inode, kept under another name, and its bytes. */
struct kept {
	const char *name, *link;
	struct bytes bytes;
};

static void
keep(struct kept *k, const char *name, const char *other)
{
	*k = (struct kept){ .name = name, .link = other };
	k->bytes = bytes_file(scratch_path(name));
	ck_assert_int_eq(link(scratch_path(name), scratch_path(other)), 0);
}

static void
put_back(const struct kept *k)
{
	const int fd = open(scratch_path(k->link), O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(
	    pwrite(fd, k->bytes.p, k->bytes.n, 0), (ssize_t)k->bytes.n);
	close(fd);
	if (!scratch_exists(k->name))
		ck_assert_int_eq(
		    link(scratch_path(k->link), scratch_path(k->name)), 0);
}

TEST(states_that_end_early_are_refused)
{
	struct state_out o = { 0 };
	struct bytes b;

	unit_capture_stderr();
	one_stream_begin(TRACEFILE_INDEX_1_1);
	one_stream_step('p');
	one_stream_step('g');
	one_stream_settle();
	one_stream_put_state(&o);
	for (size_t n = 0; n < buf_len(&o.buf); n++) {
		b = bytes_copy(buf_data(&o.buf), n);
		ck_assert_int_eq(
		    one_stream_try_state(&o, b.p, b.n), E_MALFORMED);
		free(b.p);
	}
	ck_assert_int_eq(
	    one_stream_try_state(&o, buf_data(&o.buf), buf_len(&o.buf)), OK);
	state_out_free(&o);
	one_stream_end();
}

TEST(damaged_states_do_no_harm)
{
	static const uint8_t masks[] = { 0x01, 0x10, 0x80, 0xff };
	unsigned n_refused = 0, n_read = 0;
	struct kept data, records;
	struct state_out o = { 0 };
	struct bytes b;

	unit_capture_stderr();
	one_stream_begin(TRACEFILE_INDEX_1_1);
	one_stream_step('p');
	one_stream_step('g');
	one_stream_settle();
	one_stream_put_state(&o);
	keep(&data, DATA, "data");
	keep(&records, INDEX, "records");
	for (size_t i = 0; i < ARRAY_LEN(masks) * buf_len(&o.buf); i++) {
		b = bytes_copy(buf_data(&o.buf), buf_len(&o.buf));
		b.p[i / ARRAY_LEN(masks)] ^= masks[i % ARRAY_LEN(masks)];
		if (one_stream_try_state(&o, b.p, b.n) == OK)
			n_read++;
		else
			n_refused++;
		put_back(&data);
		put_back(&records);
		free(b.p);
	}
	ck_assert_uint_gt(n_refused, 100);
	ck_assert_uint_gt(n_read, 100);
	state_out_free(&o);
	free(data.bytes.p);
	free(records.bytes.p);
	one_stream_end();
}

/* A stream of packets with two events each, in CTF 1.8. */
static const char description[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 32; align = 8; } := u32;\n"
    "typealias integer { size = 64; align = 8; } := u64;\n"
    "trace { major = 1; minor = 8; byte_order = be;\n"
    "  packet.header := struct { u32 magic; u32 stream_id; }; };\n"
    "clock { name = c; freq = 1000000000; };\n"
    "typealias integer { size = 64; align = 8; map = clock.c.value; } := ts;\n"
    "stream { id = 0;\n"
    "  packet.context := struct { ts timestamp_begin; ts timestamp_end;\n"
    "    u64 content_size; u64 packet_size; u64 packet_seq_num; };\n"
    "  event.header := struct { ts timestamp; }; };\n"
    "event { name = \"it\"; id = 0; stream_id = 0;\n"
    "  fields := struct { u32 n; }; };\n";

static struct packet *
ctf_packet(bool has_record)
{
	const uint64_t seq = one_stream.seq++, begin_at = 1000 * seq + 1000;
	struct packet *p = packet_create(&test_store.store->packets, seq);
	struct buf b = { 0 };

	buf_u32(&b, 0xc1fc1fc1);
	buf_u32(&b, 0);
	buf_u64(&b, begin_at);
	buf_u64(&b, begin_at + 1);
	buf_u64(&b, UINT64_C(8) * 72);
	buf_u64(&b, UINT64_C(8) * 128);
	buf_u64(&b, seq);
	for (uint32_t i = 0; i < 2; i++) {
		buf_u64(&b, begin_at + i);
		buf_u32(&b, (uint32_t)seq * 2 + i);
	}
	p->size = (uint32_t)buf_len(&b);
	p->padding = 128 - p->size;
	MUST(packet_copy(&test_store.store->packets, p, buf_data(&b),
		 buf_len(&b)) == p->size);
	p->has_data = true;
	p->has_record = has_record;
	p->rec = (struct index_record){ .packet_size = UINT64_C(8) * 128,
		.content_size = UINT64_C(8) * p->size,
		.timestamp_begin = begin_at,
		.timestamp_end = begin_at + 1,
		.packet_seq_num = seq };
	buf_free(&b);
	return p;
}

/* The events that babeltrace2 shows. */
static unsigned
events(void)
{
	char command[256], line[256];
	unsigned n = 0, value;
	const char *at;
	FILE *f;

	(void)snprintf(command, sizeof(command), "babeltrace2 %s 2>/dev/null",
	    scratch_path("h/s/ust/0"));
	f = popen(command, "r");
	MUST(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL) {
		at = strstr(line, "n = ");
		ck_assert_msg(at != NULL, "%s", line);
		ck_assert_int_eq(sscanf(at, "n = %u", &value), 1);
		ck_assert_uint_eq(value, n++);
	}
	ck_assert_int_eq(pclose(f), 0);
	return n;
}

/* All waiting packets have a record (row 0), the last has none (1), or the
 * first (2). */
TEST_ROWS(babeltrace2_reads_what_waits, 3)
{
	if (system("command -v babeltrace2 >/dev/null") != 0)
		return;
	one_stream_begin(TRACEFILE_INDEX_1_1);
	scratch_write("h/s/ust/0/metadata", description);
	one_stream_append(ctf_packet(true));
	for (int i = 0; i < 3; i++)
		one_stream_hold(ctf_packet(_i == 0 || i != (_i == 1 ? 2 : 0)));
	one_stream_settle();
	ck_assert_uint_eq(events(), 8);
	one_stream_write_held();
	one_stream_append(ctf_packet(true));
	ck_assert_uint_eq(events(), 10);
	one_stream_end();
}

int
main(void)
{
	log_set_level(LOG_ERROR);
	return unit_run();
}
