/* SPDX-License-Identifier: MIT */
/* What a recorder's metadata costs. */
#include <stdlib.h>

#include "tests/lib/unit.h"
#include "tools/ftrace/recorder_internal.h"

#define PIECE ((size_t)1 << 20)

/* Without files: what was refused is in no account, or each recorder that says
 * too much would take a piece of the memory of all for good. */
TEST(memory_is_counted_as_it_is_stored)
{
	struct recorders all = { .recordings = { .dir_fd = -1, .prefix = "" } };
	struct recorder r = { .all = &all, .fd = -1 };
	uint8_t *piece = calloc(1, PIECE);
	enum status st = OK;

	ck_assert_int_eq(
	    recording_create(&r.recording, &all.recordings, "a:1", 1), OK);
	while (st == OK && all.memory <= METADATA_BYTES_MAX)
		st = recorder_dialog_ops.metadata(&r, piece, PIECE);
	ck_assert_int_eq(st, E_LIMIT);
	ck_assert_uint_eq(all.memory, r.recording->metadata_size);
	ck_assert_uint_eq(all.memory, METADATA_BYTES_MAX);
	recording_destroy(r.recording);
	free(piece);
}
