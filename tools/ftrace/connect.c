/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/connect.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/client/retry.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/dial.h"
#include "tools/ftrace/command_loop.h"
#include "tools/ftrace/streams.h"
#include "tools/ftrace/tcp_port.h"
#include "tools/ftrace/token.h"

struct agent_end {
	struct agent_end_config config;
	struct event *again; /* ends the pause before the broker is tried */
	struct retry retry;
	struct streams streams;
	struct resp_finder finder;
	struct message_resp resp; /* of the agent; cpus 0: not known yet */
};

/* Only ports that the agent has named may be reached. */
static bool
may_open(const struct agent_end *a, uint32_t stream, uint16_t port)
{
	if (stream == 0)
		return port == 0;
	if (port == 0)
		return false;
	for (uint32_t i = 0; i < a->resp.cpus; i++)
		if (a->resp.ports[i] == port)
			return true;
	return a->resp.cpus > 0 && a->resp.sync_port == port;
}

static void
end_session(struct agent_end *a)
{
	streams_reset(&a->streams);
	buf_free(&a->finder.in);
	a->finder = (struct resp_finder){ 0 };
	a->resp.cpus = 0;
}

/* Connects to the agent, or to another port that it has named. */
static enum status
dial_agent(struct agent_end *a, uint32_t stream, uint16_t port)
{
	char address[ADDRESS_HOST_SIZE + 8];
	struct address agent;

	if (port == 0)
		return streams_dial(&a->streams, stream, a->config.agent);
	(void)address_parse(&agent, a->config.agent);
	snprintf(address, sizeof(address), "%s:%u",
	    address_ports_host(agent.host), port);
	return streams_dial(&a->streams, stream, address);
}

static void
open_stream(struct agent_end *a, uint32_t stream, const uint8_t *p, size_t n)
{
	struct reader r = reader_over(p, n);
	const uint16_t port = reader_u16(&r);

	if (reader_done(&r) != OK || streams_has(&a->streams, stream) ||
	    !may_open(a, stream, port))
		log_peer(LOG_WARN,
		    "guest=%s: refused a connection to port %u: its agent has "
		    "not named it",
		    a->config.name, port);
	else if (dial_agent(a, stream, port) == OK)
		return;
	link_frame(a->streams.link, FRAME_CLOSE, stream, NULL, 0);
}

static void
on_control(void *arg, const uint8_t *p, size_t n)
{
	struct agent_end *a = arg;
	size_t at, size;
	enum status st;

	if (a->finder.is_done)
		return;
	st = resp_find(&a->finder, p, n, &a->resp, &at, &size);
	if (st == E_MORE)
		return;
	a->finder.is_done = true;
	buf_free(&a->finder.in);
	if (st != OK)
		a->resp.cpus = 0;
	else if (a->config.learned != NULL)
		a->config.learned(a->config.arg, a->resp.cpus);
}

static void
on_over(void *arg)
{
	const struct agent_end *a = arg;

	log_peer(LOG_NOTICE, "guest=%s: the connection to the agent has ended",
	    a->config.name);
}

/* Tries again after a pause. */
static void
retry_later(struct agent_end *a)
{
	end_session(a);
	link_destroy(a->streams.link);
	a->streams.link = NULL;
	command_loop_set_timer(a->again, retry_pause(&a->retry));
}

static void
on_line(void *arg, char *line)
{
	struct agent_end *a = arg;

	if (strcmp(line, "ok") == 0) {
		log_notice(
		    "guest=%s: registered with the broker", a->config.name);
		retry_reset(&a->retry);
		return;
	}
	log_error("guest=%s: refused by the broker: %s", a->config.name,
	    link_why(line));
	retry_later(a);
}

static void
on_frame(void *arg, enum frame_kind kind, uint32_t stream, const uint8_t *p,
    size_t n)
{
	struct agent_end *a = arg;

	if (kind == FRAME_OPEN) {
		open_stream(a, stream, p, n);
	} else if (!streams_frame(&a->streams, kind, stream, p, n)) {
		end_session(a);
		/* Frames after it belong to the next session. */
		link_frame(a->streams.link, FRAME_RESET, 0, NULL, 0);
	}
}

static void
on_drained(void *arg)
{
	struct agent_end *a = arg;

	streams_resume(&a->streams);
}

static void
on_ended(void *arg)
{
	struct agent_end *a = arg;

	if (link_is_connected(a->streams.link))
		log_warn("guest=%s: the broker is gone or does not answer; "
			 "trying again",
		    a->config.name);
	retry_later(a);
}

static const struct link_ops broker_ops = { on_line, on_frame, on_drained,
	on_ended };

static void
on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct agent_end *a = arg;

	(void)fd;
	(void)what;
	if (a->config.open(a->config.arg, &a->streams.link, &broker_ops, a) !=
	    OK)
		retry_later(a);
	else
		link_line(a->streams.link, "connect %s %s %u\n",
		    a->config.token, a->config.name, a->config.cpus);
}

enum status
agent_end_create(struct agent_end **out, const struct agent_end_config *config)
{
	struct agent_end *a = calloc(1, sizeof(*a));

	*out = NULL;
	if (a == NULL)
		return E_NOMEM;
	a->config = *config;
	a->streams = (struct streams){ .loop = config->loop,
		.over = on_over,
		.sent = on_control,
		.arg = a };
	a->again = evtimer_new(config->loop->base, on_retry, a);
	if (a->again == NULL) {
		agent_end_destroy(a);
		return E_NOMEM;
	}
	on_retry(-1, 0, a);
	*out = a;
	return OK;
}

void
agent_end_destroy(struct agent_end *a)
{
	if (a == NULL)
		return;
	end_session(a);
	link_destroy(a->streams.link);
	if (a->again != NULL)
		event_free(a->again);
	free(a);
}

/* tracepulse-ftrace connect: runs on, or beside, a guest. It connects to the
 * broker, and passes what comes from there to the guest's agent. */
struct connection {
	struct agent_end_config end;
	const char *broker, *token_file;
	char token[TOKEN_BYTES];
};

#define OPTIONS_TABLE "tools/ftrace/connect_options.tbl.h"
#define OPTIONS_STRUCT struct connection
#include "common/option_rows.h"

static const struct option_table table = { COMMAND_TABLE("connect",
    "NAME --broker HOST:PORT --token-file FILE [OPTION]...\n"
    "Registers the trace-cmd agent of this machine with a broker.\n") };

static enum status
open_link(void *arg, struct link **out, const struct link_ops *ops, void *end)
{
	const struct connection *c = arg;

	return link_dial(out, c->end.loop, c->broker, ops, end);
}

int
command_connect(int argc, char **argv)
{
	struct connection c = { .end = { .agent = "127.0.0.1:823",
				    .token = c.token,
				    .cpus = (unsigned)sysconf(
					_SC_NPROCESSORS_CONF),
				    .open = open_link,
				    .arg = &c } };
	struct command_loop loop = { 0 };
	struct agent_end *end = NULL;
	struct option_words words;
	const int status = command_parse_names(&table, &c, argc, argv,
	    COMMAND_NEEDS(BROKER) | COMMAND_NEEDS(TOKEN_FILE), 1, &words);
	enum status st;

	if (status != COMMAND_RUNS)
		return status;
	c.end.loop = &loop;
	c.end.name = argv[words.first];
	st = command_start(&loop, c.token, c.token_file, NULL, NULL);
	if (st == OK)
		st = agent_end_create(&end, &c.end);
	if (st == OK)
		(void)event_base_dispatch(loop.base);
	agent_end_destroy(end);
	command_loop_destroy(&loop);
	return st == OK ? 0 : 1;
}
