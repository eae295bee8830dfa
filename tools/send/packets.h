/* SPDX-License-Identifier: MIT */
/*
 * The packets of one stream file, one after another: where they begin and end,
 * and their index records. These come from the index file (CTF index 1.0 and
 * 1.1) if it covers the file exactly, otherwise from the packets' own headers.
 */
#ifndef TOOLS_SEND_PACKETS_H
#define TOOLS_SEND_PACKETS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/packet.h"
#include "tools/client/mapped.h"

struct tsdl;

struct packets {
	struct mapped data, index;
	const struct tsdl *tsdl; /* borrowed */
	bool has_index;
	unsigned index_minor, record_len; /* of the index file */
	uint64_t at;	    /* byte of data where the next packet begins */
	uint64_t number;    /* of the next packet */
	uint64_t last_time; /* the largest so far, cycles */
	const char *error;  /* of the last failure, a constant text */
	uint64_t count;	    /* packets in the file */
	uint64_t end;	    /* when the last of them ends, cycles */
	const volatile sig_atomic_t *stop; /* borrowed; NULL: never */
};

/*
 * Open the stream file PATH and the index file INDEX_PATH, which may be
 * missing. Every packet is checked: E_MALFORMED (p->error), E_IO (errno),
 * E_NOENT. E_STOPPED: *STOP became true meanwhile; NULL: it never does.
 */
enum status packets_open(struct packets *p, const char *path,
    const char *index_path, const struct tsdl *tsdl,
    const volatile sig_atomic_t *stop) MUST_CHECK;
void packets_close(struct packets *p);

/* The next packet; its done and arg are unset. E_NOENT: there are no more.
 * After packets_open() there is no other failure, unless the file was
 * changed. */
enum status packets_next(
    struct packets *p, struct client_packet *out) MUST_CHECK;
/* Go back to the first packet. */
void packets_rewind(struct packets *p);

#endif
