/* SPDX-License-Identifier: MIT */
/* One session on its way to a topic. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "tools/kafka/record.h"
#include "tools/sink/to_kafka_internal.h"

/* Between two looks at what a thread waits for. */
#define WAIT_MS 2
/* How old the state of a session in the topic of sessions may be. */
#define STATE_RECORD_NS (10 * NS_PER_S)
/* The longest wait for one answer of a broker. */
#define ANSWER_MS 1000
/* Brokers that create topics by themselves have done it by then. */
#define TOPIC_NS (3 * NS_PER_S)
/* What a record has in a batch beside its key, headers and value. */
#define RECORD_OVERHEAD 512

struct kafka_stream {
	struct delivery_stream *delivery;
	uint64_t metadata_size;
	uint64_t next_seq;
	bool is_metadata;
};

struct kafka_output {
	struct send_output output; /* first */
	struct to_kafka *to;
	struct send_output_config config;
	struct record_key key;
	struct buf key_text;
	struct delivery_session *session;
	struct kafka_stream *streams;
	unsigned n_streams;
	char host[RELAY_HOSTNAME_MAX], name[RELAY_SESSION_NAME_MAX];
	uint64_t lost;	    /* packets that the source reported */
	uint64_t state_ns;  /* when the next state record is due */
	uint64_t stored_at; /* what stored() waits for; 0: nothing */
	uint64_t packets_before, bytes_before; /* of outputs before */
	uint64_t beacons, bytes_out;
	bool waits;
	unsigned ended; /* records of the end that were sent */
	/* The session had ended before: nothing is sent until something new
	 * comes. */
	bool is_silent;
	bool is_finished;
	char path[2 * RECORD_KEY_MAX];
	char error[SEND_ERROR_MAX];
};

static struct kafka_output *
kafka_of(struct send_output *o)
{
	return (struct kafka_output *)o;
}

/* Let some time pass, if this thread may wait. */
static enum status
wait_a_little(const struct kafka_output *k)
{
	if (!k->waits)
		return E_BUSY;
	if (!k->config.goes_on(k->config.arg))
		return E_STOPPED;
	(void)usleep(WAIT_MS * 1000);
	return OK;
}

static enum status
fail(struct kafka_output *k, enum status st, const char *why)
{
	(void)snprintf(k->error, sizeof(k->error), "kafka: %.500s", why);
	return st;
}

/* OK unless a record of the session was refused. */
static enum status
check(struct kafka_output *k)
{
	if (k->error[0] != '\0')
		return E_IO;
	if (published(&k->to->is_broken) != 0)
		return fail(k, E_IO, "the producer has to begin again");
	return published(&k->session->lost) == 0
		   ? OK
		   : fail(k, E_IO, k->session->error);
}

/* Give VALUE, which nothing was consumed of, to the producer, which frees its
 * memory. An error: nothing was taken. */
static rd_kafka_resp_err_t
produce(struct kafka_output *k, rd_kafka_topic_t *topic, const struct buf *key,
    const struct record *r, const struct buf *value, struct delivery *f)
{
	rd_kafka_headers_t *h = rd_kafka_headers_new(4);
	const char *kind = record_kind_name(r->kind);
	rd_kafka_resp_err_t e;

	if (h == NULL)
		return RD_KAFKA_RESP_ERR__FAIL;
	rd_kafka_header_add(h, "host", -1, k->host, -1);
	rd_kafka_header_add(h, "session", -1, k->name, -1);
	rd_kafka_header_add(h, "kind", -1, kind, -1);
	if (r->stream.n > 0)
		rd_kafka_header_add(
		    h, "stream", -1, r->stream.p, (ssize_t)r->stream.n);
	e = rd_kafka_producev(k->to->producer, RD_KAFKA_V_RKT(topic),
	    RD_KAFKA_V_KEY(buf_data(key), buf_len(key)),
	    RD_KAFKA_V_VALUE(value->mem, buf_len(value)),
	    RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_FREE), RD_KAFKA_V_HEADERS(h),
	    RD_KAFKA_V_OPAQUE(f), RD_KAFKA_V_END);
	if (e != RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_headers_destroy(h);
	return e;
}

/* Send R as one record, and wait while there is no space for it. F is what it
 * means when it is delivered. E_STOPPED, E_BUSY: it was not sent. */
static enum status
send_record(struct kafka_output *k, rd_kafka_topic_t *topic,
    const struct record *r, const struct delivery *f)
{
	struct delivery *flight = malloc(sizeof(*flight));
	struct buf key = { 0 }, value = { 0 };
	rd_kafka_resp_err_t e = RD_KAFKA_RESP_ERR__QUEUE_FULL;
	enum status st = check(k);

	if (topic == k->to->sessions)
		record_table_key_encode(&key, &k->key, r);
	else
		record_key_encode(&key, &k->key);
	record_encode(&value, r);
	if (st == OK && (flight == NULL || key.bad || value.bad))
		st = fail(k, E_NOMEM, status_text(E_NOMEM));
	if (st == OK)
		*flight = *f;
	while (st == OK) {
		e = produce(k, topic, &key, r, &value, flight);
		if (e != RD_KAFKA_RESP_ERR__QUEUE_FULL)
			break;
		st = wait_a_little(k);
		st = st == OK ? check(k) : st;
	}
	buf_free(&key);
	if (st == OK && e == RD_KAFKA_RESP_ERR_NO_ERROR) {
		k->session->sent++;
		return OK;
	}
	buf_free(&value);
	free(flight);
	return st == OK ? fail(k, E_IO, rd_kafka_err2str(e)) : st;
}

/* A record that only has to arrive. */
static enum status
send_plain(
    struct kafka_output *k, rd_kafka_topic_t *topic, const struct record *r)
{
	return send_record(k, topic, r,
	    &(struct delivery){
		.session = k->session, .packet_bytes = UINT64_MAX });
}

/* Wait until all that was sent so far is delivered. */
static enum status
wait_all(struct kafka_output *k)
{
	enum status st = check(k);

	while (st == OK && published(&k->session->done) < k->session->sent) {
		st = wait_a_little(k);
		st = st == OK ? check(k) : st;
	}
	return st;
}

/* Send R to both topics. Whoever finds it in the first, finds it in the topic
 * of sessions. */
static enum status
send_to_both(struct kafka_output *k, const struct record *r,
    const struct delivery *f, bool waits_between)
{
	enum status st = send_plain(k, k->to->sessions, r);

	if (st == OK && waits_between)
		st = wait_all(k);
	return st == OK ? send_record(k, k->to->topic, r, f) : st;
}

static enum status
send_state(struct kafka_output *k, bool is_ended)
{
	const struct record r = { .kind = RECORD_STATE,
		.state = { .is_ended = is_ended,
		    .time_ns = clock_wall_ns(),
		    .packets = published(&k->session->packets),
		    .bytes = published(&k->session->bytes),
		    .lost = k->lost } };

	k->state_ns = clock_now_ns() + STATE_RECORD_NS;
	return send_plain(k, k->to->sessions, &r);
}

static enum status
describe(struct kafka_output *k)
{
	const struct record r = { .kind = RECORD_SESSION,
		.session = { .live_timer_us = k->config.session.live_timer_us,
		    .name_has_time = k->config.session.name_has_time } };
	const struct delivery f = { .session = k->session,
		.packet_bytes = UINT64_MAX };
	enum status st = send_state(k, false);

	return st == OK ? send_to_both(k, &r, &f, true) : st;
}

static struct span
name_of(const struct kafka_stream *s)
{
	return (struct span){ s->delivery->name, strlen(s->delivery->name) };
}

static enum status
describe_stream(struct kafka_output *k, const struct kafka_stream *s)
{
	const struct record r = { .kind = RECORD_STREAM, .stream = name_of(s) };
	const struct delivery f = { .session = k->session,
		.packet_bytes = UINT64_MAX };

	return send_to_both(k, &r, &f, false);
}

/* Something new comes. */
static enum status
speak(struct kafka_output *k)
{
	enum status st = OK;

	if (!k->is_silent)
		return OK;
	st = describe(k);
	for (unsigned i = 0; st == OK && i < k->n_streams; i++)
		st = describe_stream(k, &k->streams[i]);
	k->is_silent = st != OK;
	return st;
}

static struct kafka_stream *
new_stream(struct kafka_output *k, const char *path, const char *channel)
{
	char name[RECORD_STREAM_MAX + 1];
	const int n = snprintf(name, sizeof(name), "%s/%s", path, channel);
	struct kafka_stream *more, *s;

	if (n < 0 || (size_t)n >= sizeof(name) ||
	    record_stream_check((struct span){ name, (size_t)n }) != OK) {
		(void)fail(k, E_REFUSED,
		    "the name of a stream is too long or not valid");
		return NULL;
	}
	more = realloc(k->streams, (k->n_streams + 1) * sizeof(*more));
	if (more != NULL) {
		k->streams = more;
		s = &more[k->n_streams];
		*s = (struct kafka_stream){
			.is_metadata = strcmp(channel, "metadata") == 0
		};
		s->delivery = deliveries_stream(&k->to->deliveries, k->session,
		    (struct span){ name, (size_t)n });
	}
	if (more == NULL || s->delivery == NULL) {
		(void)fail(k, E_NOMEM, status_text(E_NOMEM));
		return NULL;
	}
	return s;
}

static enum status
add_stream(struct send_output *o, const char *path, const char *channel,
    unsigned *number, send_position *position)
{
	struct kafka_output *k = kafka_of(o);
	struct kafka_stream *s = new_stream(k, path, channel);
	enum status st = s == NULL ? E_IO : OK;

	if (st == OK && !k->is_silent)
		st = describe_stream(k, s);
	if (st != OK)
		return st;
	*position = s->next_seq = s->metadata_size = published(
	    &s->delivery->next);
	*number = k->n_streams++;
	return OK;
}

static enum status
streams_sent(struct send_output *o)
{
	return check(kafka_of(o));
}

/* The most bytes of data in one record about S. */
static size_t
part_size(const struct kafka_output *k, const struct kafka_stream *s)
{
	return k->to->largest -
	       2 * (RECORD_TABLE_KEY_MAX + strlen(k->host) + strlen(k->name)) -
	       RECORD_VALUE_HEAD_MAX - strlen(s->delivery->name) -
	       RECORD_OVERHEAD;
}

static enum status
metadata(struct send_output *o, unsigned number, const void *data, size_t size)
{
	struct kafka_output *k = kafka_of(o);
	struct kafka_stream *s = &k->streams[number];
	const size_t most = part_size(k, s);
	enum status st = speak(k);

	for (size_t at = 0, n; st == OK && at < size; at += n) {
		struct record r = { .kind = RECORD_METADATA,
			.stream = name_of(s),
			.metadata_offset = s->metadata_size + at,
			.data = (const uint8_t *)data + at };
		struct delivery f = { .session = k->session,
			.stream = s->delivery,
			.packet_bytes = UINT64_MAX };

		n = r.size = size - at < most ? size - at : most;
		f.next = r.metadata_offset + n;
		st = send_to_both(k, &r, &f, true);
	}
	if (st == OK)
		s->metadata_size += size;
	return st;
}

/* Bytes AT to AT + N of a packet. */
static void
copy_part(uint8_t *out, const struct client_packet *p, size_t at, size_t n)
{
	const size_t head = at < p->head_size ? p->head_size - at : 0;
	const size_t first = head < n ? head : n;

	memcpy(out, p->head + at, first);
	if (n > first)
		memcpy(out + first, p->data + (at + first - p->head_size),
		    n - first);
}

static enum status
send_parts(struct kafka_output *k, struct kafka_stream *s,
    const struct client_packet *p, uint8_t *part, size_t most)
{
	struct record r = { .kind = RECORD_PACKET,
		.stream = name_of(s),
		.packet = { .index = p->index,
		    .size = p->size,
		    .padding = p->padding },
		.data = part };
	struct delivery f = { .session = k->session,
		.stream = s->delivery,
		.packet_bytes = UINT64_MAX };
	const bool waits = k->waits;
	enum status st;
	size_t at = 0;

	r.packet.index.stream = r.packet.index.net_seq = 0;
	do {
		r.packet.offset = (uint32_t)at;
		r.size = p->size - at < most ? p->size - at : most;
		copy_part(part, p, at, r.size);
		at += r.size;
		if (at == p->size) {
			f.next = p->index.packet_seq_num + 1;
			f.packet_bytes = p->size;
		}
		st = send_record(k, k->to->topic, &r, &f);
		k->bytes_out += st == OK ? r.size : 0;
		k->waits = true; /* a packet that has begun is sent */
	} while (st == OK && at < p->size);
	k->waits = waits;
	return st;
}

static enum status
packet(
    struct send_output *o, unsigned number, const struct client_packet *packet)
{
	struct kafka_output *k = kafka_of(o);
	struct kafka_stream *s = &k->streams[number];
	size_t most = part_size(k, s);
	enum status st;
	uint8_t *part;

	if (packet->size > RECORD_PACKET_MAX ||
	    packet->padding > RECORD_PACKET_MAX)
		return fail(k, E_LIMIT, "a packet is larger than 256 MiB");
	most = packet->size < most ? packet->size : most;
	part = malloc(most + 1);
	if (part == NULL)
		return fail(k, E_NOMEM, status_text(E_NOMEM));
	st = speak(k);
	if (st == OK)
		st = send_parts(k, s, packet, part, most);
	free(part);
	if (st != OK)
		return st;
	s->next_seq = packet->index.packet_seq_num + 1;
	client_packet_done(packet);
	/* The packet was taken: the next call reports a failure of this. */
	if (clock_now_ns() >= k->state_ns)
		(void)!send_state(k, false);
	return OK;
}

static enum status
beacon(struct send_output *o, unsigned number, uint64_t timestamp,
    uint64_t ctf_stream)
{
	struct kafka_output *k = kafka_of(o);
	const struct record r = { .kind = RECORD_BEACON,
		.stream = name_of(&k->streams[number]),
		.beacon = { timestamp, ctf_stream } };
	enum status st = k->is_silent ? check(k)
				      : send_plain(k, k->to->topic, &r);

	k->beacons += st == OK && !k->is_silent;
	return st;
}

static enum status
lost(struct send_output *o, unsigned number, uint64_t n)
{
	struct kafka_output *k = kafka_of(o);
	struct kafka_stream *s = &k->streams[number];
	const struct record r = { .kind = RECORD_LOSS,
		.stream = name_of(s),
		.loss = { s->next_seq, n } };
	enum status st = speak(k);

	if (st == OK)
		st = send_plain(k, k->to->topic, &r);
	if (st == OK) {
		k->lost += n;
		s->next_seq += n;
	}
	return st;
}

static enum status
close_stream(struct send_output *o, unsigned number)
{
	struct kafka_output *k = kafka_of(o);
	struct kafka_stream *s = &k->streams[number];
	const struct record r = { .kind = RECORD_STREAM_END,
		.stream = name_of(s),
		.next_seq = s->next_seq };

	return k->is_silent ? check(k) : send_plain(k, k->to->topic, &r);
}

/* The producer works by itself. */
static enum status
work(struct send_output *o, int timeout_ms)
{
	struct kafka_output *k = kafka_of(o);
	enum status st = check(k);

	if (st == OK && !k->is_silent && clock_now_ns() >= k->state_ns)
		st = send_state(k, false);
	if (st == OK && timeout_ms > 0)
		(void)usleep((useconds_t)timeout_ms * 1000);
	return st == E_STOPPED || st == E_BUSY ? OK : st;
}

static void
set_waits(struct send_output *o, bool waits)
{
	kafka_of(o)->waits = waits;
}

static enum status
stored(struct send_output *o, bool *is_all)
{
	struct kafka_output *k = kafka_of(o);
	enum status st = check(k);

	if (k->stored_at == 0)
		k->stored_at = k->session->sent;
	*is_all = st == OK && published(&k->session->done) >= k->stored_at;
	if (*is_all)
		k->stored_at = 0;
	return st == OK && !*is_all ? E_BUSY : st;
}

static enum status
flush(struct send_output *o)
{
	return wait_all(kafka_of(o));
}

/* What the producer has is sent: it cannot drop the records of one session
 * alone. */
static void
cut(struct send_output *o)
{
	(void)o;
}

static enum status
finish(struct send_output *o)
{
	struct kafka_output *k = kafka_of(o);
	const struct record r = { .kind = RECORD_SESSION_END };
	enum status st = wait_all(k);

	if (st == OK && k->ended == 0 && !k->is_silent) {
		st = send_plain(k, k->to->topic, &r);
		k->ended += st == OK;
	}
	if (st == OK && k->ended == 1) {
		st = send_state(k, true);
		k->ended += st == OK;
	}
	if (st == OK)
		st = wait_all(k);
	k->is_finished |= st == OK;
	return st;
}

static const char *
error(const struct send_output *o)
{
	return ((const struct kafka_output *)o)->error;
}

static const char *
path(const struct send_output *o)
{
	return ((const struct kafka_output *)o)->path;
}

static void
stats(const struct send_output *o, struct send_stats *out)
{
	const struct kafka_output *k = (const struct kafka_output *)o;
	const uint64_t packets = published(&k->session->packets) -
				 k->packets_before;

	*out = (struct send_stats){ .sent = { .packets = packets,
					.bytes = published(&k->session->bytes) -
						 k->bytes_before,
					.indexes = packets,
					.beacons = k->beacons,
					.lost = k->lost },
		.bytes_out = k->bytes_out };
}

static struct client_answered
answered(const struct send_output *o, unsigned number)
{
	const struct kafka_output *k = (const struct kafka_output *)o;
	const struct delivery_stream *d;

	if (number >= k->n_streams)
		return (struct client_answered){ 0 };
	d = k->streams[number].delivery;
	return (struct client_answered){ published(&d->packets),
		published(&d->bytes) };
}

static void
destroy(struct send_output *o)
{
	struct kafka_output *k = kafka_of(o);

	if (k->is_finished || k->is_silent)
		deliveries_end(&k->to->deliveries, k->session);
	buf_free(&k->key_text);
	free(k->streams);
	published_release(&k->to->outputs);
	free(k);
}

static const struct send_output_ops output_ops = {
	.add_stream = add_stream,
	.streams_sent = streams_sent,
	.metadata = metadata,
	.packet = packet,
	.beacon = beacon,
	.lost = lost,
	.close_stream = close_stream,
	.work = work,
	.set_waits = set_waits,
	.stored = stored,
	.flush = flush,
	.cut = cut,
	.finish = finish,
	.error = error,
	.path = path,
	.stats = stats,
	.answered = answered,
	.destroy = destroy,
};

/* The partitions of the topic; 0: not known. *E says why, if brokers do. */
static int
partitions(struct to_kafka *to, rd_kafka_topic_t *topic, rd_kafka_resp_err_t *e)
{
	const struct rd_kafka_metadata *m;
	int n = 0;

	if (rd_kafka_metadata(to->producer, 0, topic, &m, ANSWER_MS) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		return 0;
	if (m->topic_cnt == 1) {
		*e = m->topics[0].err;
		n = *e == RD_KAFKA_RESP_ERR_NO_ERROR
			? m->topics[0].partition_cnt
			: 0;
	}
	rd_kafka_metadata_destroy(m);
	return n;
}

/* Wait until both topics are there. Whoever takes over a partition of one looks
 * for its sessions in the same partition of the other. */
static enum status
check_topics(struct kafka_output *k)
{
	struct to_kafka *to = k->to;
	uint64_t report_ns = clock_now_ns() + TOPIC_NS;
	rd_kafka_resp_err_t e = RD_KAFKA_RESP_ERR_NO_ERROR;
	char why[SEND_ERROR_MAX];
	int n, m = 0;

	while (published(&to->is_checked) == 0) {
		n = partitions(to, to->topic, &e);
		if (n > 0)
			m = partitions(to, to->sessions, &e);
		if (n > 0 && n == m) {
			publish(&to->is_checked, 1);
			return OK;
		}
		if (n > 0 && m > 0) {
			snprintf(why, sizeof(why),
			    "%.200s has %d partitions, %.210s has %d: they "
			    "must be equal",
			    to->url.topic, n, to->url.sessions, m);
			return fail(k, E_REFUSED, why);
		}
		if (e != RD_KAFKA_RESP_ERR_NO_ERROR &&
		    clock_now_ns() > report_ns) {
			fprintf(stderr, "%s: kafka: %s: %s\n",
			    to->errors.program,
			    n > 0 ? to->url.sessions : to->url.topic,
			    rd_kafka_err2str(e));
			report_ns = UINT64_MAX;
		}
		if (wait_a_little(k) != OK)
			return E_STOPPED;
	}
	return OK;
}

/* What the output is called, in keys and for people. */
static enum status
name_session(struct kafka_output *k)
{
	const struct send_session *s = &k->config.session;
	struct relay_uuid id = s->identity;
	uint64_t begin_s = s->creation_time;
	struct record_key ids;

	if (relay_uuid_is_nil(&id)) {
		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			return fail(k, E_IO, strerror(errno));
		begin_s = begin_s != 0 ? begin_s : clock_wall_s();
	}
	if (strlen(s->hostname) >= sizeof(k->host) ||
	    strlen(s->name) >= sizeof(k->name))
		return fail(k, E_LIMIT, "the name of the session is too long");
	snprintf(k->host, sizeof(k->host), "%s", s->hostname);
	snprintf(k->name, sizeof(k->name), "%s", s->name);
	k->key = (struct record_key){ { k->host, strlen(k->host) },
		{ k->name, strlen(k->name) }, begin_s, { 0 } };
	memcpy(k->key.uuid, id.b, sizeof(k->key.uuid));
	record_key_encode(&k->key_text, &k->key);
	if (k->key_text.bad)
		return fail(k, E_NOMEM, status_text(E_NOMEM));
	if (record_key_decode(
		&ids, (struct span){ (const char *)buf_data(&k->key_text),
			  buf_len(&k->key_text) }) != OK)
		return fail(k, E_REFUSED, "invalid name of a host or session");
	snprintf(k->path, sizeof(k->path), "%s/%.*s", k->to->url.topic,
	    (int)buf_len(&k->key_text), (const char *)buf_data(&k->key_text));
	return OK;
}

/* Wait until there is a producer, which then stays until destroy(). */
static enum status
enter(struct kafka_output *k)
{
	struct to_kafka *to = k->to;

	for (;;) {
		published_add(&to->outputs, 1);
		published_fence();
		if (published(&to->is_broken) == 0)
			return OK;
		published_release(&to->outputs);
		if (wait_a_little(k) != OK)
			return E_STOPPED;
	}
}

/* Records of the session that an output before this one sent are waited for, so
 * that its position is known. What was refused is sent again. */
static enum status
join_session(struct kafka_output *k)
{
	struct delivery_session *s = deliveries_session(&k->to->deliveries,
	    (struct span){
		(const char *)buf_data(&k->key_text), buf_len(&k->key_text) },
	    &k->is_silent);

	if (s == NULL)
		return fail(k, E_NOMEM, status_text(E_NOMEM));
	k->session = s;
	while (published(&s->done) < s->sent)
		if (wait_a_little(k) != OK)
			return E_STOPPED;
	publish(&s->lost, 0);
	k->packets_before = published(&s->packets);
	k->bytes_before = published(&s->bytes);
	return OK;
}

enum status
to_kafka_open(struct send_sink *sink, const struct send_output_config *config,
    struct send_output **out, char why[SEND_ERROR_MAX])
{
	struct kafka_output *k = calloc(1, sizeof(*k));
	enum status st;

	why[0] = '\0';
	if (k == NULL) {
		snprintf(why, SEND_ERROR_MAX, "%s", status_text(E_NOMEM));
		return E_NOMEM;
	}
	k->output.ops = &output_ops;
	k->to = (struct to_kafka *)sink;
	k->config = *config;
	k->waits = true;
	st = enter(k);
	if (st != OK) {
		free(k);
		return st;
	}
	st = name_session(k);
	if (st == OK)
		st = check_topics(k);
	if (st == OK)
		st = join_session(k);
	if (st == OK && !k->is_silent)
		st = describe(k);
	if (st == OK) {
		*out = &k->output;
		return OK;
	}
	snprintf(why, SEND_ERROR_MAX, "%s", k->error);
	destroy(&k->output);
	return st;
}
