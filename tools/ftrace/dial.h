/* SPDX-License-Identifier: MIT */
/*
 * Connects to HOST:PORT without blocking the loop: a thread looks up the name,
 * and each of its addresses gets a part of DIAL_MS. libevent; the loop's
 * thread.
 */
#ifndef TOOLS_FTRACE_DIAL_H
#define TOOLS_FTRACE_DIAL_H

#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"

/* The limit for the lookup and all addresses together. */
#define DIAL_MS 10000
struct dial;
struct command_loop;

/* HOST:PORT; an IPv6 address may be in brackets. */
bool dial_is_address(const char *s);

/* Connects to ADDRESS, which dial_is_address() accepts. DONE gets the connected
 * socket, or -1 after the reason was logged; the dial no longer exists then.
 * The loop calls it, never dial_create(). */
enum status dial_create(struct dial **out, struct command_loop *loop,
    const char *address, void (*done)(void *arg, int take_fd),
    void *arg) MUST_CHECK;
/* Cancels: DONE is not called. NULL is fine. */
void dial_destroy(struct dial *d);

/* Sets no delay and keep-alive, for small writes and peers that may vanish. */
void dial_set_options(int fd);

#endif
