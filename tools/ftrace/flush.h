/* SPDX-License-Identifier: MIT */
/*
 * How full a ring buffer of this machine must be before its recorder gets
 * anything (the file buffer_percent of tracefs). SIGUSR2 moves one page, so a
 * busy CPU would fall behind if it had to be half full. With 0, or whatever is
 * less than two pages, the recorder of a CPU ends sooner or later: it was told
 * that there is something, the signal takes that away, and it takes "nothing"
 * for the end (trace-cmd 3.1.6). One thread.
 */
#ifndef TOOLS_FTRACE_FLUSH_H
#define TOOLS_FTRACE_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* Buffers: the main one, and instances. More are left as they are. */
#define FLUSH_BUFFERS_MAX 64

/* Full pages in a CPU's ring buffer that make its recorder take them. */
#define FLUSH_PAGES 3

struct flush_percent {
	const char *tracefs; /* borrowed; NULL: where it is mounted */
	struct flush_buffer {
		char path[320];
		char before[16]; /* what others have set */
		char ours[16];	 /* "": not written yet */
	} buffers[FLUSH_BUFFERS_MAX];
	unsigned n;
};

/* What is FLUSH_PAGES in a buffer of so many pages, or a little more; 0: it is
 * not known. */
unsigned flush_percent_of(uint64_t pages);
/* Set it for each buffer that there is now; again, as sizes change, and as
 * buffers go and come again under their names. E_IO, with errno: the main one's
 * cannot be changed. */
enum status flush_percent_set(struct flush_percent *p) MUST_CHECK;
/* As it was, where nobody has changed it meanwhile. */
void flush_percent_restore(struct flush_percent *p);

/*
 * The processes of recorders on this machine, one for each CPU, and what the
 * kernel still has for each (the file stats of its CPU in tracefs). One thread.
 */

/* Processes of recorders, one for each CPU. */
#define FLUSH_PROCESSES_MAX 8192
/* A signal moves one page. A process gets one in every other round, at most. */
#define FLUSH_ROUNDS_MAX 100

/* The path of a file of tracefs. */
#define FLUSH_PATH_ROOM 320

/* What a file stats says, of events. */
struct flush_stats {
	uint64_t waiting; /* in the ring buffer */
	uint64_t gone;	  /* read, or overwritten */
};

struct flush_targets {
	struct flush_target {
		int fd; /* a pidfd */
		long pid;
		int pipe_fd; /* what it reads, in that process */
		/* "": not known. It is not kept open: an instance of tracefs
		 * with an open file cannot be removed. */
		char stats[FLUSH_PATH_ROOM];
		uint64_t until; /* events GONE when this flush is over */
		bool is_done;
		/* In the last round; events GONE by then, if they are known. */
		bool is_at_rest, has_sent;
		uint64_t gone;
	} all[FLUSH_PROCESSES_MAX];
	unsigned n;
};

/* TEXT ends with a NUL. False: it is not as the kernel writes it. */
bool flush_stats_parse(const char *text, struct flush_stats *out) MUST_CHECK;

/* Find those that came, and forget those that ended; of the recorder PARENT, 0:
 * of any. True: some came. */
bool flush_targets_find(struct flush_targets *f, uint64_t parent);
void flush_targets_forget(struct flush_targets *f);
/*
 * Make them send all that waits now; FLUSH_ROUNDS_MAX times 1 ms at most. A
 * recorder is told when it waits for the kernel only: in the midst of what it
 * moves by itself, the page of the signal would overtake that. E_IO, with
 * errno: nobody could be told.
 */
enum status flush_targets_flush(struct flush_targets *f) MUST_CHECK;

#endif
