/* SPDX-License-Identifier: MIT */
/* A store in a scratch directory, with a session, a chunk and one stream's
 * files. Failures end the test. */
#ifndef TESTS_STORE_SHELF_H
#define TESTS_STORE_SHELF_H

#include <stddef.h>
#include <stdint.h>

#include "store/chunk.h"
#include "store/packet.h"
#include "store/session_dir.h"
#include "store/store.h"
#include "store/tracefile.h"

struct shelf {
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

struct relpath *path_of(const char *text);

/* Open only the store. */
void shelf_open(struct shelf *s, unsigned max_files);
/* Open also the session "h/s" with chunk 0 at its root and the stream "ust/0"
 * of channel CHANNEL. */
void shelf_open_stream(
    struct shelf *s, unsigned max_files, const char *channel, bool is_numbered);
void shelf_close(struct shelf *s);

struct chunk *shelf_chunk(
    struct shelf *s, uint64_t id, uint64_t time, const char *name);
struct chunk_family *shelf_family(
    struct chunk *c, const char *path, const char *channel, bool is_numbered);

/* A whole packet of SIZE bytes of value FILL. */
struct packet *shelf_packet(struct shelf *s, uint64_t seq, uint8_t fill,
    uint32_t size, uint32_t padding, bool has_record);

/* Bytes of a file in the scratch directory; -1: there is none. */
long shelf_size(const char *name);
/* Byte AT of a file. */
int shelf_byte(const char *name, long at);

#endif
