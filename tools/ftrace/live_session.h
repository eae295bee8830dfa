/* SPDX-License-Identifier: MIT */
/*
 * A live session of a relay, by tools/client, on a libevent loop; nothing
 * blocks. What the relay does not take yet waits in a queue; what does not fit
 * there is refused. A failure is logged once and is final: then all is refused.
 * The loop's thread.
 */
#ifndef TOOLS_FTRACE_LIVE_SESSION_H
#define TOOLS_FTRACE_LIVE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/url.h"
#include "tools/ftrace/kernel_stream.h"

struct event_base;
struct live_session;

/* The queues of all sessions. One may take this part of what all leave free:
 * 102 MiB alone, enough for a relay that stops for a second at 100 MB/s; 7 MiB
 * if 64 take their part. So there is always space for another one. */
#define LIVE_QUEUE_BYTES (UINT64_C(512) << 20)
#define LIVE_QUEUE_PART 4
/* At the end, a relay that reacts to nothing for this time has failed. */
#define LIVE_SILENCE_MS 10000
/* The client gets metadata in pieces of this size. */
#define LIVE_PIECE_BYTES (64 << 10)
/* The live timer that the relay is given, and the interval of beacons. */
#define LIVE_TIMER_MS 100

struct live_session_config {
	struct event_base *base;	     /* borrowed */
	const struct url *url;		     /* copied */
	const struct url_address *addresses; /* of its host; copied */
	unsigned n_addresses;
	bool udp;
	const char *peer; /* for the log; borrowed */
	uint64_t *queued; /* bytes in the queues of all; borrowed */
	/* Of the session; copied. */
	const char *name, *hostname;
};

enum status live_session_create(struct live_session **out,
    const struct live_session_config *config) MUST_CHECK;
void live_session_destroy(
    struct live_session *s); /* without waiting; NULL is fine */

/* Adds a stream, which viewers see once there is metadata. *NUMBER counts from
 * 0. */
enum status live_session_add_stream(
    struct live_session *s, unsigned cpu, unsigned *number) MUST_CHECK;
/* Sets the metadata, once; from here on everything is sent. */
void live_session_metadata(struct live_session *s, struct buf *take_metadata);
/* False: the queue is full; the packet is lost. */
bool live_session_packet(
    struct live_session *s, unsigned number, const struct kernel_packet *p);
/* Nothing older than TIME will come in that stream. False: it cannot be sent
 * now, and is not promised. */
bool live_session_beacon(
    struct live_session *s, unsigned number, uint64_t time);
/* Sends what can be sent now. */
void live_session_work(struct live_session *s);

/* The memory of metadata that waits. */
uint64_t live_session_memory(const struct live_session *s);

/* Nothing more comes. The rest is sent while the relay takes it; after
 * LIVE_SILENCE_MS without progress the session fails. */
void live_session_finish(struct live_session *s);
/* Has everything been sent and closed, or has it failed? */
bool live_session_is_done(const struct live_session *s);
bool live_session_has_failed(const struct live_session *s);
/* What the relay has acknowledged. */
struct live_session_taken {
	uint64_t events, packets;
};
struct live_session_taken live_session_taken(const struct live_session *s);

#endif
