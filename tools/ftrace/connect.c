/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace connect: on, or beside, a guest. It dials out to the
 * broker, and hands what comes from there to the guest's agent. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/parse.h"
#include "tools/ftrace/arguments.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/dial.h"
#include "tools/ftrace/stops.h"
#include "tools/ftrace/streams.h"
#include "tools/ftrace/token.h"

#define PROGRAM "tracepulse-ftrace connect"
/* Until the broker is tried again; twice as long each time. */
#define AGAIN_FIRST_S 1
#define AGAIN_LAST_S 30

enum option_id {
#define OPTION(id, letter, name, arg, help) OPT_##id,
#include "tools/ftrace/connect_options.tbl.h"
#undef OPTION
	N_OPTIONS
};

static const struct usage_row rows[] = {
#define OPTION(id, letter, name, arg, help) { letter, name, arg, help },
#include "tools/ftrace/connect_options.tbl.h"
#undef OPTION
};

struct connection {
	struct event_base *base;
	struct event *again; /* when the broker is tried again */
	unsigned pause_s;
	const char *name, *broker, *agent, *token_file;
	char token[TOKEN_BYTES];
	uint64_t cpus;
	struct streams streams;
	struct resp_finder finder;
	struct message_resp resp; /* the agent's; cpus 0: not yet */
};

/* Only what the agent has named may be reached, not any port of the guest. */
static bool
may_open(const struct connection *c, uint32_t stream, uint16_t port)
{
	if (stream == 0)
		return port == 0;
	if (port == 0)
		return false;
	for (uint32_t i = 0; i < c->resp.cpus; i++)
		if (c->resp.ports[i] == port)
			return true;
	return c->resp.cpus > 0 && c->resp.sync_port == port;
}

static void
end_session(struct connection *c)
{
	streams_reset(&c->streams);
	buf_free(&c->finder.in);
	c->finder = (struct resp_finder){ 0 };
	c->resp.cpus = 0;
}

/* To the agent, or to another port that it has named. */
static enum status
dial_agent(struct connection *c, uint32_t stream, uint16_t port)
{
	const int host = (int)(strrchr(c->agent, ':') - c->agent);
	char address[300];

	if (port == 0)
		return streams_dial(&c->streams, stream, c->agent);
	snprintf(address, sizeof(address), "%.*s:%u", host, c->agent, port);
	return streams_dial(&c->streams, stream, address);
}

static void
open_stream(struct connection *c, uint32_t stream, const uint8_t *p, size_t n)
{
	struct reader r = reader_over(p, n);
	const uint16_t port = reader_u16(&r);

	if (reader_done(&r) != OK || streams_has(&c->streams, stream) ||
	    !may_open(c, stream, port))
		log_peer(
		    LOG_WARN, "a port that the agent has not named: %u", port);
	else if (dial_agent(c, stream, port) == OK)
		return;
	link_frame(c->streams.link, FRAME_CLOSE, stream, NULL, 0);
}

static void
on_control(void *arg, const uint8_t *p, size_t n)
{
	struct connection *c = arg;
	size_t at, size;
	enum status st;

	if (c->finder.is_done)
		return;
	st = resp_find(&c->finder, p, n, &c->resp, &at, &size);
	if (st == E_MORE)
		return;
	c->finder.is_done = true;
	buf_free(&c->finder.in);
	if (st != OK)
		c->resp.cpus = 0;
}

static void
on_over(void *arg)
{
	(void)arg;
	log_peer(LOG_NOTICE, "the connection to the agent has ended");
}

/* Not for now; the next pause is longer. */
static void
lose_broker(struct connection *c)
{
	const struct timeval tv = { .tv_sec = c->pause_s };

	end_session(c);
	link_destroy(c->streams.link);
	c->streams.link = NULL;
	(void)event_add(c->again, &tv);
	c->pause_s = c->pause_s * 2 < AGAIN_LAST_S ? c->pause_s * 2
						   : AGAIN_LAST_S;
}

static void
on_line(void *arg, char *line)
{
	struct connection *c = arg;

	if (strcmp(line, "ok") == 0) {
		log_notice("guest=%s: known to the broker", c->name);
		c->pause_s = AGAIN_FIRST_S;
		return;
	}
	log_error("the broker says: %s", line);
	lose_broker(c);
}

static void
on_frame(void *arg, enum frame_kind kind, uint32_t stream, const uint8_t *p,
    size_t n)
{
	struct connection *c = arg;

	switch (kind) {
	case FRAME_OPEN:
		open_stream(c, stream, p, n);
		break;
	case FRAME_DATA:
		if (streams_took(&c->streams, stream, n))
			streams_write(&c->streams, stream, p, n);
		break;
	case FRAME_TAKEN:
		streams_more_room(&c->streams, stream, p, n);
		break;
	case FRAME_CLOSE:
		streams_close(&c->streams, stream);
		break;
	default:
		end_session(c);
		/* What follows is of the next session. */
		link_frame(c->streams.link, FRAME_RESET, 0, NULL, 0);
	}
}

static void
on_drained(void *arg)
{
	struct connection *c = arg;

	streams_go_on(&c->streams);
}

static void
on_ended(void *arg)
{
	log_warn("the broker is gone, or does not answer");
	lose_broker(arg);
}

static const struct link_ops broker_ops = { on_line, on_frame, on_drained,
	on_ended };

static void
on_again(evutil_socket_t fd, short what, void *arg)
{
	struct connection *c = arg;

	(void)fd;
	(void)what;
	if (link_dial(&c->streams.link, c->base, c->broker, &broker_ops, c) !=
	    OK)
		lose_broker(c);
	else
		link_line(c->streams.link, "connect %s %s %u\n", c->token,
		    c->name, (unsigned)c->cpus);
}

static void
print_usage(void)
{
	printf("Usage: " PROGRAM " NAME --broker HOST:PORT --token-file FILE "
	       "[OPTION]...\n"
	       "Makes the agent of trace-cmd on this machine known.\n\n");
	usage_print_rows(rows, N_OPTIONS, 24);
}

static bool
set_option(void *arg, size_t i, const char *value)
{
	struct connection *c = arg;

	switch ((enum option_id)i) {
	case OPT_BROKER:
		c->broker = value;
		return dial_is_address(value);
	case OPT_AGENT:
		c->agent = value;
		return dial_is_address(value);
	case OPT_TOKEN_FILE:
		c->token_file = value;
		return *value != '\0';
	case OPT_CPUS:
		return parse_u64(value, 0, 65536, &c->cpus) == OK;
	default:
		return false;
	}
}

/* Again and again, until somebody stops it. */
static int
serve(struct connection *c)
{
	enum status st = token_read(c->token, c->token_file);
	struct stops stops = { 0 };

	c->base = event_base_new();
	if (c->base == NULL)
		return 1;
	c->again = evtimer_new(c->base, on_again, c);
	c->streams.base = c->base;
	c->streams.over = on_over;
	c->streams.control = on_control;
	c->streams.arg = c;
	if (st == OK)
		st = c->again == NULL ? E_NOMEM
				      : stops_add(&stops, c->base, NULL, NULL);
	if (st == OK) {
		on_again(-1, 0, c);
		(void)event_base_dispatch(c->base);
	}
	end_session(c);
	link_destroy(c->streams.link);
	stops_remove(&stops);
	if (c->again != NULL)
		event_free(c->again);
	event_base_free(c->base);
	return st == OK ? 0 : 1;
}

int
command_connect(int argc, char **argv)
{
	struct connection *c = calloc(1, sizeof(*c));
	const struct arguments a = { .program = PROGRAM,
		.rows = rows,
		.n_rows = N_OPTIONS,
		.set = set_option,
		.print_usage = print_usage,
		.arg = c };
	int first, status = EXIT_USAGE;
	enum status st;

	if (c == NULL)
		return 1;
	c->agent = "127.0.0.1:823";
	c->pause_s = AGAIN_FIRST_S;
	c->cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
	log_set_level(LOG_NOTICE);
	st = arguments_parse(&a, argc, argv, &first);
	if (st == E_EXISTS)
		status = 0;
	else if (st == OK && first + 1 == argc && token_is_name(argv[first]) &&
		 c->broker != NULL && c->token_file != NULL) {
		c->name = argv[first];
		status = serve(c);
	} else if (st == OK) {
		fprintf(stderr,
		    PROGRAM ": a name of letters, digits and .-_, "
			    "--broker and --token-file are needed\n");
	}
	free(c);
	return status;
}
