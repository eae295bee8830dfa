/* SPDX-License-Identifier: MIT */
/*
 * Connects to an address (tcp_port.h) without blocking the loop: a thread looks
 * up a name, and each of its addresses gets a part of DIAL_MS. libevent; the
 * loop's thread.
 */
#ifndef TOOLS_FTRACE_DIAL_H
#define TOOLS_FTRACE_DIAL_H

#include "common/compiler.h"
#include "common/status.h"

/* The limit for the lookup and all addresses together. */
#define DIAL_MS 10000
struct dial;
struct command_loop;

/* Connects to ADDRESS, which address_parse() accepts. DONE gets the connected
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
