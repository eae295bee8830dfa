/* SPDX-License-Identifier: MIT */
/* One registry of directories for all stores of a test program. */
#ifndef TESTS_LIB_ONE_REGISTRY_H
#define TESTS_LIB_ONE_REGISTRY_H

#include <assert.h>
#include <stddef.h>

#include "store/dir_registry.h"

static inline struct dir_registry *
one_registry(void)
{
	static struct dir_registry *r;

	if (r == NULL) {
		enum status st = dir_registry_create(&r);

		assert(st == OK);
		(void)st;
	}
	return r;
}

#endif
