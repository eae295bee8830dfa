/* SPDX-License-Identifier: MIT */
/* The working directory as a folder, for tests that only pass one on. */
#ifndef TESTS_STORE_ANY_FOLDER_H
#define TESTS_STORE_ANY_FOLDER_H

#include <fcntl.h>

#include "store/folder.h"
#include "tests/lib/unit.h"

/* One reference. */
static inline struct folder *
any_folder(void)
{
	struct folder_base *base;
	struct folder_place *place;
	struct folder *f;
	int fd;

	ck_assert_int_eq(folder_dir_open(&fd, AT_FDCWD, "."), OK);
	ck_assert_int_eq(folder_base_create(&base, fd), OK);
	ck_assert_int_eq(folder_place_create(&place, base, ""), OK);
	ck_assert_int_eq(folder_create(&f, place, "."), OK);
	folder_place_put(place);
	folder_base_put(base);
	return f;
}

#endif
