/* SPDX-License-Identifier: MIT */
/*
 * The writers' half of the viewers' model: random sessions in a live pair, and
 * what is known of each stream. One thread; model_begin() before all else.
 */
#ifndef TESTS_RELAYD_MODEL_H
#define TESTS_RELAYD_MODEL_H

#include <stdio.h>

#include "tests/lib/live_pair.h"
#include "tests/lib/unit.h"

#define SESSIONS 3 /* at a time */
#define STREAMS 160
#define PACKETS 128 /* of a stream */
#define PACKET_BYTES 64
#define NONE UINT64_MAX

struct m_stream {
	struct stream *t; /* NULL: closed */
	struct session *session;
	struct live_stream *live;
	bool is_metadata, is_published, is_closed;
	bool is_doomed;	  /* closed, and its files are being deleted */
	bool in_registry; /* publication delivered, close not yet */
	unsigned trace;
	/* data */
	uint64_t per_file, files; /* 0: no limit */
	uint64_t data, index;	  /* halves sent */
	uint64_t committed;	  /* packets committed */
	uint64_t in_chunk;	  /* of these, since the chunk began */
	uint64_t first_in_chunk;  /* position */
	uint64_t roll_at;	  /* NONE: no rotation is pending */
	bool is_deleted;	  /* its chunk was cleared already */
	uint64_t start, count;	  /* of the log */
	uint64_t last_time, beacon;
	bool has_beacon, has_class;
	struct live_pair_packet packets[PACKETS];
	uint64_t offsets[PACKETS];
	uint64_t log[PACKETS]; /* position -> number of the packet */
	/* metadata */
	uint64_t full, length; /* bytes: ever, and in this chunk */
};

struct m_session {
	struct session *session; /* NULL: none */
	struct live_session *live;
	uint64_t chunk;
	bool in_registry;
};

extern struct live_pair pair;
extern struct m_stream *streams;
extern unsigned n_streams;
extern struct m_session sessions[SESSIONS];
extern uint64_t seed, step; /* for messages */

#define CHECK(condition, ...)                                            \
	do {                                                             \
		if (!(condition)) {                                      \
			fprintf(stderr, "seed %llu step %llu line %d: ", \
			    (unsigned long long)seed,                    \
			    (unsigned long long)step, __LINE__);         \
			fprintf(stderr, __VA_ARGS__);                    \
			fprintf(stderr, "\n");                           \
			ck_abort_msg("%s", #condition);                  \
		}                                                        \
	} while (0)

/* What comes from random_below() and one_in() depends on the seed only. */
void random_seed(uint64_t this_seed);
uint64_t random_below(uint64_t n);
bool one_in(uint64_t n);

/* Byte AT of a trace's metadata. */
uint8_t metadata_byte(unsigned trace, uint64_t at);

void model_begin(uint64_t this_seed);
void model_end(void); /* after the viewers are gone */
/* Do one random thing on the writers' side. */
void writer_step(void);
void end_session(struct m_session *s);

#endif
