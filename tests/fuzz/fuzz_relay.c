/* SPDX-License-Identifier: MIT */
/*
 * The control port's bytes: the first byte is the session's minor, the rest is
 * what a peer sends. Every message that decodes must, encoded and decoded
 * again, say the same.
 */
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

#include "common/buf.h"
#include "proto/data.h"
#include "proto/frame.h"
#include "proto/relay.h"
#include "tests/lib/relay_echo.h"

static struct reader
body_of(const struct buf *b)
{
	struct relay_header hdr;
	struct reader body;
	enum status st = frame_relay(buf_data(b), buf_len(b), &hdr, &body);

	assert(st == OK && hdr.size == buf_len(b) - RELAY_HEADER_LEN);
	return body;
}

static void
echo_twice(const struct relay_header *hdr, struct reader body, unsigned minor)
{
	struct buf once = { 0 }, twice = { 0 };
	enum status st = relay_echo(hdr->cmd, body, minor, &once);

	if (st == OK) {
		st = relay_echo(hdr->cmd, body_of(&once), minor, &twice);
		assert(st == OK && !once.bad && !twice.bad);
		assert(buf_len(&once) == buf_len(&twice));
		assert(memcmp(buf_data(&once), buf_data(&twice),
			   buf_len(&once)) == 0);
	} else {
		assert(buf_len(&once) == 0);
	}
	buf_free(&once);
	buf_free(&twice);
}

/* No component is empty, dots or hidden from openat(2) by a NUL. */
static void
check_path(const struct relpath *p)
{
	assert(p->len > 0 && p->len < RELPATH_MAX && strlen(p->s) == p->len);
	assert(p->s[0] != '/' && p->s[p->len - 1] != '/');
	assert(strstr(p->s, "//") == NULL);
	for (const char *s = p->s; s != NULL; s = strchr(s, '/')) {
		const size_t n = strcspn(s += *s == '/', "/");

		assert(n > 0 && n <= 255);
		assert(!(n == 1 && s[0] == '.'));
		assert(!(n == 2 && s[0] == '.' && s[1] == '.'));
	}
}

/* Of a session or host: from 2.4 on there is one. */
static void
check_name(const struct relpath *p, unsigned minor)
{
	assert((p != NULL) == (minor >= 4));
	if (p == NULL)
		return;
	check_path(p);
	assert(p->s[0] != '.' && strchr(p->s, '/') == NULL);
}

/* The names of a CREATE_SESSION. */
static void
check_session(struct reader body, unsigned minor)
{
	struct relay_create_session c;

	if (relay_create_session_decode(&body, minor, &c) != OK)
		return;
	check_name(c.session_name, minor);
	check_name(c.hostname, minor);
	if (c.base_path != NULL)
		check_path(c.base_path);
	relay_create_session_clear(&c);
}

static void
check_stream(struct reader body, unsigned minor)
{
	struct relay_add_stream a;

	if (relay_add_stream_decode(&body, minor, &a) != OK)
		return;
	check_path(a.channel);
	check_path(a.path);
	assert(strpbrk(a.channel->s, "/") == NULL);
	relay_add_stream_clear(&a);
}

static void
one_data_header(const uint8_t *p, size_t n)
{
	struct reader r = reader_over(p, n);
	struct data_header h;
	struct buf b = { 0 };

	if (data_header_decode(&r, &h) == OK) {
		data_header_encode(&b, &h);
		/* but for the circuit id, which says nothing */
		assert(
		    memcmp(buf_data(&b) + 8, p + 8, DATA_HEADER_LEN - 8) == 0);
	}
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct relay_header hdr;
	struct reader body;
	unsigned minor;

	if (n == 0)
		return 0;
	minor = p[0] % (RELAY_MINOR + 2);
	p++;
	n--;
	one_data_header(p, n);
	while (frame_relay(p, n, &hdr, &body) == OK) {
		if (hdr.cmd == RELAY_CMD_create_session)
			check_session(body, minor);
		if (hdr.cmd == RELAY_CMD_add_stream)
			check_stream(body, minor);
		echo_twice(&hdr, body, minor);
		n -= RELAY_HEADER_LEN + (size_t)hdr.size;
		p += RELAY_HEADER_LEN + (size_t)hdr.size;
	}
	return 0;
}
