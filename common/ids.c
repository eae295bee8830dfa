/* SPDX-License-Identifier: MIT */
#include "common/ids.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

uint64_t
ids_random(void)
{
	uint64_t v = 0;
	ssize_t n;

	do
		n = getrandom(&v, sizeof(v), 0);
	while (n < 0 && errno == EINTR);
	/* getrandom(2) returns up to 256 bytes at once, or fails. Handles that
	 * can be guessed would be worse than no service. */
	if (n != (ssize_t)sizeof(v))
		abort();
	return v;
}

uint64_t
ids_handle(struct id_source *src, unsigned worker)
{
	uint64_t handle;

	assert(worker <= 0xff);
	do {
		uint64_t bits = src->is_sequence ? ++src->next : ids_random();

		handle = bits << 8 | worker;
	} while (handle == 0 || handle == UINT64_MAX);
	return handle;
}
