/* SPDX-License-Identifier: MIT */
/*
 * A studio with one live session: a metadata stream and a data stream of one
 * trace, and viewers that ask. For Check tests; one thread, a clock that
 * stands still until it is moved.
 */
#ifndef TESTS_RELAYD_SCENE_H
#define TESTS_RELAYD_SCENE_H

#include "tests/lib/studio.h"

#define SCENE_METADATA "a declaration;"
#define SCENE_METADATA_LEN 14
#define SCENE_PERIOD_US 200000

struct scene {
	struct studio studio;
	struct session *session;
	struct stream *metadata, *data;
	struct viewer *viewer; /* connected, acts as babeltrace2 */
	struct buf out;	       /* the last reply */
	struct live_held held;
};

extern struct scene scene;

/* Open the scene, with the metadata written and all news delivered. */
void scene_open(bool holds_replies);
/* The same; then the viewer attaches and fetches the metadata. */
void scene_open_attached(bool holds_replies);
void scene_close(void);

void scene_wait_ms(uint64_t ms);

struct viewer *scene_viewer(bool is_babeltrace2, uint32_t minor);
/* One request of the scene's viewer that arrives now and may be held. */
enum live_outcome scene_ask(uint32_t cmd, uint64_t id);
enum live_outcome scene_ask_full(const struct live_request *q);
/* The same, but never held. Returns the status. */
uint32_t scene_tell(uint32_t cmd, uint64_t id);
uint32_t scene_attach(struct viewer *v, uint32_t seek);
/* GET_NEXT_INDEX of the data stream, never held. */
struct live_index scene_index(void);

uint64_t scene_id(const struct stream *t); /* for viewers */
/* Packet SEQ of the stream: 64 bytes, time stamps from 100 * SEQ + 10 to 100 *
 * SEQ + 90. */
struct studio_packet scene_packet(uint64_t seq);

#endif
