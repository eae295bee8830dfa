/* SPDX-License-Identifier: MIT */
#include "common/account.h"

#include "common/list.h"
#include "tests/lib/unit.h"

#define SOFT 50
#define HARD 100
#define FAIR 10

static const struct {
	uint64_t used, holds, more;
	bool may_take, may_keep;
} rows[] = {
	{ 0, 0, SOFT, true, true },
	{ 40, 40, 10, true, true },
	{ SOFT, 20, 1, false, true },
	{ SOFT, 9, 1, true, true },
	{ 60, FAIR, 0, true, true },
	{ 60, FAIR + 1, 0, false, false },
	{ HARD, 0, 0, true, true },
	{ HARD, 0, 1, false, true },
};

TEST_ROWS(above_the_soft_limit_a_fair_share_is_left, ARRAY_LEN(rows))
{
	struct account a;

	account_init(&a, SOFT, HARD, FAIR);
	account_add(&a, rows[_i].used);
	ck_assert(account_may_take(&a, rows[_i].holds, rows[_i].more) ==
		  rows[_i].may_take);
	ck_assert(account_may_keep(&a, rows[_i].holds) == rows[_i].may_keep);
	ck_assert(account_is_short(&a) == (rows[_i].used > SOFT));
}

TEST(nothing_is_taken_above_the_hard_limit)
{
	struct account a;

	account_init(&a, SOFT, HARD, FAIR);
	ck_assert(account_take(&a, HARD));
	ck_assert(!account_take(&a, 1));
	ck_assert_uint_eq(account_used(&a), HARD);
}

struct owner {
	struct list node;
	struct account *account;
	uint64_t holds;
};

static uint64_t
holds(const struct list *n)
{
	return list_entry(n, struct owner, node)->holds;
}

static void
give_up(struct list *n)
{
	struct owner *o = list_entry(n, struct owner, node);

	account_sub(o->account, o->holds);
	o->holds = 0;
}

static const struct {
	uint64_t holds[3], least;
	int but; /* -1: none */
	uint64_t left[3];
} closed[] = {
	{ { 30, 50, 20 }, 0, -1, { 30, 50, 20 } },
	{ { 30, 60, 20 }, 0, -1, { 30, 0, 20 } },
	{ { 30, 160, 110 }, 0, -1, { 30, 0, 0 } },
	{ { 30, 60, 20 }, 0, 1, { 0, 60, 20 } },
	{ { 30, 60, 20 }, 111, -1, { 30, 60, 20 } },
	{ { 0, 300, 0 }, 0, 1, { 0, 300, 0 } },
};

TEST_ROWS(the_largest_gives_way, ARRAY_LEN(closed))
{
	static const struct account_owners ops = { holds, give_up };
	struct owner owners[3];
	struct list all;
	struct account a;

	account_init(&a, SOFT, HARD, FAIR);
	list_init(&all);
	for (unsigned i = 0; i < ARRAY_LEN(owners); i++) {
		owners[i].account = &a;
		owners[i].holds = closed[_i].holds[i];
		account_add(&a, owners[i].holds);
		list_append(&all, &owners[i].node);
	}
	account_close_largest(&a, &all, &ops,
	    closed[_i].but < 0 ? NULL : &owners[closed[_i].but].node,
	    closed[_i].least);
	for (unsigned i = 0; i < ARRAY_LEN(owners); i++)
		ck_assert_uint_eq(owners[i].holds, closed[_i].left[i]);
}
