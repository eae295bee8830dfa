/* SPDX-License-Identifier: MIT */
/* One file that a journal names, and its index file: cut to what is whole. Not
 * for other files than journal*.c. */
#ifndef STORE_JOURNAL_CUT_H
#define STORE_JOURNAL_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/idmap.h"
#include "common/publish.h"
#include "store/journal_load.h"

struct recovery {
	const struct journal_copy *copy;
	struct idmap by_ino; /* of the current root; inode -> slot */
	unsigned n_cut;
	/* A file that was made later is none of the journal's. */
	uint64_t started;	      /* ns since the epoch */
	const struct published *stop; /* NULL, or not 0: end early */
	char path[8 * 1024];	      /* of the current folder, for logs */
};

static inline bool
recovery_is_stopped(const struct recovery *rec)
{
	return rec->stop != NULL && published(rec->stop) != 0;
}

/* The regular file NAME in the folder DIR_FD has the inode of SLOT. When it is
 * to stop, the file may stay as it is: the journal stays, too. */
void journal_cut(struct recovery *rec, int dir_fd, const char *name,
    const struct journal_slot *slot);

#endif
