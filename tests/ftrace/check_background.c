/* SPDX-License-Identifier: MIT */
/* Jobs in threads: each is done once, or taken back before it has begun. */
#include <event2/event.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tools/ftrace/loop.h"

struct job {
	struct background_job job;
	int wait_fd; /* it ends with a byte of this; -1: at once */
	bool is_worked, is_done;
};

static void
work(struct background_job *job)
{
	struct job *j = container_of(job, struct job, job);
	char byte;

	if (j->wait_fd >= 0)
		MUST(read(j->wait_fd, &byte, 1) == 1);
	j->is_worked = true;
}

static void
done(struct background_job *job)
{
	struct job *j = container_of(job, struct job, job);

	ck_assert(!j->is_done);
	j->is_done = true;
}

static void
add(struct background *b, struct job *j, int wait_fd)
{
	*j = (struct job){ .job = { .work = work, .done = done },
		.wait_fd = wait_fd };
	background_add(b, &j->job);
}

TEST(what_has_not_begun_is_taken_back)
{
	struct event_base *base = event_base_new();
	struct background *b;
	struct job first, second, third;
	int fds[2];

	ck_assert_ptr_nonnull(base);
	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(background_create(&b, base, 1), OK);
	add(b, &first, fds[0]);
	add(b, &second, -1);
	add(b, &third, -1);
	ck_assert(!background_cancel(&first.job));
	ck_assert(background_cancel(&second.job));
	ck_assert(!background_cancel(&second.job));
	ck_assert_int_eq(write(fds[1], "", 1), 1);
	while (!third.is_done)
		ck_assert_int_eq(event_base_loop(base, EVLOOP_ONCE), 0);
	ck_assert(first.is_done && first.is_worked && third.is_worked);
	ck_assert(!second.is_done && !second.is_worked);
	background_destroy(b);
	event_base_free(base);
	close(fds[0]);
	close(fds[1]);
}

TEST(what_waits_at_the_end_comes_back_undone)
{
	struct event_base *base = event_base_new();
	struct background *b;
	struct job first, second;

	ck_assert_ptr_nonnull(base);
	ck_assert_int_eq(background_create(&b, base, 0), OK);
	add(b, &first, -1);
	add(b, &second, -1);
	ck_assert(background_cancel(&second.job));
	background_destroy(b);
	ck_assert(first.is_done && !first.is_worked);
	ck_assert(!second.is_done && !second.is_worked);
	event_base_free(base);
}
