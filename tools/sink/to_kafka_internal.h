/* SPDX-License-Identifier: MIT */
/*
 * The sink "a Kafka topic" (doc/kafka.md). All outputs share one producer. A
 * thread polls it: it takes the reports of what was delivered and keeps the
 * state file. The thread of an output encodes records and waits while the
 * producer's queue is full.
 */
#ifndef TOOLS_SINK_TO_KAFKA_INTERNAL_H
#define TOOLS_SINK_TO_KAFKA_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/publish.h"
#include "tools/kafka/kafka_config.h"
#include "tools/sink/deliveries.h"
#include "tools/sink/sink.h"

/* Between two looks at the stop flag. */
#define KAFKA_POLL_MS 100

struct to_kafka {
	struct send_sink sink; /* first */
	struct kafka_url url;
	const char *config_file, *state_path; /* NULL: none */
	rd_kafka_t *producer;
	rd_kafka_topic_t *topic, *sessions;
	size_t largest; /* bytes of a record */
	struct deliveries deliveries;
	struct kafka_errors errors;
	pthread_t poller;
	bool has_poller;
	struct published is_ending;
	/* A fatal error: outputs fail, and none is opened until the producer is
	 * replaced. Whoever opens one counts it, then looks. */
	struct published is_broken, outputs;
	struct published is_checked; /* the topics have as many partitions */
};

/* Operation of the sink. */
enum status to_kafka_open(struct send_sink *sink,
    const struct send_output_config *config, struct send_output **out,
    char why[SEND_ERROR_MAX]) MUST_CHECK;

#endif
