/* SPDX-License-Identifier: MIT */
/* The source "a Kafka topic" (doc/kafka.md): all sessions of the partitions
 * that a member of a consumer group has. */
#ifndef TOOLS_SEND_FROM_KAFKA_H
#define TOOLS_SEND_FROM_KAFKA_H

#include <signal.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/send/options.h"
#include "tools/send/report.h"
#include "tools/sink/sink.h"

/*
 * Send what the topic has, and what comes, until *STOP becomes true (a signal
 * handler sets it): E_STOPPED. What the sink has stored is committed then.
 * Other failures are in R, and were printed on stderr.
 */
enum status from_kafka_run(const struct send_options *o, struct send_sink *sink,
    struct report *r, volatile sig_atomic_t *stop) MUST_CHECK;

#endif
