/* SPDX-License-Identifier: MIT */
/*
 * The control and data endpoints of one session over the file system in memory,
 * without sockets. One thread, a clock that stands still until it is moved.
 */
#ifndef TESTS_RELAYD_ENDPOINTS_H
#define TESTS_RELAYD_ENDPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/account.h"
#include "common/buf.h"
#include "common/status.h"

#define ENDPOINTS_INPUTS 2
/* The stream of the N-th ADD_STREAM. */
#define ENDPOINTS_HANDLE(n) (UINT64_C(0x100) * (n))
#define ENDPOINTS_PACKET 100 /* bytes */

struct endpoints {
	struct shard *shard;
	struct control *control;
	struct ingest *inputs[ENDPOINTS_INPUTS]; /* data connections */
	uint64_t now;
};

extern struct endpoints endpoints;
/* Of all sessions. */
extern struct account endpoints_memory;

/* A session with chunk 0; LIVE_TIMER_US of 0: not live. */
void endpoints_begin(uint32_t live_timer_us, bool loses_when_full);
/* Ends the session, if the test did not; its memory is back. Does nothing if
 * none has begun. */
void endpoints_end(void);

/* Serve the request, which is emptied: the code at byte AT of the reply, 0 if
 * there is none. The connection may be refused, but no error must happen. */
uint32_t endpoints_serve(struct buf *ask, size_t at);
/* The codes of ADD_STREAM, SEND_INDEX, and commands of a stream and number. */
uint32_t endpoints_add_stream(
    const char *channel, uint64_t file_size, uint64_t file_count);
uint32_t endpoints_record(
    uint64_t stream, uint64_t seq, uint64_t packet_bits, uint64_t content_bits);
uint32_t endpoints_ask(uint32_t cmd, uint64_t stream, uint64_t seq);
/* A packet of SIZE bytes, each of which is FILL. */
enum status endpoints_data(
    unsigned input, uint64_t stream, uint64_t seq, uint8_t fill, uint32_t size);

/* Move the clock; the end of a cycle. */
void endpoints_wait(uint64_t ns);
void endpoints_cycle(void);

#endif
