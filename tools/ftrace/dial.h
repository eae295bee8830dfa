/* SPDX-License-Identifier: MIT */
/*
 * A connection to HOST:PORT, for which the loop does not wait: a thread asks
 * for a name, and each address that it has gets its part of DIAL_MS. libevent;
 * the loop's thread.
 */
#ifndef TOOLS_FTRACE_DIAL_H
#define TOOLS_FTRACE_DIAL_H

#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"

/* Who does not answer for so long is not there. */
#define DIAL_MS 10000
/* Names that a process asks for at a time. */
#define DIAL_THREADS 8

struct background;
struct dial;
struct event_base;

/* HOST:PORT; an IPv6 address may be in brackets. */
bool dial_is_address(const char *s);

/* DONE gets the connected socket, or -1, for which the reason is logged; the
 * dial is gone then. It is called by the loop, not by dial_create(). ADDRESS is
 * one by dial_is_address(). NAMES are the threads that ask for names, those of
 * all dials: who gives up waits for no thread. */
enum status dial_create(struct dial **out, struct event_base *base,
    struct background *names, const char *address,
    void (*done)(void *arg, int take_fd), void *arg) MUST_CHECK;
/* Before DONE was called; then it is not. NULL is fine. */
void dial_destroy(struct dial *d);

/* For a socket that waits for little bytes, and for a peer that may vanish: no
 * delay, keep-alive. */
void dial_set_options(int fd);

#endif
