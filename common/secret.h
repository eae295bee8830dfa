/* SPDX-License-Identifier: MIT */
/* A secret that a peer chose or was given: whoever knows it may do what its
 * owner may. It is never logged. */
#ifndef COMMON_SECRET_H
#define COMMON_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECRET_LEN 16

struct secret {
	uint8_t b[SECRET_LEN];
};

/* The time that it takes does not depend on where they differ. */
static inline bool
secret_equal(const struct secret *a, const struct secret *b)
{
	unsigned differ = 0;

	for (size_t i = 0; i < SECRET_LEN; i++)
		differ |= a->b[i] ^ b->b[i];
	return differ == 0;
}

#endif
