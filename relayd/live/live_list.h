/* SPDX-License-Identifier: MIT */
/*
 * What a reply lists: streams or sessions. Each is a reference until the socket
 * takes its record, which is encoded only then: a viewer that does not read
 * keeps 8 bytes of a stream, not the 4,371 of its record. Belongs to one live
 * worker. All zeros is an empty list.
 */
#ifndef RELAYD_LIVE_LIVE_LIST_H
#define RELAYD_LIVE_LIVE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* Bytes of records that are encoded at a time; a record is never torn. */
#define LIVE_LIST_PIECE (64 * 1024)

struct buf;
struct live_session;
struct live_stream;

struct live_list {
	void **items;
	uint32_t n, next; /* those below NEXT are encoded */
	bool has_sessions;
	unsigned minor; /* of the records of sessions */
};

/* Room for N streams, or sessions in the records of MINOR, in an empty list.
 * E_NOMEM. */
enum status live_list_streams(struct live_list *l, uint32_t n) MUST_CHECK;
enum status live_list_sessions(
    struct live_list *l, uint32_t n, unsigned minor) MUST_CHECK;
/* Add to the room; the list takes a reference. */
void live_list_add_stream(struct live_list *l, struct live_stream *s);
void live_list_add_session(struct live_list *l, struct live_session *s);

/* Append the next records to OUT, until it has LIVE_LIST_PIECE bytes or the
 * list ends. False: the list has ended, nothing was appended. */
bool live_list_encode(struct live_list *l, struct buf *out);
/* Bytes that the list keeps. */
size_t live_list_memory(const struct live_list *l);
/* Put what is left; the list is empty then. */
void live_list_free(struct live_list *l);

#endif
