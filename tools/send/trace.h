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

#define TRACES_NAME_MAX 256

struct traces {
	struct disk_trace **traces;
	unsigned n;
	char name[TRACES_NAME_MAX]; /* of the first directory */
	char error[4096];	    /* what went wrong, one line */
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

/* The name of a session for DIRECTORY: its own. False: errno. */
bool traces_name(const char *directory, char out[TRACES_NAME_MAX]) MUST_CHECK;

#endif
