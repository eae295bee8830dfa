/* SPDX-License-Identifier: MIT */
/*
 * The sockets over which a recorder sends its pages, one for each CPU: the port
 * tells which. Over UDP each datagram is one page; over TCP there is one
 * connection, whose bytes are pages. Both are taken from the recorder's host
 * only, since anybody who reaches the port could send pages. libevent; the
 * loop's thread.
 */
#ifndef TOOLS_FTRACE_DATA_SOCKETS_H
#define TOOLS_FTRACE_DATA_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/compiler.h"
#include "common/status.h"

/* A recorder sends what is left in its ring buffer in one burst, by default 1.4
 * MB of pages for each CPU, and the kernel counts twice the bytes of a page.
 * All sockets of a recorder share the second number. */
#define DATA_RECEIVE_BYTES (4 << 20)
#define DATA_RECEIVE_ALL_BYTES (256 << 20)
/* The largest page that a datagram can hold: sizes of pages are powers of two,
 * and IP has no datagram of 64 KiB. */
#define DATA_DATAGRAM_BYTES (32 << 10)

struct event_base;
struct data_sockets;

struct data_config {
	struct event_base *base;
	uint32_t cpus;
	bool is_tcp;
	const struct sockaddr *peer; /* borrowed; only its host counts */
	const char *peer_name;	     /* borrowed; for the log */
	const char *bind_host;	     /* NULL: all addresses */
	uint16_t port_first, port_last;
	/* Bytes of one CPU's pages, in order; over UDP one page. */
	void (*bytes)(void *arg, uint32_t cpu, const uint8_t *p, size_t n);
	/* Nothing more comes for this CPU. */
	void (*ended)(void *arg, uint32_t cpu);
	void *arg;
};

/* Bound, and not read yet. E_LIMIT: no port is free (logged). */
enum status data_sockets_create(struct data_sockets **out,
    const struct data_config *config, uint16_t *ports) MUST_CHECK;
void data_sockets_destroy(struct data_sockets *d); /* NULL is fine */
static inline unsigned
data_sockets_fds(uint32_t cpus)
{
	return cpus;
}

/* The size of pages is known, over UDP DATA_DATAGRAM_BYTES at most: read from
 * here on. */
enum status data_sockets_start(
    struct data_sockets *d, uint32_t page_size) MUST_CHECK;
/* Read what is here, but no more than a peer can send meanwhile. */
void data_sockets_drain(struct data_sockets *d);
/* When nothing is expected but what is under way: is it over? SINCE_NS: from
 * when on nothing more was expected. */
bool data_sockets_are_done(const struct data_sockets *d, uint64_t since_ns);

struct data_counts {
	uint64_t dropped;   /* datagrams that found no room in the kernel */
	uint64_t malformed; /* datagrams that are no page */
	uint64_t strangers; /* datagrams and connections of other hosts */
};
struct data_counts data_sockets_counts(const struct data_sockets *d);

#endif
