/* SPDX-License-Identifier: MIT */
/*
 * What a directory that is being recorded has: traces and their streams, in
 * whatever files and trace chunks they are by now. A trace is its path below
 * the chunk ("ust/uid/0/64-bit"), a stream the ids of its class and instance
 * in the index records.
 */
#ifndef TOOLS_SEND_FOLLOWED_H
#define TOOLS_SEND_FOLLOWED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/list.h"
#include "common/status.h"
#include "tools/send/grown.h"
#include "tools/send/tsdl.h"

#define FOLLOWED_DEPTH_MAX 32
/* Files of one stream that stay open. */
#define FOLLOWED_OPEN_MAX 16

struct followed_trace {
	struct list node, streams;
	char *path;	 /* in the session */
	struct buf text; /* its metadata, so far */
	struct tsdl tsdl;
	size_t sent;	 /* bytes of TEXT */
	unsigned number; /* of the relay's stream of metadata */
	bool is_announced;
};

struct followed_stream {
	struct list node, files; /* struct grown */
	struct followed_trace *trace;
	char *name; /* of its first file, when it was first sent */
	uint64_t ctf_stream, ctf_instance;
	unsigned number; /* of the relay's stream */
	bool is_named;	 /* by an earlier run */
	bool is_announced;
	bool has_seq;
	uint64_t next_seq;   /* packet_seq_num that comes next */
	uint64_t marked_seq; /* by followed_mark() */
	uint64_t gap_scan;   /* a gap counts after this scan; 0: no gap */
	uint64_t floor;	     /* cycles: end of the last packet, or beacon */
	uint64_t beacon;     /* cycles: of the recorder; 0: none */
	uint64_t listed; /* the last text of beacons that names it; 0: none */
	uint64_t since;	 /* the text when it was found */
	bool is_busy;	 /* had a packet since the last beacons */
};

struct followed {
	int root;
	int notify; /* inotify(7): a directory has changed */
	struct list traces;
	unsigned n_streams, n_shown;
	uint64_t scans;
	struct buf beacons; /* follow_beacons.c: the file, as it was read */
	uint64_t n_beacons; /* different texts so far */
	bool has_gap;	  /* something may be in a file that is not found yet */
	uint64_t missing; /* packets that nobody will see: gaps, rings */
	/* Where streams continue, after an earlier run or connection. */
	struct followed_resume {
		char *path, *name; /* of the trace, of the stream; owned */
		uint64_t ctf_stream, ctf_instance, next_seq;
	} * resume;
	unsigned resume_n;
	char error[512];
};

/* E_IO: errno. */
enum status followed_open(struct followed *f, const char *directory) MUST_CHECK;
void followed_close(struct followed *f);

/* Note the names of the streams that are announced; IS_STORED: and that they
 * continue after what followed_mark() marked. E_NOMEM. */
enum status followed_note(struct followed *f, bool is_stored) MUST_CHECK;
/* Begin again: nothing is announced, and streams continue as was noted. E_IO:
 * errno; E_NOMEM. */
enum status followed_begin_again(
    struct followed *f, const char *directory) MUST_CHECK;
/* A stream continues there. The strings are copied. */
enum status followed_add_resume(
    struct followed *f, const struct followed_resume *r) MUST_CHECK;

/* Look for new files, and for more metadata. Not OK: f->error. */
enum status followed_scan(struct followed *f) MUST_CHECK;
/* Has a directory changed since the last call? */
bool followed_has_changed(const struct followed *f);
/* The file of S whose next record is to be sent. NULL: none is there. */
struct grown *followed_next(struct followed *f, struct followed_stream *s);
/* The packet of G is gone: count it. */
void followed_lose(
    struct followed *f, struct followed_stream *s, struct grown *g);
/* Does anybody still record? */
bool followed_is_written(const struct followed *f);
/* Mark what is sent by now, for followed_note(). */
void followed_mark(struct followed *f);

/* A path below the session without its chunk: "archives/CHUNK/ust" and
 * "CHUNK/ust" are "ust". */
const char *followed_trace_path(const char *path);

#endif
