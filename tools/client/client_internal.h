/* SPDX-License-Identifier: MIT */
/* What the files of struct client share. */
#ifndef TOOLS_CLIENT_CLIENT_INTERNAL_H
#define TOOLS_CLIENT_CLIENT_INTERNAL_H

#include "common/relpath.h"
#include "tools/client/client.h"
#include "tools/client/client_udp.h"
#include "tools/client/dialog.h"
#include "tools/client/held.h"
#include "tools/client/outbox.h"
#include "tools/client/pace.h"

#define CLIENT_MINOR_MIN 11
/* Requests that are no indexes: more of them are not asked at once. */
#define CLIENT_OTHERS 64
/* Bytes of packets that wait, unless one is larger: 1 MiB, as the relay reads
 * at a time, and headers. */
#define CLIENT_QUEUE_MAX (1024 * 1024 + CLIENT_PACKETS * DATA_HEADER_LEN)

/* Each begins when all that was asked before is answered. */
enum client_phase {
	CLIENT_NEW,
	CLIENT_CONNECT,
	CLIENT_VERSION,
	CLIENT_CONFIGURATION, /* with UDP only */
	CLIENT_SESSION,
	CLIENT_UDP, /* with UDP only */
	CLIENT_CHUNK,
	CLIENT_OPEN,
};

struct client_stream {
	uint64_t handle;
	uint64_t next_seq; /* packets given so far */
	bool has_handle;
	bool is_metadata;
	struct held held; /* with resending only */
	uint64_t lost;	  /* packets, so far as the relay has said */
};

/* One time of asking whether data is pending. */
struct client_round {
	unsigned next;	  /* 0: the beginning; stream + 1; the end */
	bool is_pending;  /* an answer so far */
	bool is_answered; /* the end is */
};

/* The steps of client_try_finish(). */
struct client_end {
	unsigned step;
	uint64_t began_ns; /* asking; 0: not yet */
	uint64_t again_ns; /* when to ask again; 0: now */
	unsigned rounds;
	bool has_asked;	  /* for losses; for the end of the chunk */
	unsigned closing; /* of metadata streams, then of the others */
};

struct client {
	struct client_config config;
	struct client_stats stats;
	enum client_phase phase;
	enum status failed;
	char error[512];

	struct url_address addresses[URL_ADDRESSES];
	unsigned n_addresses, address; /* the one in use */
	bool has_silent;	       /* one was left because of that: */
	unsigned silent;	       /* the first */
	int control, data;	       /* -1: none */
	bool control_full, data_full;  /* of what could be written */

	struct dialog dialog;
	struct outbox outbox;
	struct pace pace;
	struct client_udp udp;
	unsigned in_flight; /* indexes that are not answered */

	struct client_stream *streams;
	unsigned n_streams, cap_streams;
	uint64_t session_id;
	bool is_readable; /* control; edge-triggered */
	struct client_round round;
	struct client_end end;
	char path[RELPATH_MAX];
	uint64_t moved_ns; /* when anything last did */
};

/* Note a failure with its words; the first one counts. Returns ST. */
enum status client_fail(struct client *c, enum status st, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The same, then ": " and the text of errno. */
enum status client_fail_errno(struct client *c, const char *what);

/* May something else than an index be asked now? OK, E_BUSY or the failure. */
enum status client_may_ask(const struct client *c);
/* Tell who watches of a new socket. */
void client_opened(const struct client *c, int fd);

/* client_start.c: begin the next phase when this one is over. */
enum status client_advance(struct client *c) MUST_CHECK;
/* The control connection is there, or failed. */
enum status client_connected(struct client *c) MUST_CHECK;
/* Leave an address that has been silent for too long, if there is another. */
enum status client_connect_elsewhere(
    struct client *c, uint64_t now_ns) MUST_CHECK;

/* client_reply.c: every whole reply in c->dialog.in. */
enum status client_take_replies(struct client *c) MUST_CHECK;

#endif
