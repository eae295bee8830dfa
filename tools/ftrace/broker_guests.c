/* SPDX-License-Identifier: MIT */
/* Which guests a broker takes, and those to whose agents it goes itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "tools/ftrace/agent_end.h"
#include "tools/ftrace/broker_internal.h"

/* A guest of the list with an agent to which the broker goes itself. */
struct direct_guest {
	struct broker *broker;
	struct token_guest guest;
	struct agent_end *end;
};

/* The other end of its link is a peer as others. */
static enum status
open_direct(void *arg, struct link **out, const struct link_ops *ops, void *end)
{
	struct direct_guest *g = arg;
	struct peer *p;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
		log_errno(LOG_ERROR, "guest=%s", g->guest.name);
		return E_IO;
	}
	p = broker_add_peer(g->broker, fds[0]);
	if (p == NULL) {
		close(fds[1]);
		return E_NOMEM;
	}
	p->is_direct = true;
	snprintf(p->address, sizeof(p->address), "%s", g->guest.agent);
	return link_create(out, g->broker->base, fds[1], ops, end);
}

static void
on_learned(void *arg, uint32_t cpus)
{
	const struct direct_guest *g = arg;
	struct peer *p = broker_find_guest(g->broker, g->guest.name);

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
	struct agent_end_config config = { .base = b->base,
		.names = b->names,
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
	struct peer *p = broker_find_guest(b, g->guest.name);

	agent_end_destroy(g->end);
	if (p != NULL && p->is_direct)
		broker_destroy_peer(p);
	b->direct[i] = b->direct[--b->n_direct];
	free(g);
}

/* Who could not come any more as it came; NULL: nobody. */
static struct peer *
find_revoked(struct broker *b)
{
	struct peer *p;

	list_each (p, &b->peers, struct peer, node) {
		const char *role = p->role == PEER_GUEST ? "connect" : "reach";

		if (p->role != PEER_NEW && !p->is_direct &&
		    !broker_may_enter(b, role, p->token, p->name))
			return p;
	}
	return NULL;
}

/* Guests are as the list has them, now that it is another one. */
static enum status
follow_list(struct broker *b)
{
	const struct token_list *l = &b->guests;
	enum status st = OK;
	struct peer *p;

	while ((p = find_revoked(b)) != NULL) {
		log_peer(LOG_WARN, "peer=%s: its token is not good any more",
		    p->address);
		broker_destroy_peer(p);
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
	log_error("more than %d agents", BROKER_AGENTS_MAX);
	return E_LIMIT;
}

enum status
broker_read(struct broker *b)
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

void
broker_forget(struct broker *b)
{
	while (b->n_direct > 0)
		remove_direct(b, b->n_direct - 1);
	token_list_free(&b->guests);
}
