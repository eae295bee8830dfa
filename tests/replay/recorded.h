/* SPDX-License-Identifier: MIT */
/*
 * A recorded session (tests/vectors), cut into its messages. Recorded stream
 * handles 1, 2, 3 are replaced by those that a sequence of ids gives out on
 * worker 0.
 */
#ifndef TESTS_REPLAY_RECORDED_H
#define TESTS_REPLAY_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/lib/bytes.h"

#define RECORDED_WIRES 4

struct recorded_message {
	size_t start, end;
	uint32_t cmd;	 /* of a control connection */
	uint64_t handle; /* of a data packet */
	size_t reply, reply_len;
	/* Of the second and later rotations of a stream: bytes that the data
	 * connection had carried when it was sent. Peers let no rotation begin
	 * before the last is through. */
	size_t data_needed;
};

/* One connection. */
struct recorded_wire {
	char name[8];
	bool is_data;
	struct bytes sent, replies;
	struct recorded_message *messages;
	size_t n;
	/* while the timeline is read: bytes so far, streams that rotated */
	size_t said;
	uint64_t rotated;
};

enum recorded_kind { RECORDED_OPEN, RECORDED_SENT, RECORDED_FIN };

struct recorded_event {
	enum recorded_kind kind;
	unsigned wire;
	size_t end; /* bytes sent so far */
};

struct recorded {
	const char *name;
	/* A control connection comes right before its data connection. */
	struct recorded_wire wires[RECORDED_WIRES];
	unsigned n_wires;
	struct recorded_event *events;
	size_t n_events;
	size_t longest;	   /* message */
	struct bytes tree; /* expected-tree.txt, sorted by path */
};

/* Ends the program when there is no such recording. */
struct recorded *recorded_load(const char *name);
void recorded_free(struct recorded *r);

#endif
