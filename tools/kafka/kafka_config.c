/* SPDX-License-Identifier: MIT */
#include "tools/kafka/kafka_config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syslog.h>

/* Settings that the file may change. */
static const char *const defaults[][2] = {
	{ "client.id", "tracepulse" },
	{ "compression.type", "zstd" },
	/* Of a producer: what waits for brokers. When it is full, sources
	 * wait. */
	{ "queue.buffering.max.kbytes", "65536" },
	{ "linger.ms", "20" },
	/* Of a consumer: what waits for us, per partition. */
	{ "queued.max.messages.kbytes", "16384" },
	{ "partition.assignment.strategy", "cooperative-sticky" },
	{ "auto.offset.reset", "earliest" },
	{ "socket.keepalive.enable", "true" },
};

/* Settings that it may not change: records would be lost, or come in another
 * order, or the command line has them. */
static const char *const ours[] = {
	"acks",
	"auto.commit.enable",
	"bootstrap.servers",
	"delivery.timeout.ms",
	"enable.auto.commit",
	"enable.auto.offset.store",
	"enable.idempotence",
	"group.id",
	"message.timeout.ms",
	"metadata.broker.list",
	"partitioner",
	"request.required.acks",
	"transactional.id",
};

/* May this error end without us? One broker of several that is away is no
 * news: the library goes to another. */
static bool
is_news(rd_kafka_resp_err_t code)
{
	return code != RD_KAFKA_RESP_ERR__TRANSPORT &&
	       code != RD_KAFKA_RESP_ERR__TIMED_OUT;
}

void
kafka_errors_report(
    struct kafka_errors *e, rd_kafka_resp_err_t code, const char *reason)
{
	if (!is_news(code))
		return;
	for (unsigned i = 0; i < e->n; i++)
		if (e->reported[i] == code)
			return;
	if (e->n < ARRAY_LEN(e->reported))
		e->reported[e->n++] = code;
	fprintf(stderr, "%s: kafka: %s\n", e->program, reason);
}

/* Called by the thread that polls. */
static void
on_error(rd_kafka_t *rk, int code, const char *reason, void *opaque)
{
	(void)rk;
	kafka_errors_report(opaque, code, reason);
}

/* The messages of "debug=...", which only the file sets. */
static void
on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
	(void)rk;
	if (level == LOG_DEBUG)
		fprintf(stderr, "%s: %s\n", facility, text);
}

void
kafka_errors_clear(struct kafka_errors *e)
{
	if (e->n > 0)
		fprintf(stderr, "%s: kafka: connected again\n", e->program);
	e->n = 0;
}

void
kafka_config_set(rd_kafka_conf_t *c, const char *key, const char *value)
{
	const rd_kafka_conf_res_t r = rd_kafka_conf_set(c, key, value, NULL, 0);

	assert(r == RD_KAFKA_CONF_OK);
	(void)r;
}

/* Returns what follows the blanks of S, whose blanks at the end are cut. */
static char *
trim(char *s)
{
	size_t n;

	s += strspn(s, " \t\r\n");
	for (n = strlen(s); n > 0 && strchr(" \t\r\n", s[n - 1]) != NULL; n--)
		;
	s[n] = '\0';
	return s;
}

/* One line of the file. False: WHY. */
static bool
take_line(rd_kafka_conf_t *c, char *line, char *why, size_t size)
{
	char *key = trim(line), *value = strchr(key, '=');

	if (*key == '\0' || *key == '#')
		return true;
	if (value == NULL) {
		snprintf(why, size, "KEY=VALUE is required: \"%s\"", key);
		return false;
	}
	*value++ = '\0';
	key = trim(key);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
		if (strcmp(key, ours[i]) == 0) {
			snprintf(why, size, "%s cannot be set", key);
			return false;
		}
	}
	return rd_kafka_conf_set(c, key, trim(value), why, size) ==
	       RD_KAFKA_CONF_OK;
}

static enum status
take_file(rd_kafka_conf_t *c, const char *path, char why[KAFKA_WHY_MAX])
{
	FILE *file = fopen(path, "re");
	char *line = NULL, reason[KAFKA_WHY_MAX / 2];
	enum status st = OK;
	size_t size = 0;

	if (file == NULL) {
		snprintf(
		    why, KAFKA_WHY_MAX, "%.255s: %s", path, strerror(errno));
		return E_IO;
	}
	for (unsigned n = 1; st == OK && getline(&line, &size, file) > 0; n++) {
		if (take_line(c, line, reason, sizeof(reason)))
			continue;
		snprintf(why, KAFKA_WHY_MAX, "%.200s:%u: %s", path, n, reason);
		st = E_REFUSED;
	}
	free(line);
	fclose(file);
	return st;
}

enum status
kafka_config_create(rd_kafka_conf_t **out, const struct kafka_url *u,
    const char *file, struct kafka_errors *e, char why[KAFKA_WHY_MAX])
{
	rd_kafka_conf_t *c = rd_kafka_conf_new();
	enum status st = OK;

	for (size_t i = 0; i < ARRAY_LEN(defaults); i++)
		kafka_config_set(c, defaults[i][0], defaults[i][1]);
	if (file != NULL)
		st = take_file(c, file, why);
	if (st == OK && rd_kafka_conf_set(c, "bootstrap.servers", u->brokers,
			    why, KAFKA_WHY_MAX) != RD_KAFKA_CONF_OK)
		st = E_REFUSED;
	if (st != OK) {
		rd_kafka_conf_destroy(c);
		return st;
	}
	rd_kafka_conf_set_opaque(c, e);
	rd_kafka_conf_set_error_cb(c, on_error);
	rd_kafka_conf_set_log_cb(c, on_log);
	*out = c;
	return OK;
}
