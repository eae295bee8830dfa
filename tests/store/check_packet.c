/* SPDX-License-Identifier: MIT */
#include "store/packet.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/fault.h"
#include "tests/lib/unit.h"

static struct published account;
static struct packet_pool pool;

static void
fill(struct packet *p, size_t n)
{
	uint8_t *at;
	size_t room;

	while (n > 0) {
		room = packet_space(&pool, p, &at);
		ck_assert_ptr_nonnull(at);
		room = room < n ? room : n;
		memset(at, (int)(p->received & 0xff), room);
		packet_filled(p, room);
		n -= room;
	}
}

TEST(memory_follows_what_arrived_not_what_was_claimed)
{
	struct packet *p;

	packet_pool_init(&pool, 0, &account);
	p = packet_create(&pool, 1);
	p->size = UINT32_MAX;
	ck_assert_uint_eq(published(&account), 0);
	for (size_t had = 0; had < 8 * 1024 * 1024; had = p->received) {
		fill(p, 1 + had);
		ck_assert_uint_le(
		    published(&account), 65536 + 4 * (uint64_t)p->received);
	}
	packet_destroy(&pool, p);
	ck_assert_uint_eq(published(&account), 0);
	packet_pool_free(&pool);
}

TEST(a_sender_of_large_packets_gets_large_blocks)
{
	struct packet *p;
	uint8_t *at;

	packet_pool_init(&pool, 0, &account);
	p = packet_create(&pool, 1);
	p->size = 1000000;
	p->trusted = 1000000;
	ck_assert_uint_eq(packet_space(&pool, p, &at), 1000000);
	packet_destroy(&pool, p);
	packet_pool_free(&pool);
}

TEST(copies_stop_at_the_end_of_the_packet)
{
	static uint8_t bytes[200000];
	struct packet *p;
	size_t at = 0, n, taken;

	packet_pool_init(&pool, 1 << 20, &account);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 >> 3);
	p = packet_create(&pool, 1);
	p->size = 150000;
	for (n = 1; !packet_is_whole(p); n = n * 3 + 1) {
		if (n > sizeof(bytes) - at)
			n = sizeof(bytes) - at;
		taken = packet_copy(&pool, p, bytes + at, n);
		ck_assert_uint_eq(taken, n < 150000 - at ? n : 150000 - at);
		at += taken;
	}
	ck_assert_uint_eq(at, 150000);
	at = 0;
	for (struct slab_block *b = p->blocks; b != NULL; b = b->next) {
		ck_assert_mem_eq(b->mem, bytes + at, b->used);
		at += b->used;
	}
	ck_assert_uint_eq(at, 150000);
	packet_destroy(&pool, p);
	packet_pool_free(&pool);
}

TEST(lengths_are_64_bits)
{
	struct packet p = { .size = UINT32_MAX, .padding = UINT32_MAX };

	ck_assert_uint_eq(packet_length(&p), UINT64_C(2) * UINT32_MAX);
}

TEST(in_steady_state_nothing_is_allocated)
{
	static uint8_t bytes[70000];
	unsigned long before = 0;

	packet_pool_init(&pool, 1 << 20, &account);
	for (int i = 0; i < 100; i++) {
		struct packet *p = packet_create(&pool, 1);

		p->size = sizeof(bytes);
		(void)packet_copy(&pool, p, bytes, sizeof(bytes));
		packet_destroy(&pool, p);
		if (i == 0)
			before = fault_count();
	}
	ck_assert_uint_eq(fault_count(), before);
	packet_pool_trim(&pool);
	ck_assert_uint_eq(pool.slab.cached, 0);
	packet_pool_free(&pool);
}

TEST(without_memory_there_is_no_room)
{
	struct packet *p;
	uint8_t *at = NULL;
	size_t room, copied;

	packet_pool_init(&pool, 0, &account);
	fault_arm(1);
	p = packet_create(&pool, 1);
	ck_assert(fault_disarm());
	ck_assert_ptr_null(p);
	p = packet_create(&pool, 1);
	p->size = 100;
	fault_arm(1);
	room = packet_space(&pool, p, &at);
	ck_assert(fault_disarm());
	ck_assert_uint_eq(room, 0);
	ck_assert_ptr_null(at);
	fault_arm(1);
	copied = packet_copy(&pool, p, "x", 1);
	ck_assert(fault_disarm());
	ck_assert_uint_eq(copied, 0);
	packet_destroy(&pool, p);
	packet_destroy(&pool, NULL);
	packet_pool_free(&pool);
	ck_assert_uint_eq(published(&account), 0);
}
