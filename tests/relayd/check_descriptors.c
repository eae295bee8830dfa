/* SPDX-License-Identifier: MIT */
#include "relayd/net/descriptors.h"

#include <errno.h>
#include <limits.h>
#include <sys/resource.h>

#include "common/compiler.h"
#include "common/fds.h"
#include "relayd/net/admission.h"
#include "relayd/process/options.h"
#include "tests/lib/unit.h"

#define POOL_MIN 76 /* compat.md */

static const unsigned workers[] = { 1, 2, 8, 64 };

static uint64_t
all_shares(const struct descriptors *d, const struct options *o)
{
	uint64_t sum = descriptors_own(o) + d->viewers +
		       (uint64_t)d->files * o->workers;

	for (int s = 0; s < FDS_SHARES; s++)
		if (s != FDS_EXTRA)
			sum += fds[s].hard;
	return sum;
}

TEST_ROWS(the_parts_are_never_more_than_the_whole, ARRAY_LEN(workers))
{
	struct rlimit limit;
	struct descriptors d;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (unsigned n = POOL_MIN; n < 5000 && n <= limit.rlim_cur; n++) {
		struct options o = { .fd_pool_size = n,
			.workers = workers[_i],
			.live_workers = 1 };

		ck_assert_int_eq(descriptors_divide(&d, &o), OK);
		ck_assert_uint_le(all_shares(&d, &o), n);
		ck_assert_uint_ge(o.workers, 1);
		ck_assert_uint_le(o.workers, workers[_i]);
		/* A data file and its index; one session. */
		ck_assert_uint_ge(d.files, 2);
		ck_assert_uint_ge(d.viewers, 1);
		ck_assert_uint_ge(fds[FDS_SESSIONS].hard, SESSION_FDS);
		ck_assert_uint_ge(fds[FDS_CONTROL].hard, 1);
		ck_assert_uint_ge(fds[FDS_DATA].hard, 1);
	}
}

/* So many sessions of one host fit, with two streams each or more. */
TEST(thousands_of_sessions_fit)
{
	const struct rlimit limit = { .rlim_cur = 20000, .rlim_max = 20000 };
	struct options o = {
		.fd_pool_size = 20000, .workers = 8, .live_workers = 4
	};
	struct descriptors d;
	uint64_t slots;

	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	ck_assert_int_eq(descriptors_divide(&d, &o), OK);
	slots = (fds[FDS_SESSIONS].hard - fds[FDS_EXTRA].hard) / SESSION_FDS;
	ck_assert_uint_ge(slots - slots / HOST_RESERVE_PART, 2000);
}

TEST(the_limit_of_the_process_counts_too)
{
	const struct rlimit limit = { .rlim_cur = 200, .rlim_max = 200 };
	struct options o = {
		.fd_pool_size = INT_MAX, .workers = 2, .live_workers = 1
	};
	struct descriptors d;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(descriptors_divide(&d, &o), OK);
	ck_assert_uint_le(all_shares(&d, &o), 200);
	ck_assert_uint_eq(o.workers, 2);
}

TEST(too_few_are_refused)
{
	struct options o = {
		.fd_pool_size = POOL_MIN - 1, .workers = 1, .live_workers = 1
	};
	struct descriptors d;

	ck_assert_int_eq(descriptors_divide(&d, &o), E_LIMIT);
}

TEST(a_share_ends_where_it_ends)
{
	ck_assert_uint_eq(fds_left(FDS_DATA), UINT64_MAX);
	fds[FDS_DATA].hard = 2;
	ck_assert(fds_take(FDS_DATA));
	ck_assert(fds_take(FDS_DATA));
	errno = 0;
	ck_assert(!fds_take(FDS_DATA));
	ck_assert_int_eq(errno, EMFILE);
	ck_assert_uint_eq(fds_left(FDS_DATA), 0);
	ck_assert(fds_take(FDS_CONTROL));
	fds_give(FDS_DATA);
	ck_assert_uint_eq(fds_left(FDS_DATA), 1);
	ck_assert(fds_take(FDS_DATA));
}

/* What no session may need is lent; a quarter stays free for those that come.
 */
TEST(sessions_come_before_what_is_lent)
{
	ck_assert(!fds_lend(1));
	fds[FDS_SESSIONS].hard = 100;
	ck_assert(fds_promise(40));
	ck_assert(fds_lend(35));
	ck_assert(!fds_lend(1));
	ck_assert(!fds_are_wanted());
	/* More sessions come than there are descriptors for beside those that
	 * are lent. */
	ck_assert(fds_promise(65));
	ck_assert(fds_are_wanted());
	ck_assert(!fds_promise(66));
	fds_lent_back(25);
	ck_assert(!fds_are_wanted());
	ck_assert(fds_promise(66));
	ck_assert(fds_are_wanted());
	fds_lent_back(10);
	ck_assert(!fds_are_wanted());
	/* Without anything lent the sessions are counted elsewhere. */
	ck_assert(fds_promise(101));
	ck_assert(!fds_lend(1));
	/* They went. */
	ck_assert(fds_promise(0));
	ck_assert(fds_lend(75));
}
