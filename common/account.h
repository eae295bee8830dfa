/* SPDX-License-Identifier: MIT */
/*
 * An account of something scarce: bytes of memory, connections, descriptors. An
 * owner is whatever holds a part of it: a session, a stream, a connection, a
 * host. The same rules hold for every account:
 *
 *	soft	above it, only owners with less than their fair share get more.
 *		The others are not read, or their requests are refused.
 *	hard	above it, nobody gets more; where owners are connections, the
 *		one that holds most is closed (account_close_largest()).
 *	host	where the owners are hosts, the soft limit leaves the rest of
 *		the account to hosts that hold little.
 *
 * The limits are set before other threads use the account; adding and
 * subtracting is for any thread.
 */
#ifndef COMMON_ACCOUNT_H
#define COMMON_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/publish.h"

struct list;

/* The usual fair share, as a part of the account: 4 MiB of 256 MiB. */
#define ACCOUNT_FAIR_PART 64

struct account {
	uint64_t soft, hard, fair;
	struct published used;
};

static inline void
account_init(struct account *a, uint64_t soft, uint64_t hard, uint64_t fair)
{
	*a = (struct account){ .soft = soft, .hard = hard, .fair = fair };
}

static inline uint64_t
account_used(const struct account *a)
{
	return published(&a->used);
}

static inline void
account_add(struct account *a, uint64_t n)
{
	published_add(&a->used, n);
}

static inline void
account_sub(struct account *a, uint64_t n)
{
	published_sub(&a->used, n);
}

/* Add N. False: nothing is added, because it would exceed the hard limit. */
static inline bool
account_take(struct account *a, uint64_t n)
{
	if (published_add(&a->used, n) <= a->hard)
		return true;
	account_sub(a, n);
	return false;
}

static inline bool
account_is_short(const struct account *a)
{
	return account_used(a) > a->soft;
}

static inline bool
account_is_exhausted(const struct account *a)
{
	return account_used(a) > a->hard;
}

/* May an owner keep the N that it holds? */
static inline bool
account_may_keep(const struct account *a, uint64_t n)
{
	return !account_is_short(a) || n <= a->fair;
}

/* May an owner that holds N get MORE? */
static inline bool
account_may_take(const struct account *a, uint64_t n, uint64_t more)
{
	const uint64_t used = account_used(a) + more;

	return used <= a->hard && (used <= a->soft || n + more <= a->fair);
}

/* What the owners in a list hold, and how one gives it up. */
struct account_owners {
	/* 0: it has nothing to give up. */
	uint64_t (*holds)(const struct list *owner);
	void (*close)(struct list *owner);
};

/*
 * The hard rule: while A is exhausted, close the owner that holds most, except
 * BUT, which may be NULL. All stay if they hold less than LEAST together: then
 * other threads' owners hold the rest.
 */
void account_close_largest(struct account *a, const struct list *owners,
    const struct account_owners *ops, const struct list *but, uint64_t least);

#endif
