/* SPDX-License-Identifier: MIT */
/*
 * A question to the retention thread about the directories that it has notes
 * of, and the answer: copies. Names are as peers sent them and must be escaped
 * when they are shown.
 */
#ifndef RELAYD_STATS_STORED_INFO_H
#define RELAYD_STATS_STORED_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/status.h"
#include "relayd/stats/info.h"

/* Why a directory was deleted. */
enum deleted {
#define DELETED(name, text) DELETED_##name,
#include "relayd/stats/reasons.tbl.h"
	DELETED_REASONS
};
extern const char *const deleted_names[DELETED_REASONS];

/* 0: no such limit. */
struct retention_limits {
	uint64_t max_use;   /* bytes */
	uint64_t keep_free; /* bytes */
	uint64_t keep_free_percent;
	uint64_t max_age_ns;
	uint64_t keep_at_least_ns;
};

struct stored_item {
	char *path, *session, *host;
	const char *kind;   /* constant */
	uint64_t number;    /* for "after" */
	uint64_t ino, born; /* identify it, also after a restart */
	uint64_t began_ns, ended_ns;
	uint64_t bytes;
	bool is_kept, is_active, is_unreadable, has_losses;
	enum deleted reason; /* of one that was, or would be, deleted */
};

struct stored_figures {
	struct retention_limits limits; /* that apply */
	bool has_disk;			/* the file system was asked */
	uint64_t use_bytes, free_bytes, total_bytes;
	uint64_t keep_free_bytes; /* what --keep-free means here */
	uint64_t directories, kept;
};

enum stored_request {
	STORED_SUMMARY, /* figures, and the oldest one that has ended */
	STORED_LIST,	/* those after a number, in their order */
	STORED_KEEP,	/* keep the one at a path, or no longer */
	STORED_VACUUM,	/* apply the limits now */
	STORED_READ,	/* a part of one that is finished, as a tar file */
};

struct archive;
struct loop;
struct message;

struct stored_info {
	struct stored_info *next; /* of those that wait */
	struct message *reply;	  /* for the answer; owned */
	struct loop *from;	  /* the loop that gets the reply */
	uint64_t question;	  /* the asker's number for it */
	enum stored_request kind;
	uint64_t after; /* LIST */
	unsigned limit; /* LIST: at most INFO_MAX */
	char host[256]; /* LIST: only of this host; "": of any */
	char *path;	/* KEEP; LIST: only what is there, and below it, NULL:
			   anywhere; owned */
	bool keeps;	/* KEEP */
	bool is_dry;	/* VACUUM: nothing is deleted */
	uint64_t until_ns; /* VACUUM: answer by then */
	/* READ: which one. The same question asks for all its parts: the thread
	 * keeps what it has open in ARCHIVE, which DROP frees. N bytes from AT
	 * on; 0 at first, when the size is not known. */
	uint64_t ino, born;
	struct archive *archive;
	void (*drop)(struct archive *a);
	uint64_t at;
	size_t n;
	/* The answer. E_NOENT: nothing is noted at that path; E_IO: the note
	 * could not be written; E_REFUSED: there are no notes; E_NOMEM. READ:
	 * E_NOENT: it has gone, or is going; E_BUSY: it is not finished;
	 * E_LATER: ask again; E_LIMIT: too many files; E_IO. */
	enum status st;
	struct stored_figures figures;
	struct stored_item *items;
	unsigned n_items;
	bool has_more;
	bool is_done;		/* VACUUM: nothing more is to be deleted */
	uint64_t deleted_bytes; /* VACUUM */
	struct buf data;	/* READ */
	/* READ, once it was OK: of the whole tar file; TAG is another one when
	 * a file is. PATH is set, too. */
	uint64_t size, tag;
};

struct stored_info *stored_info_create(void);
void stored_info_destroy(struct stored_info *i); /* NULL is fine */
/* Add a copy of *FROM with its strings. False: there are as many as fit
 * (has_more), or no memory (st). */
bool stored_info_add(struct stored_info *i, const struct stored_item *from);

#endif
