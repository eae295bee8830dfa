/* SPDX-License-Identifier: MIT */
/*
 * Questions that were put to a thread by MESSAGE_INFO, until they are answered
 * at the end of its turns. The thread only.
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

/* M is a MESSAGE_INFO; its object is taken over. */
void questions_add(struct questions *q, struct message *m);
/* Answer the oldest, and send the answer to who asked: an answer has up to a
 * thousand sessions, which is as long as a slice of a turn. True: others wait,
 * for a turn that comes at once. */
bool questions_answer(struct questions *q,
    void (*answer)(void *arg, struct info *i), void *arg) MUST_CHECK;
/* Nobody waits for the answers any more. */
void questions_drop(struct questions *q);

#endif
