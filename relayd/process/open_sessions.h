/* SPDX-License-Identifier: MIT */
/*
 * How many sessions are open, in the file "sessions" of the run directory, so
 * that the next process of the relay knows how many the end of this one cut,
 * whatever ended it. A tracer does not notice that its session was cut. Main
 * thread.
 */
#ifndef RELAYD_PROCESS_OPEN_SESSIONS_H
#define RELAYD_PROCESS_OPEN_SESSIONS_H

#include <limits.h>
#include <stdint.h>

struct open_sessions {
	int fd; /* locked; -1: not in use */
	char path[PATH_MAX];
	uint64_t written;
};

/*
 * Returns how many sessions the end of the process before cut. If the file
 * cannot be used, which is logged, or another relay has this run directory, it
 * returns 0, and the other functions do nothing.
 */
uint64_t open_sessions_take(struct open_sessions *s, const char *run_dir);
/* N are open now. Until the first call the file stays as it was. */
void open_sessions_set(struct open_sessions *s, uint64_t n);
/* The relay ends, and leaves N to the next one. With 0 the file is removed. */
void open_sessions_end(struct open_sessions *s, uint64_t n);

#endif
