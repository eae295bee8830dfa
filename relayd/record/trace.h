/* SPDX-License-Identifier: MIT */
/*
 * A CTF trace of a session: the streams that a tracer added with one path. They
 * share one folder and one metadata, and viewers see them as one trace.
 *
 * A tracer may begin a trace again under the same path (`lttng untrack` and
 * `lttng track` of a running application with buffers per process). The new
 * trace has its own metadata, so it gets its own folder: the path with -1, -2,
 * ... at its end. All its streams go there, also in later trace chunks.
 *
 * A trace lives on its session's worker.
 */
#ifndef RELAYD_RECORD_TRACE_H
#define RELAYD_RECORD_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/idmap.h"
#include "common/list.h"
#include "common/relpath.h"
#include "common/status.h"

struct chunk;
struct session;
struct shard;
struct state_in;
struct state_out;

struct trace {
	struct list
	    node; /* session->traces or shard->traces, if it has no streams */
	uint64_t key;		     /* of ASKED, in session->traces.keys */
	struct trace *older, *newer; /* of the same key; NULL: none */
	struct relpath *asked;	     /* the path that the tracer sent */
	struct relpath *path;	     /* the folder: ASKED, or with a suffix */
	unsigned number;	     /* of the suffix; 0: none */
	unsigned refs;		     /* its streams */
	unsigned n_metadata;	     /* metadata streams that are not closed */
	bool has_data;		     /* a data stream was added */
	bool is_over;		     /* its last metadata stream was closed */
	struct idmap channels;	     /* keys of channel names that were added */
	uint64_t chunk_serial; /* of the newest chunk that has files of it */
	uint64_t live_id;      /* for viewers; 0: none yet */
	uint64_t counted;      /* in names_bytes: its memory, without streams */
};

/* How many names are tried for the folder of a trace that begins again, as for
 * a session's directory. */
#define TRACE_TAKEN_MAX 999

/*
 * The trace of a new stream CHANNEL with the path ASKED, with one more
 * reference: the newest trace with that path. A new trace begins if that one
 * has had a stream CHANNEL already, or if its metadata stream is closed, since
 * nothing can be added to it then. (The streams of a snapshot, metadata too,
 * come and go one after another: there a closed metadata stream begins no new
 * trace.) E_IO, E_LIMIT (no free name for its folder), E_NOMEM.
 */
enum status trace_join(struct trace **out, struct session *s,
    const struct relpath *asked, const struct relpath *channel) MUST_CHECK;
/* The stream could not be created: the tracer may add it again. */
void trace_not_added(struct trace *t, const struct relpath *channel);
void trace_added(struct trace *t, bool is_metadata);
/* The stream is gone, or could not be created. NULL is fine. */
void trace_leave(struct session *s, struct trace *t);

/* CLOSE_STREAM came for a metadata stream of T. */
void trace_close_metadata(struct trace *t);
/* A stream of T writes in the chunk C. */
void trace_enter(struct trace *t, const struct chunk *c);

/* The session has gone to another chunk: forget traces without streams, since
 * their names are free there. */
void trace_forget_old(struct session *s);
/* The session is destroyed and has no streams any more. */
void trace_forget_all(struct session *s);
/* All traces that S has not forgotten; then those of its streams name theirs,
 * and *OUT is one more reference. E_MALFORMED, E_NOMEM. */
void trace_put_all(struct state_out *o, const struct session *s);
enum status trace_get_all(struct session *s, struct state_in *in) MUST_CHECK;
void trace_put_name(struct state_out *o, const struct trace *t);
enum status trace_get_name(
    struct trace **out, struct state_in *in, struct session *s) MUST_CHECK;

/* Free some forgotten traces: one millisecond of work. True: there are more. */
#define TRACE_FREE_SLICE 1000
bool trace_free_some(struct shard *sh);

#endif
