/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4), for the digests of recorded trees. */
#ifndef TESTS_LIB_SHA256_H
#define TESTS_LIB_SHA256_H

#include <stddef.h>

/* In hex, with a NUL. */
void sha256(const void *p, size_t n, char out[65]);

#endif
