/* SPDX-License-Identifier: MIT */
/* What the clients of a topic have in common: settings of librdkafka, and how
 * its errors are reported. */
#ifndef TOOLS_KAFKA_KAFKA_CONFIG_H
#define TOOLS_KAFKA_KAFKA_CONFIG_H

#include <stdbool.h>
#include <librdkafka/rdkafka.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/kafka/kafka_url.h"

#define KAFKA_WHY_MAX 512

/* Errors of a cluster, reported on standard error once until something has
 * succeeded again. Used by the thread that polls the client. */
struct kafka_errors {
	const char *program;
	unsigned n;
	rd_kafka_resp_err_t reported[8]; /* since the last success */
};

/*
 * Settings for a client of U: the KEY=VALUE lines of FILE (NULL: none) over our
 * defaults; what is required for no record to be lost cannot be set. E is
 * borrowed by the client. Free with rd_kafka_conf_destroy(). Not OK: WHY is one
 * line that names the line of the file and the key.
 */
enum status kafka_config_create(rd_kafka_conf_t **out,
    const struct kafka_url *u, const char *file, struct kafka_errors *e,
    char why[KAFKA_WHY_MAX]) MUST_CHECK;
/* Set what a client requires; KEY exists and takes VALUE. */
void kafka_config_set(rd_kafka_conf_t *c, const char *key, const char *value);

/* Report an error, unless it was. */
void kafka_errors_report(
    struct kafka_errors *e, rd_kafka_resp_err_t code, const char *reason);
/* A record was delivered or has arrived. */
void kafka_errors_clear(struct kafka_errors *e);

#endif
