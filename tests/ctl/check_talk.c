/* SPDX-License-Identifier: MIT */
/* What is read: addresses, command lines, answers, events; and what follows
 * from it: rates, orders, verdicts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "tests/lib/unit.h"
#include "tools/ctl/address.h"
#include "tools/ctl/check.h"
#include "tools/ctl/event.h"
#include "tools/ctl/options.h"
#include "tools/ctl/since.h"
#include "tools/ctl/status.h"
#include "tools/ctl/top.h"
#include "tools/ctl/watch.h"

static const struct {
	const char *text, *base, *host, *unix_path;
	bool is_local;
} addresses[] = {
	{ "http://localhost:5340", "http://localhost:5340", "localhost", "",
	    true },
	{ "http://localhost:5340/", "http://localhost:5340", "localhost", "",
	    true },
	{ "relay1", "http://relay1:5340", "relay1", "", false },
	{ "relay1:80", "http://relay1:80", "relay1", "", false },
	{ "http://relay1", "http://relay1", "relay1", "", false },
	{ "https://relay1/pulse/", "https://relay1/pulse", "relay1", "",
	    false },
	{ "[::1]:7", "http://[::1]:7", "::1", "", true },
	{ "http://[2001:db8::1]", "http://[2001:db8::1]", "2001:db8::1", "",
	    false },
	{ "127.9.9.9", "http://127.9.9.9:5340", "127.9.9.9", "", true },
	{ "unix:/run/x", "http://localhost", "", "/run/x", true },
};

TEST_ROWS(addresses_are_understood, ARRAY_LEN(addresses))
{
	struct address a;
	const char *why;

	ck_assert_int_eq(address_parse(&a, addresses[_i].text, &why), OK);
	ck_assert_str_eq(a.base, addresses[_i].base);
	ck_assert_str_eq(a.host, addresses[_i].host);
	ck_assert_str_eq(a.unix_path, addresses[_i].unix_path);
	ck_assert_int_eq(a.is_local, addresses[_i].is_local);
}

TEST(bad_addresses_are_refused)
{
	static const char *const bad[] = { "", "unix:", "ftp://x", "file:///x",
		"http://", "http://a:99999", "http://a b", "http://[::1",
		"net://x" };
	char name[700] = "unix:/";
	struct address a;
	const char *why;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		why = NULL;
		ck_assert_msg(
		    address_parse(&a, bad[i], &why) != OK, "%s", bad[i]);
		ck_assert_ptr_nonnull(why);
	}
	memset(name + 6, 'x', 120);
	ck_assert_int_ne(address_parse(&a, name, &why), OK);
	memset(name, 'x', sizeof(name) - 1);
	ck_assert_int_ne(address_parse(&a, name, &why), OK);
}

static enum status
parsed(struct ctl_options *o, char *line)
{
	static char *words[32];
	int n = 1;

	words[0] = "tracepulse";
	for (char *w = strtok(line, " "); w != NULL; w = strtok(NULL, " "))
		words[n++] = w;
	words[n] = NULL;
	unsetenv("TRACEPULSE_URL");
	return ctl_options_parse(o, n, words);
}

static const struct {
	const char *line;
	enum ctl_command command;
	const char *operand; /* the last */
} good_lines[] = {
	{ "status", COMMAND_status, NULL },
	{ "-j status", COMMAND_status, NULL },
	{ "--url=x sessions -la --host=h", COMMAND_sessions, NULL },
	{ "show a/b", COMMAND_show, "a/b" },
	{ "show --json 7", COMMAND_show, "7" },
	{ "watch s -- -v --clock-seconds", COMMAND_watch, "s" },
	{ "watch a b* --dry-run c/s -- -v --clock-seconds", COMMAND_watch,
	    "c/s" },
	{ "watch --host=h -- -v --clock-seconds", COMMAND_watch, NULL },
	{ "top -s lost -i 0.5 -n 3", COMMAND_top, NULL },
	{ "tail web --text -e a -e b --filter=x=1 --wait", COMMAND_tail,
	    "web" },
	{ "tail --all --since=10m", COMMAND_tail, NULL },
	{ "export a b c.json", COMMAND_export, "c.json" },
	{ "events --recent=5 -n1", COMMAND_events, NULL },
	{ "vacuum --dry-run", COMMAND_vacuum, NULL },
	{ "keep x --no --all", COMMAND_keep, "x" },
	{ "check --disk-warning=10% --state=f", COMMAND_check, NULL },
};

TEST_ROWS(commands_are_understood, ARRAY_LEN(good_lines))
{
	struct ctl_options o;
	char line[128];

	snprintf(line, sizeof(line), "%s", good_lines[_i].line);
	ck_assert_int_eq(parsed(&o, line), OK);
	ck_assert_int_eq(o.command, good_lines[_i].command);
	if (good_lines[_i].operand == NULL)
		ck_assert_uint_eq(o.n_operands, 0);
	else
		ck_assert_str_eq(
		    o.operands[o.n_operands - 1], good_lines[_i].operand);
	ck_assert(o.command != COMMAND_watch ||
		  strcmp(o.more[1], "--clock-seconds") == 0);
}

TEST(bad_command_lines_are_refused)
{
	static const char *const bad[] = { "", "status x", "show", "show a b",
		"watch", "nothing", "status --long", "top --json", "top -s x",
		"top -i 0", "top -n 0", "events --recent=1001",
		"status --timeout=x", "check --disk-warning=101",
		"check --lost-warning=0", "status -- x", "--nothing status",
		"status --url=ftp://x", "tail", "tail x --json --text",
		"tail x --filter=x", "tail x --filter==1",
		"tail x --event=", "tail x --since=soon", "export x.json",
		"watch --all", "tail x -- -v" };
	struct ctl_options o;
	char line[128];

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		snprintf(line, sizeof(line), "%s", bad[i]);
		ck_assert_msg(parsed(&o, line) != OK, "%s", bad[i]);
	}
}

/* 1700000000 is 2023-11-14 22:13:20 in UTC; now is half a second later. */
#define NOW (UINT64_C(1700000000) * NS_PER_S + NS_PER_S / 2)

static const struct {
	const char *text;
	uint64_t ns;
} times[] = {
	{ "@1700000000", NOW - NS_PER_S / 2 },
	{ "@1700000000.5", NOW },
	{ "@1700000000.500000000", NOW },
	{ "10m", NOW - 600 * NS_PER_S },
	{ "250ms", NOW - NS_PER_S / 4 },
	{ "0", NOW },
	{ "2023-11-14T22:13:20.5Z", NOW },
	{ "2023-11-14 22:13:20", NOW + NS_PER_S * 3600 * 3 - NS_PER_S / 2 },
	{ "22:13:20.5Z", NOW },
	{ "22:13Z", NOW - NS_PER_S * 20 - NS_PER_S / 2 },
	{ "2023-11-14Z", NOW - NS_PER_S * 80000 - NS_PER_S / 2 },
};

TEST_ROWS(times_are_understood, ARRAY_LEN(times))
{
	uint64_t ns = 0;

	setenv("TZ", "UTC+3", 1);
	tzset();
	ck_assert_int_eq(since_parse(times[_i].text, NOW, &ns), OK);
	ck_assert_uint_eq(ns, times[_i].ns);
}

TEST(other_times_are_refused)
{
	static const char *const bad[] = { "", "soon", "@", "@x", "@1.", "@1.x",
		"@-1", "@99999999999999999999", "10", "10x", "25:00",
		"2023-11-14x", "2023-11-14 22", "22:13:20.", "22:13 ",
		"1969-12-31 00:00Z" };
	uint64_t ns;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_msg(
		    since_parse(bad[i], NOW, &ns) == E_MALFORMED, "%s", bad[i]);
}

TEST(members_of_another_type_are_found)
{
	json_t *j = json_loads("{\"n\":5,\"m\":-1,\"t\":\"x\",\"r\":1.5,"
			       "\"b\":true,\"o\":{\"a\":2,\"b\":3},\"z\":null}",
	    0, NULL);
	struct json_answer a = { 0 };

	ck_assert_uint_eq(answer_number(&a, j, "n"), 5);
	ck_assert_uint_eq(answer_number(&a, j, "none"), 0);
	ck_assert_uint_eq(answer_number(&a, j, "z"), 0);
	ck_assert_uint_eq(answer_number(&a, NULL, "n"), 0);
	ck_assert_str_eq(answer_text(&a, j, "t"), "x");
	ck_assert_str_eq(answer_text(&a, j, "none"), "");
	ck_assert(answer_real(&a, j, "r") > 1.4);
	ck_assert(answer_real(&a, j, "n") > 4.9);
	ck_assert(answer_bool(&a, j, "b"));
	ck_assert_uint_eq(answer_sum(&a, j, "o"), 5);
	ck_assert_uint_eq(answer_sum(&a, j, "n"), 5);
	ck_assert_ptr_null(a.wrong);
	ck_assert_str_eq(answer_text(&a, j, "n"), "");
	ck_assert_str_eq(a.wrong, "n");
	a.wrong = NULL;
	ck_assert_uint_eq(answer_number(&a, j, "m"), 0);
	ck_assert_str_eq(a.wrong, "m");
	a.wrong = NULL;
	ck_assert_ptr_null(answer_array(&a, j, "o"));
	ck_assert_str_eq(a.wrong, "o");
	json_decref(j);
}

struct got {
	char text[256];
	unsigned n, most;
};

static bool
on_event(const struct event_stream *e, const char *data, void *arg)
{
	struct got *g = arg;
	const size_t at = strlen(g->text);

	snprintf(g->text + at, sizeof(g->text) - at, "%s|%s|%s;", e->id,
	    e->kind, data);
	return ++g->n != g->most;
}

TEST(events_come_in_any_pieces)
{
	static const char stream[] =
	    "retry: 2000\n: comment\n\nid: 1.1\nevent: began\ndata: {1}\n\n"
	    ":\n\nid: 1.2\r\nevent:ended\r\ndata: a\r\ndata: b\r\n\r\n"
	    "event: nothing\n\ndata: x\nid: a b\n\n";

	for (size_t step = 1; step < sizeof(stream); step++) {
		struct event_stream e = { 0 };
		struct got g = { .most = 100 };

		for (size_t at = 0; at < sizeof(stream) - 1; at += step) {
			size_t n = sizeof(stream) - 1 - at;

			ck_assert(event_stream_take(&e, stream + at,
			    n < step ? n : step, on_event, &g));
		}
		ck_assert_str_eq(
		    g.text, "1.1|began|{1};1.2|ended|a\nb;1.2||x;");
		event_stream_free(&e);
	}
}

TEST(events_without_end_are_refused)
{
	struct event_stream e = { 0 };
	struct got g = { .most = 100 };
	char line[1024];
	unsigned n = 0;

	memset(line, 'x', sizeof(line));
	while (event_stream_take(&e, line, sizeof(line), on_event, &g))
		ck_assert_uint_lt(++n, EVENT_BYTES_MAX / sizeof(line) + 2);
	ck_assert(e.is_bad);
	event_stream_free(&e);
	memcpy(line, "data: ", 6);
	line[sizeof(line) - 1] = '\n';
	n = 0;
	while (event_stream_take(&e, line, sizeof(line), on_event, &g))
		ck_assert_uint_lt(++n, EVENT_BYTES_MAX / sizeof(line) + 2);
	ck_assert(e.is_bad);
	event_stream_free(&e);
	/* Who takes them may end it. */
	g = (struct got){ .most = 1 };
	ck_assert(
	    !event_stream_take(&e, "data: 1\n\ndata: 2\n\n", 18, on_event, &g));
	ck_assert_uint_eq(g.n, 1);
	event_stream_free(&e);
}

TEST(rates_are_of_the_same_session)
{
	struct relay_session old[] = { { .id = 1, .received_bytes = 100 },
		{ .id = 3, .received_bytes = 500 } };
	struct relay_session new[] = {
		{ .id = 1, .received_bytes = 300, .rate = -1 },
		{ .id = 2, .received_bytes = 50, .rate = -1, .name = "b" },
		{ .id = 3, .received_bytes = 400, .rate = -1 }
	};
	const struct sessions before = { .all = old, .n = 2 };
	struct sessions now = { .all = new, .n = 3 };

	top_rates(&now, &before, 2 * NS_PER_S);
	ck_assert_double_eq(new[0].rate, 100);
	ck_assert_double_eq(new[1].rate, 25);
	ck_assert_double_eq(new[2].rate, -1); /* it went back: not known */
	new[0].rate = -1;
	top_rates(&now, &before, 0);
	ck_assert_double_eq(new[0].rate, -1);
}

TEST(the_busiest_come_first)
{
	struct relay_session all[] = {
		{ .id = 1, .name = "c", .host = "", .rate = 5 },
		{ .id = 2,
		    .name = "b",
		    .host = "",
		    .rate = 9,
		    .lost_packets = 1 },
		{ .id = 3, .name = "a", .host = "", .rate = 5, .viewers = 2 }
	};
	const struct sessions s = { .all = all, .n = 3 };
	static const struct {
		enum sort_key key;
		uint64_t ids[3];
	} rows[] = { { SORT_RATE, { 2, 3, 1 } }, { SORT_LOST, { 2, 3, 1 } },
		{ SORT_VIEWERS, { 3, 2, 1 } }, { SORT_NAME, { 3, 2, 1 } } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct relay_session **order = top_order(&s, rows[i].key);

		for (unsigned k = 0; k < 3; k++)
			ck_assert_uint_eq(order[k]->id, rows[i].ids[k]);
		free(order);
	}
}

static const struct {
	const char *url, *listens;
	unsigned port;
	const char *want; /* NULL: refused */
} watches[] = {
	{ "localhost", "localhost", 5344, "net://localhost:5344/host/h/s" },
	{ "localhost", "0.0.0.0", 1, "net://localhost:1/host/h/s" },
	{ "localhost", "127.0.0.1", 1, "net://127.0.0.1:1/host/h/s" },
	/* What is not an address of this machine is not followed. */
	{ "localhost", "192.0.2.1", 1, NULL },
	{ "localhost", "127.evil.example", 1, NULL },
	{ "localhost", "evil.example", 1, NULL },
	{ "unix:/x", "192.0.2.1", 1, NULL },
	{ "unix:/x", "localhost", 1, "net://localhost:1/host/h/s" },
	{ "unix:/x", "::", 1, "net://localhost:1/host/h/s" },
	{ "relay1", "0.0.0.0", 1, "net://relay1:1/host/h/s" },
	{ "relay1", "10.0.0.1", 1, "net://relay1:1/host/h/s" },
	{ "relay1", "localhost", 1, NULL },
	{ "relay1", "127.0.0.1", 1, NULL },
	{ "relay1", "::1", 1, NULL },
	/* babeltrace2 has no IPv6. */
	{ "[2001:db8::1]", "::", 1, NULL },
	{ "[::1]", "::", 1, "net://localhost:1/host/h/s" },
	{ "[::1]", "::1", 1, NULL },
	{ "localhost", "::1", 1, NULL },
	{ "relay1", "0.0.0.0", 0, NULL },
	{ "relay1", "0.0.0.0", 70000, NULL },
};

TEST_ROWS(a_viewer_goes_where_the_relay_is, ARRAY_LEN(watches))
{
	const struct relay_session s = { .host = "h", .name = "s" };
	char out[WATCH_URL_MAX];
	struct address a;
	const char *why;
	enum status st;

	ck_assert_int_eq(address_parse(&a, watches[_i].url, &why), OK);
	st = watch_url(
	    out, &a, watches[_i].listens, watches[_i].port, &s, &why);
	ck_assert_int_eq(st == OK, watches[_i].want != NULL);
	if (st == OK)
		ck_assert_str_eq(out, watches[_i].want);
}

TEST(verdicts)
{
	static const struct {
		struct relay_status s;
		uint64_t lost;
		enum verdict want;
	} rows[] = {
		{ { .is_ready = true, .is_healthy = true }, 0, CHECK_OK },
		{ { .is_ready = true, .is_healthy = true }, 1, CHECK_WARNING },
		{ { .is_ready = true, .is_healthy = true }, 9, CHECK_CRITICAL },
		{ { .is_healthy = true, .reasons = "starting" }, 0,
		    CHECK_WARNING },
		{ { .is_ready = true }, 0, CHECK_CRITICAL },
		{ { .is_healthy = true, .reasons = "disk full" }, 0,
		    CHECK_CRITICAL },
		{ { .is_ready = true,
		      .is_healthy = true,
		      .busy_threads = 1,
		      .threads = 4 },
		    0, CHECK_WARNING },
		{ { .is_ready = true,
		      .is_healthy = true,
		      .disk_free = 4,
		      .disk_total = 100 },
		    0, CHECK_OK },
		{ { .is_ready = true,
		      .is_healthy = true,
		      .disk_free = 3,
		      .disk_total = 100 },
		    0, CHECK_WARNING },
		{ { .is_ready = true,
		      .is_healthy = true,
		      .disk_free = 1,
		      .disk_total = 100 },
		    0, CHECK_CRITICAL },
	};
	const struct ctl_options o = { .lost_warning = 1,
		.lost_critical = 9,
		.disk_warning = 4,
		.disk_critical = 2 };
	struct check k;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		check_judge(&k, &o, &rows[i].s, rows[i].lost);
		ck_assert_msg(
		    k.verdict == rows[i].want, "row %zu: %s", i, k.reasons);
		ck_assert_int_eq(k.reasons[0] == '\0', k.verdict == CHECK_OK);
	}
}

TEST(losses_count_once)
{
	struct relay_status s = { .started = 100, .lost_packets = 5 };
	char file[] = "/tmp/tracepulse-check-XXXXXX";
	uint64_t lost;
	FILE *f;

	close(mkstemp(file));
	ck_assert_int_eq(check_lost_since(file, &s, &lost), E_MALFORMED);
	unlink(file);
	ck_assert_int_eq(check_lost_since(file, &s, &lost), OK);
	ck_assert_uint_eq(lost, 0);
	s.lost_packets = 8;
	ck_assert_int_eq(check_lost_since(file, &s, &lost), OK);
	ck_assert_uint_eq(lost, 3);
	ck_assert_int_eq(check_lost_since(file, &s, &lost), OK);
	ck_assert_uint_eq(lost, 0);
	s = (struct relay_status){ .started = 200, .lost_packets = 9 };
	ck_assert_int_eq(check_lost_since(file, &s, &lost), OK);
	ck_assert_uint_eq(lost, 9);
	f = fopen(file, "w");
	fputs("something else\n", f);
	fclose(f);
	ck_assert_int_eq(check_lost_since(file, &s, &lost), E_MALFORMED);
	unlink(file);
	ck_assert_int_eq(check_lost_since("/nowhere/x", &s, &lost), E_IO);
	ck_assert_int_eq(errno, ENOENT);
}
