/* SPDX-License-Identifier: MIT */
/*
 * A tracer's side of a relay session: one control connection, and packets over
 * a data connection (relay protocol 2.11 to 2.15, streaming 8.1), or as
 * datagrams to a relay that takes them (udp 1 to 5).
 *
 * The functions are the same for programs that wait and for those that do not.
 * A program with one session sets config.waits:
 *
 *	client_create, client_open,
 *	client_add_stream for each, client_streams_sent, client_metadata,
 *	client_packet, client_beacon as they come,
 *	client_finish, client_destroy
 *
 * A function that needs space, or an answer of the relay, then waits for it.
 * Without config.waits it returns E_BUSY at once, and takes nothing. Such a
 * program calls client_work(c, 0) whenever a descriptor of client_pollfds() is
 * ready or the time that it gives has come; with epoll(7), see client_ready().
 *
 * Memory is bounded. Packets are not copied; at most CLIENT_PACKETS of them,
 * about 1 MiB, wait. The number of requests without an answer is limited.
 * Packets that may have to be sent again are bounded by half of what the relay
 * holds for a session. A failure is final: every later call returns it, and
 * client_error() describes it. One thread per client.
 */
#ifndef TOOLS_CLIENT_CLIENT_H
#define TOOLS_CLIENT_CLIENT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "proto/relay.h"
#include "tools/client/datagrams.h"
#include "tools/client/packet.h"
#include "tools/client/url.h"

#define CLIENT_PACKETS 256
#define CLIENT_OUTSTANDING 256
#define CLIENT_TIMEOUT_MS 30000
/* A host's name may have an address that does not answer, such as an IPv6
 * address without a route. This time is enough for two lost SYNs (RFC 6298: 1
 * s, 2 s). */
#define CLIENT_CONNECT_MS 4000
#define CLIENT_TICK_MS 100

struct client;

/*
 * What makes a session the same one when its sender comes back (resume 1 to 4):
 * a program that wants that makes an identity once, keeps it where it finds it
 * again, and sets config.identity. Then, each time:
 *
 *	client_create, client_open,
 *	client_resumes: false: this relay cannot; the session is a new one, and
 *	    nothing of it is there
 *	client_add_stream for each stream, with the same names as before,
 *	client_written for each: the relay has this much. Continue after it:
 *	    metadata after .bytes, packets after .packet_seq_num
 *	client_streams_sent, client_metadata, client_packet as for any session
 *
 * The name, the host name and config.name_has_time must be the same as before,
 * too. If the connection breaks, destroy the client and begin again with the
 * same identity; an older connection of the session is closed by the relay, so
 * two programs must not share an identity. client_finish() ends the session,
 * but it may still be resumed, as long as its directory is there.
 */
struct client_identity {
	struct secret key; /* whoever knows it may continue the session */
	struct relay_uuid uuid;
	uint64_t creation_time; /* s since the epoch; in the relay's path */
};
/* A new one. E_IO: no random numbers, see errno. */
enum status client_identity_make(struct client_identity *out) MUST_CHECK;

/* Functions that the client calls to report events; each may be NULL. They are
 * called from within client_open(), client_ready() and client_work(), goes_on()
 * only where a function waits. */
struct client_watch {
	/* A socket was made, for control or for data. The program watches it,
	 * edge-triggered, until it is closed. */
	void (*opened)(void *arg, int fd, bool is_data);
	/* The index of this packet is being sent. */
	void (*index_sent)(void *arg, unsigned stream, uint64_t net_seq);
	/* An index or a beacon was answered, NS nanoseconds after it was
	 * made. */
	void (*index_answered)(void *arg, uint64_t ns);
	/* May a function that waits continue to wait? Called before it waits
	 * and every CLIENT_TICK_MS while it does; by client_open() also while
	 * the host is resolved. If this returns false, the function returns
	 * E_STOPPED. That is not a failure: what the client has accepted is
	 * kept, and the caller may continue. */
	bool (*goes_on)(void *arg);
	void *arg;
};

struct client_config {
	struct url url;
	bool waits; /* see above; client_set_waits() changes it */
	/* Addresses of the host that url_resolve() found; copied by
	 * client_create(). N_ADDRESSES is 0: client_open() resolves it. */
	const struct url_address *addresses;
	unsigned n_addresses;
	const char *session_name; /* the relay appends the time, unless
				     name_has_time */
	const char *hostname;
	uint32_t live_timer_us; /* 0: not live */
	bool name_has_time;	/* the relay appends nothing */
	unsigned outstanding;	/* indexes without an answer; 0: default */
	unsigned packets;	/* packets that wait; 0: CLIENT_PACKETS */
	/* The longest time without progress, while a function waits; and until
	 * the relay must have written everything, at the end. 0: default.
	 * Without waits a relay may hang indefinitely. */
	unsigned timeout_ms;
	/* The longest silence of an address, if the host has another, while a
	 * function waits; 0: default. */
	unsigned connect_ms;
	/* Time before asking again whether all is on disk. It is doubled each
	 * time, 128-fold at most; 0: 1. */
	unsigned ask_ms;
	uint64_t rate; /* bytes of packets per second; 0: no limit */
	const struct client_watch *watch; /* borrowed; NULL: none */

	/* Borrowed until client_destroy(). NULL: the session cannot be resumed.
	 * Not with UDP. */
	const struct client_identity *identity;

	bool udp;		 /* packets go as datagrams (udp 1 to 5) */
	bool resend;		 /* what was lost is sent again */
	uint32_t fragment_size;	 /* packet bytes per datagram; 0: default */
	uint64_t gap_timeout_us; /* 0: the relay's */
	const struct client_channel *channel; /* for tests; NULL: none */
};

/* What has happened so far. */
struct client_stats {
	uint64_t packets, bytes; /* wholly sent; bytes without headers */
	uint64_t indexes;	 /* answered */
	uint64_t beacons;	 /* sent */
	uint64_t datagrams;	 /* sent, with those sent again */
	uint64_t resent;	 /* datagrams sent again */
	uint64_t lost;		 /* packets that the relay gave up */
};

/* CONFIG is copied, its strings are borrowed until client_destroy(). */
enum status client_create(
    struct client **out, const struct client_config *config) MUST_CHECK;
/* Close at once. Packets that wait are done (client_done). NULL is fine. */
void client_destroy(struct client *c);

/* What went wrong, one line without a newline; "" if nothing did. */
const char *client_error(const struct client *c);
const struct client_stats *client_stats(const struct client *c);
/* Bytes of packets sent so far, including a packet that is not complete yet;
 * without headers and retransmissions. */
uint64_t client_bytes_out(const struct client *c);
/* When bytes were last sent or received, or a connection was last tried
 * (clock_now_ns()); 0: never. */
uint64_t client_moved_ns(const struct client *c);
/* Packets of a stream whose index the relay has confirmed, and their bytes.
 * Zeros if there is no stream NUMBER. */
struct client_answered {
	uint64_t packets, bytes;
};
struct client_answered client_answered(const struct client *c, unsigned number);
/* Where the relay puts the session, below its own output directory. Known once
 * the session is open. */
const char *client_path(const struct client *c);

void client_set_waits(struct client *c, bool waits);

/* Connect and open the session. Without waits, OK means only that this has
 * begun: see client_is_open(). Resolving the host may block in any case,
 * until watch->goes_on() returns false. */
enum status client_open(struct client *c) MUST_CHECK;
bool client_is_open(const struct client *c);

/* Send and receive what is possible. Wait at most TIMEOUT_MS for something to
 * do; 0: do not wait; -1: wait indefinitely. Returns early when bytes were sent
 * or received. */
enum status client_work(struct client *c, int timeout_ms) MUST_CHECK;
/* The descriptors that client_work() would wait for; returns how many. *AT_NS
 * is the latest time for the next client_work(); UINT64_MAX: never. */
#define CLIENT_POLLFDS 2
unsigned client_pollfds(
    struct client *c, struct pollfd out[CLIENT_POLLFDS], uint64_t *at_ns);

/*
 * Another way, for a program that watches thousands of clients. It adds each
 * socket that watch->opened() names to an epoll(7) once, edge-triggered, for
 * input and output. It passes the events of the two sockets (0: none) to this
 * function, and also calls it after a function took something and when the
 * time of client_pollfds() has come. All that can be moved without waiting is
 * moved.
 */
enum status client_ready(
    struct client *c, short control, short data) MUST_CHECK;

/*
 * Add a stream in the folder PATH of the session. Streams with the same path
 * are one trace; one of them is called "metadata". Streams are numbered from 0
 * in the order they are added: *NUMBER. After client_streams_sent() viewers see
 * the streams added so far.
 */
enum status client_add_stream(struct client *c, const char *path,
    const char *channel, unsigned *number) MUST_CHECK;
/* Of an open session: can the relay resume it? */
bool client_resumes(const struct client *c);
/* What the relay had of stream NUMBER when it was added; all zeros unless
 * client_resumes(). Waits for the answer, or E_BUSY. */
enum status client_written(
    struct client *c, unsigned number, struct relay_written *out) MUST_CHECK;
enum status client_streams_sent(struct client *c) MUST_CHECK;
/* DATA is copied. It has whole packets of metadata, or text; SIZE is below 128
 * MiB - 12. */
enum status client_metadata(struct client *c, unsigned number, const void *data,
    size_t size) MUST_CHECK;
/* Packets of a stream are numbered in the order of these calls. */
enum status client_packet(struct client *c, unsigned number,
    const struct client_packet *packet) MUST_CHECK;
/* A beacon: no later event of this stream is before TIMESTAMP, in cycles
 * (streaming 4.3). CTF_STREAM is the id of its stream class. */
enum status client_beacon(struct client *c, unsigned number, uint64_t timestamp,
    uint64_t ctf_stream) MUST_CHECK;
/* The stream ends before the session: nothing more is added to it. */
enum status client_close_stream(struct client *c, unsigned number) MUST_CHECK;
/* Is everything that was added sent and answered? */
bool client_is_idle(const struct client *c);
/* Wait until it is. */
enum status client_flush(struct client *c) MUST_CHECK;
/* Is anything not on the relay's disk yet? (BEGIN_DATA_PENDING, DATA_PENDING of
 * each stream, END_DATA_PENDING.) OK: *IS_PENDING is the answer. E_BUSY: the
 * answer has not arrived, call again; this function never waits. Do not call it
 * after client_finish(). */
enum status client_pending(struct client *c, bool *is_pending) MUST_CHECK;
/* End early: packets that wait are dropped, except one of which a part has
 * left, and the rate no longer applies. client_finish() may follow. */
void client_cut(struct client *c);
/* Flush; wait until the relay has everything on disk; close the streams and the
 * trace chunk. After the first call nothing more may be added. */
enum status client_finish(struct client *c) MUST_CHECK;

#endif
