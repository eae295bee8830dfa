/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/sink/sink.h"

#include <string.h>

static send_sink_create *const sinks[] = {
	[SEND_DIR] = to_dir_create,
	[SEND_RELAY] = to_relay_create,
#ifdef HAVE_KAFKA
	[SEND_TOPIC] = to_kafka_create,
#endif
};

enum status
send_sink_address(
    struct send_sink_config *config, const char *to, const char **why)
{
	config->to = to;
	config->target = kafka_url_is(to) ? SEND_TOPIC
			 : url_is(to)	  ? SEND_RELAY
					  : SEND_DIR;
	if (config->target == SEND_RELAY)
		return url_parse(&config->url, to, why);
#ifdef HAVE_KAFKA
	if (config->target == SEND_TOPIC)
		return kafka_url_parse(&config->kafka, to, why);
#endif
	*why = config->target == SEND_TOPIC
		   ? "this program was built without librdkafka"
		   : "net://, net4://, net6:// or kafka:// is required";
	return strstr(to, "://") == NULL ? OK : E_REFUSED;
}

enum status
send_sink_remote(
    struct send_sink_config *config, const char *to, const char **why)
{
	const enum status st = send_sink_address(config, to, why);

	return st == OK && config->target == SEND_DIR
		   ? url_parse(&config->url, to, why) /* says what it lacks */
		   : st;
}

enum status
send_sink_open(struct send_sink **out, const struct send_sink_config *config,
    char why[SEND_ERROR_MAX])
{
	return sinks[config->target](out, config, why);
}
