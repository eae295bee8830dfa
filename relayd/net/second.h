/* SPDX-License-Identifier: MIT */
/* What is done once a second. */
#ifndef RELAYD_NET_SECOND_H
#define RELAYD_NET_SECOND_H

#include "common/compiler.h"
#include "common/status.h"

struct event_base;
struct second;

/* Calls CALL once a second in the thread of BASE. */
enum status second_create(struct second **out, struct event_base *base,
    void (*call)(void *arg), void *arg) MUST_CHECK;
void second_destroy(struct second *s); /* NULL is fine */

#endif
