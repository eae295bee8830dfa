/* SPDX-License-Identifier: MIT */
#include "relayd/net/questions.h"

#include <stdlib.h>

#include "relayd/net/loop.h"
#include "relayd/stats/info.h"

void
questions_add(struct questions *q, struct message *m)
{
	struct info *i = m->object;

	i->next = q->first;
	q->first = i;
}

static struct info *
take_question(struct questions *q)
{
	struct info *i = q->first;

	if (i != NULL)
		q->first = i->next;
	return i;
}

void
questions_answer(
    struct questions *q, void (*answer)(void *arg, struct info *i), void *arg)
{
	struct message *reply;
	struct info *i;

	while ((i = take_question(q)) != NULL) {
		answer(arg, i);
		reply = i->reply;
		i->reply = NULL;
		reply->object = i;
		loop_post(i->from, reply);
	}
}

void
questions_drop(struct questions *q)
{
	struct info *i;

	while ((i = take_question(q)) != NULL)
		info_destroy(i);
}
