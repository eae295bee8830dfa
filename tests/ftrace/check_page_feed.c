/* SPDX-License-Identifier: MIT */
/* What a recorder's pages go through, when memory runs out. */
#include <arpa/inet.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/ftrace/vector.h"
#include "tests/lib/fault.h"
#include "tests/lib/unit.h"
#include "tools/ftrace/page_feed.h"

#define CPUS 2
/* No recording has so many. */
#define ALLOCATIONS_MAX 100000

static bool
may_use(void *arg, uint64_t bytes)
{
	(void)arg;
	(void)bytes;
	return true;
}

/* A relay that never answers. Returns its socket. */
static int
make_relay(struct live_options *out)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const char *why;

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, n), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	ck_assert_int_eq(url_parse(&out->url, "net://relay", &why), OK);
	out->url.control = ntohs(a.sin_port);
	memcpy(&out->addresses[0].sa, &a, n);
	out->addresses[0].len = n;
	out->n_addresses = 1;
	return fd;
}

/* A recording without files; it is live if LIVE is not NULL. */
static enum status
record(struct page_feed *f, struct live_options *live, struct event_base *base,
    const struct bytes *metadata, const struct bytes *pages)
{
	const struct recordings in = { .dir_fd = -1, .prefix = "trace" };
	const struct page_feed_config config = {
		.is_end = true,
		.page_size_max = PAGE_SIZE_MAX,
		.live = live,
		.base = base,
		.may_use = may_use,
	};
	const char *why;
	enum status st = recording_create(&f->recording, &in, "host:1", CPUS);

	if (st == OK)
		st = recording_metadata(f->recording, metadata->p, metadata->n);
	if (st == OK)
		st = page_feed_begin(f, &config, &why);
	for (uint32_t i = 0; i < CPUS && st == OK; i++)
		page_feed_bytes(f, i, pages->p, pages->n);
	page_feed_end(f);
	page_feed_free(f);
	return st;
}

TEST_ROWS(any_allocation_may_fail, 2)
{
	struct bytes metadata = vector_metadata("v6-tcp"),
		     pages = vector_part("v6-tcp", "cpu0");
	struct event_base *base = event_base_new();
	struct live_options live = { 0 };
	const int relay = make_relay(&live);
	bool has_failed = true, is_refused = false;

	for (unsigned n = 1; has_failed; n++) {
		struct page_feed f = { .name = "host:1" };
		enum status st;

		ck_assert_uint_lt(n, ALLOCATIONS_MAX);
		fault_arm(n);
		st = record(
		    &f, _i == 1 ? &live : NULL, base, &metadata, &pages);
		has_failed = fault_disarm();
		/* Without memory for dividing pages they are stored as they
		 * come; without memory for the live session, too. */
		ck_assert(st == OK || (has_failed && st == E_NOMEM));
		is_refused |= st != OK;
	}
	ck_assert(is_refused);
	ck_assert_uint_eq(live.queued, 0);
	event_base_free(base);
	close(relay);
	free(pages.p);
	free(metadata.p);
}
