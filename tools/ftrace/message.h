/* SPDX-License-Identifier: MIT */
/*
 * Messages of trace-cmd's protocol V3, between recorder and listener and
 * between agent and controller: 12 bytes of header (size, number, size of the
 * fixed part), the fixed part, data. All numbers are big-endian. Bytes in,
 * structs out; no sockets. Any thread.
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
/* The protocol's limit: stock programs refuse a larger message. */
#define MESSAGE_BYTES_MAX 8192
/* The ports of so many CPUs, five digits each, fit into one RINIT. */
#define MESSAGE_CPUS_MAX 1600

enum message_number {
#define MESSAGE(name, fixed) MESSAGE_##name,
#include "tools/ftrace/message.tbl.h"
#undef MESSAGE
	MESSAGE_NUMBERS
};

/* Borrowed: the bytes that were parsed. */
struct message {
	enum message_number number;
	struct span fixed, data;
};

/* What is found in the first SIZE bytes of P. E_MORE: no whole message yet.
 * E_MALFORMED: its lengths cannot be. E_PROTOCOL: a number that nobody knows.
 * *USED: its size. */
enum status message_parse(
    struct message *out, const uint8_t *p, size_t n, size_t *used) MUST_CHECK;
/* "SEND_DATA". */
const char *message_name(enum message_number number);

/* What a recorder has. */
struct message_tinit {
	uint32_t cpus, page_size;
	bool is_tcp, is_vsock; /* neither: UDP */
	unsigned unknown;      /* options that we do not know */
};

enum status message_tinit_decode(
    struct message_tinit *out, const struct message *m) MUST_CHECK;

/* What an agent has. */
struct message_resp {
	uint32_t flags, cpus, page_size;
	uint64_t trace_id;
	char sync[17];	    /* the protocol of time synchronisation; "": none */
	uint32_t sync_port; /* 0: none */
	uint16_t ports[MESSAGE_CPUS_MAX];
};
/* The agent wants FIFOs in place of sockets. */
#define MESSAGE_FLAG_FIFO 1

enum status message_resp_decode(
    struct message_resp *out, const struct message *m) MUST_CHECK;

/* Each appends one message to OUT. */
void message_put(struct buf *out, enum message_number number);
void message_put_tinit(struct buf *out, const struct message_tinit *t);
void message_put_rinit(struct buf *out, const uint16_t *ports, uint32_t n);
/* N is MESSAGE_BYTES_MAX - MESSAGE_HEADER at most. */
void message_put_data(struct buf *out, const void *p, size_t n);
/* OUT is as what message_resp_decode() reads. */
void message_put_resp(struct buf *out, const struct message_resp *r);
/* An order for an agent: what its own "record" is called with. E_LIMIT: it
 * does not fit into a message; OUT is as it was. */
enum status message_put_req(struct buf *out, uint64_t trace_id,
    char *const *arguments, unsigned n) MUST_CHECK;

#endif
