/* SPDX-License-Identifier: MIT */
/*
 * One stream that is written to a ring of files in test_store, and restarts:
 * the old and the next process are two stores, one after the other. Failures
 * end the test.
 */
#ifndef TESTS_STORE_ONE_STREAM_H
#define TESTS_STORE_ONE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "store/store.h"
#include "store/tracefile.h"

struct packet;
struct packet_log;
struct state_out;

#define ONE_STREAM_FILES 3
/* Of a packet: its bytes, and zeros after them. Its bytes have the value of its
 * number, plus one. */
#define ONE_STREAM_SIZE 100
#define ONE_STREAM_PADDING 28

extern struct one_stream {
	struct tracefile *tf;
	struct packet_log *log; /* NULL: without index */
	enum tracefile_index format;
	struct packet *held; /* whole packets that wait, by packet->next */
	uint64_t seq, number;
	bool has_wrapped;
	int reader; /* has the lock of the index file; -1: nobody has */
} one_stream;

/* Opens the store, too. */
void one_stream_begin(enum tracefile_index format);
/* In one like the store that is open. */
void one_stream_begin_in(enum tracefile_index format, enum store_sync sync);
/* Drops what waits. TF may be NULL. */
void one_stream_end(void);

/* Packets. They are taken over, and freed once they are written. */
struct packet *one_stream_packet(bool has_record);
void one_stream_append(struct packet *take_p);
void one_stream_hold(struct packet *take_p);
void one_stream_write_held(void);
/* A reader takes the lock of the index file, or releases it. */
void one_stream_lock(bool is_locked);
/*
 * p: a packet; d: one without a record. g, w: one waits behind a gap, or for
 * its record; f: they are written; x: they are given up. n: the next file.
 * L, U: a reader has the lock, or not. m: bytes without a packet. Others do
 * nothing.
 */
void one_stream_step(char what);

/* The end of a process, up to its state. */
void one_stream_settle(void);
void one_stream_put_state(struct state_out *o);
void one_stream_restart(void);
/* Have another process read P instead of what O has, and write a packet if it
 * can. All but the files is as before then. */
enum status one_stream_try_state(
    const struct state_out *o, const uint8_t *p, size_t n) MUST_CHECK;

#endif
