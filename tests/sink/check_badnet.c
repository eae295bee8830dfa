/* SPDX-License-Identifier: MIT */
#include "tools/sink/badnet.h"

#include <string.h>

#include "tests/lib/unit.h"

#define N 20000

/* How often each datagram came out, whole or spoiled. */
struct outcome {
	unsigned char came[N];
	unsigned spoiled, moved;
	uint64_t last;
	uint64_t hash;
};

static void
take(const struct client_channel *c, struct outcome *o)
{
	const uint8_t *p;
	size_t n;

	while ((p = c->peek(c->arg, &n)) != NULL) {
		uint32_t number, copy;

		ck_assert_uint_eq(n, 2 * sizeof(number));
		memcpy(&number, p, sizeof(number));
		memcpy(&copy, p + sizeof(number), sizeof(copy));
		o->hash = o->hash * 31 + number;
		if (number != copy) {
			o->spoiled++;
		} else {
			o->came[number]++;
			o->moved += number < o->last;
			o->last = number;
		}
		c->pop(c->arg);
	}
}

static struct badnet_stats
run(const struct badnet_config *config, struct outcome *o)
{
	struct badnet_stats stats;
	struct client_channel c;
	struct badnet b;

	memset(o, 0, sizeof(*o));
	badnet_init(&b, config);
	c = badnet_channel(&b);
	for (uint32_t i = 0; i < N; i++) {
		const uint32_t datagram[2] = { i, i };

		c.put(c.arg, (const uint8_t *)datagram, sizeof(datagram));
		take(&c, o);
		ck_assert_uint_le(b.n, config->depth);
	}
	c.drain(c.arg);
	take(&c, o);
	ck_assert_uint_eq(b.n, 0);
	stats = b.stats;
	badnet_free(&b);
	return stats;
}

static unsigned
how_many(const struct outcome *o, unsigned times)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N; i++)
		n += o->came[i] == times;
	return n;
}

TEST(a_good_network_does_nothing)
{
	static struct outcome o;
	const struct badnet_config config = { .seed = 1 };

	ck_assert(!badnet_is_bad(&config));
	(void)run(&config, &o);
	ck_assert_uint_eq(how_many(&o, 1), N);
	ck_assert_uint_eq(o.moved, 0);
}

TEST_ROWS(counts_are_true_and_near_their_probability, 4)
{
	static struct outcome o;
	const struct badnet_config config = {
		.seed = (uint64_t)_i, .drop = 0.1, .duplicate = 0.05
	};
	const struct badnet_stats s = run(&config, &o);

	ck_assert_uint_eq(s.dropped, how_many(&o, 0));
	ck_assert_uint_eq(s.duplicated, how_many(&o, 2));
	ck_assert_uint_gt(s.dropped, N / 10 - N / 100);
	ck_assert_uint_lt(s.dropped, N / 10 + N / 100);
	ck_assert_uint_gt(s.duplicated, N * 4 / 100);
	ck_assert_uint_lt(s.duplicated, N * 5 / 100);
}

TEST(spoiled_ones_differ_in_one_bit)
{
	static struct outcome o;
	const struct badnet_config config = { .seed = 4, .corrupt = 0.01 };
	const struct badnet_stats s = run(&config, &o);

	ck_assert_uint_gt(s.corrupted, 0);
	ck_assert_uint_eq(s.corrupted, o.spoiled);
	ck_assert_uint_eq(how_many(&o, 0), o.spoiled);
}

TEST(they_overtake_each_other_and_none_is_lost)
{
	static struct outcome o;
	const struct badnet_config config = { .seed = 4, .depth = 16 };
	const struct badnet_stats s = run(&config, &o);

	ck_assert_uint_eq(how_many(&o, 1), N);
	ck_assert_uint_gt(o.moved, N / 4);
	ck_assert_uint_gt(s.reordered, N / 4);
}

TEST(the_same_seed_gives_the_same)
{
	static struct outcome a, b, c;
	struct badnet_config config = { .seed = 7,
		.drop = 0.1,
		.depth = 9,
		.duplicate = 0.1,
		.corrupt = 0.1 };

	(void)run(&config, &a);
	(void)run(&config, &b);
	config.seed = 8;
	(void)run(&config, &c);
	ck_assert_uint_eq(a.hash, b.hash);
	ck_assert_uint_ne(a.hash, c.hash);
}
