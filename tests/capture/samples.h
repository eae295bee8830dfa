/* SPDX-License-Identifier: MIT */
/* One packet of each kind, for the tests that look at all of them. */
#ifndef TESTS_CAPTURE_SAMPLES_H
#define TESTS_CAPTURE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "tests/lib/bytes.h"
#include "tools/capture/record.h"

struct sample {
	const char *name;
	uint16_t link_type;
	const char *hex;
};

extern const struct sample samples[];
extern const size_t samples_n;

/* The bytes, exactly; the caller frees them. */
struct bytes sample_bytes(const struct sample *s);

/* A record of them, with room for them alone; the caller frees it. */
struct record *sample_record(const struct bytes *b, uint16_t link_type);

#endif
