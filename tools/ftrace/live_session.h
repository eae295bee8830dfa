/* SPDX-License-Identifier: MIT */
/*
 * A live session of a relay, by tools/client, on a loop of libevent: nothing
 * here waits. What the relay does not take yet stays in a queue; what finds no
 * room there is the caller's loss. A failure is logged once, and final: then
 * everything is refused. The loop's thread.
 */
#ifndef TOOLS_FTRACE_LIVE_SESSION_H
#define TOOLS_FTRACE_LIVE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/url.h"
#include "tools/ftrace/ctf_stream.h"

struct event_base;
struct live_session;

/* The queues of all sessions. One may have a part of what all leave free: 102
 * MiB if nobody else needs any, so that a relay that hangs for a second costs
 * nothing at 100 MB/s; 7 MiB if 64 need as much as they get; and there is room
 * for another at any time. */
#define LIVE_QUEUE_BYTES (UINT64_C(512) << 20)
#define LIVE_QUEUE_PART 4
/* At the end nothing moves for so long: then the relay is taken for dead. */
#define LIVE_SILENCE_MS 10000
/* Metadata is given to the client in such pieces. */
#define LIVE_PIECE_BYTES (64 << 10)
/* The live timer that the relay is told, and how often beacons are due. */
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
void live_session_destroy(struct live_session *s); /* at once; NULL is fine */

/* A stream; viewers see it once there is metadata. *NUMBER counts from 0. */
enum status live_session_add_stream(
    struct live_session *s, unsigned cpu, unsigned *number) MUST_CHECK;
/* Once. All that waits for it goes out from here on. */
void live_session_metadata(struct live_session *s, struct buf *take_metadata);
/* False: there is no room, and it is lost. */
bool live_session_packet(
    struct live_session *s, unsigned number, const struct ctf_packet *p);
/* Nothing older than TIME comes on that stream. False: it could not be said
 * now, and nothing was promised. */
bool live_session_beacon(
    struct live_session *s, unsigned number, uint64_t time);
/* Send what can be sent now. */
void live_session_work(struct live_session *s);

/* The memory of its metadata, as long as that waits. */
uint64_t live_session_memory(const struct live_session *s);

/* Nothing more comes. What waits goes out as long as anything moves; after
 * LIVE_SILENCE_MS without, it fails. */
void live_session_finish(struct live_session *s);
/* Is everything at the relay and closed, or has it failed? */
bool live_session_is_done(const struct live_session *s);
bool live_session_has_failed(const struct live_session *s);
/* What the relay has said that it has. */
struct live_session_taken {
	uint64_t events, packets;
};
struct live_session_taken live_session_taken(const struct live_session *s);

#endif
