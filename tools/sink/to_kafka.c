/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/thread.h"
#include "tools/kafka/record.h"
#include "tools/sink/to_kafka_internal.h"

#define STATE_FILE_NS NS_PER_S
/* Records of interrupted sessions have this time to leave at the end; the next
 * run sends the others. */
#define LAST_MS 1000
/* A record has names of some KiB beside its data. */
#define LARGEST_MIN 16384

/* Called by the thread that polls. */
static void
on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	struct delivery *f = m->_private;

	(void)rk;
	if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		kafka_errors_clear(opaque);
	delivery_done(f, m->err == RD_KAFKA_RESP_ERR_NO_ERROR
			     ? NULL
			     : rd_kafka_err2str(m->err));
	free(f);
}

static void
write_state(struct to_kafka *to)
{
	if (to->state_path != NULL &&
	    deliveries_write(&to->deliveries, to->state_path) != OK)
		fprintf(stderr, "%s: %s: %s\n", to->errors.program,
		    to->state_path, strerror(errno));
}

/* All records about a session go to the partition of its key. */
static int32_t
partition_of(const rd_kafka_topic_t *topic, const void *key, size_t n,
    int32_t partitions, void *topic_opaque, void *opaque)
{
	const struct span session = record_key_session((struct span){ key, n });

	return rd_kafka_msg_partitioner_murmur2(
	    topic, session.p, session.n, partitions, topic_opaque, opaque);
}

static rd_kafka_topic_t *
open_topic(struct to_kafka *to, const char *name)
{
	rd_kafka_topic_conf_t *c = rd_kafka_default_topic_conf_dup(
	    to->producer);
	rd_kafka_topic_t *topic;

	rd_kafka_topic_conf_set_partitioner_cb(c, partition_of);
	topic = rd_kafka_topic_new(to->producer, name, c);
	if (topic == NULL)
		rd_kafka_topic_conf_destroy(c);
	return topic;
}

static enum status
create_producer(struct to_kafka *to, char why[SEND_ERROR_MAX])
{
	const char *file = to->config_file;
	char largest[24];
	size_t size = sizeof(largest);
	rd_kafka_conf_t *c;
	enum status st = kafka_config_create(
	    &c, &to->url, file, &to->errors, why);

	if (st != OK)
		return st;
	kafka_config_set(c, "enable.idempotence", "true");
	kafka_config_set(c, "acks", "all");
	kafka_config_set(
	    c, "message.timeout.ms", "0"); /* as long as it takes */
	rd_kafka_conf_set_dr_msg_cb(c, on_delivery);
	if (rd_kafka_conf_get(c, "message.max.bytes", largest, &size) ==
	    RD_KAFKA_CONF_OK)
		to->largest = strtoul(largest, NULL, 10);
	if (to->largest < LARGEST_MIN) {
		snprintf(why, SEND_ERROR_MAX,
		    "%.255s: message.max.bytes is below %d", file, LARGEST_MIN);
		rd_kafka_conf_destroy(c);
		return E_REFUSED;
	}
	to->producer = rd_kafka_new(RD_KAFKA_PRODUCER, c, why, SEND_ERROR_MAX);
	if (to->producer == NULL) {
		rd_kafka_conf_destroy(c);
		return E_REFUSED;
	}
	to->topic = open_topic(to, to->url.topic);
	to->sessions = open_topic(to, to->url.sessions);
	if (to->topic == NULL || to->sessions == NULL) {
		snprintf(why, SEND_ERROR_MAX, "%s",
		    rd_kafka_err2str(rd_kafka_last_error()));
		return E_REFUSED;
	}
	return OK;
}

/* Drop what the producer still has, with a report for each record. */
static void
purge(struct to_kafka *to)
{
	(void)rd_kafka_purge(
	    to->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	(void)rd_kafka_flush(to->producer, LAST_MS);
}

static void
close_producer(struct to_kafka *to)
{
	if (to->topic != NULL)
		rd_kafka_topic_destroy(to->topic);
	if (to->sessions != NULL)
		rd_kafka_topic_destroy(to->sessions);
	if (to->producer != NULL)
		rd_kafka_destroy(to->producer);
	to->topic = to->sessions = NULL;
	to->producer = NULL;
}

/* A fatal error has ended the producer: records would have come in another
 * order. Its outputs fail, and whoever opens them again goes on with another
 * producer where the records are known to be. */
static void
begin_again(struct to_kafka *to)
{
	char why[SEND_ERROR_MAX];

	publish(&to->is_broken, 1);
	published_fence();
	while (published(&to->outputs) > 0) {
		if (published(&to->is_ending) != 0)
			return;
		(void)rd_kafka_poll(to->producer, KAFKA_POLL_MS);
	}
	while (rd_kafka_outq_len(to->producer) > 0)
		purge(to);
	close_producer(to);
	if (create_producer(to, why) != OK) {
		fprintf(stderr, "%s: kafka: %s\n", to->errors.program, why);
		exit(1);
	}
	publish(&to->is_broken, 0);
}

static void *
poll_producer(void *arg)
{
	struct to_kafka *to = arg;
	uint64_t due = 0;

	while (published(&to->is_ending) == 0) {
		(void)rd_kafka_poll(to->producer, KAFKA_POLL_MS);
		if (rd_kafka_fatal_error(to->producer, NULL, 0) !=
		    RD_KAFKA_RESP_ERR_NO_ERROR)
			begin_again(to);
		if (clock_now_ns() < due)
			continue;
		write_state(to);
		due = clock_now_ns() + STATE_FILE_NS;
	}
	return NULL;
}

static void
end_producer(struct to_kafka *to)
{
	publish(&to->is_ending, 1);
	if (to->has_poller) {
		pthread_join(to->poller, NULL);
		(void)rd_kafka_flush(to->producer, LAST_MS);
		purge(to);
		write_state(to);
	}
	close_producer(to);
}

static void
destroy_sink(struct send_sink *sink)
{
	struct to_kafka *to = (struct to_kafka *)sink;

	end_producer(to);
	deliveries_free(&to->deliveries);
	free(to);
}

static const struct send_sink_ops sink_ops = {
	.open = to_kafka_open,
	.destroy = destroy_sink,
};

static enum status
read_state(struct to_kafka *to, char why[SEND_ERROR_MAX])
{
	enum status st = to->state_path == NULL
			     ? OK
			     : deliveries_read(&to->deliveries, to->state_path);

	if (st != OK)
		snprintf(why, SEND_ERROR_MAX, "%s: %s", to->state_path,
		    st == E_MALFORMED ? "not a state file for Kafka"
		    : st == E_IO      ? strerror(errno)
				      : status_text(st));
	return st;
}

enum status
to_kafka_create(struct send_sink **out, const struct send_sink_config *config,
    char why[SEND_ERROR_MAX])
{
	struct to_kafka *to = calloc(1, sizeof(*to));
	enum status st = E_NOMEM;
	int error;

	snprintf(why, SEND_ERROR_MAX, "%s", status_text(E_NOMEM));
	if (to == NULL)
		return st;
	to->sink.ops = &sink_ops;
	to->url = config->kafka;
	to->config_file = config->kafka_config;
	to->state_path = config->kafka_state;
	to->errors.program = config->program;
	deliveries_init(&to->deliveries);
	st = read_state(to, why);
	if (st == OK)
		st = create_producer(to, why);
	if (st == OK) {
		error = thread_start(&to->poller, poll_producer, to);
		to->has_poller = error == 0;
		if (error != 0) {
			snprintf(why, SEND_ERROR_MAX, "%s", strerror(error));
			st = E_IO;
		}
	}
	if (st == OK)
		*out = &to->sink;
	else
		destroy_sink(&to->sink);
	return st;
}
