/* SPDX-License-Identifier: MIT */
/*
 * What a packet costs in store/reorder: its bytes and its record go in, it
 * comes out in its turn. Packets arrive in blocks of DEPTH numbers, shuffled,
 * the one whose turn it is last: so many wait, then all leave.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/publish.h"
#include "store/reorder.h"
#include "tests/bench/mix.h"
#include "tests/bench/program.h"

/* Of a packet: enough to tell it by. */
#define BYTES 64
/* Bytes that are kept for reuse: as a worker of the relay does. */
#define CACHED (16 * 1024 * 1024)

struct bench {
	uint64_t depth, packets, seed;
	uint64_t *order; /* of the numbers of a block, from 0 */
	struct published account;
	struct packet_pool pool;
	struct reorder reorder;
	uint64_t left;	  /* packets that came out */
	uint64_t deepest; /* packets that waited */
	bool is_json;	  /* it is, always */
};

#define OPTIONS_TABLE "tests/bench/heapcost.tbl.h"
#define OPTIONS_STRUCT struct bench
#include "common/option_rows.h"

static const struct option_table table = {
	.program = "heapcost",
	.usage = "heapcost [OPTION]...\n",
	.rows = rows,
	.n = N_OPTIONS,
};
static _Noreturn void
fail(const char *what, uint64_t number)
{
	program_fail("packet %" PRIu64 ": %s", number, what);
}

static double
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Another order for each block; number 0 comes last. */
static void
shuffle(struct bench *b, uint64_t block)
{
	uint64_t state = mix(b->seed ^ mix(block));

	for (uint64_t i = 0; i < b->depth; i++)
		b->order[i] = b->depth - 1 - i;
	for (uint64_t i = b->depth - 1; i > 1; i--) {
		const uint64_t k = (state = mix(state)) % i;
		const uint64_t was = b->order[i - 1];

		b->order[i - 1] = b->order[k];
		b->order[k] = was;
	}
}

static void
insert(struct bench *b, uint64_t number)
{
	const struct index_record rec = { .packet_seq_num = ~number };
	struct packet *p = packet_create(&b->pool, number);
	uint64_t bytes[BYTES / sizeof(uint64_t)];

	if (p == NULL)
		fail("out of memory", number);
	for (unsigned i = 0; i < BYTES / sizeof(uint64_t); i++)
		bytes[i] = number + i;
	p->size = BYTES;
	if (packet_copy(&b->pool, p, bytes, BYTES) != BYTES)
		fail("out of memory", number);
	if (reorder_data(&b->reorder, p) != OK ||
	    reorder_record(&b->reorder, number, &rec) != OK)
		fail("refused", number);
}

/* Every number once, in order, each with its own bytes and record. */
static void
commit(struct bench *b)
{
	uint64_t bytes[BYTES / sizeof(uint64_t)];
	struct packet *p;

	while ((p = reorder_pop(&b->reorder)) != NULL) {
		memcpy(bytes, p->blocks->mem, BYTES);
		for (unsigned i = 0; i < BYTES / sizeof(uint64_t); i++)
			if (bytes[i] != b->left + i)
				fail("not its bytes", b->left);
		if (p->net_seq != b->left || p->rec.packet_seq_num != ~b->left)
			fail("not its turn, or not its record", b->left);
		packet_destroy(&b->pool, p);
		b->left++;
	}
}

static void
run_block(struct bench *b)
{
	const uint64_t first = b->left;

	for (uint64_t i = 0; i < b->depth; i++) {
		insert(b, first + b->order[i]);
		if (i == b->depth - 1)
			b->deepest = reorder_whole(&b->reorder);
		commit(b);
	}
	if (b->left != first + b->depth || b->deepest != b->depth)
		fail("did not leave with its block", b->left);
}

/* CPU time of what is between the shuffles. */
static double
run(struct bench *b)
{
	double ns = 0, began;

	for (uint64_t block = 0; b->left < b->packets; block++) {
		shuffle(b, block);
		began = cpu_ns();
		/* The clock costs as much as a packet. */
		for (uint64_t n = 0; n < 1 + 4096 / b->depth; n++)
			run_block(b);
		ns += cpu_ns() - began;
	}
	return ns;
}

int
main(int argc, char **argv)
{
	struct bench b = { .depth = 64, .packets = 1000000, .seed = 1 };
	double ns;

	program_options(&table, &b, argc, argv);
	b.order = calloc(b.depth, sizeof(*b.order));
	if (b.order == NULL)
		fail("out of memory", 0);
	packet_pool_init(&b.pool, CACHED, &b.account);
	reorder_init(&b.reorder, &b.pool, true);
	reorder_start(&b.reorder, 0);
	ns = run(&b);
	printf("{\"depth\": %" PRIu64 ", \"packets\": %" PRIu64
	       ", \"ns_per_packet\": %.1f}\n",
	    b.depth, b.left, ns / (double)b.left);
	reorder_free(&b.reorder);
	packet_pool_free(&b.pool);
	free(b.order);
	return fflush(stdout) == 0 ? 0 : 1;
}
