/* SPDX-License-Identifier: MIT */
/*
 * A stream file that somebody is still writing, and its index file (CTF index
 * 1.1, which LTTng 2.8 and later write beside it, also without a relay). The
 * index is the synchronisation: it is read under a shared flock(2), and only
 * bytes that a record covers are read. Both files stay open, so it does not
 * matter where they are moved, or that a ring removes them.
 */
#ifndef TOOLS_SEND_GROWN_H
#define TOOLS_SEND_GROWN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "ctf/index.h"
#include "tools/client/packet.h"

struct grown {
	struct list node;	   /* of its stream */
	uint64_t ino, born;	   /* of the index file */
	int index, data;	   /* -1: read, and closed */
	uint64_t at;		   /* bytes of the index that were taken */
	struct index_record first; /* another one: a ring began it anew */
	struct index_record next;  /* if HAS_NEXT */
	bool has_next;
	uint64_t seen; /* the last scan of the directories that found it */
};

/* Open the index file NAME of the directory INDEX_DIR, and the data file
 * without .idx in DIR. E_LATER: it has no record yet; E_REFUSED: not version
 * 1.1; E_MALFORMED: no index file; E_NOENT, E_IO. */
enum status grown_open(
    struct grown *g, int dir, int index_dir, const char *name) MUST_CHECK;
void grown_close(struct grown *g);

/* Is there another record? Then g->next is it. E_NOENT: not yet. */
enum status grown_look(struct grown *g) MUST_CHECK;
/* The packet of g->next; PACKET->done frees its bytes. E_NOENT: they are gone,
 * as a ring has overwritten them. E_LIMIT: no relay takes it; E_NOMEM; E_IO. */
enum status grown_take(
    struct grown *g, struct client_packet *packet) MUST_CHECK;
/* Skip it. */
void grown_skip(struct grown *g);

/* Has the file of G, which was just opened, the same records as when OLD was
 * closed? */
bool grown_is_same(const struct grown *g, const struct grown *old);
/* May somebody still write to it? True if the kernel does not say. */
bool grown_is_written(const struct grown *g);

#endif
