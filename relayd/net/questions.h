/* SPDX-License-Identifier: MIT */
/*
 * Questions that were put to a thread by MESSAGE_INFO, until they are answered
 * at the end of its turn. The thread only.
 */
#ifndef RELAYD_NET_QUESTIONS_H
#define RELAYD_NET_QUESTIONS_H

struct info;
struct message;

struct questions {
	struct info *first;
};

/* M is a MESSAGE_INFO; its object is taken over. */
void questions_add(struct questions *q, struct message *m);
/* Answer all of them, and send the answers to who asked. */
void questions_answer(
    struct questions *q, void (*answer)(void *arg, struct info *i), void *arg);
/* Nobody waits for the answers any more. */
void questions_drop(struct questions *q);

#endif
