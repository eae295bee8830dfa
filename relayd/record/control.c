/* SPDX-License-Identifier: MIT */
#include "relayd/record/control.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/state.h"
#include "proto/frame.h"
#include "proto/udp.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/siblings.h"
#include "relayd/record/stream.h"
#include "relayd/record/udp.h"
#include "relayd/stats/stats.h"

/*
 * The commands of the control port. The table (proto/relay.tbl.h) says when a
 * command is allowed, a handler says what it does. Streaming 3.1 says which
 * replies exist and which failures close the connection.
 */

/* A command of the control port. BODY is its payload. */
typedef enum status handler(
    struct control *c, struct reader *body, struct buf *out);

/* Reply CODE; if it is not RELAY_OK, the connection ends after it. */
static enum status
reply_or_close(struct buf *out, uint32_t code)
{
	buf_u32(out, code);
	return code == RELAY_OK ? OK : E_REFUSED_CLOSE;
}

static enum status
on_version(struct control *c, struct reader *body, struct buf *out)
{
	struct relay_version v;

	if (relay_version_decode(body, &v) != OK)
		return E_MALFORMED;
	/* Another version would change the layout of SEND_INDEX. */
	if (c->session != NULL)
		return E_PROTOCOL;
	relay_reply_version(out, RELAY_MAJOR, RELAY_MINOR);
	c->minor = v.minor < RELAY_MINOR ? v.minor : RELAY_MINOR;
	return v.major == RELAY_MAJOR ? OK : E_REFUSED_CLOSE;
}

static enum status
on_get_configuration(struct control *c, struct reader *body, struct buf *out)
{
	const uint64_t flags = c->config->allow_clear
				   ? RELAY_CONFIG_CLEAR_ALLOWED
				   : 0;
	const uint64_t offers = RELAY_CONFIG_RESUME |
				(c->config->has_udp ? RELAY_CONFIG_UDP : 0);
	uint64_t query;

	if (relay_id_decode(body, &query) != OK)
		return E_MALFORMED;
	if ((query & ~offers) != 0) {
		relay_reply_configuration(out, RELAY_INVALID_PROTOCOL, 0);
		return E_REFUSED;
	}
	relay_reply_configuration(out, RELAY_OK, flags | query);
	return OK;
}

/* The session that this connection creates may be resumed. */
static enum status
on_resume(struct control *c, struct reader *body, struct buf *out)
{
	const enum status st = relay_resume_decode(body, &c->key);

	if (st == E_MALFORMED)
		return st;
	c->may_resume = st == OK;
	return reply_or_close(out, st == OK ? RELAY_OK : RELAY_INVALID);
}

/* Another connection may have the session, if it is resumed: that one is
 * closed at the end of the cycle. */
static void
take_session(struct control *c, struct session *s)
{
	struct control *old = s->control;

	if (old != NULL) {
		log_info(
		    "%s its connection from %s is replaced", s->tag, old->peer);
		old->session = NULL;
		old->has_logged_end = true;
		list_append(&c->shard->work.replaced, &old->replaced_node);
	}
	s->control = c;
	c->session = s;
}

struct control *
control_replaced(const struct shard *sh)
{
	return list_empty(&sh->work.replaced)
		   ? NULL
		   : list_first(
			 &sh->work.replaced, struct control, replaced_node);
}

static enum status
create_session(struct control *c, struct reader *body, struct session **out)
{
	struct relay_create_session request;
	enum status st = relay_create_session_decode(body, c->minor, &request);

	if (st != OK)
		return st;
	request.may_resume = c->may_resume;
	request.key = c->key;
	return session_create(out, c->shard, &request, c->minor, c->peer);
}

static enum status
on_create_session(struct control *c, struct reader *body, struct buf *out)
{
	struct relay_create_session request;
	struct session *s;
	enum status st;

	if (c->session != NULL) {
		relay_reply_session(
		    out, c->session->minor, 0, RELAY_FATAL, NULL);
		return E_REFUSED_CLOSE;
	}
	/* The worker decodes it again, and refuses what is malformed. */
	if (c->shard == NULL) {
		st = relay_create_session_decode(body, c->minor, &request);
		if (st == OK) {
			c->has_peer_id = request.has_peer_id;
			c->uuid = request.uuid;
			c->peer_session = request.peer_session;
			relay_create_session_clear(&request);
		}
		return st == E_NOMEM ? st : E_HANDOVER;
	}
	if (!shard_may_begin_session(c->shard))
		return E_LATER;
	st = create_session(c, body, &s);
	if (st == E_LATER)
		return st;
	if (st != OK) {
		c->why = st;
		relay_reply_session(out, c->minor, 0, RELAY_FATAL, NULL);
		/* lttng-sessiond waits for a path after the reply even if there
		 * is none: only the end of the connection ends this wait. */
		return E_REFUSED_CLOSE;
	}
	take_session(c, s);
	relay_reply_session(out, c->minor, s->id, RELAY_OK, session_path(s));
	return OK;
}

static enum status
on_add_stream(struct control *c, struct reader *body, struct buf *out)
{
	struct relay_add_stream q;
	uint64_t handle;
	enum status st;

	st = relay_add_stream_decode(body, c->session->minor, &q);
	if (st != OK) {
		relay_reply_stream(out, UINT64_MAX, RELAY_UNKNOWN_ERROR);
		/* Other streams may go on after a path that is not allowed. */
		return st == E_REFUSED ? st : E_REFUSED_CLOSE;
	}
	st = stream_create(c->session, &q, &handle);
	if (st == E_LATER)
		return st;
	relay_reply_stream(
	    out, handle, st == OK ? RELAY_OK : RELAY_UNKNOWN_ERROR);
	return st == OK ? OK : E_REFUSED;
}

static enum status
on_start_data(struct control *c, struct reader *body, struct buf *out)
{
	buf_u32(out, RELAY_OK);
	return OK;
}

static enum status
on_streams_sent(struct control *c, struct reader *body, struct buf *out)
{
	session_publish(c->session);
	buf_u32(out, RELAY_OK);
	return OK;
}

static enum status
on_send_metadata(struct control *c, struct reader *body, struct buf *out)
{
	struct relay_send_metadata m;
	struct stream *t;
	enum status st;

	if (relay_send_metadata_decode(body, &m) != OK)
		return E_MALFORMED;
	t = session_stream(c->session, m.stream);
	c->about = t;
	if (t == NULL)
		return E_PROTOCOL;
	if (m.size + m.padding > c->shard->config.max_packet_size)
		return E_LIMIT;
	st = stream_metadata(t, &m, &c->done);
	/* SEND_METADATA has no reply that could report a failure. */
	return st == E_NOENT ? E_PROTOCOL : st;
}

static enum status
on_close_stream(struct control *c, struct reader *body, struct buf *out)
{
	struct relay_stream_seq q;
	struct stream *t;

	if (relay_stream_seq_decode(body, &q) != OK)
		return E_MALFORMED;
	t = session_stream(c->session, q.stream);
	if (t == NULL)
		return reply_or_close(out, RELAY_UNKNOWN_ERROR);
	stream_close(t, q.last_net_seq);
	return reply_or_close(out, RELAY_OK);
}

static enum status
on_data_pending(struct control *c, struct reader *body, struct buf *out)
{
	struct relay_stream_seq q;
	struct stream *t;

	if (relay_stream_seq_decode(body, &q) != OK)
		return E_MALFORMED;
	t = session_stream(c->session, q.stream);
	if (t == NULL)
		return reply_or_close(out, RELAY_PENDING_UNKNOWN);
	buf_u32(out, stream_pending(t, q.last_net_seq));
	return OK;
}

static enum status
on_quiescent_control(struct control *c, struct reader *body, struct buf *out)
{
	struct stream *t;
	uint64_t handle;

	if (relay_id_decode(body, &handle) != OK)
		return E_MALFORMED;
	t = session_stream(c->session, handle);
	if (t != NULL)
		stream_is_asked(t);
	buf_u32(out, RELAY_OK);
	return OK;
}

static enum status
on_begin_data_pending(struct control *c, struct reader *body, struct buf *out)
{
	uint64_t id;

	if (relay_id_decode(body, &id) != OK)
		return E_MALFORMED;
	if (id != c->session->id)
		return reply_or_close(out, RELAY_UNKNOWN_ERROR);
	session_begin_pending(c->session);
	buf_u32(out, RELAY_OK);
	return OK;
}

static enum status
on_end_data_pending(struct control *c, struct reader *body, struct buf *out)
{
	uint64_t id;

	if (relay_id_decode(body, &id) != OK)
		return E_MALFORMED;
	if (id != c->session->id)
		return reply_or_close(out, RELAY_PENDING_UNKNOWN);
	buf_u32(out, session_end_pending(c->session) ? 1 : 0);
	return OK;
}

static enum status
on_send_index(struct control *c, struct reader *body, struct buf *out)
{
	struct relay_index i;
	struct stream *t;
	enum status st;

	if (relay_index_decode(body, c->session->minor, &i) != OK)
		return E_MALFORMED;
	t = session_stream(c->session, i.stream);
	c->about = t;
	if (t == NULL)
		return reply_or_close(out, RELAY_UNKNOWN_ERROR);
	st = i.packet_size == 0 ? stream_beacon(t, &i)
				: stream_add_record(t, &i);
	/* A failed write is the relay's fault: report it, and let the peer
	 * decide. */
	if (st == E_IO) {
		buf_u32(out, RELAY_UNKNOWN_ERROR);
		return E_REFUSED;
	}
	return reply_or_close(out, st == OK ? RELAY_OK : RELAY_UNKNOWN_ERROR);
}

static enum status
on_reset_metadata(struct control *c, struct reader *body, struct buf *out)
{
	struct relay_stream_seq q;
	struct stream *t;

	if (relay_stream_seq_decode(body, &q) != OK)
		return E_MALFORMED;
	t = session_stream(c->session, q.stream);
	c->about = t;
	if (t == NULL || stream_reset_metadata(t) != OK)
		return reply_or_close(out, RELAY_UNKNOWN_ERROR);
	return reply_or_close(out, RELAY_OK);
}

static enum status
on_rotate_streams(struct control *c, struct reader *body, struct buf *out)
{
	struct relay_rotate rot;
	uint32_t code;

	if (relay_rotate_decode(body, &rot) != OK)
		return E_MALFORMED;
	if (session_rotate(c->session, &rot, &c->done, &code) == E_LATER)
		return E_LATER;
	return reply_or_close(out, code);
}

static enum status
on_create_trace_chunk(struct control *c, struct reader *body, struct buf *out)
{
	struct relay_create_chunk q;
	enum status st;
	uint32_t code;

	st = relay_create_chunk_decode(body, &q);
	if (st == E_REFUSED)
		return reply_or_close(out, RELAY_INVALID);
	if (st != OK)
		return st;
	if (!session_finish_deletions(c->session, q.id)) {
		relay_create_chunk_clear(&q);
		return E_LATER;
	}
	code = session_create_chunk(c->session, &q);
	relay_create_chunk_clear(&q);
	return reply_or_close(out, code);
}

static enum status
on_close_trace_chunk(struct control *c, struct reader *body, struct buf *out)
{
	struct relay_close_chunk q;
	char path[RELPATH_MAX];
	uint32_t code;

	if (relay_close_chunk_decode(body, &q) != OK)
		return E_MALFORMED;
	code = session_close_chunk(c->session, &q, path);
	relay_reply_close_chunk(out, code, code == RELAY_OK ? path : NULL);
	return code == RELAY_OK ? OK : E_REFUSED_CLOSE;
}

static enum status
on_trace_chunk_exists(struct control *c, struct reader *body, struct buf *out)
{
	uint64_t id;

	if (relay_id_decode(body, &id) != OK)
		return E_MALFORMED;
	relay_reply_exists(
	    out, RELAY_OK, siblings_chunk(c->session->siblings, id) != NULL);
	return OK;
}

static enum status
on_udp_open(struct control *c, struct reader *body, struct buf *out)
{
	struct udp_open_reply a;
	struct udp_open q;

	if (udp_open_decode(body, &q) != OK)
		return E_MALFORMED;
	udp_open(c->session, &q, &a);
	udp_open_reply(out, &a);
	if (a.code == RELAY_NO_MEMORY)
		return E_REFUSED_CLOSE;
	return a.code == RELAY_OK ? OK : E_REFUSED;
}

static enum status
on_udp_status(struct control *c, struct reader *body, struct buf *out)
{
	uint64_t handle;

	if (relay_id_decode(body, &handle) != OK)
		return E_MALFORMED;
	udp_status(c->session, handle, out);
	return OK;
}

static enum status
on_stream_written(struct control *c, struct reader *body, struct buf *out)
{
	struct relay_written w = { 0 };
	struct stream *t;
	uint64_t handle;

	if (relay_id_decode(body, &handle) != OK)
		return E_MALFORMED;
	t = session_stream(c->session, handle);
	if (t != NULL)
		stream_written(t, &w);
	relay_reply_written(
	    out, t != NULL ? RELAY_OK : RELAY_UNKNOWN_ERROR, &w);
	return t != NULL ? OK : E_REFUSED_CLOSE;
}

static handler *
handler_of(uint32_t cmd)
{
	switch ((enum relay_cmd)cmd) {
#define RELAY(wire, name, since, allowed, max) \
	case RELAY_CMD_##name:                 \
		return on_##name;
#include "proto/relay.tbl.h"
#undef RELAY
	}
	return NULL;
}

/* Log one line about a request that failed. After E_REFUSED the connection goes
 * on; the text of E_REFUSED_CLOSE says that it is closed. */
static void
log_failure(struct control *c, const char *command, enum status st)
{
	const bool has_tag = c->session != NULL, has_stream = c->about != NULL;
	const enum status why = c->why;
	const bool says_why = why != OK && why != E_REFUSED;

	c->has_logged_end = st != E_REFUSED;
	if (st == E_REFUSED) /* net/ counts those that close */
		stats_refused(PORT_CONTROL, REFUSAL_refused);
	log_peer(why != OK ? LOG_WARN : log_level_of(st),
	    "%s%s%s%s%s%s %s: %s%s%s%s",
	    has_tag ? "" : "peer=", has_tag ? c->session->tag : c->peer,
	    has_stream ? " stream=" : "", has_stream ? c->about->path->s : "",
	    has_stream ? "/" : "", has_stream ? c->about->channel->s : "",
	    command, status_text(st), says_why ? ": " : "",
	    says_why ? status_text(why) : "",
	    st == E_REFUSED || st == E_REFUSED_CLOSE ? ""
						     : ", connection closed");
}

/* Serve one request whose payload is whole. E_LATER: it is not done yet, and
 * must come again in a later cycle. */
static enum status
serve(struct control *c, const struct relay_header *hdr, struct reader *body,
    struct buf *out)
{
	const struct relay_row *row = relay_row(hdr->cmd);
	unsigned state = c->session == NULL ? IN_NEW : IN_SESSION;
	unsigned minor = c->session == NULL ? c->minor : c->session->minor;
	enum status st;

	c->why = OK;
	c->about = NULL;
	if (row->name == NULL) {
		c->has_logged_end = true;
		log_peer(LOG_WARN,
		    "peer=%s connection closed: unknown command %" PRIu32,
		    c->peer, hdr->cmd);
		return reply_or_close(out, RELAY_UNKNOWN_ERROR);
	}
	if ((row->allowed & state) == 0 || minor < row->since_minor)
		st = E_PROTOCOL;
	else
		st = handler_of(hdr->cmd)(c, body, out);
	if (st != OK && st != E_HANDOVER && st != E_LATER)
		log_failure(c, row->name, st);
	return st;
}

enum status
control_create(
    struct control **out, const struct control_config *config, char *peer)
{
	struct control *c = calloc(1, sizeof(*c));

	*out = c;
	if (c == NULL)
		return E_NOMEM;
	c->config = config;
	c->peer = peer;
	list_init(&c->replaced_node);
	return OK;
}

void
control_destroy(struct control *c, bool aborted)
{
	if (c == NULL)
		return;
	list_del(&c->replaced_node);
	if (c->session != NULL) {
		c->session->control = NULL;
		session_end(c->session, aborted);
	}
	free(c);
}

static const struct state_member members[] = {
	STATE_DROP(struct control, config),
	STATE_DROP(struct control, shard),
	STATE_CODE(struct control, session),
	STATE_MOST(struct control, minor, RELAY_MINOR),
	STATE_KEEP(struct control, has_logged_end),
	STATE_DROP(struct control, is_waiting), /* what was read is served */
	STATE_DROP(struct control, done),	/* what has begun is finished */
	STATE_DROP(
	    struct control, why), /* of one request, while it is served */
	STATE_DROP(struct control, about),
	STATE_DROP(struct control, peer),
	STATE_KEEP(struct control, has_peer_id),
	STATE_BYTES(struct control, uuid),
	STATE_KEEP(struct control, peer_session),
	STATE_DROP(struct control, conn),
	STATE_DROP(struct control, replaced_node), /* they are closed */
	STATE_KEEP(struct control, may_resume),
	STATE_BYTES(struct control, key),
};
static STATE_TABLE(control_state, struct control, members);

void
control_put_state(struct state_out *o, const struct control *c)
{
	state_put(o, &control_state, c);
	session_put_name(o, c->session);
}

enum status
control_get_state(struct control **out, struct state_in *in,
    const struct control_config *config, char *peer, struct shard *shard)
{
	struct control *c;
	enum status st = control_create(out, config, peer);

	if (st != OK)
		return st;
	c = *out;
	c->shard = shard;
	st = state_get(in, &control_state, c);
	if (st == OK)
		st = session_get_name(&c->session, in);
	if (c->session != NULL)
		c->session->control = c;
	return st;
}

/* Refuse a request whose header claims too many bytes. */
static enum status
refuse_size(struct control *c, const struct relay_header *hdr, struct buf *out)
{
	const struct relay_row *row = relay_row(hdr->cmd);

	log_peer(LOG_WARN,
	    "peer=%s connection closed: %s (%" PRIu32 ") of %" PRIu64 " bytes",
	    c->peer, row->name == NULL ? "unknown command" : row->name,
	    hdr->cmd, hdr->size);
	c->has_logged_end = true;
	if (row->name != NULL || hdr->size > RELAY_PAYLOAD_MAX)
		return E_LIMIT;
	buf_u32(out, RELAY_UNKNOWN_ERROR);
	return E_REFUSED_CLOSE;
}

/* The payload is incomplete: wait for it only if the command is allowed. */
static enum status
expect(struct control *c, const struct relay_header *hdr)
{
	const struct relay_row *row = relay_row(hdr->cmd);
	unsigned state = c->session == NULL ? IN_NEW : IN_SESSION;

	if (row->name == NULL || (row->allowed & state) != 0)
		return OK;
	log_peer(LOG_WARN,
	    "peer=%s connection closed: %s before create_session", c->peer,
	    row->name);
	c->has_logged_end = true;
	return E_PROTOCOL;
}

enum status
control_input(struct control *c, const uint8_t *p, size_t n, size_t *used,
    struct buf *out)
{
	struct relay_header hdr;
	struct reader body;
	enum status st;

	c->is_waiting = false;
	*used = 0;
	if (!list_empty(&c->replaced_node))
		return E_PROTOCOL;
	for (;; *used += RELAY_HEADER_LEN + (size_t)hdr.size) {
		if (buf_len(out) >= CONTROL_OUT_MAX)
			return OK;
		st = frame_relay(p + *used, n - *used, &hdr, &body);
		if (st == E_MORE)
			return n - *used < RELAY_HEADER_LEN ? OK
							    : expect(c, &hdr);
		if (st == E_LIMIT)
			return refuse_size(c, &hdr, out);
		/* The main thread serves only short requests. */
		c->is_waiting = *used > 0 && c->shard != NULL &&
				shard_is_late(c->shard);
		if (c->is_waiting)
			return OK;
		st = serve(c, &hdr, &body, out);
		c->is_waiting = st == E_LATER;
		if (c->is_waiting)
			return OK;
		c->done = 0;
		/* E_REFUSED: the reply is an error, but the connection goes
		 * on. */
		if (st != OK && st != E_REFUSED)
			return st;
		if (out->bad)
			return E_NOMEM;
	}
}
