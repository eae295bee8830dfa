/* SPDX-License-Identifier: MIT */
/*
 * The sockets that receive the pages of a recorder, one port for each CPU. Over
 * UDP each datagram is a page; over TCP one connection carries the pages. Only
 * the recorder's host is accepted, since anybody who reaches the port could
 * send pages. libevent; the loop's thread.
 */
#ifndef TOOLS_FTRACE_DATA_SOCKETS_H
#define TOOLS_FTRACE_DATA_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/compiler.h"
#include "common/status.h"

/* A recorder sends the rest of its ring buffer in one burst, by default 1.4 MB
 * for each CPU, and the kernel counts twice the size of a page. The second
 * number is for all sockets of a recorder. */
#define DATA_RECEIVE_BYTES (4 << 20)
#define DATA_RECEIVE_ALL_BYTES (256 << 20)
/* The largest page that fits in a datagram: sizes are powers of two, and 64 KiB
 * do not fit. */
#define DATA_DATAGRAM_BYTES (32 << 10)

struct event_base;
struct page_feed;
struct data_sockets;

struct data_config {
	struct event_base *base;
	uint32_t cpus;
	bool is_tcp;
	const struct sockaddr *peer; /* borrowed; the port is ignored */
	const char *peer_name;	     /* borrowed; for the log */
	const char *bind_host;	     /* NULL: all addresses */
	uint16_t port_first, port_last;
	/* Gets the bytes of each CPU's pages, in order; over UDP one page at a
	 * time. Borrowed; it has begun when data_sockets_start() is called. */
	struct page_feed *feed;
	/* No more bytes come for this CPU. */
	void (*ended)(void *arg, uint32_t cpu);
	void *arg;
};

/* NULL: no memory. */
struct data_sockets *data_sockets_create(const struct data_config *config);
/* Binds sockets until UNTIL_NS, at least one, without reading. E_MORE: call it
 * again; E_LIMIT: no port is free (logged). */
enum status data_sockets_bind(
    struct data_sockets *d, uint64_t until_ns) MUST_CHECK;
/* All are bound: the port of each CPU. Borrowed. */
const uint16_t *data_sockets_ports(const struct data_sockets *d);
void data_sockets_destroy(struct data_sockets *d); /* NULL is fine */
/* Starts to read. Over UDP PAGE_SIZE is at most DATA_DATAGRAM_BYTES. */
enum status data_sockets_start(
    struct data_sockets *d, uint32_t page_size) MUST_CHECK;
/* Reads what has arrived; bounded, also if the peer keeps sending. */
void data_sockets_drain(struct data_sockets *d);
/* Has all that was in flight at SINCE_NS arrived? */
bool data_sockets_are_done(const struct data_sockets *d, uint64_t since_ns);

struct data_counts {
	uint64_t dropped;     /* datagrams for which the kernel had no space */
	uint64_t malformed;   /* datagrams that are not a page */
	uint64_t from_others; /* datagrams and connections from other hosts */
};
struct data_counts data_sockets_counts(const struct data_sockets *d);

#endif
