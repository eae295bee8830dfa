/* SPDX-License-Identifier: MIT */
/*
 * A question to a thread about its sessions, streams and viewers, and the
 * answer: copies, which do not change afterwards. Names are as peers sent them
 * and must be escaped when they are shown.
 */
#ifndef RELAYD_STATS_INFO_H
#define RELAYD_STATS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "relayd/stats/stats.h"

/* Sessions or directories in one answer, and streams or viewers of one session;
 * if there are more, the answer says so. */
#define INFO_MAX 1000

/* What was recorded. */
struct sums {
	uint64_t received_bytes, received_packets;
	uint64_t written_bytes, written_packets;
	uint64_t index_records, metadata_bytes;
	uint64_t lost[LOSSES];
};
uint64_t sums_lost(const struct sums *s);

enum session_state {
	SESSION_ACTIVE,
	SESSION_WAITING, /* for its sender, which may come back (resume 2) */
	SESSION_ENDING,
	SESSION_CLOSED,
};

struct session_info {
	uint64_t id;
	unsigned worker, minor;
	enum session_state state;
	enum why_ended why; /* of one that is closed */
	char *host, *name, *path, *peer;
	uint32_t live_timer_us; /* 0: not live */
	bool is_snapshot, is_udp;
	uint64_t began_s, ended_s; /* since the Unix epoch; ended_s: closed */
	uint64_t duration_ns;
	unsigned streams, viewers;
	uint64_t held_bytes, sent_bytes;
	struct sums sums;
};

struct stream_info {
	char *name; /* folder/channel */
	bool is_metadata;
	uint64_t written_bytes, written_packets, lost_packets, held_bytes;
};

struct viewer_info {
	char *peer;
	unsigned streams; /* announced to it */
	uint64_t lost_packets;
};

/* Copies the strings. E_NOMEM: nothing has to be freed. */
enum status session_info_copy(
    struct session_info *out, const struct session_info *from) MUST_CHECK;
void session_info_clear(struct session_info *s);

enum info_kind {
	INFO_SESSIONS, /* those after an id, in order of ids */
	INFO_SESSION,  /* one, with its streams or viewers */
};

struct loop;
struct message;

/* A question to one thread, and its answer. */
struct info {
	struct info *next;     /* of a thread's questions */
	struct message *reply; /* for the answer; owned */
	struct loop *from;     /* the loop that gets the reply */
	enum info_kind kind;
	uint64_t after;	   /* SESSIONS: ids above this one */
	unsigned limit;	   /* SESSIONS: at most INFO_MAX */
	char host[256];	   /* SESSIONS: only of this host; "": of any */
	uint64_t id;	   /* SESSION */
	uint64_t question; /* the asker's number for it */
	unsigned thread;   /* likewise */
	/* The answer. */
	struct session_info *sessions;
	unsigned n_sessions;
	struct stream_info *streams;
	unsigned n_streams;
	struct viewer_info *viewers;
	unsigned n_viewers;
	bool has_more;	   /* there are more elements than fit */
	bool lacks_memory; /* the answer is incomplete */
};

struct info *info_create(void);
void info_destroy(struct info *i); /* NULL is fine */
/* Append an element of SIZE zero bytes to *ARRAY, which has *N elements, and
 * return it. ARRAY points to a pointer, as memory grows by doubling. NULL: out
 * of memory. */
void *info_grow(void *array, unsigned *n, size_t size);
/* Add an element, which owns its strings. NULL: no more fit (I->has_more is
 * set), or out of memory (I->lacks_memory). */
struct session_info *info_add_session(struct info *i);
struct stream_info *info_add_stream(struct info *i);
struct viewer_info *info_add_viewer(struct info *i);
/* A copy of TEXT for an added element; NULL: out of memory, and
 * I->lacks_memory is set. */
char *info_text(struct info *i, const char *text);

#endif
