/* SPDX-License-Identifier: MIT */
/* The topic of sessions, for a member that takes over a partition. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tools/send/from_kafka_internal.h"
#include "tools/send/options.h"

#define POLL_MS 100
/* The longest wait for one answer of a broker. */
#define ANSWER_MS 1000

struct table {
	struct kafka_partition *partition;
	rd_kafka_t *reader;
	rd_kafka_topic_t *topic;
};

static enum status
fail(struct table *t, const char *why)
{
	report_error(t->partition->from->report, "kafka: %s: %s",
	    t->partition->from->options->kafka_from.sessions, why);
	return E_IO;
}

/* Keep a part of the metadata, in order of its place. */
static enum status
keep_metadata(struct source_session *s, const struct record *r)
{
	struct source_metadata *m = calloc(1, sizeof(*m)), *before;

	if (m == NULL)
		return E_NOMEM;
	m->stream = strndup(r->stream.p, r->stream.n);
	m->offset = r->metadata_offset;
	buf_bytes(&m->bytes, r->data, r->size);
	if (m->stream == NULL || m->bytes.bad) {
		buf_free(&m->bytes);
		free(m->stream);
		free(m);
		return E_NOMEM;
	}
	list_each_back (before, &s->metadata, struct source_metadata, node)
		if (before->offset <= m->offset)
			break;
	/* After BEFORE, which is the head if M is the first. */
	list_append(before->node.next, &m->node);
	return OK;
}

static enum status
take(struct table *t, const rd_kafka_message_t *m)
{
	const struct span key = { m->key, m->key_len };
	struct source_session *s;
	struct record r;

	if (m->payload == NULL || record_decode(&r, m->payload, m->len) != OK)
		return OK;
	s = source_session(t->partition, key,
	    r.kind == RECORD_SESSION || r.kind == RECORD_STATE ||
		r.kind == RECORD_METADATA);
	/* What this process has of the session is newer. */
	if (s == NULL || s->out != NULL || s->is_over)
		return OK;
	switch (r.kind) {
	case RECORD_SESSION:
		s->description = r.session;
		s->has_description = true;
		return OK;
	case RECORD_METADATA:
		return keep_metadata(s, &r);
	default:
		return OK;
	}
}

/* Read up to the offset END. */
static enum status
read_all(struct table *t, int64_t end)
{
	struct from_kafka *f = t->partition->from;
	rd_kafka_message_t *m;
	enum status st = OK;
	int64_t next = 0;

	while (st == OK && next < end) {
		m = rd_kafka_consume(t->topic, t->partition->number, POLL_MS);
		if (m == NULL) {
			st = source_goes_on(f) ? OK : E_STOPPED;
			continue;
		}
		if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			next = end;
		else if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR)
			st = fail(t, rd_kafka_message_errstr(m));
		else {
			next = m->offset + 1;
			st = take(t, m);
		}
		rd_kafka_message_destroy(m);
	}
	return st;
}

static enum status
read_partition(struct table *t)
{
	const char *topic = t->partition->from->options->kafka_from.sessions;
	int64_t low, end = 0;
	rd_kafka_resp_err_t e;
	enum status st;

	do {
		e = rd_kafka_query_watermark_offsets(t->reader, topic,
		    t->partition->number, &low, &end, ANSWER_MS);
		if (!source_goes_on(t->partition->from))
			return E_STOPPED;
	} while (e == RD_KAFKA_RESP_ERR__TIMED_OUT ||
		 e == RD_KAFKA_RESP_ERR__TRANSPORT);
	if (e != RD_KAFKA_RESP_ERR_NO_ERROR)
		return fail(t, rd_kafka_err2str(e));
	if (rd_kafka_consume_start(
		t->topic, t->partition->number, RD_KAFKA_OFFSET_BEGINNING) != 0)
		return fail(t, rd_kafka_err2str(rd_kafka_last_error()));
	st = read_all(t, end);
	rd_kafka_consume_stop(t->topic, t->partition->number);
	return st;
}

enum status
source_table_read(struct kafka_partition *p)
{
	struct from_kafka *f = p->from;
	struct table t = { .partition = p };
	char why[KAFKA_WHY_MAX];
	rd_kafka_conf_t *c;
	enum status st = kafka_config_create(&c, &f->options->kafka_from,
	    f->options->sink.kafka_config, &f->errors, why);

	if (st != OK)
		return fail(&t, why);
	kafka_config_set(c, "enable.partition.eof", "true");
	t.reader = rd_kafka_new(RD_KAFKA_CONSUMER, c, why, sizeof(why));
	if (t.reader == NULL) {
		rd_kafka_conf_destroy(c);
		return fail(&t, why);
	}
	t.topic = rd_kafka_topic_new(
	    t.reader, f->options->kafka_from.sessions, NULL);
	st = t.topic == NULL ? fail(&t, "no topic") : read_partition(&t);
	if (t.topic != NULL)
		rd_kafka_topic_destroy(t.topic);
	rd_kafka_destroy(t.reader);
	p->has_table = st == OK;
	return st;
}
