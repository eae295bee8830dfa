/* SPDX-License-Identifier: MIT */
/*
 * Recorded conversations between viewers and a relay: the files of
 * tests/vectors/live-dialogues (their format is in its README.md).
 */
#ifndef TESTS_LIB_DIALOGUE_H
#define TESTS_LIB_DIALOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/bytes.h"

/* One whole request or reply; the dialogue owns the bytes. */
struct dialogue_part {
	bool is_reply;
	uint64_t us; /* since the recording began */
	const uint8_t *p;
	size_t n;
};

struct dialogue {
	struct bytes file;
	struct dialogue_part *parts;
	size_t n;
};

/* NAME is without ".bin". Any failure ends the program. */
struct dialogue dialogue_read(const char *name);
void dialogue_free(struct dialogue *d);

#endif
