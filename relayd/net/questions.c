/* SPDX-License-Identifier: MIT */
#include "relayd/net/questions.h"

#include <stdlib.h>

#include "relayd/net/loop.h"
#include "relayd/stats/info.h"

void
questions_add(struct questions *q, struct message *m)
{
	struct info *i = m->object;

	i->next = NULL;
	if (q->first == NULL)
		q->first = i;
	else
		q->last->next = i;
	q->last = i;
}

static struct info *
take_question(struct questions *q)
{
	struct info *i = q->first;

	if (i != NULL)
		q->first = i->next;
	return i;
}

bool
questions_answer(
    struct questions *q, void (*answer)(void *arg, struct info *i), void *arg)
{
	struct info *i = take_question(q);
	struct message *reply;

	if (i == NULL)
		return false;
	answer(arg, i);
	reply = i->reply;
	i->reply = NULL;
	reply->object = i;
	loop_post(i->from, reply);
	return q->first != NULL;
}

void
questions_drop(struct questions *q)
{
	struct info *i;

	while ((i = take_question(q)) != NULL)
		info_destroy(i);
}
