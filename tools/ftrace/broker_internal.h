/* SPDX-License-Identifier: MIT */
/* What broker*.c share. The loop's thread. */
#ifndef TOOLS_FTRACE_BROKER_INTERNAL_H
#define TOOLS_FTRACE_BROKER_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "tools/ftrace/link.h"
#include "tools/ftrace/token.h"

struct background;
struct event_base;

/* Agents to which the broker goes itself; each takes 80 KiB. */
#define BROKER_AGENTS_MAX 128
struct direct_guest;

struct broker {
	struct event_base *base;
	struct background *names; /* of agents */
	struct list peers;
	unsigned n;
	char token[TOKEN_BYTES];
	struct direct_guest *direct[BROKER_AGENTS_MAX];
	unsigned n_direct;
	struct token_list guests; /* none: any name, by the same token */
	const char *token_file, *guests_file, *bind;
	uint64_t port;
};

enum peer_role { PEER_NEW, PEER_GUEST, PEER_REACH };

struct peer {
	struct list node;
	struct broker *broker;
	struct link *link;
	struct sockaddr_storage from;
	char address[GUEST_PLACE]; /* HOST:PORT */
	bool is_direct;		   /* our own end of a guest of the list */
	enum peer_role role;
	char token[TOKEN_BYTES]; /* by which it came */
	char name[GUEST_NAME_MAX];
	uint64_t cpus;	    /* of a guest; 0: not known */
	struct peer *other; /* the two of a session */
	unsigned resets;    /* that a guest was sent, and has not answered */
};

/* broker.c */
/* It goes, and its session with it. */
void broker_destroy_peer(struct peer *p);
/* NULL: none of this name is there. */
struct peer *broker_find_guest(struct broker *b, const char *name);
/* By this token? A guest's is for its name, and reaches nobody. */
bool broker_may_enter(const struct broker *b, const char *role,
    const char *token, const char *name);
/* NULL: the descriptor is closed. */
struct peer *broker_add_peer(struct broker *b, int take_fd) MUST_CHECK;

/* broker_guests.c */
/* The token, and the list of guests, are read, again, too: guests are as it has
 * them then. Not OK, which was logged: all stays as it was, but for want of
 * memory. */
enum status broker_read(struct broker *b) MUST_CHECK;
/* The guests of the list go. */
void broker_forget(struct broker *b);

#endif
