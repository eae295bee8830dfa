/* SPDX-License-Identifier: MIT */
/* A journal that another process left, in memory; not for other files than
 * journal*.c. */
#ifndef STORE_JOURNAL_LOAD_H
#define STORE_JOURNAL_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "store/journal_format.h"

struct journal_copy {
	struct journal_slot *slots; /* NULL: nothing to recover */
	uint32_t n;
	bool is_old;	      /* of the first version */
	bool is_of_this_boot; /* the lengths are true */
	uint32_t sync; /* what counts otherwise: enum journal_sync_kind */
};

/* The id of this boot, empty if the system does not tell it. */
void journal_boot(char out[JOURNAL_BOOT]);

/* Open the file NAME, if it can be a journal of this user: a regular file of
 * sane size. -1: it cannot, and *WHY says why; or *WHY is NULL: it is gone. */
int journal_open_left(int base_fd, const char *name, const char **why);

/* Read it. False: it cannot be read now; logged. What holds no journal gives an
 * empty copy. The caller frees SLOTS. */
bool journal_load(struct journal_copy *copy, int fd, const char *name);

#endif
