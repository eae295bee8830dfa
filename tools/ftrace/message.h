/* SPDX-License-Identifier: MIT */
/*
 * Messages of trace-cmd's protocol V3, between recorder and listener and
 * between agent and controller: a header of 12 bytes (size, number, size of the
 * fixed part), the fixed part, data. Numbers are big-endian. Bytes in, structs
 * out; no sockets. Any thread.
 */
#ifndef TOOLS_FTRACE_MESSAGE_H
#define TOOLS_FTRACE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"

#define MESSAGE_HEADER 12
/* The protocol's limit: stock programs refuse larger messages. */
#define MESSAGE_BYTES_MAX 8192
/* The most CPUs: ports of four digits fit in a message, of five digits up to
 * 1,362. */
#define MESSAGE_CPUS_MAX 1600

enum message_number {
	MESSAGE_CLOSE,
	MESSAGE_TINIT,
	MESSAGE_RINIT,
	MESSAGE_SEND_DATA,
	MESSAGE_FIN_DATA,
	MESSAGE_NOT_SUPP,
	MESSAGE_TRACE_REQ,
	MESSAGE_TRACE_RESP,
	MESSAGE_CLOSE_RESP,
	MESSAGE_TIME_SYNC,
	MESSAGE_TRACE_PROXY,
	MESSAGE_CONT,
	MESSAGE_NUMBERS
};

/* Borrows the bytes that were parsed. */
struct tracecmd_message {
	enum message_number number;
	struct span fixed, data;
};

/* Parses the message at the beginning of the N bytes at P. E_MORE: it is not
 * whole. E_MALFORMED: its lengths are impossible. E_PROTOCOL: its number is not
 * known. *USED: its size. */
enum status message_parse(struct tracecmd_message *out, const uint8_t *p,
    size_t n, size_t *used) MUST_CHECK;

/* TINIT: what a recorder has. */
struct message_tinit {
	uint32_t cpus, page_size;
	bool is_tcp, is_vsock; /* neither: UDP */
	unsigned unknown;      /* options that are not known */
};

enum status message_tinit_decode(
    struct message_tinit *out, const struct tracecmd_message *m) MUST_CHECK;

/* TRACE_RESP: what an agent has. */
struct message_resp {
	uint32_t flags, cpus, page_size;
	uint64_t trace_id;
	char sync[17];	    /* protocol of time synchronisation; "": none */
	uint32_t sync_port; /* 0: none */
	uint16_t ports[MESSAGE_CPUS_MAX];
};
/* The agent wants to use FIFOs instead of sockets. */
#define MESSAGE_FLAG_FIFO 1

enum status message_resp_decode(
    struct message_resp *out, const struct tracecmd_message *m) MUST_CHECK;

/* Each appends a message to OUT. */
void message_put(struct buf *out, enum message_number number);
/* E_LIMIT: the ports do not fit in a message; OUT is unchanged. */
enum status message_put_rinit(
    struct buf *out, const uint16_t *ports, uint32_t n) MUST_CHECK;
/* Encodes what message_resp_decode() decodes; the same. */
enum status message_put_resp(
    struct buf *out, const struct message_resp *r) MUST_CHECK;
/* Asks an agent to record with these arguments; the same. */
enum status message_put_req(struct buf *out, uint64_t trace_id,
    const char *const *arguments, unsigned n) MUST_CHECK;

#endif
