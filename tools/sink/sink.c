/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/sink/sink.h"

#include <string.h>

/* The sinks, by how their addresses begin. */
static const struct {
	const char *prefix;
	send_sink_create *create;
} sinks[] = {
#ifdef HAVE_KAFKA
	{ "kafka://", to_kafka_create },
#endif
	{ "net://", to_relay_create },
	{ "net4://", to_relay_create },
	{ "net6://", to_relay_create },
	{ "", to_dir_create },
};

enum status
send_sink_address(
    struct send_sink_config *config, const char *to, const char **why)
{
	config->to = to;
	if (url_is(to))
		return url_parse(&config->url, to, why);
#ifdef HAVE_KAFKA
	if (kafka_url_is(to))
		return kafka_url_parse(&config->kafka, to, why);
#endif
	*why = kafka_url_is(to)
		   ? "this program was built without librdkafka"
		   : "net://, net4://, net6:// or kafka:// is required";
	return strstr(to, "://") == NULL ? OK : E_REFUSED;
}

enum status
send_sink_open(struct send_sink **out, const struct send_sink_config *config,
    char why[SEND_ERROR_MAX])
{
	size_t i = 0;

	while (
	    strncmp(config->to, sinks[i].prefix, strlen(sinks[i].prefix)) != 0)
		i++;
	return sinks[i].create(out, config, why);
}
