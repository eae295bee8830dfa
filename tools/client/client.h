/* SPDX-License-Identifier: MIT */
/*
 * A tracer's side of a relay session: one control connection, and packets over
 * a data connection (relay protocol 2.11 to 2.15, streaming 8.1), or as
 * datagrams to a relay that takes them (udp 1 to 5).
 *
 * The core never blocks: client_try_*() take what there is room for, else say
 * E_BUSY; client_work() moves bytes. Above it each client_*() of the same name
 * waits until it can. A program with one session uses the waiting ones only:
 *
 *	client_create, client_open,
 *	client_add_stream for each, client_streams_sent, client_metadata,
 *	client_packet, client_beacon as they come,
 *	client_finish, client_destroy
 *
 * One with many sessions calls client_start() instead of client_open(), the
 * client_try_*(), and client_work(c, 0) whenever a descriptor of
 * client_pollfds() is ready or its time has come; or, with epoll(7), what is
 * said at client_ready().
 *
 * Memory is bounded: packets are not copied, at most CLIENT_PACKETS of them
 * wait, and about 1 MiB, requests without an answer are counted; packets that
 * may have to be sent again are bounded by half of what the relay holds for a
 * session. A failure is final: every later call returns it, and client_error()
 * says what it was. One thread per client.
 */
#ifndef TOOLS_CLIENT_CLIENT_H
#define TOOLS_CLIENT_CLIENT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/datagrams.h"
#include "tools/client/packet.h"
#include "tools/client/url.h"

#define CLIENT_PACKETS 256
#define CLIENT_OUTSTANDING 256
#define CLIENT_TIMEOUT_MS 30000
/* A name may stand for an address that nothing answers, an IPv6 one without a
 * way there: long enough for two SYNs that get lost (RFC 6298: 1 s, 2 s). */
#define CLIENT_CONNECT_MS 4000

struct client;

/* What a program with many sessions may want to be told; each may be NULL. They
 * are called from within client_start(), client_ready() and client_work(). */
struct client_watch {
	/* A socket was made, the control connection's or the data's: to be
	 * watched edge-triggered until it is closed. */
	void (*opened)(void *arg, int fd, bool is_data);
	/* The index of this packet goes out now. */
	void (*index_sent)(void *arg, unsigned stream, uint64_t net_seq);
	/* An index, or a beacon, was answered after so many ns. */
	void (*index_answered)(void *arg, uint64_t ns);
	void *arg;
};

struct client_config {
	struct url url;
	const char *session_name; /* the relay appends the time, unless
				     name_has_time */
	const char *hostname;
	uint32_t live_timer_us; /* 0: not live */
	bool name_has_time;	/* nothing is appended to it */
	unsigned outstanding;	/* indexes without an answer; 0: default */
	unsigned packets;	/* that wait; 0: CLIENT_PACKETS */
	unsigned timeout_ms;	/* without any progress; 0: default */
	unsigned connect_ms;	/* an address may be silent, if the host has
				   another; 0: default. Blocking face only. */
	unsigned ask_ms; /* before asking again whether all is on disk, twice as
			    long each time, at most 128-fold; 0: 1 */
	uint64_t rate;	 /* bytes of packets per second; 0: no limit */
	const struct client_watch *watch; /* borrowed; NULL: none */

	bool udp;		 /* packets go as datagrams (udp 1 to 5) */
	bool resend;		 /* what was lost is sent again */
	uint32_t fragment_size;	 /* bytes of a datagram; 0: default */
	uint64_t gap_timeout_us; /* 0: the relay's */
	const struct client_channel *channel; /* for tests; NULL: none */
};

/* What has happened so far. */
struct client_stats {
	uint64_t packets, bytes; /* wholly sent; bytes without headers */
	uint64_t indexes;	 /* answered */
	uint64_t beacons;	 /* sent */
	uint64_t datagrams;	 /* sent, those to resend too */
	uint64_t resent;	 /* datagrams */
	uint64_t lost;		 /* packets that the relay has given up */
};

/* CONFIG is copied, its strings are borrowed until client_destroy(). */
enum status client_create(
    struct client **out, const struct client_config *config) MUST_CHECK;
/* Closes at once; packets that wait are done. NULL is fine. */
void client_destroy(struct client *c);

/* What went wrong, one line without its end; "" if nothing did. */
const char *client_error(const struct client *c);
const struct client_stats *client_stats(const struct client *c);
/* Where the relay puts the session, below its own output directory. Known once
 * the session is open. */
const char *client_path(const struct client *c);

/* Connect and say hello; resolving the host may block. */
enum status client_start(struct client *c) MUST_CHECK;
bool client_is_open(const struct client *c);

/* Move what can be moved, waiting at most so long for something to do; 0: not
 * at all, -1: for as long as it takes. Returns early when anything moved. */
enum status client_work(struct client *c, int timeout_ms) MUST_CHECK;
/* What client_work() would wait for; its number. *AT_NS is when it wants to be
 * called at the latest, UINT64_MAX for never. */
#define CLIENT_POLLFDS 2
unsigned client_pollfds(
    struct client *c, struct pollfd out[CLIENT_POLLFDS], uint64_t *at_ns);

/*
 * Another way, for who watches thousands: each socket that watch->opened()
 * tells of is added to an epoll(7) once, edge-triggered, for input and output.
 * What it reports of the two (0: nothing) is given here, also after
 * client_try_*() took something, and when the time of client_pollfds() has
 * come; all that can be moved without waiting is moved.
 */
enum status client_ready(
    struct client *c, short control, short data) MUST_CHECK;

/*
 * A stream in the folder PATH of the session; streams with the same path are
 * one trace, one of them is called "metadata". Streams are numbered from 0 in
 * the order they are added: *NUMBER. Viewers see those added so far once
 * client_streams_sent() was called.
 */
enum status client_try_add_stream(struct client *c, const char *path,
    const char *channel, unsigned *number) MUST_CHECK;
enum status client_try_streams_sent(struct client *c) MUST_CHECK;
/* Copied. Whole packets of metadata, or text; below 128 MiB - 12. */
enum status client_try_metadata(struct client *c, unsigned number,
    const void *data, size_t size) MUST_CHECK;
/* Packets of a stream are numbered in the order of these calls. */
enum status client_try_packet(struct client *c, unsigned number,
    const struct client_packet *packet) MUST_CHECK;
/* No event of this stream comes before TIMESTAMP, in cycles (streaming 4.3).
 * CTF_STREAM is the id of its stream class. */
enum status client_try_beacon(struct client *c, unsigned number,
    uint64_t timestamp, uint64_t ctf_stream) MUST_CHECK;
/* Is all that was given sent and answered? */
bool client_is_idle(const struct client *c);
/* Has the relay not yet everything on disk? (BEGIN_DATA_PENDING, DATA_PENDING
 * of each stream, END_DATA_PENDING.) OK: *IS_PENDING is the answer; E_BUSY: it
 * is not here, call again. Not once client_try_finish() was called. */
enum status client_try_pending(struct client *c, bool *is_pending) MUST_CHECK;
/* OK: all was sent, is on disk, and the streams and the trace chunk are closed.
 * E_BUSY: not yet, call again. Nothing may be given any more. */
enum status client_try_finish(struct client *c) MUST_CHECK;

/* The same, waiting. E_IO also when nothing moved for so long as configured. */
enum status client_open(struct client *c) MUST_CHECK;
enum status client_add_stream(struct client *c, const char *path,
    const char *channel, unsigned *number) MUST_CHECK;
enum status client_streams_sent(struct client *c) MUST_CHECK;
enum status client_metadata(struct client *c, unsigned number, const void *data,
    size_t size) MUST_CHECK;
enum status client_packet(struct client *c, unsigned number,
    const struct client_packet *packet) MUST_CHECK;
enum status client_beacon(struct client *c, unsigned number, uint64_t timestamp,
    uint64_t ctf_stream) MUST_CHECK;
enum status client_flush(struct client *c) MUST_CHECK;
/* Flush; wait until the relay has everything on disk; close the streams and
 * the trace chunk. Then destroy. */
enum status client_finish(struct client *c) MUST_CHECK;

#endif
