/* SPDX-License-Identifier: MIT */
/* What is told of a chunk that is settled. */
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "store/chunk.h"
#include "store/dir.h"
#include "store/folder.h"
#include "store/session_dir.h"
#include "store/store.h"
#include "store/stored.h"

/* Nothing will be written to an archived chunk, nor to a snapshot. */
static bool
is_told_of(const struct chunk *c)
{
	return c->dir->stored != NULL && c->fd >= 0 &&
	       (c->place == CHUNK_AT_ARCHIVE ||
		   (c->place == CHUNK_AT_NAME && c->dir->sharers != 0 &&
		       c->override_name != NULL));
}

void
chunk_note(struct chunk *c)
{
	char name[RELPATH_MAX], path[2 * RELPATH_MAX];
	struct stored_door *door = c->dir->store->config.stored;
	struct stored_note *n, from = {
		.kind = c->place == CHUNK_AT_ARCHIVE ? STORED_CHUNK
						     : STORED_SNAPSHOT,
		.is_new = !c->is_added_to,
		.began_ns = c->began_ns,
		.ended_ns = clock_wall_ns(),
		.bytes = c->bytes,
		.path = path,
		.host = c->dir->host,
		.session = c->dir->session,
	};

	if (!is_told_of(c) || chunk_place_name(c, c->place, name) != OK ||
	    dir_identify(&from.id, c->fd) != OK)
		return;
	snprintf(path, sizeof(path), "%s/%s", session_dir_text(c->dir), name);
	if (c->folders != NULL)
		from.dir = folder_place_readers(c->folders);
	n = stored_note_create(&from);
	if (n == NULL) {
		log_error("%s: not noted: out of memory", path);
		return;
	}
	/* Its bytes are its own now, not its session's. */
	session_dir_count(c->dir, -(int64_t)c->bytes);
	c->bytes = 0;
	door->tell(door, n);
}
