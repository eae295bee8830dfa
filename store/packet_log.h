/* SPDX-License-Identifier: MIT */
/*
 * The log of the packets of one stream, in order.
 *
 * A viewer is a position in it: the number of a packet since the stream began,
 * whatever file holds it. One worker appends; any thread reads. Entries below
 * the published count never change, so readers take no lock and the writer
 * never waits for them. The start moves up when files of a ring are
 * overwritten, or when a chunk is cleared.
 *
 * The index files hold the log; the newest records are also kept in memory.
 */
#ifndef STORE_PACKET_LOG_H
#define STORE_PACKET_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/publish.h"
#include "common/ref.h"
#include "common/status.h"
#include "ctf/index.h"

struct state_in;
struct state_out;
struct folder;
struct log_file;

/* Changed by store/packet_log.c only. Any thread may read what is published,
 * and the channel and MINOR: packets from START on and below COUNT can be
 * read. */
struct packet_log {
	struct ref ref;
	struct published start, count;
	struct published has_beacon, beacon;
	struct published has_ctf_stream, ctf_stream;
	struct published is_ended;
	struct waiters waiters;
	struct published is_read; /* a viewer asked for a record */
	struct slot *recent;	  /* RECENT slots; NULL until is_read */
	struct published has_recent;
	struct published_pointer newest; /* struct log_file; NULL: none */
	/* writer only */
	struct log_file *oldest;
	uint64_t n_files;
	uint64_t last_time; /* end of the last packet, or last beacon */
	unsigned minor;
	bool is_numbered;
	bool has_instance; /* index 1.1: INSTANCE is that of the packets */
	uint64_t instance;
	char channel[];
};

/* What is at a position. The answer to a viewer also depends on the viewer, see
 * relayd/live/viewer_next_index.c. */
enum log_next {
	LOG_PACKET,   /* a packet; the next position is pos + 1 */
	LOG_INACTIVE, /* no packet yet, and none before the beacon's time */
	LOG_RETRY,    /* no packet yet */
	LOG_END,      /* no packet, and no more will follow */
};

struct log_view {
	uint64_t beacon;     /* LOG_INACTIVE: trace clock cycles */
	bool has_ctf_stream; /* a record or beacon was received */
	uint64_t ctf_stream; /* CTF stream class id */
};

/* The file that holds a position. */
struct log_place {
	struct folder *folder; /* a reference */
	uint64_t first;	       /* position of its first record */
	uint64_t next;	 /* first position of the next file, or UINT64_MAX */
	uint64_t number; /* of the tracefile */
	bool is_numbered;
};

/* LOG_FILE_MEMORY: the cost of a file in a log, with its folder if no other
 * file uses that. All logs together may have LIMIT files. Then each drops its
 * oldest for a new one, as in a ring, but keeps LOG_FILES_MIN. The files
 * stay on the disk, but viewers lose the old ones. 0, the default: any number.
 * Any thread. */
#define LOG_FILE_MEMORY 512
#define LOG_FILES_MIN 32
void packet_log_limit_files(uint64_t limit);

/* The functions up to packet_log_end() are for the worker that owns the log.
 * CHANNEL is copied; MINOR is the version of the index files. */
enum status packet_log_create(struct packet_log **out, const char *channel,
    bool is_numbered, unsigned minor) MUST_CHECK;
/* File NUMBER of FOLDER, in the chunk with the serial number CHUNK. It is
 * created in advance: adding and dropping files needs no memory. E_NOMEM. */
enum status packet_log_file_create(struct log_file **out, struct folder *folder,
    uint64_t number, uint64_t chunk) MUST_CHECK;
/* Free a file that was not added. NULL is fine. */
void packet_log_file_destroy(struct log_file *f);
/* Later packets are in that file. */
void packet_log_add_file(struct packet_log *log, struct log_file *take_f);
/* Drop file NUMBER of that chunk, in a ring, and all earlier files. */
void packet_log_drop_file(
    struct packet_log *log, uint64_t number, uint64_t chunk);
/* Drop all files of a chunk. */
void packet_log_drop_chunk(struct packet_log *log, uint64_t chunk);
/* Append a record that is in the index file. */
void packet_log_append(struct packet_log *log, const struct index_record *rec);
/* The first N records are those of a file that was there before, which was
 * added; LAST is the last of them. */
void packet_log_continue(
    struct packet_log *log, uint64_t n, const struct index_record *last);
/* No event older than TIME will come. A TIME before the last packet's end or
 * the last beacon is ignored. */
void packet_log_beacon(
    struct packet_log *log, uint64_t time, uint64_t ctf_stream);
/* A packet is arriving: the beacon is not valid any more. */
void packet_log_no_beacon(struct packet_log *log, uint64_t ctf_stream);
void packet_log_end(struct packet_log *log);

/* A restart (common/state.h): inline, or a number. *OUT is a reference; NULL:
 * there is none. Records are read from the files again. */
void packet_log_put_state(struct state_out *o, struct packet_log *log);
enum status packet_log_get_state(
    struct packet_log **out, struct state_in *in) MUST_CHECK;

/* Any thread. put(NULL) is a no-op. */
struct packet_log *packet_log_get(struct packet_log *log);
void packet_log_put(struct packet_log *log);

/* What is at POS, which is not below the start? Any registered RCU thread, as
 * for the rest. */
enum log_next packet_log_look(
    const struct packet_log *log, uint64_t pos, struct log_view *view);
/* The record at POS, if it is in memory. Records that come after the first call
 * are kept there. */
bool packet_log_recent(
    struct packet_log *log, uint64_t pos, struct index_record *rec);
/* The file that holds POS. E_NOENT: POS is below the start now. */
enum status packet_log_place(const struct packet_log *log, uint64_t pos,
    struct log_place *out) MUST_CHECK;

#endif
