/* SPDX-License-Identifier: MIT */
/* HTTP without a relay: text, names, rings, and threads that do not answer. */
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/account.h"
#include "common/clock.h"
#include "relayd/http/gzip.h"
#include "relayd/http/recent.h"
#include "relayd/http/view.h"
#include "relayd/http/server.h"
#include "relayd/http/http.h"
#include "relayd/http/json.h"
#include "relayd/http/metrics.h"
#include "relayd/http/text.h"
#include "relayd/net/loop.h"
#include "relayd/net/questions.h"
#include "relayd/net/threads.h"
#include "relayd/process/options.h"
#include "relayd/stats/relay_event.h"
#include "tests/lib/fault.h"
#include "tests/lib/unit.h"

#define ROUNDS 300

static const struct {
	const char *host;
	bool is_ours;
} hosts[] = {
	{ "localhost", true },
	{ "LocalHost:5340", true },
	{ "10.0.0.1", true },
	{ "10.0.0.1:80", true },
	{ "10.0.0.2", false },
	{ "relay", true },
	{ "RELAY:1", true },
	{ "relay.", false },
	{ "relay:", true },
	{ "relay:x", false },
	{ "relay:80x", false },
	{ "[::1]", false },
	{ "[relay]:80", true },
	{ "[2001:db8::1]", true },
	{ "[2001:DB8::1]:80", true },
	{ "[2001:db8::2]", false },
	{ "2001:db8::7", false },
	{ "[relay", false },
	{ "", false },
	{ ":80", false },
	{ "evil.localhost", false },
	{ NULL, false },
};

TEST_ROWS(only_names_of_ours_are_known, ARRAY_LEN(hosts))
{
	static const struct http_hosts names = {
		.names = { "relay", "2001:db8::1" }, .n = 2
	};
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0x0a000001) };

	ck_assert(host_is_ours(hosts[_i].host, (struct sockaddr *)&a, &names) ==
		  hosts[_i].is_ours);
}

TEST(an_address_of_version_6_stands_in_brackets)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const struct http_hosts none = { .n = 0 };

	ck_assert(host_is_ours("[::1]:80", (struct sockaddr *)&a, &none));
	ck_assert(!host_is_ours("::1", (struct sockaddr *)&a, &none));
	ck_assert(!host_is_ours("[::2]", (struct sockaddr *)&a, &none));
}

static const struct {
	const char *accept;
	bool is;
} codings[] = {
	{ NULL, false },
	{ "", false },
	{ "gzip", true },
	{ "identity", false },
	{ "deflate, GZip;q=1.0, *;q=0.5", true },
	{ "gzip;q=0", false },
	{ " gzip ; q=0.000 , *", false },
	{ "br\t,\tx-gzip ;q=0.001", true },
	{ "*", true },
	{ "*;q=0", false },
	{ "*;q=0, gzip", true },
	{ "gzipped, gzi", false },
	{ "gzip;q=", true },
	{ ",,;,=;q=0,", false },
};

TEST_ROWS(gzip_is_for_those_who_accept_it, ARRAY_LEN(codings))
{
	ck_assert(gzip_is_accepted(codings[_i].accept) == codings[_i].is);
}

static const struct {
	const char *value, *label;
} labels[] = {
	{ "plain", "plain" },
	{ "a\"b\\c\nd", "a\\\"b\\\\c\\nd" },
	{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
	    "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "\xff"
	  "a",
	    "\xef\xbf\xbd"
	    "a" },
	{ "\xc3", "\xef\xbf\xbd" },
	{ "\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
};

TEST_ROWS(labels_cannot_end_before_their_end, ARRAY_LEN(labels))
{
	struct buf b = { 0 };

	text_label(&b, labels[_i].value);
	buf_u8(&b, 0);
	ck_assert_str_eq((const char *)buf_data(&b), labels[_i].label);
	buf_free(&b);
}

/* What B has as text; B is freed. */
static const char *
taken(struct buf *take_b)
{
	static char text[65536];

	ck_assert(!take_b->bad && buf_len(take_b) < sizeof(text));
	memcpy(text, buf_data(take_b), buf_len(take_b));
	text[buf_len(take_b)] = '\0';
	buf_free(take_b);
	return text;
}

TEST(json_is_text)
{
	struct buf b = { 0 };

	json_open(&b, NULL, '{');
	json_open(&b, "empty", '[');
	json_close(&b, ']');
	json_add_string(&b, "s", "a\"b\\c\n\x1f\x7f{[\xc3\xa9\xff");
	json_open(&b, "list", '[');
	json_add_number(&b, NULL, 0);
	json_add_number(&b, NULL, UINT64_MAX);
	json_add_bool(&b, NULL, true);
	json_open(&b, NULL, '{');
	json_add_seconds(&b, "t", 61 * NS_PER_S + 4 * NS_PER_MS);
	json_close(&b, '}');
	json_close(&b, ']');
	json_add_null(&b, "n");
	json_close(&b, '}');
	ck_assert_str_eq(taken(&b),
	    "{\"empty\":[],\"s\":\"a\\\"b\\\\c\\u000a\\u001f\x7f{[\xc3\xa9"
	    "\xef\xbf\xbd\",\"list\":[0,9223372036854775807,true,"
	    "{\"t\":61.004}],\"n\":null}");
}

TEST(rates_are_remembered_for_minutes)
{
	double rates[RATES] = { 0 };
	struct history h = { 0 };

	for (unsigned i = 0; i < HISTORY_S + 5; i++) {
		rates[RATE_sent_bytes] = i + 0.5;
		history_add(&h, rates);
	}
	ck_assert_uint_eq(history_count(&h), HISTORY_S);
	ck_assert_uint_eq(history_at(&h, 0, RATE_sent_bytes), 6);
}

TEST(sessions_of_one_name_are_one_sample)
{
	char host[] = "h", name[] = "s", other[] = "t";
	const struct session_info s[] = {
		{ .host = host, .name = name, .sums.written_bytes = 3 },
		{ .host = host, .name = other, .sums.written_bytes = 10 },
		{ .host = host, .name = name, .sums.written_bytes = 4 },
	};
	const struct session_info *const all[] = { &s[0], &s[1], &s[2] };
	struct buf b = { 0 };

	metrics_write_sessions(&b, all, ARRAY_LEN(all));
	buf_u8(&b, 0);
	ck_assert_ptr_nonnull(strstr((const char *)buf_data(&b),
	    "tracepulse_session_written_bytes_total{host=\"h\",session=\"s\"} "
	    "7\n"
	    "tracepulse_session_written_bytes_total{host=\"h\",session=\"t\"} "
	    "10\n# HELP"));
	buf_free(&b);
}

TEST(events_go_on_where_one_was)
{
	struct events e;
	char id[64];

	ck_assert_int_eq(events_init(&e, 7), OK);
	ck_assert_uint_eq(events_resume(&e, "7.5"), 0);
	for (unsigned i = 0; i < EVENTS_MAX + 10; i++)
		(void)events_add(&e, "kind", i, strdup("{}"));
	ck_assert_ptr_null(events_get(&e, 10));
	ck_assert_uint_eq(events_get(&e, 11)->session, 10);
	ck_assert_ptr_null(events_get(&e, EVENTS_MAX + 11));
	ck_assert_uint_eq(events_resume(&e, NULL), EVENTS_MAX + 10);
	ck_assert_uint_eq(events_resume(&e, "7.500"), 500);
	/* Too long ago, another start, or no id at all: all that is here. */
	ck_assert_uint_eq(events_resume(&e, "7.3"), 10);
	ck_assert_uint_eq(events_resume(&e, "6.500"), 10);
	ck_assert_uint_eq(events_resume(&e, "x"), 10);
	snprintf(id, sizeof(id), "7.%u", EVENTS_MAX + 11);
	ck_assert_uint_eq(events_resume(&e, id), 10);
	events_free(&e);
}

TEST(the_last_sessions_are_remembered)
{
	struct session_info s, from = { 0 };
	struct closed c;

	ck_assert_int_eq(closed_init(&c), OK);
	for (unsigned i = 1; i <= CLOSED_MAX + 5; i++) {
		from.id = i;
		ck_assert_int_eq(session_info_copy(&s, &from), OK);
		closed_add(&c, &s);
	}
	ck_assert_uint_eq(closed_count(&c), CLOSED_MAX);
	ck_assert_uint_eq(c.total, CLOSED_MAX + 5);
	ck_assert_uint_eq(closed_at(&c, 0)->id, 6);
	ck_assert_ptr_null(closed_find(&c, 5));
	ck_assert_uint_eq(closed_find(&c, CLOSED_MAX + 5)->id, CLOSED_MAX + 5);
	closed_free(&c);
}

/* A relay with one worker, whose loop does not run. */
static struct loop loop, live_loop;
static struct threads threads;
static struct options options;
static struct http *http;
static struct account *memory; /* of the relay, and gone with it */

/* In each cycle of the HTTP thread's loop this allocation fails; 0: none. */
static struct published failing;

void __real_loop_run_cycle(struct loop *l);
void __wrap_loop_run_cycle(struct loop *l);

void
__wrap_loop_run_cycle(struct loop *l)
{
	if (published(&failing) != 0)
		fault_arm((unsigned)published(&failing));
	__real_loop_run_cycle(l);
	(void)fault_disarm();
}

static unsigned n_asked;

static void
ignore(struct message *m, void *arg)
{
	if (m->kind != MESSAGE_INFO)
		return;
	n_asked++;
	info_destroy(m->object);
}

/* Without its thread. */
static void
make_http(void)
{
	struct account *const given = calloc(1, sizeof(*given));
	const struct http_config config = {
		.options = &options,
		.memory = given,
		.max_clients = 8,
		.admin_path = "",
	};

	memory = given;
	options = (struct options){ .has_http = true,
		.http = { .family = AF_INET,
		    .host = "127.0.0.1",
		    .is_explicit = true },
		.workers = 1,
		.live_workers = 1,
		.output = "/" };
	threads = (struct threads){ 0 };
	ck_assert_int_eq(loop_init(&loop, ignore, NULL), OK);
	ck_assert_int_eq(loop_init(&live_loop, ignore, NULL), OK);
	threads_add(&threads, THREAD_WORKER, 0, &loop);
	threads_add(&threads, THREAD_LIVE_WORKER, 0, &live_loop);
	ck_assert_int_eq(http_create(&http, &config), OK);
}

static void
open_http(void)
{
	make_http();
	ck_assert_int_eq(http_start(http, &threads, NULL), OK);
}

static void
close_http(void)
{
	http_drain(http);
	free(memory);
	http_destroy(http);
	loop_destroy(&loop);
	loop_destroy(&live_loop);
}

/* GET PATH; the connection. */
static int
request(const char *path)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(http_port(http)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	ck_assert_int_gt(
	    dprintf(fd, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path), 0);
	return fd;
}

/* The answer to GET PATH; "": none. */
static const char *
fetch(const char *path)
{
	static char answer[65536];
	int fd = request(path);
	size_t n = 0;
	ssize_t got;

	while ((got = recv(fd, answer + n, sizeof(answer) - 1 - n, 0)) > 0)
		n += (size_t)got;
	answer[n] = '\0';
	close(fd);
	return answer;
}

static bool
says(const char *answer, const char *text)
{
	return strstr(answer, text) != NULL;
}

static void
wait_for(const char *path, const char *text)
{
	const uint64_t until = clock_now_ns() + 10 * NS_PER_S;

	while (!says(fetch(path), text))
		ck_assert_uint_lt(clock_now_ns(), until);
}

TEST(a_worker_that_does_not_answer_is_busy)
{
	uint64_t began;

	open_http();
	ck_assert(says(fetch("/readyz"), "503 "));
	ck_assert(says(fetch("/readyz"), "starting"));
	http_serving(http);
	wait_for("/readyz", "200 OK");
	began = clock_now_ns();
	ck_assert(says(fetch("/api/v1/sessions"), "\"busy_workers\":[0]"));
	ck_assert_uint_ge(clock_now_ns() - began, NS_PER_S * 9 / 10);
	ck_assert_uint_lt(clock_now_ns() - began, 8 * NS_PER_S);
	/* It owes that answer: it is not asked again. */
	ck_assert(says(fetch("/api/v1/sessions"), "\"busy_workers\":[0]"));
	ck_assert(says(fetch("/api/v1/sessions/1"), "503 "));
	loop_wake(&loop);
	loop_run_cycle(&loop);
	ck_assert_uint_eq(n_asked, 1);
	ck_assert(says(fetch("/metrics"), "200 OK"));
	ck_assert(says(fetch("/healthz"), "200 OK"));
	/* Viewers wait for a live worker, new sessions do not. */
	publish(&live_loop.busy_since, clock_now_ns() - 6 * NS_PER_S);
	ck_assert(says(fetch("/healthz"), "503 "));
	ck_assert(says(fetch("/readyz"), "200 OK"));
	publish(&live_loop.busy_since, 0);
	publish(&loop.busy_since, clock_now_ns() - 6 * NS_PER_S);
	ck_assert(says(fetch("/healthz"), "503 "));
	ck_assert(says(fetch("/readyz"), "does not answer"));
	ck_assert(!says(fetch("/api/v1/status"), "not admitted"));
	http_drain(http);
	free(memory);
	memory = NULL;
	ck_assert(says(fetch("/readyz"), "draining"));
	ck_assert(says(fetch("/metrics"), "200 OK"));
	ck_assert(says(fetch("/api/v1/status"), "200 OK"));
	ck_assert(says(fetch("/healthz"), "200 OK"));
	close_http();
}

/* However many ask, a worker has two of their questions at a time. */
TEST(a_few_questions_are_asked_at_a_time)
{
	uint64_t until;
	int fds[6];

	open_http();
	http_serving(http);
	wait_for("/readyz", "200 OK");
	for (unsigned i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = request("/api/v1/sessions");
	n_asked = 0;
	until = clock_now_ns() + 10 * NS_PER_S;
	while (clock_now_ns() < until) {
		loop_wake(&loop);
		loop_run_cycle(&loop);
		/* More would come soon. */
		if (n_asked == 2)
			until = clock_earlier(
			    until, clock_now_ns() + NS_PER_S / 5);
	}
	ck_assert_uint_eq(n_asked, 2);
	/* It is busy: no other client waits for it. */
	for (unsigned i = 0; i < ARRAY_LEN(fds); i++) {
		char c;

		ck_assert_int_eq(read(fds[i], &c, 1), 1);
		close(fds[i]);
	}
	ck_assert_uint_eq(n_asked, 2);
	close_http();
}

static void
report(enum relay_event_kind kind, uint64_t id, char *name)
{
	char none[] = "";
	const struct session_info s = {
		.id = id, .host = none, .name = name, .path = none, .peer = none
	};

	relay_event_report(
	    &(struct relay_event){ .kind = kind, .session = &s });
}

static void
follow(struct evhttp_request *r, void *server)
{
	server_begin_events(*(struct server **)server, r, ":", 1);
}

/* Also when it is the only client, and its peer reads again later. */
TEST(a_listener_that_leaves_too_much_unread_is_closed)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct http_hosts none = { .n = 0 };
	static char bytes[64 * 1024];
	socklen_t len = sizeof(at);
	struct server *server;
	struct server_config config = { .fd = socket(AF_INET, SOCK_STREAM, 0),
		.hosts = &none,
		.max_clients = 8,
		.serve = follow,
		.arg = &server };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	uint64_t total = 0;
	ssize_t n = 0;

	(void)signal(SIGPIPE, SIG_IGN); /* as the relay does */
	ck_assert_int_eq(loop_init(&loop, ignore, NULL), OK);
	ck_assert_int_eq(bind(config.fd, (struct sockaddr *)&at, len), 0);
	ck_assert_int_eq(listen(config.fd, 1), 0);
	ck_assert_int_eq(evutil_make_socket_nonblocking(config.fd), 0);
	ck_assert_int_eq(
	    getsockname(config.fd, (struct sockaddr *)&at, &len), 0);
	ck_assert_int_eq(server_create(&server, loop.base, &config), OK);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_gt(
	    dprintf(fd, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), 0);
	while (n <= 0) {
		loop_run_cycle(&loop);
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	}
	for (unsigned i = 0; i < 2 * SERVER_UNSENT_MAX / sizeof(bytes); i++)
		server_send_events(server, bytes, sizeof(bytes));
	while (n != 0 && (n > 0 || errno == EAGAIN)) {
		ck_assert_int_ge(
		    event_base_loop(loop.base, EVLOOP_NONBLOCK), 0);
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		total += n > 0 ? (uint64_t)n : 0;
		ck_assert_uint_le(total, SERVER_UNSENT_MAX);
	}
	close(fd);
	server_destroy(server);
	loop_destroy(&loop);
}

/* As after a start that failed: nobody takes them. */
TEST(events_are_freed_with_a_server_that_never_started)
{
	char none[] = "";

	make_http();
	report(RELAY_EVENT_SESSION_BEGAN, 1, none);
	report(RELAY_EVENT_SESSION_ENDED, 1, none);
	close_http();
}

static void
answer_none(void *arg, struct info *i)
{
	*(uint64_t *)arg = i->id;
}

TEST(a_cycle_answers_the_oldest_question)
{
	struct questions q = { 0 };
	uint64_t answered = 0;
	struct message *m;
	struct info *i;

	ck_assert_int_eq(loop_init(&loop, ignore, NULL), OK);
	ck_assert(!questions_answer(&q, answer_none, &answered));
	for (uint64_t id = 1; id <= 3; id++) {
		i = info_create();
		ck_assert_ptr_nonnull(i);
		i->id = id;
		i->from = &loop;
		ck_assert_int_eq(message_create(&i->reply, MESSAGE_INFO), OK);
		ck_assert_int_eq(message_create(&m, MESSAGE_INFO), OK);
		m->object = i;
		questions_add(&q, m);
		free(m);
	}
	for (uint64_t id = 1; id <= 3; id++) {
		ck_assert(
		    questions_answer(&q, answer_none, &answered) == (id < 3));
		ck_assert_uint_eq(answered, id);
	}
	ck_assert(!questions_answer(&q, answer_none, &answered));
	loop_destroy(&loop);
}

/* Each allocation of ours fails once: the answer is whole, or an error, or
 * none. libevent's do not fail. */
TEST_ROWS(without_memory_there_is_an_error, 6)
{
	char none[] = "";
	const struct session_info s = {
		.id = 1, .host = none, .name = none, .path = none, .peer = none
	};
	const struct relay_event n = { .kind = RELAY_EVENT_SESSION_ENDED,
		.session = &s };
	static const char *const paths[] = { "/metrics", "/api/v1/status",
		"/api/v1/sessions?state=closed", "/api/v1/sessions/1",
		"/?state=closed", "/api/v1/history" };
	const char *answer;

	open_http();
	http_serving(http);
	wait_for("/readyz", "200 OK");
	relay_event_report(&n);
	wait_for("/api/v1/sessions?state=closed", "\"id\":1,");
	for (unsigned i = 0; i < ROUNDS; i++) {
		fault_arm(i + 1);
		relay_event_report(&n);
		(void)fault_disarm();
		publish(&failing, i + 1);
		answer = fetch(paths[_i]);
		publish(&failing, 0);
		ck_assert(*answer == '\0' || says(answer, "200 OK") ||
			  says(answer, "503 "));
	}
	ck_assert(says(fetch("/healthz"), "200 OK"));
	close_http();
}
