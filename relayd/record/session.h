/* SPDX-License-Identifier: MIT */
/*
 * A relay session: what one control connection created (streaming 3.2), its
 * streams, its place on disk and its trace chunks. After its control connection
 * has ended it stays as long as bytes may still come for records that are here.
 *
 * A session lives on one worker, and only that thread uses it. No sockets.
 */
#ifndef RELAYD_RECORD_SESSION_H
#define RELAYD_RECORD_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/idmap.h"
#include "common/list.h"
#include "common/relpath.h"
#include "common/status.h"
#include "proto/relay.h"
#include "relayd/stats/info.h"
#include "relayd/stats/relay_event.h"
#include "store/packet.h"

struct chunk;
struct control;
struct live_session;
struct old_root;
struct session_dir;
struct session_udp;
struct shard;
struct siblings;
struct state_in;
struct state_out;
struct stream;

/* Memory of one session's whole packets that wait for their records or their
 * turn. Above it the session's data sockets are not read. 64 MiB, like the
 * window_bytes of the UDP transport, or a quarter of max_memory if that is
 * less. */
#define SESSION_WAITING_MAX (UINT64_C(64) << 20)
/* Bytes of memory that a stream counts as. All streams may use half of
 * max_memory, divided equally among the workers: an account of its own. What is
 * kept for closed streams until their trace chunk is complete counts too. */
#define STREAM_MEMORY (UINT64_C(3) << 10)
/* Records of one session that may wait for their bytes: 32 MiB of memory, far
 * more than sockets can hold. */
#define SESSION_RECORDS_MAX 131072
/* Bytes of memory of one of them, with its entry in the table. */
#define RECORD_MEMORY (sizeof(struct packet) + 32)

/* The sum of FILE_WEIGHT of a worker's sessions, whatever --max-memory is: 512
 * files, which take 0.2 s on a slow disk when the daemon stops. Above it only
 * sessions are read that have less than the second: 4 files. */
#define SHARD_FILES_WAITING_MAX (UINT64_C(32) << 20)
#define SESSION_FILES_FAIR (UINT64_C(256) << 10)
/* One read of a data connection brings at most this many packets that fill a
 * file, or this many bytes of small packets, whose headers take about 1 ms. */
#define FILES_READ 16
#define SESSION_READ_MAX (UINT64_C(128) << 10)
/* Open trace chunks of one tracing session: the current one, the next one of a
 * rotation, and, while descriptors are left for that (FDS_EXTRA), older ones
 * that a slow stream has not left, and one that is being deleted. lttng begins
 * no rotation before the last one is complete. */
#define SESSION_CHUNKS 2
#define SESSION_CHUNKS_MAX 16
/* Data connections of one session: tracers have one, and perhaps a second while
 * the first is dying. Those after the first count in FDS_EXTRA. */
#define SESSION_INPUTS_MAX 8
/* A time in an index that is this much later than the latest one counts only if
 * the session's next time confirms it. In ticks of the tracer's clock: one
 * minute. Tracers with a live timer flush every few seconds, and the indexes of
 * one session come in the order in which they were sent. */
#define SESSION_JUMP_TICKS UINT64_C(60000000000)

/* Sessions of one worker whose senders have left and may come back. For one
 * more the oldest ends: its sender goes on in its files, and only its viewers
 * notice. */
#define SESSION_PARKED_MAX 64

/* How long a gap in the numbers may last while another data connection may fill
 * it, and how long a session without its control connection waits for more
 * bytes. */
#define GAP_NS (1 * NS_PER_S)
#define LINGER_NS (10 * NS_PER_S)

/*
 * A source of a session's packets, as the session sees it. It is a member of a
 * data connection's endpoint (struct ingest), which knows the session.
 */
struct session_input {
	struct list node; /* session->inputs.list, then shard->work.orphans */
	bool is_extra;	  /* counted in FDS_EXTRA */
	const struct session_input_ops *ops;
};
struct session_input_ops {
	/* Inside a header or a packet? */
	bool (*is_mid_message)(const struct session_input *in);
	/* The session is destroyed; IN is out of its list already. */
	void (*session_gone)(struct session_input *in);
};

/* What a session's packets use while they wait: session_count_waiting() and
 * intake.c. */
struct session_waiting {
	uint64_t bytes;	     /* what waiting packets count as */
	uint64_t file_bytes; /* of these: FILE_WEIGHT */
	uint64_t n_records;  /* records that wait for their bytes */
	uint64_t read_max;   /* bytes to read from a data connection at once */
	bool is_full;	     /* too much waits: inputs are not read */
};

/* The traces of a session: trace.c. */
struct session_traces {
	/* struct trace, by node, of those without streams: in the current chunk
	 * and in older ones. The latter are freed in slices. */
	struct list unused, old;
	struct list forget_node; /* shard->traces.forgetting */
	struct idmap keys;	 /* key of a path -> struct trace */
	uint64_t names_bytes;	 /* memory of traces without streams */
};

/* The time of a session, as session_note_time() has it. */
struct session_time {
	/* The largest timestamp_end so far, and one too much later to count; 0:
	 * none. */
	uint64_t latest, ahead;
};

/* Its trace chunks: siblings.c. */
struct session_chunks {
	struct chunk *current, *pending; /* PENDING is closed next */
	bool has_rotated;
};

/* BEGIN_DATA_PENDING and END_DATA_PENDING: stream_is_asked(). */
struct session_round {
	uint64_t number;    /* of the last BEGIN_DATA_PENDING, from 1 */
	unsigned n_checked; /* streams that were asked about since */
};

struct session_inputs {
	struct list list; /* struct session_input, by node */
	bool had_any;	  /* a data connection was bound before */
};

/* See session_on_gone(). */
struct session_gone {
	void (*call)(void *take_what, void *arg);
	void *what, *arg;
};

/* What is counted and reported about a session: session.c. */
struct session_report {
	struct sums sums;
	uint64_t began_s, began_ns;
	uint64_t last_loss_ns; /* when a loss was last reported */
	uint64_t unreported;   /* packets lost since then */
	enum why_ended why;    /* of one that has ended */
	bool is_counted;       /* in the statistics of sessions */
	bool has_told_end;     /* to the viewers */
};

struct session {
	struct list shard_node, siblings_node, ending_node;
	struct list beacons_node; /* shard->work.beacons */
	uint64_t beacons_ns;	  /* if it is there: when they are written */
	struct shard *shard;
	struct siblings *siblings;
	uint64_t id;	/* ours, from 1 */
	unsigned minor; /* of the protocol, frozen at CREATE_SESSION */
	struct relay_create_session request; /* as decoded; owns its names */
	char *tag;		   /* "peer=... host=... session=..." */
	struct old_root *old_root; /* of a peer before 2.11; NULL: none */
	struct live_session *live; /* what viewers see of it; may be NULL */
	struct session_time time;
	struct session_dir *dir;
	struct session_chunks chunks;
	struct list streams; /* struct stream, by session_node */
	unsigned n_streams;
	bool has_index; /* minor >= 4 and no snapshot */
	bool is_ended;	/* the control connection is gone */
	struct session_round round;
	struct session_inputs inputs;
	struct session_udp *udp; /* NULL: packets come over TCP */

	struct session_waiting waiting;
	struct session_traces traces;
	struct session_report report;

	uint64_t linger_until_ns;
	struct session_gone gone;
	/* The endpoint of its control connection, which sets this; NULL: none
	 * any more. */
	struct control *control;
	/* The sender may come back until then (session_park()); 0: it has not
	 * left. */
	uint64_t parked_until_ns;
};

/* Call GONE when the session is destroyed: until then it has descriptors. */
static inline void
session_on_gone(struct session *s, void (*gone)(void *take_what, void *arg),
    void *take_what, void *arg)
{
	s->gone = (struct session_gone){ gone, take_what, arg };
}

/*
 * CREATE_SESSION, decoded: TAKE_REQUEST's names are taken over (also on
 * failure). If it may be resumed, *OUT may be a session that exists
 * (session_resume()). E_REFUSED: the current chunk is unknown, the path is too
 * long, or the time cannot be a date; E_IO: the directory cannot be made;
 * E_NOMEM. PEER, for logs, is copied.
 */
enum status session_create(struct session **out, struct shard *sh,
    struct relay_create_session *take_request, unsigned minor,
    const char *peer) MUST_CHECK;

/* A stream was added in the folder PATH. Before 2.4 CREATE_SESSION has no
 * names: logs and viewers then name the session after the folder of its first
 * stream. */
void session_found_place(struct session *s, const struct relpath *path);

/* The output path below the base; "" for peers before 2.11. */
const char *session_path(const struct session *s);

/*
 * The control connection is gone; ABORTED: by an error. The session is kept if
 * its sender may come back (session_park()). Otherwise it ends: whole packets
 * are committed. Streams that wait for bytes stay, all others close. The
 * session may be gone on return.
 */
void session_end(struct session *s, bool aborted);
/* The same if it must end. */
void session_close(struct session *s, bool aborted);

/*
 * session_resume.c (resume 2 to 4). Keep S for its sender; false: it may not be
 * resumed, or its streams are closed.
 */
bool session_park(struct session *s) MUST_CHECK;
/* S waits no longer, if it did. */
void session_leave_park(struct session *s);
/* End those whose time is over. Returns when to call it again (ns); UINT64_MAX:
 * none is kept. */
uint64_t session_end_parked(struct shard *sh, uint64_t now_ns);
/*
 * REQUEST, which may be resumed, names a session of SH: let its sender go on,
 * with new handles and numbers from 0 on; what was received and is not written
 * is dropped. E_NOENT: there is none. E_REFUSED: it is a snapshot,
 * or recovery is not over; E_NOMEM.
 */
enum status session_resume(struct session **out, struct shard *sh,
    const struct relay_create_session *request, unsigned minor,
    const char *peer) MUST_CHECK;
/* Are files continued that its streams find? Those of a window are not: no
 * later window would delete them. */
bool session_continues_files(const struct session *s);
/* For logs: S has another peer. */
enum status session_set_peer(struct session *s, const char *peer) MUST_CHECK;
/* Is a stream open? */
bool session_has_open_stream(const struct session *s);

/*
 * An index says that its stream has reached TIME. The time of a session
 * protects traces that are published later (live 4.11), and one false time must
 * not end that. So a time much later is not trusted at once. A time much
 * earlier is, since it only makes viewers wait a little longer.
 */
void session_note_time(struct session *s, uint64_t time);

/* Close all streams, also those that wait for bytes, and free the session. */
void session_destroy(struct session *s);
/* The same for a session that has ended. False: the time slice has expired
 * (shard_is_late()), call it again. */
bool session_finish(struct session *s) MUST_CHECK;

/* Count N lost packets of the session and report them. */
void session_lost(struct session *s, enum loss cause, uint64_t n);

/* Destroy the session if it has ended and has no stream left. True: it is
 * gone. */
bool session_reap(struct session *s);

/* The session's stream with that handle; NULL: it has no such stream. */
struct stream *session_stream(const struct session *s, uint64_t handle);

/* A packet has arrived, so more may follow: an ended session stays for another
 * LINGER_NS. */
void session_linger(struct session *s);
/* Is a data connection in the middle of a packet? */
bool session_is_receiving(const struct session *s);

/* A data connection is to be bound. E_LIMIT: the session has too many, or no
 * descriptor is left for another one. */
enum status session_input_came(
    struct session *s, struct session_input *in) MUST_CHECK;
/* The descriptor of a data connection, bound or not any more, is closed. */
void session_input_done(struct session_input *in);
/* A data connection is gone and out of the list. The session may be gone on
 * return. */
void session_input_gone(struct session *s);

/* Can bytes still come? */
static inline bool
session_may_receive(const struct session *s)
{
	return !s->inputs.had_any || !list_empty(&s->inputs.list);
}

/* Packets that count as so many bytes more (< 0: less), of which FILE_BYTES are
 * FILE_WEIGHT, wait for their record or turn. */
void session_count_waiting(
    struct session *s, int64_t bytes, int64_t file_bytes);
/* Memory is short: give up packets whose records have not come since SINCE_NS
 * (intake_give_up()), until the session holds only its fair share. Returns the
 * bytes. */
uint64_t session_give_up(struct session *s, uint64_t since_ns);

/* Peers refuse a path of this many bytes or more in a reply, with its NUL
 * (streaming 3.5.4, 3.15, 8.2). */
#define SESSION_REPLY_PATH 4096

/*
 * Unless the chunk ID exists: finish deleting chunks whose files are where
 * those of the new one will be, or whose descriptors it needs. False: the time
 * slice has expired, the command must come again.
 */
bool session_finish_deletions(struct session *s, uint64_t id) MUST_CHECK;
/* Commands on trace chunks (streaming 5.5). They return the code of the reply;
 * unless it is RELAY_OK, the connection ends after the reply. */
uint32_t session_create_chunk(
    struct session *s, const struct relay_create_chunk *q) MUST_CHECK;
/* On RELAY_OK, PATH (RELPATH_MAX bytes) is the path in the reply. */
uint32_t session_close_chunk(struct session *s,
    const struct relay_close_chunk *q, char *path) MUST_CHECK;
/* E_LATER: the time slice has expired after *DONE positions: call it again with
 * this, and with the same request. OK: *CODE is set. */
enum status session_rotate(struct session *s, struct relay_rotate *rot,
    uint32_t *done, uint32_t *code) MUST_CHECK;

/* BEGIN_DATA_PENDING and END_DATA_PENDING (streaming 3.11). True: some stream
 * was not asked about in between. Both take the same time for any number of
 * streams. */
void session_begin_pending(struct session *s);
bool session_end_pending(const struct session *s);

/* STREAMS_SENT: publish the streams that were added. */
void session_publish(struct session *s);

/* The stream path of a peer before 2.11, made by the rules of streaming 5.3. */
enum status session_old_path(struct relpath **out,
    const struct relay_create_session *request, const struct relpath *path,
    uint64_t created) MUST_CHECK;

/* Report an event of the session, except losses and viewers. */
void session_report(struct session *s, enum relay_event_kind kind);

/* Answer the question I about this shard's sessions. */
void shard_answer(const struct shard *sh, struct info *i);

/* S, after its siblings; and a session of SI, whose viewers are told of it. On
 * failure it was closed. E_MALFORMED, E_NOMEM. */
void session_put_state(struct state_out *o, const struct session *s);
enum status session_get_state(
    struct siblings *si, struct state_in *in) MUST_CHECK;
/*
 * For its connections: names S, which shard_put_state() wrote; NULL is fine.
 * *OUT is borrowed. E_MALFORMED: it could not go on, so its connection cannot
 * either. The owner of its control connection calls session_on_gone() again,
 * and each data connection session_input_again().
 */
void session_put_name(struct state_out *o, const struct session *s);
enum status session_get_name(
    struct session **out, struct state_in *in) MUST_CHECK;
/* A data connection is bound again to S; IN, in no list, says whether it is
 * extra. E_LIMIT: as session_input_came(). */
enum status session_input_again(
    struct session *s, struct session_input *in) MUST_CHECK;

/* siblings.c: peers before 2.11 have no chunks. Create the one that is the
 * output directory. */
enum status session_anonymous_chunk(struct session *s) MUST_CHECK;

/* session_path.c: bind to the chunk of a sibling, or to a directory
 * (streaming 3.5.5). */
enum status session_find_place(struct session *s) MUST_CHECK;

/* session_path.c: the session's path below the output directory
 * (streaming 5.2). E_REFUSED, E_NOMEM. */
enum status session_wanted_path(struct relpath **out,
    const struct relay_create_session *request, bool by_session) MUST_CHECK;

#endif
