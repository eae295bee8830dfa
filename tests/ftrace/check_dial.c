/* SPDX-License-Identifier: MIT */
/* Names that a name server answers late, or never, and other jobs in threads:
 * getaddrinfo() is ours. */
#include "tools/ftrace/dial.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <event2/event.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/unit.h"
#include "tools/ftrace/command_loop.h"

#define DIALS 40

/* The name server. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool answers;
static unsigned asked, waiting, freed;
static int err;
static struct sockaddr_in found;

int
getaddrinfo(const char *restrict host, const char *restrict port,
    const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
	static const struct addrinfo one = { .ai_family = AF_INET,
		.ai_socktype = SOCK_STREAM,
		.ai_addr = (struct sockaddr *)&found,
		.ai_addrlen = sizeof(found) };

	(void)host;
	(void)port;
	if ((hints->ai_flags & AI_NUMERICHOST) != 0)
		return EAI_NONAME;
	pthread_mutex_lock(&lock);
	asked++;
	waiting++;
	pthread_cond_broadcast(&changed);
	while (!answers)
		pthread_cond_wait(&changed, &lock);
	waiting--;
	pthread_mutex_unlock(&lock);
	if (err == 0) {
		*out = malloc(sizeof(**out));
		ck_assert_ptr_nonnull(*out);
		**out = one;
	}
	return err;
}

void
freeaddrinfo(struct addrinfo *a)
{
	freed++;
	free(a);
}

static void
set_answers(bool yes)
{
	pthread_mutex_lock(&lock);
	answers = yes;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Until so many wait for their answer. */
static void
wait_for_askers(unsigned n)
{
	pthread_mutex_lock(&lock);
	while (waiting < n)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static struct command_loop loop;
static int listening;
static unsigned told;
static int connected;

static void
set_up(void)
{
	socklen_t n = sizeof(found);

	asked = waiting = freed = told = 0;
	err = 0;
	connected = -1;
	answers = false;
	found = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	listening = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(listening, (struct sockaddr *)&found, n), 0);
	ck_assert_int_eq(listen(listening, DIALS), 0);
	ck_assert_int_eq(
	    getsockname(listening, (struct sockaddr *)&found, &n), 0);
	ck_assert_int_eq(command_loop_create(&loop), OK);
}

static void
tear_down(void)
{
	set_answers(true);
	command_loop_destroy(&loop);
	close(listening);
}

static unsigned
descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static void
on_dialled(void *arg, int take_fd)
{
	(void)arg;
	told++;
	connected = take_fd;
	if (take_fd >= 0)
		close(take_fd);
}

static void
begin(struct dial **out)
{
	ck_assert_int_eq(
	    dial_create(out, &loop, "name:1", on_dialled, NULL), OK);
}

static void
run_until(const unsigned *count, unsigned n)
{
	while (*count < n)
		ck_assert_int_eq(event_base_loop(loop.base, EVLOOP_ONCE), 0);
}

/* No more threads ask than may, and none for who has given up before. */
TEST(who_gives_up_neither_waits_nor_leaks)
{
	struct dial *d;
	unsigned before;
	uint64_t began;

	set_up();
	before = descriptors();
	began = clock_now_ns();
	for (unsigned i = 0; i < DIALS; i++) {
		begin(&d);
		dial_destroy(d);
	}
	ck_assert_uint_lt(clock_now_ns() - began, 10 * NS_PER_S);
	ck_assert_uint_eq(descriptors(), before);
	set_answers(true);
	run_until(&freed, COMMAND_LOOP_LOOKUPS);
	ck_assert_uint_eq(asked, COMMAND_LOOP_LOOKUPS);
	ck_assert_uint_eq(told, 0);
	tear_down();
}

TEST(a_name_that_nobody_has)
{
	struct dial *d;

	set_up();
	err = EAI_NONAME;
	begin(&d);
	set_answers(true);
	run_until(&told, 1);
	ck_assert_int_eq(connected, -1);
	ck_assert_uint_eq(freed, 0);
	tear_down();
}

/* More of them than threads: all have an answer in the end. */
TEST(many_at_once)
{
	struct dial *d;

	set_up();
	for (unsigned i = 0; i < DIALS; i++)
		begin(&d);
	wait_for_askers(COMMAND_LOOP_LOOKUPS);
	set_answers(true);
	run_until(&told, DIALS);
	ck_assert_int_ge(connected, 0);
	ck_assert_uint_eq(asked, DIALS);
	ck_assert_uint_eq(freed, DIALS);
	tear_down();
}

struct job {
	struct background_job job;
	bool is_worked, is_done;
};

static void
work(struct background_job *job)
{
	container_of(job, struct job, job)->is_worked = true;
}

static void
done(struct background_job *job)
{
	container_of(job, struct job, job)->is_done = true;
}

TEST(what_waits_at_the_end_comes_back_undone)
{
	struct event_base *base = event_base_new();
	struct job first = { .job = { .work = work, .done = done } },
		   second = first;
	struct background *b;

	ck_assert_int_eq(background_create(&b, base, 0), OK);
	background_add(b, &first.job);
	background_add(b, &second.job);
	ck_assert(background_cancel(&second.job));
	ck_assert(!background_cancel(&second.job));
	background_destroy(b);
	ck_assert(first.is_done && !first.is_worked);
	ck_assert(!second.is_done && !second.is_worked);
	event_base_free(base);
}
