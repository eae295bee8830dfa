/* SPDX-License-Identifier: MIT */
/* Tracks of a Perfetto trace: which slices are open, and the threads of a host.
 */
#ifndef TOOLS_PLUGIN_TRACKS_H
#define TOOLS_PLUGIN_TRACKS_H

#include <stdbool.h>
#include <stdint.h>

/* Slices of one track within each other: 32 KiB. Further ones are instants. */
#define TRACK_DEPTH_MAX 4096

/* Threads of a host, 7 MiB; then all are forgotten, and described again. */
#define THREADS_KNOWN_MAX 65536

enum {
	THREADS_BUCKETS = 4096,
	THREAD_NAME = 16, /* bytes of a task's name in the kernel, with NUL */
};

/* Zeroed, no slice is open. */
struct track {
	uint64_t uuid;
	bool is_described; /* in the trace */
	uint32_t depth, room;
	uint32_t deeper; /* slices beyond TRACK_DEPTH_MAX */
	uint64_t *open;	 /* the name of each slice */
};

/* Slice NAME begins. False: too deep, or no memory: it is none. */
bool track_push(struct track *t, uint64_t name);

/*
 * Slice NAME ends, with those that began later. Returns how many these are; 0
 * if it is not open.
 */
uint32_t track_pop(struct track *t, uint64_t name);

struct thread {
	struct thread *next;
	struct track track;
	int64_t tid, pid;
	bool knows_pid; /* otherwise PID is TID */
	char name[THREAD_NAME];
};

/* Zeroed, it is empty. */
struct threads {
	struct thread *buckets[THREADS_BUCKETS];
	unsigned n;
};

/* Thread TID, which is made if need be. NULL: no memory. */
struct thread *threads_get(struct threads *threads, int64_t tid);

/* It belongs to PID. If it did not before, it is a new one. */
void thread_set_pid(struct thread *thread, int64_t pid);
/* NAME is cut. If it is another one, the track is to be described again. */
void thread_set_name(struct thread *thread, const char *name);
void threads_free(struct threads *threads);

/* FNV-1a of the bytes of S, continued from HASH; begins with TRACKS_HASH. */
#define TRACKS_HASH 0xcbf29ce484222325U
uint64_t tracks_hash(uint64_t hash, const char *s);

#endif
