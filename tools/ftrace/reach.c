/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace reach: opens a port that leads to a guest's agent through
 * the broker. Ports that the agent names are opened here, too, and replaced in
 * its answer. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/dial.h"
#include "tools/ftrace/tcp_port.h"
#include "tools/ftrace/command_loop.h"
#include "tools/ftrace/streams.h"
#include "tools/ftrace/token.h"

struct reach;

/* A port opened here for one of the agent's. */
struct local_port {
	struct reach *reach;
	uint32_t stream;
	uint16_t port; /* the agent's */
	struct tcp_port *tcp_port;
	bool is_used; /* each can be used once, like the agent's own */
};

struct reach {
	struct command_loop loop;
	const char *name, *broker, *token_file;
	struct command_bind bind;
	char token[TOKEN_BYTES];
	struct streams streams;
	struct resp_finder finder;
	int waiting_fd; /* the controller, until the broker has answered; -1 */
	struct local_port ports[LINK_STREAMS_MAX];
	uint32_t n_ports;
};

static void
end_session(void *arg)
{
	struct reach *r = arg;

	streams_reset(&r->streams);
	for (uint32_t i = 0; i < r->n_ports; i++) {
		tcp_port_destroy(r->ports[i].tcp_port);
		r->ports[i].tcp_port = NULL;
	}
	r->n_ports = 0;
	if (r->waiting_fd >= 0)
		close(r->waiting_fd);
	r->waiting_fd = -1;
	buf_free(&r->finder.in);
	r->finder = (struct resp_finder){ 0 };
	link_destroy(r->streams.link);
	r->streams.link = NULL;
}

/* Handles a connection to a port that stands for one of the agent's. */
static void
on_local_connection(void *arg, int take_fd, const struct sockaddr *peer)
{
	struct local_port *d = arg;
	struct reach *r = d->reach;
	const uint8_t port[2] = { (uint8_t)(d->port >> 8), (uint8_t)d->port };

	(void)peer;
	if (r->streams.link == NULL || d->is_used) {
		close(take_fd);
		return;
	}
	d->is_used = true;
	if (streams_add(&r->streams, d->stream, take_fd) != OK)
		return;
	link_frame(r->streams.link, FRAME_OPEN, d->stream, port, sizeof(port));
}

/* Opens a port, and stores it in *PORT in place of the agent's. */
static enum status
add_port(struct reach *r, uint16_t *port)
{
	struct local_port *d = &r->ports[r->n_ports];
	enum status st;

	*d = (struct local_port){
		.reach = r, .stream = r->n_ports + 1, .port = *port
	};
	st = tcp_port_create(&d->tcp_port, r->loop.base,
	    address_ports_host(r->bind.host), 0, on_local_connection, d);
	if (st != OK)
		return st;
	r->n_ports++;
	*port = tcp_port_number(d->tcp_port);
	return OK;
}

static enum status
change_ports(struct reach *r, struct message_resp *resp)
{
	uint16_t sync = (uint16_t)resp->sync_port;
	enum status st = OK;

	for (uint32_t i = 0; i < resp->cpus && st == OK; i++)
		st = add_port(r, &resp->ports[i]);
	if (st == OK && sync != 0) {
		st = add_port(r, &sync);
		resp->sync_port = sync;
	}
	return st;
}

/* Passes on bytes of the agent; those up to its TRACE_RESP wait, to have the
 * ports replaced. */
static void
on_agent_bytes(void *arg, const uint8_t *p, size_t n)
{
	struct reach *r = arg;
	struct message_resp resp;
	struct buf out = { 0 };
	size_t at, size;
	enum status st;

	if (r->finder.is_done) {
		streams_write(&r->streams, 0, p, n);
		return;
	}
	st = resp_find(&r->finder, p, n, &resp, &at, &size);
	if (st == E_MORE)
		return;
	r->finder.is_done = true;
	if (st == OK)
		st = change_ports(r, &resp);
	if (st == OK) {
		buf_bytes(&out, buf_data(&r->finder.in), at);
		st = message_put_resp(&out, &resp);
		buf_bytes(&out, buf_data(&r->finder.in) + at + size,
		    buf_len(&r->finder.in) - at - size);
	}
	if (st != OK || out.bad) {
		log_peer(LOG_ERROR,
		    "guest=%s: cannot use the answer of its agent: %s", r->name,
		    st == E_LIMIT ? "too many CPUs"
				  : status_text(st == OK ? E_NOMEM : st));
		end_session(r);
	} else {
		streams_write(&r->streams, 0, buf_data(&out), buf_len(&out));
	}
	buf_free(&out);
	buf_free(&r->finder.in);
}

static void
on_line(void *arg, char *line)
{
	struct reach *r = arg;
	const uint8_t port[2] = { 0, 0 };
	const int fd = r->waiting_fd;

	r->waiting_fd = -1;
	if (strcmp(line, "ok") != 0 || streams_add(&r->streams, 0, fd) != OK) {
		log_peer(LOG_WARN, "guest=%s: refused by the broker: %s",
		    r->name, link_why(line));
		if (strcmp(line, "ok") != 0)
			close(fd);
		end_session(r);
		return;
	}
	link_frame(r->streams.link, FRAME_OPEN, 0, port, sizeof(port));
}

static void
on_frame(void *arg, enum frame_kind kind, uint32_t stream, const uint8_t *p,
    size_t n)
{
	struct reach *r = arg;

	if (!streams_frame(&r->streams, kind, stream, p, n))
		end_session(r);
}

static void
on_drained(void *arg)
{
	struct reach *r = arg;

	streams_resume(&r->streams);
}

static void
on_ended(void *arg)
{
	struct reach *r = arg;

	if (link_is_connected(r->streams.link))
		log_peer(LOG_WARN,
		    "guest=%s: the broker has ended the session or does not "
		    "answer",
		    r->name);
	end_session(r);
}

static const struct link_ops broker_ops = { on_line, on_frame, on_drained,
	on_ended };

/* Handles a new controller. An agent has one at a time. */
static void
on_controller(void *arg, int take_fd, const struct sockaddr *peer)
{
	struct reach *r = arg;

	(void)peer;
	if (r->streams.link != NULL) {
		log_peer(LOG_WARN,
		    "guest=%s: busy with another controller; refused", r->name);
		close(take_fd);
		return;
	}
	if (link_dial(&r->streams.link, &r->loop, r->broker, &broker_ops, r) !=
	    OK) {
		close(take_fd);
		return;
	}
	r->waiting_fd = take_fd;
	link_line(r->streams.link, "reach %s %s\n", r->token, r->name);
}

#define OPTIONS_TABLE "tools/ftrace/reach_options.tbl.h"
#define OPTIONS_STRUCT struct reach
#include "common/option_rows.h"

static const struct option_table table = { COMMAND_TABLE("reach",
    "NAME --broker HOST:PORT --token-file FILE [OPTION]...\n"
    "Opens a port for trace-cmd record -A that leads to the guest NAME.\n") };

int
command_reach(int argc, char **argv)
{
	static struct reach r;
	struct tcp_port *tcp_port = NULL;
	struct option_words words;
	enum status st;
	int status;

	r = (struct reach){ .bind = { "127.0.0.1", 0, "" },
		.waiting_fd = -1,
		.streams = { .loop = &r.loop,
		    .over = end_session,
		    .received = on_agent_bytes,
		    .arg = &r } };
	status = command_parse_names(&table, &r, argc, argv,
	    COMMAND_NEEDS(BROKER) | COMMAND_NEEDS(TOKEN_FILE), 1, &words);
	if (status != COMMAND_RUNS)
		return status;
	r.name = argv[words.first];
	st = command_start(&r.loop, r.token, r.token_file, NULL, NULL);
	if (st == OK)
		st = tcp_port_create(&tcp_port, r.loop.base, r.bind.host,
		    (uint16_t)r.bind.port, on_controller, &r);
	if (st == OK) {
		tcp_port_log(tcp_port, "");
		(void)event_base_dispatch(r.loop.base);
	}
	end_session(&r);
	tcp_port_destroy(tcp_port);
	command_loop_destroy(&r.loop);
	return st == OK ? 0 : 1;
}
