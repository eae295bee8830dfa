/* SPDX-License-Identifier: MIT */
/*
 * A live pair with one live session: a metadata stream and a data stream of one
 * trace, and viewers that ask. For Check tests; one thread, a clock that
 * stands still until it is moved.
 */
#ifndef TESTS_RELAYD_FIXTURE_H
#define TESTS_RELAYD_FIXTURE_H

#include "tests/lib/live_pair.h"

#define FIXTURE_METADATA "a declaration;"
#define FIXTURE_METADATA_LEN 14
#define FIXTURE_PERIOD_US 200000

struct fixture {
	struct live_pair pair;
	struct session *session;
	struct stream *metadata, *data;
	struct viewer *viewer; /* connected, acts as babeltrace2 */
	struct buf out;	       /* the last reply */
	struct live_held held;
};

extern struct fixture fixture;

/* Open the fixture, with the metadata written and all events delivered. */
void fixture_open(bool holds_replies);
/* The same; then the viewer attaches and fetches the metadata. */
void fixture_open_attached(bool holds_replies);
void fixture_close(void);

void fixture_wait_ms(uint64_t ms);

struct viewer *fixture_viewer(bool is_babeltrace2, uint32_t minor);
/* One request of the fixture's viewer that arrives now and may be held. */
enum live_outcome fixture_ask(uint32_t cmd, uint64_t id);
enum live_outcome fixture_ask_full(const struct live_request *q);
/* The same, but never held. Returns the status. */
uint32_t fixture_tell(uint32_t cmd, uint64_t id);
uint32_t fixture_attach(struct viewer *v, uint32_t seek);
/* GET_NEXT_INDEX of the data stream, never held. */
struct live_index fixture_index(void);

uint64_t fixture_id(const struct stream *t); /* for viewers */
/* Packet SEQ of the stream: 64 bytes, time stamps from 100 * SEQ + 10 to 100 *
 * SEQ + 90. */
struct live_pair_packet fixture_packet(uint64_t seq);

#endif
