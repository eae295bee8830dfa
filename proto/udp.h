/* SPDX-License-Identifier: MIT */
/*
 * Trace packets over UDP (the UDP transport, version 1): the header of a
 * datagram, and the two private commands of the control port that open the
 * transport and tell which packets are missing. All integers are big-endian.
 *
 * Depends on: common/. Knows nothing of sockets, sessions or files.
 */
#ifndef PROTO_UDP_H
#define PROTO_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/secret.h"
#include "common/status.h"

struct buf;

#define UDP_MAGIC UINT32_C(0x54505544) /* "TPUD" */
#define UDP_VERSION 1
#define UDP_HEADER_LEN 56
#define UDP_CRC_AT 52
/* The last byte of the stream handle: the worker's number. */
#define UDP_WORKER_AT 31
/* IPv4 carries at most 65,507 bytes. */
#define UDP_DATAGRAM_MAX 65507

/* Payload bytes per datagram; with the default an IPv6 packet has at most 1,500
 * bytes. */
#define UDP_FRAGMENT_MIN 512
#define UDP_FRAGMENT_MAX 65000
#define UDP_FRAGMENT_DEFAULT 1392
/* Packets of a stream that wait while one is missing. */
#define UDP_WINDOW_DEFAULT 64

/* The memory that one piece may bring into use: two blocks, and one bit per
 * piece. */
#define UDP_PIECE_MEMORY (UINT64_C(192) << 10)
/* The largest packet, with padding, in a session whose waiting packets may use
 * WINDOW_BYTES of memory: that memory must be able to hold the packet twice. */
static inline uint64_t
udp_packet_max(uint64_t window_bytes)
{
	return window_bytes / 2 > UDP_PIECE_MEMORY
		   ? window_bytes / 2 - UDP_PIECE_MEMORY
		   : 0;
}

struct udp_header {
	bool is_resend;
	struct secret token;	/* gives access to the session */
	uint64_t stream;	/* handle from ADD_STREAM */
	uint64_t net_seq;	/* from 0, + 1 per packet */
	uint32_t size;		/* bytes of the whole trace packet */
	uint32_t padding;	/* zero bytes to append on disk, not sent */
	uint32_t offset;	/* of this fragment */
	uint32_t crc;		/* as received; set by the encoder */
	const uint8_t *payload; /* borrowed from the datagram */
	uint32_t payload_len;
	/* For the encoder: bytes of the payload that go before PAYLOAD. NULL
	 * after decoding. */
	const uint8_t *head;
	uint32_t head_len;
};

/*
 * The N bytes at P are one datagram. E_MALFORMED: it is too short, or has
 * another magic or version, or a header size below 56 or beyond the datagram.
 * The crc is not checked.
 */
enum status udp_header_decode(
    const uint8_t *p, size_t n, struct udp_header *out) MUST_CHECK;
/* Does the crc of the N >= 56 bytes match? */
bool udp_crc_matches(const uint8_t *p, size_t n);
/* Do offset and length fit a fragment of FRAGMENT_SIZE, or the last
 * fragment? */
bool udp_fragment_fits(const struct udp_header *h, uint32_t fragment_size);
/* Write the 56 bytes before H's head and payload, with the crc (senders and
 * tests). */
void udp_header_encode(uint8_t out[UDP_HEADER_LEN], const struct udp_header *h);

/* UDP_OPEN (10001). */
#define UDP_OPEN_RESENDS UINT32_C(1) /* the sender keeps packets to resend */
struct udp_open {
	uint32_t version;
	uint32_t fragment_size, window; /* wishes; 0: the default */
	uint32_t flags;
	uint64_t gap_timeout_us; /* 0: the relay's default */
};
#define UDP_OPEN_REPLY_LEN 44
struct udp_open_reply { /* the values that are used */
	uint32_t code;	/* enum relay_code; all else is 0 if not RELAY_OK */
	uint16_t port;	/* 0: the number of the TCP data port */
	uint32_t fragment_size, window;
	uint64_t window_bytes;
	uint32_t flags;
	struct secret token;
};
enum status udp_open_decode(struct reader *r, struct udp_open *out) MUST_CHECK;
void udp_open_request(struct buf *b, const struct udp_open *q);
void udp_open_reply(struct buf *b, const struct udp_open_reply *a);
enum status udp_open_reply_decode(
    struct reader *r, struct udp_open_reply *out) MUST_CHECK;

/*
 * UDP_STATUS (10002): a request is a stream handle, or all ones for every
 * stream of the session (relay_id_decode(), relay_request_id()). The reply is a
 * code and a count, then that many structs udp_status, each with its ranges.
 */
#define UDP_STATUS_ALL UINT64_MAX
#define UDP_STATUS_HEAD_LEN 8
#define UDP_STATUS_LEN 36
#define UDP_RANGE_LEN 16
#define UDP_RANGES_MAX 1024 /* per stream */
/* fragment_count of a packet of which no fragment is here. */
#define UDP_RANGE_ALL UINT32_MAX
struct udp_status {
	uint64_t stream;
	uint64_t next; /* all packets below are committed or lost */
	uint64_t end;  /* one past the highest number known */
	uint64_t lost;
	uint32_t ranges;
};
struct udp_range {
	uint64_t net_seq;
	uint32_t first_fragment, fragment_count;
};
void udp_status_head(struct buf *b, uint32_t code, uint32_t streams);
void udp_status_put(struct buf *b, const struct udp_status *s);
void udp_range_put(struct buf *b, const struct udp_range *g);
/* E_MALFORMED: bytes are missing. */
enum status udp_status_head_decode(
    struct reader *r, uint32_t *code, uint32_t *streams) MUST_CHECK;
enum status udp_status_decode(
    struct reader *r, struct udp_status *out) MUST_CHECK;
enum status udp_range_decode(
    struct reader *r, struct udp_range *out) MUST_CHECK;

#endif
