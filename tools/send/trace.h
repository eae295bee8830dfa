/* SPDX-License-Identifier: MIT */
/*
 * CTF 1.8 traces on disk: a folder with a file "metadata" (text, or packets of
 * text) and stream files beside it; files whose names begin with a dot, and
 * folders, are not streams.
 */
#ifndef TOOLS_SEND_TRACE_H
#define TOOLS_SEND_TRACE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/client.h"
#include "tools/client/mapped.h"
#include "tools/send/packets.h"
#include "tools/send/tsdl.h"

struct trace_stream {
	struct disk_trace *trace;
	char *name;
	struct packets packets;
	unsigned number;	     /* of the relay's stream */
	struct client_answered sent; /* of the last session */
};

struct disk_trace {
	char *path; /* in the session: relative, no slash at its ends */
	struct mapped metadata; /* as it is on disk */
	struct tsdl tsdl;
	struct trace_stream *streams;
	unsigned n_streams;
	unsigned metadata_number; /* of the relay's stream */
};

struct traces {
	struct disk_trace **traces;
	unsigned n;
	char name[256];	  /* of the first directory */
	char error[4096]; /* what went wrong, one line */
	/* Set by a signal handler: stop reading. NULL: never. */
	const volatile sig_atomic_t *stop;
};

/*
 * Add every trace at or below DIRECTORY. The path of a trace in the session is
 * its path below DIRECTORY; with OWN_FOLDER, preceded by DIRECTORY's own name.
 * A trace that is DIRECTORY itself has that name as its path. Not OK: t->error.
 * E_NOENT: no trace there. E_STOPPED: by t->stop; without t->error.
 */
enum status traces_add(
    struct traces *t, const char *directory, bool own_folder) MUST_CHECK;
void traces_free(struct traces *t);

/* Nanoseconds since the clock's origin; and back, rounded down. */
uint64_t trace_ns(const struct disk_trace *t, uint64_t cycles);
uint64_t trace_cycles(const struct disk_trace *t, uint64_t ns);

#endif
