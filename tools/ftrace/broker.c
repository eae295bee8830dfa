/* SPDX-License-Identifier: MIT */
/*
 * tracepulse-ftrace broker: registers guests by name. Each guest, by "connect",
 * and each program that wants one, by "reach" or "record", has one connection
 * to the broker, which passes frames between the two. The first line of a
 * connection identifies it:
 *
 *	connect TOKEN NAME CPUS
 *	reach TOKEN NAME
 *	list TOKEN
 *
 * The answer is "ok", or "error" and a reason. With a list of guests, the token
 * of "connect" is that of its name.
 */
#include <assert.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fds.h"
#include "common/list.h"
#include "common/log.h"
#include "common/parse.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/connect.h"
#include "tools/ftrace/dial.h"
#include "tools/ftrace/link.h"
#include "tools/ftrace/tcp_port.h"
#include "tools/ftrace/command_loop.h"
#include "tools/ftrace/token.h"

/* The most connections. Beyond it the oldest that has not identified itself is
 * closed. */
#define BROKER_LINKS_MAX 512

/* The most agents that the broker connects to itself; each takes 80 KiB. */
#define BROKER_AGENTS_MAX 128
struct direct_guest;

struct broker {
	struct command_loop loop;
	struct list peers;
	unsigned n;
	char token[TOKEN_BYTES];
	struct direct_guest *direct[BROKER_AGENTS_MAX];
	unsigned n_direct;
	struct token_list guests; /* empty: any name, by TOKEN */
	const char *token_file, *guests_file;
	struct command_bind bind;
};

enum peer_role { PEER_NEW, PEER_GUEST, PEER_REACH };

struct peer {
	struct list node;
	struct broker *broker;
	struct link *link;
	struct sockaddr_storage from;
	char address[GUEST_ADDRESS_SIZE]; /* HOST:PORT */
	bool is_direct; /* the broker's end of a link to an agent of the list */
	enum peer_role role;
	char token[TOKEN_BYTES]; /* with which it identified itself */
	char name[GUEST_NAME_MAX];
	uint64_t cpus;	    /* of a guest; 0: not known */
	struct peer *other; /* the other side of its session */
	unsigned resets;    /* sent to a guest and not answered */
};

static void
destroy_peer(struct peer *p)
{
	struct peer *other = p->other;

	assert(p->broker->n > 0);
	assert(other == NULL || other->other == p);
	link_destroy(p->link);
	list_del(&p->node);
	p->broker->n--;
	if (other != NULL) {
		other->other = NULL;
		/* The guest is ready again; without its guest, a
		 * session ends. */
		link_set_reading(other->link, true);
		if (other->role == PEER_GUEST) {
			link_frame(other->link, FRAME_RESET, 0, NULL, 0);
			other->resets++;
		} else {
			destroy_peer(other);
		}
	}
	if (p->role == PEER_GUEST)
		log_peer(LOG_NOTICE, "guest=%s peer=%s: disconnected", p->name,
		    p->address);
	free(p);
}

static struct peer *
find_guest(struct broker *b, const char *name)
{
	struct peer *p;

	list_each (p, &b->peers, struct peer, node)
		if (p->role == PEER_GUEST && strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

static void
send_guests(struct peer *to)
{
	struct peer *p;

	link_line(to->link, "ok\n");
	list_each (p, &to->broker->peers, struct peer, node) {
		char cpus[24] = "-";

		if (p->role != PEER_GUEST)
			continue;
		if (p->cpus > 0)
			snprintf(cpus, sizeof(cpus), "%u", (unsigned)p->cpus);
		link_line(to->link, "%s %s %s %s\n", p->name,
		    p->other != NULL ? "busy" : "ready", cpus, p->address);
	}
}

static void
refuse_peer(struct peer *p, const char *why)
{
	log_peer(LOG_WARN, "peer=%s: %s; refused", p->address, why);
	link_line(p->link, "error %s\n", why);
	link_finish(p->link);
}

static void
add_guest(struct peer *p, const char *name, const char *cpus)
{
	uint64_t n = 0;

	assert(p->role == PEER_NEW);
	if (name == NULL || !token_is_name(name) || cpus == NULL ||
	    parse_u64(cpus, 0, BROKER_CPUS_MAX, &n) != OK) {
		refuse_peer(p, "invalid name of a guest");
		return;
	}
	if (find_guest(p->broker, name) != NULL) {
		refuse_peer(p, "a guest of this name is connected");
		return;
	}
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->role = PEER_GUEST;
	p->cpus = n;
	link_line(p->link, "ok\n");
	log_peer(LOG_NOTICE, "guest=%s peer=%s: ready", p->name, p->address);
}

static void
reach_guest(struct peer *p, const char *name)
{
	struct peer *guest = name == NULL ? NULL : find_guest(p->broker, name);

	assert(p->role == PEER_NEW && p->other == NULL);
	if (guest == NULL) {
		refuse_peer(p, "no guest of this name is connected");
		return;
	}
	if (guest->other != NULL) {
		refuse_peer(p, "the guest is busy");
		return;
	}
	p->role = PEER_REACH;
	p->other = guest;
	guest->other = p;
	link_line(p->link, "ok\n");
	log_peer(LOG_NOTICE, "guest=%s peer=%s: session begun", guest->name,
	    p->address);
}

/* A guest's token is valid for its name only, and not for reaching guests. */
static bool
has_valid_token(const struct broker *b, const char *role, const char *token,
    const char *name)
{
	if (b->guests_file != NULL && strcmp(role, "connect") == 0)
		return name != NULL && token_list_has(&b->guests, name, token);
	return token_is_same(token, b->token);
}

static void
on_line(void *arg, char *line)
{
	struct peer *p = arg;
	char *at = line;
	const char *role = strsep(&at, " "), *token = strsep(&at, " "),
		   *name = strsep(&at, " "), *cpus = strsep(&at, " ");

	if (p->is_direct) {
		add_guest(p, name, cpus);
		return;
	}
	if (token == NULL || !has_valid_token(p->broker, role, token, name)) {
		refuse_peer(p, "wrong token");
		return;
	}
	snprintf(p->token, sizeof(p->token), "%s", token);
	if (strcmp(role, "connect") == 0) {
		add_guest(p, name, cpus);
	} else if (strcmp(role, "reach") == 0) {
		reach_guest(p, name);
	} else if (strcmp(role, "list") == 0) {
		send_guests(p);
		link_finish(p->link);
	} else {
		refuse_peer(p, "unknown request");
	}
}

static void
on_frame(void *arg, enum frame_kind kind, uint32_t stream, const uint8_t *bytes,
    size_t n)
{
	struct peer *p = arg;

	/* Frames that a guest sent before it learned of a session's end belong
	 * to that session, not to the next one. */
	if (p->resets > 0) {
		p->resets -= kind == FRAME_RESET;
		return;
	}
	if (p->other == NULL)
		return;
	/* Only the broker ends sessions, and only the reaching side opens
	 * streams. */
	if (kind == FRAME_RESET ||
	    (kind == FRAME_OPEN && p->role == PEER_GUEST)) {
		log_peer(LOG_WARN,
		    "peer=%s: sent a frame that its role does not allow; "
		    "closed",
		    p->address);
		destroy_peer(p);
		return;
	}
	link_frame(p->other->link, kind, stream, bytes, n);
	if (link_is_full(p->other->link))
		link_set_reading(p->link, false);
}

static void
on_drained(void *arg)
{
	struct peer *p = arg;

	if (p->other != NULL)
		link_set_reading(p->other->link, true);
}

static void
on_ended(void *arg)
{
	destroy_peer(arg);
}

static const struct link_ops peer_ops = { on_line, on_frame, on_drained,
	on_ended };

/* The oldest peer that has not identified itself, of the same host if there is
 * one: so a host that floods the broker mostly closes its own connections. */
static struct peer *
find_unidentified(struct broker *b, const struct sockaddr *from)
{
	struct peer *p, *found = NULL;

	list_each (p, &b->peers, struct peer, node) {
		if (p->role != PEER_NEW || p->is_direct)
			continue;
		if (address_is_same_host((struct sockaddr *)&p->from, from))
			return p;
		if (found == NULL)
			found = p;
	}
	return found;
}

/* Makes space for one more connection, if necessary. */
static bool
make_space(struct broker *b, const struct sockaddr *from)
{
	struct peer *p;

	if (b->n < BROKER_LINKS_MAX)
		return true;
	p = find_unidentified(b, from);
	if (p == NULL)
		return false;
	log_peer(LOG_WARN,
	    "peer=%s: closed for a new connection, since it has not "
	    "identified itself",
	    p->address);
	destroy_peer(p);
	return true;
}

/* Takes the descriptor, also on failure. */
static struct peer *
add_peer(struct broker *b, int take_fd)
{
	struct peer *p = calloc(1, sizeof(*p));

	if (p == NULL) {
		close(take_fd);
		return NULL;
	}
	p->broker = b;
	if (link_create(&p->link, b->loop.base, take_fd, &peer_ops, p) != OK) {
		free(p);
		return NULL;
	}
	list_append(&b->peers, &p->node);
	b->n++;
	return p;
}

static void
on_accepted(void *arg, int take_fd, const struct sockaddr *from)
{
	struct broker *b = arg;
	char address[ADDRESS_TEXT];
	struct peer *p;

	address_text(address, from);
	if (!make_space(b, from)) {
		log_peer(LOG_WARN, "peer=%s: refused: too many connections",
		    address);
		close(take_fd);
		return;
	}
	p = add_peer(b, take_fd);
	if (p == NULL)
		return;
	address_copy(&p->from, from);
	snprintf(p->address, sizeof(p->address), "%s", address);
}

/* The guests of the list. */

/* A guest of the list that the broker connects to itself. */
struct direct_guest {
	struct broker *broker;
	struct token_guest guest;
	struct agent_end *end;
};

/* The other end of its link is a peer like others. */
static enum status
open_direct(void *arg, struct link **out, const struct link_ops *ops, void *end)
{
	struct direct_guest *g = arg;
	struct peer *p;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
		log_errno(LOG_ERROR, "guest=%s: cannot create a socket",
		    g->guest.name);
		return E_IO;
	}
	p = add_peer(g->broker, ends[0]);
	if (p == NULL) {
		close(ends[1]);
		return E_NOMEM;
	}
	p->is_direct = true;
	snprintf(p->address, sizeof(p->address), "%s", g->guest.agent);
	return link_create(out, g->broker->loop.base, ends[1], ops, end);
}

static void
on_learned(void *arg, uint32_t cpus)
{
	const struct direct_guest *g = arg;
	struct peer *p = find_guest(g->broker, g->guest.name);

	if (p != NULL)
		p->cpus = cpus;
}

static struct direct_guest *
find_direct(const struct broker *b, const char *name)
{
	for (unsigned i = 0; i < b->n_direct; i++)
		if (strcmp(b->direct[i]->guest.name, name) == 0)
			return b->direct[i];
	return NULL;
}

static enum status
add_direct(struct broker *b, const struct token_guest *guest)
{
	struct direct_guest *g = calloc(1, sizeof(*g));
	struct agent_end_config config = { .loop = &b->loop,
		.token = "-",
		.open = open_direct,
		.learned = on_learned,
		.arg = g };
	enum status st;

	if (g == NULL)
		return E_NOMEM;
	g->broker = b;
	g->guest = *guest;
	config.name = g->guest.name;
	config.agent = g->guest.agent;
	st = agent_end_create(&g->end, &config);
	if (st != OK)
		free(g);
	else
		b->direct[b->n_direct++] = g;
	return st;
}

static void
remove_direct(struct broker *b, unsigned i)
{
	struct direct_guest *g = b->direct[i];
	struct peer *p = find_guest(b, g->guest.name);

	agent_end_destroy(g->end);
	if (p != NULL && p->is_direct)
		destroy_peer(p);
	b->direct[i] = b->direct[--b->n_direct];
	free(g);
}

/* A peer whose token is no longer valid, or NULL. */
static struct peer *
find_revoked(struct broker *b)
{
	struct peer *p;

	list_each (p, &b->peers, struct peer, node) {
		const char *role = p->role == PEER_GUEST ? "connect" : "reach";

		if (p->role != PEER_NEW && !p->is_direct &&
		    !has_valid_token(b, role, p->token, p->name))
			return p;
	}
	return NULL;
}

/* Applies a list that has changed. */
static enum status
follow_list(struct broker *b)
{
	const struct token_list *l = &b->guests;
	enum status st = OK;
	struct peer *p;

	while ((p = find_revoked(b)) != NULL) {
		log_peer(LOG_WARN,
		    "peer=%s: its token is no longer valid; closed",
		    p->address);
		destroy_peer(p);
	}
	for (unsigned i = b->n_direct; i-- > 0;)
		if (!token_list_has_agent(l, &b->direct[i]->guest))
			remove_direct(b, i);
	for (size_t i = 0; i < l->n && st == OK; i++)
		if (*l->guests[i].agent != '\0' &&
		    find_direct(b, l->guests[i].name) == NULL)
			st = add_direct(b, &l->guests[i]);
	return st;
}

static enum status
count_agents(const struct token_list *l)
{
	unsigned n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += *l->guests[i].agent != '\0';
	if (n <= BROKER_AGENTS_MAX)
		return OK;
	log_error(
	    "the list of guests has more than %d agents", BROKER_AGENTS_MAX);
	return E_LIMIT;
}

static enum status
read_lists(struct broker *b)
{
	struct token_list guests = { 0 };
	char token[TOKEN_BYTES];
	enum status st = token_read(token, b->token_file);

	if (st == OK && b->guests_file != NULL)
		st = token_list_read(&guests, b->guests_file);
	if (st == OK)
		st = count_agents(&guests);
	if (st != OK) {
		token_list_free(&guests);
		return st;
	}
	memcpy(b->token, token, sizeof(token));
	token_list_free(&b->guests);
	b->guests = guests;
	return follow_list(b);
}

static void
on_hangup(evutil_socket_t number, short what, void *arg)
{
	struct broker *b = arg;

	(void)number;
	(void)what;
	if (read_lists(b) == OK)
		log_notice(
		    "tokens reloaded; guests in the list: %zu", b->guests.n);
	else
		log_error("tokens not reloaded; the former ones still apply");
}

#define OPTIONS_TABLE "tools/ftrace/broker_options.tbl.h"
#define OPTIONS_STRUCT struct broker
#include "common/option_rows.h"

static const struct option_table table = { COMMAND_TABLE("broker",
    "--token-file FILE [OPTION]...\n"
    "Registers guests by name, for connect, list, reach and record.\n") };

static int
serve(struct broker *b)
{
	struct tcp_port *tcp_port = NULL;
	struct event *hangup = NULL;
	enum status st = command_loop_create(&b->loop);

	if (st == OK)
		st = read_lists(b);
	if (st == OK) {
		hangup = command_loop_watch(
		    b->loop.base, SIGHUP, EV_SIGNAL | EV_PERSIST, on_hangup, b);
		st = hangup == NULL ? E_NOMEM : OK;
	}
	if (st == OK)
		st = command_loop_catch_signals(&b->loop, NULL, NULL);
	if (st == OK)
		st = tcp_port_create(&tcp_port, b->loop.base, b->bind.host,
		    (uint16_t)b->bind.port, on_accepted, b);
	if (st == OK) {
		tcp_port_log(tcp_port, "");
		(void)event_base_dispatch(b->loop.base);
	}
	while (b->n_direct > 0)
		remove_direct(b, b->n_direct - 1);
	token_list_free(&b->guests);
	while (!list_empty(&b->peers))
		destroy_peer(list_first(&b->peers, struct peer, node));
	tcp_port_destroy(tcp_port);
	if (hangup != NULL)
		event_free(hangup);
	command_loop_destroy(&b->loop);
	return st == OK ? 0 : 1;
}

int
command_broker(int argc, char **argv)
{
	struct broker b = { .bind = { "", 5367, "" } };
	struct option_words words;
	const int status = command_parse(
	    &table, &b, argc, argv, COMMAND_NEEDS(TOKEN_FILE), 0, &words);

	if (status != COMMAND_RUNS)
		return status;
	log_set_level(LOG_NOTICE);
	(void)fds_raise_limit();
	list_init(&b.peers);
	return serve(&b);
}
