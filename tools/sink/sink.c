/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/sink/sink.h"

#include <string.h>

#include "tools/send/options.h"

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
send_sink_open(struct send_sink **out, const struct send_options *options,
    char why[SEND_ERROR_MAX])
{
	size_t i = 0;

	while (
	    strncmp(options->to, sinks[i].prefix, strlen(sinks[i].prefix)) != 0)
		i++;
	return sinks[i].create(out, options, why);
}
