/* SPDX-License-Identifier: MIT */
#include "relayd/record/ingest.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/state.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "store/packet.h"
#include "store/store.h"

static bool
is_mid_message(const struct session_input *in)
{
	return ingest_is_mid_message(list_entry(in, struct ingest, input));
}

/* The worker closes an orphan at the end of its cycle. */
static void
session_gone(struct session_input *input)
{
	struct ingest *in = list_entry(input, struct ingest, input);

	in->session = NULL;
	in->is_orphan = true;
	list_append(&in->shard->work.orphans, &in->input.node);
}

static const struct session_input_ops input_ops = {
	.is_mid_message = is_mid_message,
	.session_gone = session_gone,
};

struct ingest *
ingest_orphan(const struct shard *sh)
{
	return list_empty(&sh->work.orphans)
		   ? NULL
		   : list_first(&sh->work.orphans, struct ingest, input.node);
}

enum status
ingest_create(
    struct ingest **out, struct shard *sh, char *peer, struct conn *conn)
{
	struct ingest *in = calloc(1, sizeof(*in));

	assert(shard_is_mine(sh));
	*out = in;
	if (in == NULL)
		return E_NOMEM;
	in->shard = sh;
	in->peer = peer;
	in->conn = conn;
	in->input.ops = &input_ops;
	list_init(&in->input.node);
	return OK;
}

static const struct state_member input_members[] = {
	STATE_DROP(struct session_input, node),
	STATE_KEEP(struct session_input, is_extra),
	STATE_DROP(struct session_input, ops),
};
static STATE_TABLE(input_state, struct session_input, input_members);

static const struct state_member members[] = {
	STATE_STRUCT(struct ingest, input, input_state),
	STATE_DROP(struct ingest, shard), STATE_CODE(struct ingest, session),
	STATE_DROP(struct ingest, peer), STATE_DROP(struct ingest, conn),
	STATE_BYTES(struct ingest, header),
	STATE_MOST(struct ingest, n_header, DATA_HEADER_LEN),
	STATE_DROP(struct ingest, h), /* from the header */
	STATE_CODE(struct ingest, packet), STATE_KEEP(struct ingest, last_size),
	STATE_DROP(struct ingest, is_orphan), /* they are closed */
};
static STATE_TABLE(ingest_state, struct ingest, members);

void
ingest_put_state(struct state_out *o, const struct ingest *in)
{
	state_put(o, &ingest_state, in);
	session_put_name(o, in->session);
	packet_put_state(o, in->packet);
}

/* The packet that IN is in the middle of has the header that it has read. */
static enum status
check_packet(struct ingest *in)
{
	struct reader r = reader_over(in->header, sizeof(in->header));

	if (in->packet == NULL)
		return in->n_header < DATA_HEADER_LEN ? OK : E_MALFORMED;
	if (data_header_decode(&r, &in->h) != OK ||
	    in->packet->size != in->h.size || in->session == NULL ||
	    packet_is_whole(in->packet))
		return E_MALFORMED;
	return OK;
}

enum status
ingest_get_state(struct ingest **out, struct state_in *from, struct shard *sh,
    char *peer, struct conn *conn)
{
	struct ingest *in;
	enum status st = ingest_create(out, sh, peer, conn);

	if (st != OK)
		return st;
	in = *out;
	st = state_get(from, &ingest_state, in);
	if (st == OK)
		st = session_get_name(&in->session, from);
	if (st == OK)
		st = packet_get_state(&in->packet, from, &sh->store->packets);
	if (st == OK)
		st = check_packet(in);
	if (st == OK && in->session != NULL)
		st = session_input_again(in->session, &in->input);
	return st;
}

void
ingest_destroy(struct ingest *in)
{
	struct session *s;

	if (in == NULL)
		return;
	assert(shard_is_mine(in->shard));
	if (in->packet != NULL)
		log_peer(LOG_INFO,
		    "peer=%s packet %" PRIu64 " of stream %016" PRIx64
		    " ended after %" PRIu32 " of %" PRIu32 " bytes",
		    in->peer, in->h.net_seq, in->h.stream, in->packet->received,
		    in->packet->size);
	packet_destroy(&in->shard->store->packets, in->packet);
	list_del(&in->input.node);
	session_input_done(&in->input);
	s = in->session;
	free(in);
	if (s != NULL)
		session_input_gone(s);
}

static enum status
refuse(const struct ingest *in, const char *why, enum status st)
{
	log_peer(LOG_WARN,
	    "peer=%s data connection closed: %s (stream %016" PRIx64
	    ", packet %" PRIu64 ", %" PRIu32 "+%" PRIu32 " bytes)",
	    in->peer, why, in->h.stream, in->h.net_seq, in->h.size,
	    in->h.padding);
	return st;
}

/* The stream of the current packet, if it belongs to this connection's session,
 * or the connection has none yet. */
static struct stream *
find_stream(const struct ingest *in)
{
	struct stream *t = idmap_find(&in->shard->streams, in->h.stream);

	/* A stream takes packets over TCP or over UDP, not over both. */
	if (t == NULL || in->is_orphan || !intake_is_connected(&t->intake))
		return NULL;
	return in->session == NULL || in->session == t->session ? t : NULL;
}

static enum status
finish_packet(struct ingest *in)
{
	struct packet *p = in->packet;
	struct stream *t = find_stream(in);

	in->packet = NULL;
	in->n_header = 0;
	in->last_size = p->size;
	if (t == NULL) {
		packet_destroy(&in->shard->store->packets, p);
		return refuse(in, "the stream is closed", E_PROTOCOL);
	}
	if (intake_add_packet(t, p) != OK)
		return refuse(in, "the packet number came twice", E_PROTOCOL);
	return OK;
}

static enum status
begin_packet(struct ingest *in)
{
	struct reader r = reader_over(in->header, sizeof(in->header));
	struct stream *t;
	enum status st;

	st = data_header_decode(&r, &in->h);
	if (st != OK)
		return st;
	t = find_stream(in);
	if (t == NULL)
		return refuse(in, "unknown stream", E_PROTOCOL);
	if (in->session == NULL) {
		if (session_input_came(t->session, &in->input) != OK)
			return refuse(in,
			    "the session has too many data connections",
			    E_LIMIT);
		in->session = t->session;
		log_debug(
		    "%s data connection from %s", in->session->tag, in->peer);
	}
	if ((uint64_t)in->h.size + in->h.padding >
	    in->shard->config.max_packet_size)
		return refuse(
		    in, "the packet is larger than --max-packet-size", E_LIMIT);
	st = intake_begin(t, &in->h);
	if (st != OK)
		return refuse(in, "the packet number is out of order", st);
	in->packet = packet_create(&in->shard->store->packets, in->h.net_seq);
	if (in->packet == NULL)
		return refuse(in, "out of memory", E_NOMEM);
	in->packet->size = in->h.size;
	in->packet->padding = in->h.padding;
	in->packet->trusted = in->last_size;
	return in->h.size == 0 ? finish_packet(in) : OK;
}

size_t
ingest_space(struct ingest *in, uint8_t **at)
{
	*at = NULL;
	if (in->packet == NULL)
		return 0;
	return packet_space(&in->shard->store->packets, in->packet, at);
}

enum status
ingest_filled(struct ingest *in, size_t n)
{
	assert(shard_is_mine(in->shard));
	packet_filled(in->packet, n);
	return packet_is_whole(in->packet) ? finish_packet(in) : OK;
}

static enum status
input_header(struct ingest *in, const uint8_t *p, size_t n, size_t *used)
{
	const size_t lacks = sizeof(in->header) - in->n_header;

	assert(lacks > 0);
	*used = n < lacks ? n : lacks;
	memcpy(in->header + in->n_header, p, *used);
	in->n_header += (uint32_t)*used;
	return in->n_header == sizeof(in->header) ? begin_packet(in) : OK;
}

static enum status
input_packet(struct ingest *in, const uint8_t *p, size_t n, size_t *used)
{
	*used = packet_copy(&in->shard->store->packets, in->packet, p, n);
	if (*used == 0)
		return refuse(in, "out of memory", E_NOMEM);
	return packet_is_whole(in->packet) ? finish_packet(in) : OK;
}

enum status
ingest_input(struct ingest *in, const uint8_t *p, size_t n, size_t *used)
{
	enum status st = OK;
	size_t step;

	assert(shard_is_mine(in->shard));
	*used = 0;
	while (st == OK && *used < n && !ingest_is_held(in)) {
		if (in->packet == NULL)
			st = input_header(in, p + *used, n - *used, &step);
		else
			st = input_packet(in, p + *used, n - *used, &step);
		*used += step;
	}
	return st;
}

bool
ingest_is_mid_message(const struct ingest *in)
{
	return in->packet != NULL || in->n_header > 0;
}

uint64_t
ingest_begun(const struct ingest *in)
{
	return in->packet == NULL ? 0 : packet_memory(in->packet);
}

size_t
ingest_read_max(const struct ingest *in)
{
	return in->session == NULL ? DATA_HEADER_LEN
				   : (size_t)in->session->waiting.read_max;
}

bool
ingest_is_held(const struct ingest *in)
{
	const struct session *s = in->session;

	if (in->shard->slice.takes_all)
		return false;
	if (ingest_is_mid_message(in))
		return account_is_exhausted(in->shard->config.memory);
	if (s != NULL && s->waiting.is_full)
		return true;
	if (s != NULL && s->waiting.file_bytes >= SESSION_FILES_FAIR &&
	    in->shard->file_bytes > SHARD_FILES_WAITING_MAX)
		return true;
	return !account_may_take(
	    in->shard->config.memory, s != NULL ? s->waiting.bytes : 0, 0);
}
