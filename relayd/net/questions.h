/* SPDX-License-Identifier: MIT */
/*
 * The MESSAGE_INFO requests of a thread, answered at the end of its cycles. The
 * thread only.
 */
#ifndef RELAYD_NET_QUESTIONS_H
#define RELAYD_NET_QUESTIONS_H

#include <stdbool.h>

#include "common/compiler.h"

struct info;
struct message;

struct questions {
	struct info *first, *last; /* NULL: none */
};

/* M is a MESSAGE_INFO; takes its object. */
void questions_add(struct questions *q, struct message *m);
/* Answer the oldest request: an answer lists up to a thousand sessions, which
 * takes as long as a time slice. True: others wait; begin another cycle. */
bool questions_answer(struct questions *q,
    void (*answer)(void *arg, struct info *i), void *arg) MUST_CHECK;
/* Discard all requests. */
void questions_drop(struct questions *q);

#endif
