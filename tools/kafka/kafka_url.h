/* SPDX-License-Identifier: MIT */
/*
 * The address of a topic: kafka://BROKER[,BROKER].../TOPIC. A BROKER is
 * HOST[:PORT]; an IPv6 address is in brackets.
 */
#ifndef TOOLS_KAFKA_KAFKA_URL_H
#define TOOLS_KAFKA_KAFKA_URL_H

#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"

/* Kafka's limit for the name of a topic. */
#define KAFKA_TOPIC_MAX 249
/* The topic of sessions is called TOPIC with this at its end. */
#define KAFKA_SESSIONS_SUFFIX "-sessions"

struct kafka_url {
	char brokers[1024]; /* as librdkafka's bootstrap.servers */
	char topic[KAFKA_TOPIC_MAX + 1];
	char sessions[KAFKA_TOPIC_MAX + 1]; /* the topic of sessions */
};

/* Does TEXT begin as such an address? */
bool kafka_url_is(const char *text);
/* E_MALFORMED: *WHY is a constant string. */
enum status kafka_url_parse(
    struct kafka_url *u, const char *text, const char **why) MUST_CHECK;

#endif
