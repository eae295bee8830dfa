/* SPDX-License-Identifier: MIT */
/*
 * Intrusive doubly linked list; a head is a node of its own. One owner.
 * A node that is in no list points at itself, so list_del() is safe on it.
 */
#ifndef COMMON_LIST_H
#define COMMON_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "common/compiler.h"

struct list {
	struct list *prev, *next;
};

static inline void
list_init(struct list *l)
{
	l->prev = l->next = l;
}

static inline bool
list_empty(const struct list *l)
{
	return l->next == l;
}

/* Append N at the end of the list HEAD. */
static inline void
list_append(struct list *head, struct list *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

static inline void
list_del(struct list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init(n);
}

/* Move all of FROM to the end of the list HEAD. */
static inline void
list_move_all(struct list *head, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = head->prev;
	from->prev->next = head;
	head->prev->next = from->next;
	head->prev = from->prev;
	list_init(from);
}

#define list_entry(node, type, member) container_of(node, type, member)

#define list_first(head, type, member) list_entry((head)->next, type, member)

/* POS goes through the entries: each is a TYPE, with its node in MEMBER. The
 * list must not change meanwhile. HEAD may be const. */
#define list_each(pos, head, type, member)                   \
	for ((pos) = list_entry((head)->next, type, member); \
	     &(pos)->member != (head);                       \
	     (pos) = list_entry((pos)->member.next, type, member))
/* The same from the end to the beginning. */
#define list_each_back(pos, head, type, member)              \
	for ((pos) = list_entry((head)->prev, type, member); \
	     &(pos)->member != (head);                       \
	     (pos) = list_entry((pos)->member.prev, type, member))

/* The same as list_each(); POS may be removed from the list within the body. */
#define list_each_safe(pos, next_pos, head, type, member)              \
	for ((pos) = list_entry((head)->next, type, member),           \
	    (next_pos) = list_entry((pos)->member.next, type, member); \
	     &(pos)->member != (head); (pos) = (next_pos),             \
	    (next_pos) = list_entry((pos)->member.next, type, member))

/* The current entry may be removed from the list within the body. */
#define list_for_each(pos, tmp, head)                                    \
	for ((pos) = (head)->next, (tmp) = (pos)->next; (pos) != (head); \
	     (pos) = (tmp), (tmp) = (pos)->next)

#endif
