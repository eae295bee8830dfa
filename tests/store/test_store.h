/* SPDX-License-Identifier: MIT */
/* A store in a scratch directory, with a session, a chunk and one stream's
 * files. Failures end the test. */
#ifndef TESTS_STORE_TEST_STORE_H
#define TESTS_STORE_TEST_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "common/state.h"
#include "store/chunk.h"
#include "store/packet.h"
#include "store/session_dir.h"
#include "store/store.h"
#include "store/tracefile.h"

struct test_store {
	int base;
	struct published memory;
	struct store *store;
	struct session_dir *dir;
	struct chunk *chunk;
	struct chunk_family *family;
	unsigned n_released; /* chunks without references */
	bool keeps_released; /* leave them to the test: last_released */
	struct chunk *last_released;
};

extern struct test_store test_store;

struct relpath *path_of(const char *text);

/* Open only the store. */
void test_store_open(unsigned max_files);
/* Open also the session "h/s" with chunk 0 at its root and the stream "ust/0"
 * of channel CHANNEL. */
void test_store_open_stream(
    unsigned max_files, const char *channel, bool is_numbered);
void test_store_close(void);

struct chunk *test_store_chunk(uint64_t id, uint64_t time, const char *name);
/* What is called when its last reference goes. */
void test_store_released(struct chunk *take_c, void *arg);
struct chunk_family *test_store_family(
    struct chunk *c, const char *path, const char *channel, bool is_numbered);

/* A whole packet of SIZE bytes of value FILL. */
struct packet *test_store_packet(uint64_t seq, uint8_t fill, uint32_t size,
    uint32_t padding, bool has_record);

/* The store of a process that has nothing yet, with a registry of its own. */
struct store *test_store_next(void);
void test_store_end_next(struct store *take_s);
/* Read the N bytes at P, those of O or like them, with copies of the
 * descriptors of O. */
enum status test_store_read_state(struct state_in *in,
    const struct state_out *o, const uint8_t *p, size_t n) MUST_CHECK;

/* Bytes of a file in the scratch directory; -1: there is none. */
long test_store_size(const char *name);
/* Byte AT of a file. */
int test_store_byte(const char *name, long at);

#endif
