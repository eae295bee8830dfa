/* SPDX-License-Identifier: MIT */
/* The options of tracepulse-send; their table is options.tbl.h. */
#ifndef TOOLS_SEND_OPTIONS_H
#define TOOLS_SEND_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/url.h"
#include "tools/kafka/kafka_url.h"
#include "tools/sink/sink.h"

struct send_options {
	bool is_done; /* --help or --version was printed: exit with 0 */
	char **directories;
	unsigned n_directories;
	/* Live sessions of a relay: all, or one. FROM_TEXT is NULL: something
	 * else is sent. */
	const char *from_text;
	struct url from;
	bool all;
	const char *from_host, *from_session;
	struct send_sink_config sink;
	struct kafka_url kafka_from;	/* the source, if GROUP is not NULL */
	const char *group;		/* NULL: the source is no topic */
	const char *session, *hostname; /* NULL: default */
	bool live;
	uint32_t live_timer_us; /* 0: not live */
	bool realtime, json, quiet, follow;
	double quiet_s;	   /* 0: never */
	const char *state; /* NULL: none */
	double linger_s;
	uint64_t loop; /* 0: forever */
};

/* Fills *O; strings point into ARGV. Not OK: a message is on stderr; exit
 * with 2. */
enum status send_options_parse(
    struct send_options *o, int argc, char **argv) MUST_CHECK;

#endif
