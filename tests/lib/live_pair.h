/* SPDX-License-Identifier: MIT */
/*
 * Both sides of a live session in one thread and without sockets: a shard with
 * real files in a directory of its own, and what one live worker has: what
 * viewers can see, and the viewers. News between them wait in a queue until the
 * test delivers them. Any failure of a call ends the program.
 */
#ifndef TESTS_LIB_LIVE_PAIR_H
#define TESTS_LIB_LIVE_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/viewer.h"
#include "relayd/live/viewers.h"

struct session;
struct shard;
struct stream;

struct live_pair_news {
	struct live_pair_news *next;
	enum live_event what;
	void *object; /* a reference */
};

struct live_pair {
	struct live_notifier notifier;
	struct shard *shard;
	struct viewers viewers;
	struct live_pair_news *first, **end; /* not yet delivered */
	unsigned n_waiting;		     /* published streams among these */
	struct account memory;
	struct published session_ids, viewer_ids;
	int base_fd;
	char dir[96];
	const char *host;  /* host name of new sessions */
	const void *woken; /* the last source; NULL: none since reset */
};

#define LIVE_PAIR_CLASS 2 /* CTF stream class of beacons */
/* Descriptors of trace files, all together. */
#define LIVE_PAIR_FILES_MAX 64

struct live_pair_packet {
	uint64_t seq; /* of the network and of the tracer, from 0 */
	uint64_t begin, end;
	uint32_t bytes;	       /* a multiple of 8 */
	uint64_t tag;	       /* each 8 bytes are TAG + their offset */
	const void *raw;       /* these bytes instead; NULL: TAG */
	uint64_t content_bits; /* 0: all of it */
	uint64_t ctf_stream;
};

void live_pair_open(
    struct live_pair *s, bool holds_replies, unsigned max_viewers);
/* All viewers must be destroyed before. */
void live_pair_close(struct live_pair *s);

/* The size of a file below the pair's directory; -1: there is none. PATTERN
 * is as for glob(3); the first file found counts. */
long live_pair_size(const struct live_pair *s, const char *pattern);
/* Remove BELOW in the pair's directory, as rm -r; "": the directory, too. */
void live_pair_remove(const struct live_pair *s, const char *below);

/* Deliver the oldest event; false: there is none. */
bool live_pair_deliver(struct live_pair *s);
void live_pair_deliver_all(struct live_pair *s);

/* A peer's session with chunk 0; LIVE_US of 0: not live. */
struct session *live_pair_session(
    struct live_pair *s, const char *name, uint32_t live_us, bool is_ctf2);
/* NULL: refused (there is no chunk, or the name is another's). */
struct stream *live_pair_stream(struct session *session, const char *path,
    const char *channel, uint64_t file_size, uint64_t file_count);

/* Send the data of a packet, its index, or both. */
void live_pair_data(struct stream *t, const struct live_pair_packet *p);
void live_pair_index(struct stream *t, const struct live_pair_packet *p);
void live_pair_packet(struct stream *t, const struct live_pair_packet *p);
void live_pair_beacon(struct stream *t, uint64_t time);
void live_pair_metadata(struct stream *t, const void *p, size_t n);

/* ROTATE_STREAMS of one stream: from packet SEQ on to CHUNK, or to none. */
void live_pair_rotate(
    struct stream *t, bool has_chunk, uint64_t chunk, uint64_t seq);
void live_pair_create_chunk(struct session *session, uint64_t chunk);
/* COMMAND: RELAY_CLOSE_*. */
void live_pair_close_chunk(
    struct session *session, uint64_t chunk, uint32_t command);

/* Serve one request. OUT is emptied first; then it gets the reply and what
 * follows it. */
enum live_outcome live_pair_ask(struct viewer *v, const struct live_request *q,
    const struct live_how *how, struct buf *out, struct live_held *held);
/* The same, but the reply is never held. */
enum live_outcome live_pair_tell(
    struct viewer *v, const struct live_request *q, struct buf *out);

/* The status and the numbers of a reply. */
struct live_index live_pair_index_of(const struct buf *out);
uint32_t live_pair_u32(const struct buf *out, size_t at);
uint64_t live_pair_u64(const struct buf *out, size_t at);
/* Is the data at AT the packet P? */
bool live_pair_is_packet(
    const struct buf *out, size_t at, const struct live_pair_packet *p);

#endif
