/* SPDX-License-Identifier: MIT */
/*
 * `tracepulse-relayd --take-over`: a new process takes everything over from the
 * one that runs. It connects to a socket in the run directory, whose other end
 * must belong to the same user. Then, one message each:
 *
 *	old to new  hello: what it is
 *	new to old  give, with an empty state and an empty pack
 *	old to new  ready, with its listening sockets; or refused
 *	new to old  taken: it has restored everything, and done nothing yet
 *	old to new  yours: now it may; the old process ends
 *
 * If the new process closes its end before "taken", the old one goes on. The
 * old one says "refused" when it goes on; if its end is closed without a word
 * after "taken", it is gone, and the new process goes on.
 */
#ifndef RELAYD_NET_TAKE_OVER_H
#define RELAYD_NET_TAKE_OVER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "relayd/process/handoff.h"

struct event_base;
struct take_over;

/* How long each side waits for a message of the other. All peers wait
 * meanwhile. */
#define TAKE_OVER_S 5

/* What the running relay is. All of it is of this machine and this boot. */
struct take_over_hello {
	uint64_t magic;
	uint32_t version, oldest; /* of its state; see handover.h */
	uint64_t device, ino; /* of its output directory; 0: there is none */
	uint16_t control, data, live; /* its ports */
	uint16_t udp;		      /* 0: none */
};

/* The running relay. ASKED is called when a new process asks, in the loop of
 * BASE: take_over_handoff() is to be filled then. One at a time. */
struct take_over_config {
	const char *path;	      /* borrowed, like OUTPUT */
	struct take_over_hello hello; /* without the output directory */
	const char *output;
	void (*asked)(void *arg);
	void *arg;
};

enum status take_over_create(struct take_over **out, struct event_base *base,
    const struct take_over_config *config) MUST_CHECK;
void take_over_destroy(struct take_over *t); /* NULL is fine */
/* What the new process gave: a state and a pack to fill. NULL: none asks. */
struct handoff *take_over_handoff(struct take_over *t);
/* It is filled: let the new process restore it. False: it could not, or it is
 * gone; call take_over_refuse(). */
bool take_over_ready(struct take_over *t) MUST_CHECK;
/* The new process may serve. False: it is gone. */
bool take_over_yours(struct take_over *t) MUST_CHECK;
/* This process goes on. */
void take_over_refuse(struct take_over *t);

/*
 * The new process. Connect to PATH and read what relay is there. -1: none, or
 * it does not answer, or it is another user's; logged.
 */
int take_over_connect(
    const char *path, struct take_over_hello *hello) MUST_CHECK;
/* Ask for everything. E_IO, logged; H is empty then. */
enum status take_over_ask(int fd, struct handoff *h) MUST_CHECK;
/* All is restored: wait until the old process has ended. E_IO: it goes on,
 * logged. */
enum status take_over_taken(int fd) MUST_CHECK;

#endif
