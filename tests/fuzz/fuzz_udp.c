/* SPDX-License-Identifier: MIT */
/*
 * Datagrams, and requests between them, for one session over the file system in
 * memory. Pieces of input: a byte whose low two bits say what it is (0: a
 * datagram that gets the session's token and a right checksum; 1: one as it is;
 * 2: bytes of the control connection; 3: time passes, 10 ms per byte of the
 * length), a length of two bytes, and so many bytes. Whatever comes, the
 * session stays within its memory, and no memory is left over.
 */
#include <assert.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "proto/relay.h"
#include "relayd/record/control.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/cycle.h"
#include "relayd/record/udp.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_shard.h"
#include "tests/lib/fake_fs.h"

#define MINOR 13
#define MEMORY_MAX (8 * 1024 * 1024)
#define PACKET_MAX (512 * 1024)

static const struct control_config control_config = { .allow_clear = true,
	.has_udp = true };

/* What was kept of a request, and these bytes. False: the connection ends. */
static bool
feed(struct control *c, struct buf *in, const void *p, size_t n)
{
	struct buf out = { 0 };
	size_t used;
	enum status st;

	buf_bytes(in, p, n);
	if (buf_len(in) == 0)
		return true;
	st = control_input(c, buf_data(in), buf_len(in), &used, &out);
	buf_free(&out);
	if (st == OK)
		buf_consume(in, used);
	return st == OK;
}

/* A session with two streams (handles 0x100 and 0x200) that takes UDP. */
static struct control *
make_session(struct shard *sh, struct buf *in)
{
	static char peer[] = "fuzz";
	const struct relay_session_request session = { .session_name = "s",
		.hostname = "h",
		.base_path = "",
		.uuid = { { 1 } },
		.creation_time = 1800000000,
		.trace_format = 1 };
	const struct udp_open open = { UDP_VERSION, 512, 4, 0, 50000 };
	struct control *c;
	struct buf b = { 0 };
	enum status st = control_create(&c, &control_config, peer);

	assert(st == OK);
	c->shard = sh;
	relay_request_version(&b, RELAY_MAJOR, MINOR);
	relay_request_create_session(&b, MINOR, &session);
	relay_request_create_chunk(&b, 0, 1800000000, NULL);
	relay_request_add_stream(&b, MINOR, "a", "p", 0, 0, 0);
	relay_request_add_stream(&b, MINOR, "b", "p", 4096, 2, 0);
	udp_open_request(&b, &open);
	if (!feed(c, in, buf_data(&b), buf_len(&b)) || c->session == NULL ||
	    c->session->udp == NULL)
		assert(false);
	buf_free(&b);
	return c;
}

/* What only the session's sender could make. */
static void
sign(uint8_t *p, size_t n, const struct session *s)
{
	struct udp_header h;

	if (udp_header_decode(p, n, &h) != OK)
		return;
	h.token = s->udp->token;
	/* A longer header is covered by its checksum, too. */
	h.payload = p + UDP_HEADER_LEN;
	h.payload_len = (uint32_t)(n - UDP_HEADER_LEN);
	udp_header_encode(p, &h);
}

static void throw(
    struct shard * sh, const struct session *s, const uint8_t *p, size_t n)
{
	uint8_t copy[4096];

	if (n > sizeof(copy))
		n = sizeof(copy);
	memcpy(copy, p, n);
	if (s != NULL && s->udp != NULL)
		sign(copy, n, s);
	(void)!udp_input(sh, copy, n);
}

static void
turn_end(struct shard *sh, const struct session *s, uint64_t now)
{
	clock_freeze(now, 1800000000);
	cycle_commit(sh);
	(void)cycle_delete_some(sh);
	(void)cycle_tick(sh, now);
	if (s != NULL && s->udp != NULL)
		assert(s->waiting.bytes + s->udp->partial_bytes <=
		       s->udp->window_bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf in = { 0 };
	uint64_t now = NS_PER_S;
	struct control *c;
	struct shard *sh;
	size_t size;

	log_set_level(LOG_ERROR);
	clock_freeze(now, 1800000000);
	sh = fuzz_shard(PACKET_MAX, MEMORY_MAX, true);
	c = make_session(sh, &in);
	while (n >= 3) {
		const struct session *s = c == NULL ? NULL : c->session;
		const unsigned kind = p[0] % 4;

		size = (size_t)p[1] << 8 | p[2];
		p += 3;
		n -= 3;
		if (kind == 3) {
			now += size * 10 * NS_PER_MS;
			turn_end(sh, s, now);
			continue;
		}
		size = size < n ? size : n;
		if (kind < 2) {
			throw(sh, kind == 0 ? s : NULL, p, size);
		} else if (c != NULL && !feed(c, &in, p, size)) {
			control_destroy(c, true);
			c = NULL;
			s = NULL;
		}
		p += size;
		n -= size;
		turn_end(sh, s, now);
	}
	control_destroy(c, false);
	buf_free(&in);
	turn_end(sh, NULL, now + UDP_GAP_MAX_NS);
	cycle_last(sh);
	shard_destroy(sh);
	assert(fuzz_shard_memory() == 0);
	fake_fs_end();
	return 0;
}
