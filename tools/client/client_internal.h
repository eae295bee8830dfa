/* SPDX-License-Identifier: MIT */
/* Shared by the files of struct client. */
#ifndef TOOLS_CLIENT_CLIENT_INTERNAL_H
#define TOOLS_CLIENT_CLIENT_INTERNAL_H

#include "common/relpath.h"
#include "tools/client/client.h"
#include "tools/client/dialog.h"
#include "tools/client/flow.h"
#include "tools/client/outbox.h"

#define CLIENT_MINOR_MIN 11
/* The most requests, other than indexes, without an answer. */
#define CLIENT_OTHERS 64
/* Bytes of packets, with headers, that may wait, unless one packet is larger: 1
 * MiB, which the relay reads at a time. */
#define CLIENT_QUEUE_MAX (1024 * 1024 + CLIENT_PACKETS * DATA_HEADER_LEN)

/* Each phase begins when all requests before it are answered. */
enum client_phase {
	CLIENT_NEW,
	CLIENT_CONNECT,
	CLIENT_VERSION,
	CLIENT_CONFIGURATION, /* with UDP or an identity only */
	CLIENT_RESUME,	      /* with an identity only, if the relay can */
	CLIENT_SESSION,
	CLIENT_UDP, /* with UDP only */
	CLIENT_CHUNK,
	CLIENT_OPEN,
};

struct client_stream {
	uint64_t handle;
	uint64_t next_seq; /* packets added so far */
	bool has_handle;
	bool is_metadata;
	bool is_closed;	  /* CLOSE_STREAM was sent */
	struct held held; /* with resending only */
	uint64_t lost;	  /* lost packets that the relay has reported */
	struct client_answered answered;
	bool has_written; /* WRITTEN is answered */
	struct relay_written written;
};

/* One round of questions whether data is pending. */
struct client_round {
	unsigned next;	  /* 0: the beginning; stream + 1; END */
	unsigned end;	  /* streams that are added later are not asked for */
	bool is_pending;  /* according to an answer so far */
	bool is_answered; /* the last question is answered */
};

/* The steps of client_finish(). */
struct client_end {
	unsigned step;
	uint64_t began_ns; /* when asking began; 0: not yet */
	uint64_t again_ns; /* when to ask again; 0: now */
	unsigned rounds;
	bool has_asked;	  /* for losses */
	unsigned closing; /* metadata streams, then the others */
};

/* Packets over UDP (udp 1 to 5): fragments, pace, and resending. */
#define CLIENT_RESENDS 4096 /* ranges that wait to be sent again */

struct client_resend {
	unsigned stream;
	uint64_t net_seq;
	uint32_t fragment, count; /* fragments that are still to be sent */
};

struct client_udp {
	struct udp_open_reply link; /* the values in force */
	struct datagrams datagrams;
	struct window window;
	uint64_t filled; /* packets of the outbox that are in datagrams */
	uint32_t offset; /* next byte, of the next packet */
	struct client_resend *resends;
	unsigned n_resends, resend; /* the current one */
	bool is_asked;		    /* UDP_STATUS is not answered */
	uint64_t asked_ns;
	bool has_loss; /* the last answer reported a loss */
	uint64_t held; /* packets held, in all streams */
	uint64_t held_bytes;
};

struct client {
	struct client_config config;
	struct client_stats stats;
	enum client_phase phase;
	enum status failed;
	char error[512];

	struct url_address addresses[URL_ADDRESSES];
	unsigned n_addresses, address; /* the one in use */
	bool has_silent;	       /* one did not answer in time */
	unsigned silent;	       /* the first such address */
	int control, data;	       /* -1: none */
	bool control_full, data_full;  /* the socket takes no more now */

	struct dialog dialog;
	struct outbox outbox;
	struct pace pace;
	struct client_udp udp;
	unsigned in_flight; /* indexes that are not answered */

	struct client_stream *streams;
	unsigned n_streams, cap_streams;
	uint64_t session_id;
	bool resumes;	  /* the relay knows RESUME */
	bool is_readable; /* the control socket; edge-triggered */
	struct client_round round;
	struct client_end end;
	char path[RELPATH_MAX];
	uint64_t moved_ns; /* when anything last moved */
};

/* Note a failure and its text; only the first one counts. Returns the first
 * one. */
enum status client_fail(struct client *c, enum status st, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The same, then ": " and the text of errno. */
enum status client_fail_errno(struct client *c, const char *what);

/* Wait once, until something moves; without config.waits E_BUSY. Fails when
 * nothing moved for too long. */
enum status client_wait(struct client *c) MUST_CHECK;
/* The tags of indexes: that of all beacons; and that of a packet, which has its
 * stream and size. */
#define CLIENT_BEACON_TAG UINT64_MAX
static inline uint64_t
client_index_tag(unsigned stream, uint32_t size)
{
	return (uint64_t)stream << 32 | size;
}
/* Tell config.watch of a new socket. */
void client_opened(const struct client *c, int fd);
/* Ask config.watch whether to go on; true if it has no say. */
bool client_goes_on(const struct client *c);

/* Leave an address that has been silent for too long, if there is another. */
enum status client_connect_elsewhere(
    struct client *c, uint64_t now_ns) MUST_CHECK;

/* client_udp.c */
/* Ask for the wanted values; take the values in force, and open the socket. */
void client_udp_ask_open(struct client *c);
enum status client_udp_take_open(
    struct client *c, const struct dialog_reply *r) MUST_CHECK;
/* The answer to UDP_STATUS. */
enum status client_udp_take_status(
    struct client *c, const struct dialog_reply *r) MUST_CHECK;
/* Send what may be sent now; ask what is missing when it is time. */
enum status client_udp_work(struct client *c) MUST_CHECK;
/* Ask at once, if a request may be made: then it becomes known what was lost.
 */
void client_udp_ask(struct client *c);
/* Keep a packet that was sent and may be asked for. */
enum status client_udp_hold(struct client *c, unsigned stream,
    const struct client_packet *packet) MUST_CHECK;
/* May another packet be held? */
bool client_udp_may_hold(const struct client *c);
/* Is every packet known to have arrived, or to be lost? */
bool client_udp_is_idle(const struct client *c);
/* When client_udp_work() has something to do, if nothing happens before. */
uint64_t client_udp_wake_ns(const struct client *c);
void client_udp_free(struct client *c);

#endif
