/* SPDX-License-Identifier: MIT */
/* A dialog against the relay's own decoders and encoders, without sockets. */
#include "tools/client/dialog.h"

#include <string.h>

#include "common/buf.h"
#include "proto/frame.h"
#include "proto/relay.h"
#include "proto/udp.h"
#include "tests/lib/unit.h"

/* What the relay decodes of the first request in d->out, which is consumed. */
static uint32_t
heard(struct dialog *d, struct reader *body)
{
	struct relay_header hdr;

	ck_assert_int_eq(
	    frame_relay(buf_data(&d->out), buf_len(&d->out), &hdr, body), OK);
	buf_consume(&d->out, RELAY_HEADER_LEN + (size_t)hdr.size);
	return hdr.cmd;
}

static struct dialog
new_dialog(unsigned most)
{
	struct dialog d;

	ck_assert_int_eq(dialog_init(&d, 15, most), OK);
	return d;
}

static void
greet(struct dialog *d, uint32_t relay_minor)
{
	struct dialog_reply r;
	struct relay_version v;
	struct reader body;

	relay_request_version(dialog_ask(d, RELAY_CMD_version, 0), 2, 15);
	ck_assert_uint_eq(heard(d, &body), RELAY_CMD_version);
	ck_assert_int_eq(relay_version_decode(&body, &v), OK);
	ck_assert_uint_eq(v.minor, 15);
	relay_reply_version(&d->in, 2, relay_minor);
	ck_assert_int_eq(dialog_next(d, &r), OK);
	ck_assert_uint_eq(r.code, RELAY_OK);
}

TEST(the_lower_minor_is_spoken)
{
	struct dialog d = new_dialog(4), e = new_dialog(4);

	greet(&d, 13);
	ck_assert_uint_eq(d.minor, 13);
	greet(&e, 99);
	ck_assert_uint_eq(e.minor, 15);
	dialog_free(&d);
	dialog_free(&e);
}

TEST(another_major_is_refused)
{
	struct dialog d = new_dialog(4);
	struct dialog_reply r;

	relay_request_version(dialog_ask(&d, RELAY_CMD_version, 0), 2, 15);
	relay_reply_version(&d.in, 3, 0);
	ck_assert_int_eq(dialog_next(&d, &r), OK);
	ck_assert_uint_ne(r.code, RELAY_OK);
	dialog_free(&d);
}

/* Every command with its reply. */
static void
ask_everything(struct dialog *d)
{
	const struct relay_session_request q = { .session_name = "s",
		.hostname = "h",
		.base_path = "",
		.trace_format = 1,
		.uuid = { { 1 } } };
	const struct relay_index i = { .stream = 7, .net_seq = 3 };

	relay_request_create_session(
	    dialog_ask(d, RELAY_CMD_create_session, 1), d->minor, &q);
	relay_request_add_stream(dialog_ask(d, RELAY_CMD_add_stream, 2),
	    d->minor, "c", "p", 0, 0, 0);
	relay_request_index(
	    dialog_ask(d, RELAY_CMD_send_index, 3), d->minor, &i);
	relay_request_stream_seq(dialog_ask(d, RELAY_CMD_data_pending, 4),
	    RELAY_CMD_data_pending, 7, 3);
	relay_request_close_chunk(dialog_ask(d, RELAY_CMD_close_trace_chunk, 5),
	    0, 9, (struct relay_optional){ 0 });
	relay_request_id(dialog_ask(d, RELAY_CMD_get_configuration, 6),
	    RELAY_CMD_get_configuration, 1);
	relay_request_id(dialog_ask(d, RELAY_CMD_udp_status, 7),
	    RELAY_CMD_udp_status, UDP_STATUS_ALL);
	udp_open_request(dialog_ask(d, RELAY_CMD_udp_open, 8),
	    &(struct udp_open){ .version = 1 });
	relay_request_id(dialog_ask(d, RELAY_CMD_stream_written, 9),
	    RELAY_CMD_stream_written, 7);
}

static void
answer_everything(struct dialog *d, struct buf *b)
{
	const struct udp_status s = { 7, 1, 5, 2, 2 };
	const struct udp_range g = { 1, 0, 3 };

	relay_reply_session(b, d->minor, 44, RELAY_OK, "h/s-date");
	relay_reply_stream(b, 0x1234, RELAY_OK);
	buf_u32(b, RELAY_OK);
	buf_u32(b, 1);
	relay_reply_close_chunk(b, RELAY_OK, "h/s-date");
	relay_reply_configuration(b, RELAY_OK, RELAY_CONFIG_UDP);
	udp_status_head(b, RELAY_OK, 1);
	udp_status_put(b, &s);
	udp_range_put(b, &g);
	udp_range_put(b, &g);
	udp_open_reply(b, &(struct udp_open_reply){ .code = RELAY_OK });
	relay_reply_written(b, RELAY_OK, &(struct relay_written){ 1, 2, 3 });
}

static const struct {
	uint32_t cmd;
	uint64_t value;
	const char *path;
	size_t size;
} replies[] = {
	{ RELAY_CMD_create_session, 44, "h/s-date", 25 },
	{ RELAY_CMD_add_stream, 0x1234, "", 12 },
	{ RELAY_CMD_send_index, 0, "", 4 },
	{ RELAY_CMD_data_pending, 1, "", 4 },
	{ RELAY_CMD_close_trace_chunk, 0, "h/s-date", 17 },
	{ RELAY_CMD_get_configuration, RELAY_CONFIG_UDP, "", 12 },
	{ RELAY_CMD_udp_status, 0, "", 8 + 36 + 32 },
	{ RELAY_CMD_udp_open, 0, "", 44 },
	{ RELAY_CMD_stream_written, 0, "", 28 },
};

static void
expect_reply(const struct dialog_reply *r, unsigned i)
{
	ck_assert_uint_eq(r->cmd, replies[i].cmd);
	ck_assert_uint_eq(r->tag, i + 1);
	ck_assert_uint_eq(r->code, RELAY_OK);
	ck_assert_uint_eq(r->value, replies[i].value);
	ck_assert_uint_eq(r->path.n, strlen(replies[i].path));
	ck_assert_mem_eq(r->path.p, replies[i].path, r->path.n);
	ck_assert_uint_eq(reader_left(&r->body), replies[i].size);
}

/* Row: so many bytes arrive at a time. */
TEST_ROWS(replies_come_whole_however_they_are_cut, 96)
{
	struct dialog d = new_dialog(ARRAY_LEN(replies));
	struct buf all = { 0 };
	struct dialog_reply r;
	unsigned n = 0;

	ask_everything(&d);
	ck_assert_uint_eq(dialog_space(&d), 0);
	answer_everything(&d, &all);
	while (buf_len(&all) > 0) {
		const size_t part = buf_len(&all) < (size_t)_i + 1
					? buf_len(&all)
					: (size_t)_i + 1;
		enum status st;

		buf_bytes(&d.in, buf_data(&all), part);
		buf_consume(&all, part);
		while ((st = dialog_next(&d, &r)) == OK)
			expect_reply(&r, n++);
		ck_assert_int_eq(st, E_MORE);
	}
	ck_assert_uint_eq(n, ARRAY_LEN(replies));
	ck_assert_uint_eq(dialog_space(&d), ARRAY_LEN(replies));
	buf_free(&all);
	dialog_free(&d);
}

/* Whatever comes, it is taken, refused, or waited for. */
TEST_ROWS(replies_made_of_noise, 8)
{
	uint32_t x = (uint32_t)_i * 77 + 1;

	for (int round = 0; round < 200; round++) {
		struct dialog d = new_dialog(ARRAY_LEN(replies));
		struct dialog_reply r;

		ask_everything(&d);
		answer_everything(&d, &d.in);
		for (int k = 0; k < 5; k++) {
			x = x * 1664525 + 1013904223;
			d.in.mem[(x >> 8) % buf_len(&d.in)] = (uint8_t)(x >>
									24);
		}
		while (dialog_next(&d, &r) == OK)
			ck_assert_uint_lt(r.tag, ARRAY_LEN(replies) + 1);
		dialog_free(&d);
	}
}

TEST(what_was_not_asked_is_not_taken)
{
	struct dialog d = new_dialog(2);
	struct dialog_reply r;

	buf_u32(&d.in, RELAY_OK);
	ck_assert_int_eq(dialog_next(&d, &r), E_PROTOCOL);
	dialog_free(&d);
}

TEST(a_refusal_is_a_reply)
{
	struct dialog d = new_dialog(2);
	struct dialog_reply r;

	ck_assert_ptr_nonnull(dialog_ask(&d, RELAY_CMD_create_session, 0));
	relay_reply_session(&d.in, 15, 0, RELAY_FATAL, NULL);
	ck_assert_int_eq(dialog_next(&d, &r), OK);
	ck_assert_uint_eq(r.code, RELAY_FATAL);
	ck_assert_uint_eq(r.path.n, 0);
	dialog_free(&d);
}

TEST(a_path_without_end_is_no_reply)
{
	struct dialog d = new_dialog(2);
	struct dialog_reply r;

	ck_assert_ptr_nonnull(dialog_ask(&d, RELAY_CMD_create_session, 0));
	buf_u64(&d.in, 1);
	buf_u32(&d.in, RELAY_OK);
	buf_u32(&d.in, UINT32_MAX);
	buf_zero(&d.in, 8192);
	ck_assert_int_eq(dialog_next(&d, &r), E_PROTOCOL);
	dialog_free(&d);
}
