/* SPDX-License-Identifier: MIT */
/*
 * What one process of the relay gives the next one: its state in a memfd, its
 * listening sockets, and the pack: a Unix socket that has all other descriptors
 * in flight. On the way they are with the service manager (sd_notify(3),
 * FDSTORE=1), or come through the take-over socket (take_over.h). One socket,
 * because the service manager compares each descriptor that it stores with all
 * others. Main thread.
 */
#ifndef RELAYD_PROCESS_HANDOFF_H
#define RELAYD_PROCESS_HANDOFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"

/* Control, data, live, HTTP, and UDP of up to 64 workers. */
#define HANDOFF_LISTENERS_MAX 80

struct handoff {
	int state; /* a memfd; sealed once it is filled; -1: none */
	int pack;  /* the end to read from; -1: none */
	int fill;  /* the end to write to; -1: none */
	int listeners[HANDOFF_LISTENERS_MAX];
	unsigned n_listeners;
};

/* Nothing is held. */
void handoff_init(struct handoff *h);
/* An empty state and pack: before the sandbox, which allows neither. E_IO,
 * logged. */
enum status handoff_prepare(struct handoff *h) MUST_CHECK;
/* Close all that H has. */
void handoff_close(struct handoff *h);

/* Store the bytes and seal them, and send the N descriptors at FDS, which stay
 * open, into the pack. Closes the end to write to. E_IO, logged. */
enum status handoff_fill(struct handoff *h, const struct buf *bytes,
    const int *fds, uint32_t n) MUST_CHECK;
/*
 * Read what the previous process stored: *BYTES, which the caller unmaps, and N
 * descriptors, in an array from malloc(), all non-blocking or not as they were.
 * The pack still has them afterwards, so that another process can read them.
 * E_MALFORMED: not sealed, or other descriptors than N; E_NOMEM, E_IO.
 */
enum status handoff_bytes(
    const struct handoff *h, const uint8_t **bytes, size_t *n) MUST_CHECK;
enum status handoff_fds(
    const struct handoff *h, int **fds, uint32_t n) MUST_CHECK;

/* Give H to the service manager and wait until it has everything. False: there
 * is none, or it failed, which was logged. */
bool handoff_store(const struct handoff *h) MUST_CHECK;
/* The service manager drops what it has stored. */
void handoff_unstore(void);

#endif
