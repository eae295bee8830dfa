/* SPDX-License-Identifier: MIT */
/*
 * Two control and two data connections of one worker, over the file system in
 * memory. Pieces of input: a byte whose low two bits choose the connection (0
 * and 1: control) and whose next bit ends it after the piece, a length, and so
 * many bytes. Whatever comes, the files stay whole and no memory is left over.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "relayd/record/control.h"
#include "relayd/record/ingest.h"
#include "relayd/record/shard.h"
#include "relayd/record/cycle.h"
#include "ctf/index.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_shard.h"
#include "tests/lib/fake_fs.h"

#define WIRES 4
#define PACKET_MAX (64 * 1024)
#define MEMORY_MAX (1024 * 1024)

struct wire {
	bool is_data, is_open;
	struct control *control;
	struct ingest *ingest;
	struct buf in, out;
};

static const struct control_config control_config = { .allow_clear = true };

static void
open_wire(struct wire *w, bool is_data, struct shard *sh)
{
	static char peer[] = "fuzz";
	enum status st;

	*w = (struct wire){ .is_data = is_data, .is_open = true };
	if (is_data) {
		st = ingest_create(&w->ingest, sh, peer, NULL);
	} else {
		st = control_create(&w->control, &control_config, peer);
		w->control->shard = sh;
	}
	assert(st == OK);
}

static void
close_wire(struct wire *w, bool aborted)
{
	if (!w->is_open)
		return;
	control_destroy(w->control, aborted);
	ingest_destroy(w->ingest);
	buf_free(&w->in);
	buf_free(&w->out);
	w->is_open = false;
}

static void
feed(struct wire *w, const uint8_t *p, size_t n)
{
	size_t used;
	enum status st;

	buf_bytes(&w->in, p, n);
	if (buf_len(&w->in) == 0)
		return;
	if (w->is_data)
		st = ingest_input(
		    w->ingest, buf_data(&w->in), buf_len(&w->in), &used);
	else
		st = control_input(w->control, buf_data(&w->in),
		    buf_len(&w->in), &used, &w->out);
	if (st != OK)
		close_wire(w, true);
	if (!w->is_open)
		return;
	buf_consume(&w->in, used);
	buf_consume(&w->out, buf_len(&w->out));
}

static void
turn_end(struct shard *sh, uint64_t now)
{
	cycle_commit(sh);
	(void)cycle_delete_some(sh);
	(void)cycle_tick(sh, now);
}

/* Index files are a header and whole records that never point backwards. */
static void
check_file(const char *path, const uint8_t *p, size_t n, void *arg)
{
	const size_t len = strlen(path);
	struct index_record rec;
	uint64_t last = 0;
	unsigned minor;
	enum status st;

	if (p == NULL || len < 4 || strcmp(path + len - 4, ".idx") != 0 ||
	    strstr(path, "/index/") == NULL || n == 0)
		return;
	/* A channel may have that very name. */
	if (n < INDEX_HEADER_LEN || p[0] != 0xc1 || p[1] != 0xf1)
		return;
	st = index_header_decode(p, &minor);
	assert(st == OK);
	assert((n - INDEX_HEADER_LEN) % index_record_len(minor) == 0);
	for (size_t at = INDEX_HEADER_LEN; at < n;
	     at += index_record_len(minor)) {
		index_decode(p + at, &rec, minor);
		assert(rec.offset >= last);
		last = rec.offset;
	}
}

static void
end(struct wire wires[WIRES], struct shard *sh)
{
	for (unsigned i = 0; i < WIRES; i++)
		close_wire(&wires[i], false);
	turn_end(sh, UINT64_MAX / 2);
	cycle_last(sh);
	shard_destroy(sh);
	assert(fuzz_shard_memory() == 0);
	fake_fs_walk(check_file, NULL);
	fake_fs_end();
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct wire wires[WIRES];
	uint64_t now = NS_PER_S;
	struct shard *sh;
	size_t size;

	log_set_level(LOG_ERROR);
	clock_freeze(now, 1800000000);
	sh = fuzz_shard(PACKET_MAX, MEMORY_MAX, false);
	for (unsigned i = 0; i < WIRES; i++)
		open_wire(&wires[i], i >= 2, sh);
	while (n >= 2) {
		struct wire *w = &wires[p[0] % WIRES];
		const bool is_last = (p[0] & 4) != 0;

		size = p[1] < n - 2 ? p[1] : n - 2;
		if (w->is_open)
			feed(w, p + 2, size);
		if (is_last)
			close_wire(w, false);
		p += 2 + size;
		n -= 2 + size;
		now += 100 * NS_PER_MS;
		clock_freeze(now, 1800000000);
		turn_end(sh, now);
	}
	end(wires, sh);
	return 0;
}
