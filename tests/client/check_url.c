/* SPDX-License-Identifier: MIT */
#include "tools/client/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "tests/lib/unit.h"

static const struct {
	const char *text;
	int family;
	const char *host;
	unsigned control, data;
	const char *path;
} good[] = {
	{ "net://h", AF_UNSPEC, "h", 5342, 5343, "" },
	{ "net://h/", AF_UNSPEC, "h", 5342, 5343, "" },
	{ "net4://h:1", AF_INET, "h", 1, 5343, "" },
	{ "net6://h:1:65535", AF_INET6, "h", 1, 65535, "" },
	{ "net://[::1]:7:8/a/b", AF_UNSPEC, "::1", 7, 8, "a/b" },
	{ "net://10.0.0.1/a", AF_UNSPEC, "10.0.0.1", 5342, 5343, "a" },
};

static const char *const bad[] = {
	"",
	"net://",
	"net:///x",
	"tcp://h",
	"h",
	"net://h:",
	"net://h:0",
	"net://h:65536",
	"net://h:1:",
	"net://h:1:2:3",
	"net://h:1x",
	"net://[::1",
	"net://[]",
	"net://h:-1",
	"net://[::1]x",
};

TEST_ROWS(good_ones_are_taken_apart, ARRAY_LEN(good))
{
	const char *why;
	struct url u;

	ck_assert_int_eq(url_parse(&u, good[_i].text, &why), OK);
	ck_assert_int_eq(u.family, good[_i].family);
	ck_assert_str_eq(u.host, good[_i].host);
	ck_assert_uint_eq(u.control, good[_i].control);
	ck_assert_uint_eq(u.data, good[_i].data);
	ck_assert_str_eq(u.path, good[_i].path);
}

TEST_ROWS(bad_ones_are_refused_with_a_reason, ARRAY_LEN(bad))
{
	const char *why = NULL;
	struct url u;

	ck_assert_msg(
	    url_parse(&u, bad[_i], &why) == E_MALFORMED, "%s", bad[_i]);
	ck_assert_ptr_nonnull(why);
}

TEST(viewers_have_one_port)
{
	const char *why;
	struct url u;

	ck_assert_int_eq(url_parse_live(&u, "net://h/host/a/b", &why), OK);
	ck_assert_uint_eq(u.control, 5344);
	ck_assert_str_eq(u.path, "host/a/b");
	ck_assert_int_eq(url_parse_live(&u, "net://h:7", &why), OK);
	ck_assert_uint_eq(u.control, 7);
	ck_assert_int_eq(url_parse_live(&u, "net://h:7:8", &why), E_MALFORMED);
}

TEST(long_hosts_are_refused)
{
	char text[600] = "net://";
	const char *why;
	struct url u;

	memset(text + 6, 'a', 500);
	ck_assert_int_eq(url_parse(&u, text, &why), E_MALFORMED);
}

TEST(numbers_resolve_with_their_ports)
{
	struct url_address a[URL_ADDRESSES], b;
	const char *why;
	struct url u;
	unsigned n;

	ck_assert_int_eq(url_parse(&u, "net://127.0.0.1:99", &why), OK);
	ck_assert_int_eq(url_resolve(&u, a, &n, &why, 0, NULL, NULL), OK);
	ck_assert_uint_eq(n, 1);
	b = url_with_port(&a[0], 77);
	ck_assert_uint_eq(
	    ntohs(((struct sockaddr_in *)(void *)&a[0].sa)->sin_port), 99);
	ck_assert_uint_eq(
	    ntohs(((struct sockaddr_in *)(void *)&b.sa)->sin_port), 77);
}

static bool
never(void *arg)
{
	++*(unsigned *)arg;
	return false;
}

TEST(who_is_told_to_stop_waits_for_no_name)
{
	struct url_address a[URL_ADDRESSES];
	unsigned n, asked = 0;
	const char *why;
	struct url u;

	ck_assert_int_eq(url_parse(&u, "net://relay.invalid", &why), OK);
	ck_assert_int_eq(
	    url_resolve(&u, a, &n, &why, 1, never, &asked), E_STOPPED);
	ck_assert_uint_eq(asked, 1);
	/* nobody is asked for an address */
	ck_assert_int_eq(url_parse(&u, "net://127.0.0.1", &why), OK);
	ck_assert_int_eq(url_resolve(&u, a, &n, &why, 1, never, &asked), OK);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(asked, 1);
}

static const struct {
	const char *url;
	bool is_loopback;
} places[] = {
	{ "net://127.0.0.1", true },
	{ "net://127.255.3.4", true },
	{ "net://[::1]", true },
	{ "net://[::ffff:127.0.0.1]", true },
	{ "net://126.255.255.255", false },
	{ "net://128.0.0.1", false },
	{ "net://[::]", false },
	{ "net://[::2]", false },
	{ "net://[::7f00:1]", false },
	{ "net://[::ffff:10.0.0.1]", false },
	{ "net://[fe80::7f00:1]", false },
};

TEST_ROWS(loopback_addresses_are_known, ARRAY_LEN(places))
{
	struct url_address a[URL_ADDRESSES];
	const char *why;
	struct url u;
	unsigned n;

	ck_assert_int_eq(url_parse(&u, places[_i].url, &why), OK);
	ck_assert_int_eq(url_resolve(&u, a, &n, &why, 0, NULL, NULL), OK);
	ck_assert_uint_eq(url_is_loopback(&a[0]), places[_i].is_loopback);
}
