/* SPDX-License-Identifier: MIT */
#include "common/clock.h"
#include "common/reader.h"
#include "proto/relay.h"
#include "tests/bench/peer.h"

static void
need_ok(const struct peer *p, const struct expected *e, uint32_t code)
{
	if (code != RELAY_OK)
		load_fail("session %u: command %u answered %u", p->number,
		    e->kind, code);
}

static void
take_version(struct peer *p, struct reader *r)
{
	uint32_t major = reader_u32(r), minor = reader_u32(r);

	if (major != RELAY_MAJOR || minor < PEER_MINOR)
		load_fail(
		    "the relay speaks %u.%u: 2.11 is needed", major, minor);
}

static void
take_session(struct peer *p, const struct expected *e, struct reader *r)
{
	p->session_id = reader_u64(r);
	need_ok(p, e, reader_u32(r));
	reader_take(r, reader_u32(r)); /* its path */
}

static void
take_stream(struct peer *p, const struct expected *e, struct reader *r)
{
	p->handles[e->stream] = reader_u64(r);
	need_ok(p, e, reader_u32(r));
}

static void
take_pending(struct peer *p, struct reader *r)
{
	uint32_t answer = reader_u32(r);

	if (answer > 1)
		load_fail(
		    "session %u: DATA_PENDING answered %u", p->number, answer);
	p->is_pending |= answer == 1;
}

static size_t
reply_length(const struct peer *p, const struct expected *e)
{
	struct reader r = reader_over(buf_data(&p->in), buf_len(&p->in));

	switch (e->kind) {
	case RELAY_CMD_version:
		return 8;
	case RELAY_CMD_create_session:
		reader_take(&r, 12);
		return 16 + (size_t)reader_u32(&r);
	case RELAY_CMD_add_stream:
		return 12;
	default:
		return 4;
	}
}

static void
take_reply(struct peer *p, const struct expected *e, struct reader *r)
{
	switch (e->kind) {
	case RELAY_CMD_version:
		take_version(p, r);
		break;
	case RELAY_CMD_create_session:
		take_session(p, e, r);
		break;
	case RELAY_CMD_add_stream:
		take_stream(p, e, r);
		break;
	case RELAY_CMD_data_pending:
	case RELAY_CMD_end_data_pending:
		take_pending(p, r);
		break;
	case RELAY_CMD_send_index:
		p->in_flight--;
		histogram_add(
		    &p->result->index_reply, clock_now_ns() - e->sent_ns);
		need_ok(p, e, reader_u32(r));
		break;
	default:
		need_ok(p, e, reader_u32(r));
	}
}

void
peer_take_replies(struct peer *p)
{
	while (buf_len(&p->in) > 0) {
		const struct expected *e = &p->expected[p->first];
		struct reader r;
		size_t n;

		if (p->n_expected == 0)
			load_fail("session %u: a reply to nothing", p->number);
		n = reply_length(p, e);
		if (buf_len(&p->in) < n)
			return;
		r = reader_over(buf_data(&p->in), n);
		take_reply(p, e, &r);
		buf_consume(&p->in, n);
		p->first = (p->first + 1) % p->n_ring;
		p->n_expected--;
	}
}
