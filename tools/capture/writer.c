/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/writer.h"

#include <errno.h>
#include <libtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tools/capture/libtrace_packet.h"
#include "tools/capture/little.h"
#include "tools/capture/outfile.h"

/* A packet that libtrace constructs has this header before its bytes, in host
 * order (the pcap format's record header). */
struct constructed {
	uint32_t seconds, microseconds, cap_len, wire_len;
};

/* A record of Endace's Extensible Record Format, with a resolution of 2^-32 s;
 * packets of Ethernet have two more bytes before them. */
#define ERF_HEADER_LEN 16
#define ERF_PAD_LEN 2
#define ERF_VARYING_LENGTH 4 /* of the flags */
#define ERF_ETHERNET 2
#define ETHERNET_CHECKSUM_LEN 4
#define ERF_LEN_MAX (UINT16_MAX - ERF_HEADER_LEN - ERF_PAD_LEN)

struct writer {
	libtrace_out_t *out;
	libtrace_packet_t *packet;
	libtrace_packet_t *erf_packet;
	libtrace_t *erf; /* the input that such packets claim, or NULL */
	uint8_t record[UINT16_MAX];
	struct outfile *file; /* NULL: the output is not a file */
	const char *uri;      /* borrowed */
	bool has_one_type;    /* the output takes one link type only */
	libtrace_linktype_t
	    type; /* that type; unknown before the first packet */
	char error[WRITER_WHY_MAX];
};

static const trace_option_compresstype_t compressions[] = {
	[WRITER_GZIP] = TRACE_OPTION_COMPRESSTYPE_ZLIB,
	[WRITER_BZIP2] = TRACE_OPTION_COMPRESSTYPE_BZ2,
	[WRITER_LZO] = TRACE_OPTION_COMPRESSTYPE_LZO,
	[WRITER_XZ] = TRACE_OPTION_COMPRESSTYPE_LZMA,
	[WRITER_PLAIN] = TRACE_OPTION_COMPRESSTYPE_NONE,
};

/* Copy libtrace's last error, one line without its newline. */
static void
tell(char why[WRITER_WHY_MAX], const char *uri, libtrace_out_t *out)
{
	const libtrace_err_t e = trace_get_err_output(out);

	snprintf(why, WRITER_WHY_MAX, "%s: %s", uri,
	    e.problem[0] != '\0' ? e.problem : "cannot write to the output");
	why[strcspn(why, "\n")] = '\0';
}

/* Formats whose outputs are files. */
static const struct format {
	const char *prefix;
	bool has_one_type; /* a file has one link type */
	bool is_erf;
} formats[] = {
	{ "pcapfile:", true, false },
	{ "pcap:", true, false },
	{ "erf:", false, true },
};

static const struct format *
format_of(const char *uri)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (strncmp(
			uri, formats[i].prefix, strlen(formats[i].prefix)) == 0)
			return &formats[i];
	return NULL;
}

static bool
is_interface(const char *uri)
{
	return strncmp(uri, "int:", 4) == 0 || strncmp(uri, "ring:", 5) == 0;
}

static enum status
create_output(struct writer *w, char why[WRITER_WHY_MAX])
{
	const struct format *format = format_of(w->uri);
	char uri[64];

	if (format == NULL && !is_interface(w->uri)) {
		/* libtrace 3 reads freed memory to report this. */
		snprintf(why, WRITER_WHY_MAX,
		    "%s: unknown output (not pcapfile:FILE, pcap:FILE, "
		    "erf:FILE, "
		    "int:INTERFACE or ring:INTERFACE)",
		    w->uri);
		return E_REFUSED;
	}
	if (format == NULL) {
		w->out = trace_create_output(w->uri);
	} else {
		const char *path = w->uri + strlen(format->prefix);

		if (outfile_create(&w->file, path) != OK) {
			snprintf(why, WRITER_WHY_MAX, "%s: %s", path,
			    strerror(errno));
			return E_REFUSED;
		}
		w->has_one_type = format->has_one_type;
		if (format->is_erf)
			w->erf = trace_create_dead("erf:-");
		snprintf(uri, sizeof(uri), "%s%s", format->prefix,
		    outfile_path(w->file));
		w->out = trace_create_output(uri);
	}
	if (w->out != NULL && !trace_is_err_output(w->out))
		return OK;
	snprintf(why, WRITER_WHY_MAX,
	    "%s: libtrace does not support this output", w->uri);
	if (w->out != NULL)
		tell(why, w->uri, w->out);
	return E_REFUSED;
}

static enum status
start_output(struct writer *w, enum writer_compression compression, int level,
    char why[WRITER_WHY_MAX])
{
	trace_option_compresstype_t type = compressions[compression];
	const enum status st = create_output(w, why);

	if (st != OK)
		return st;
	/* An output without compression may refuse these options. */
	if ((trace_config_output(
		 w->out, TRACE_OPTION_OUTPUT_COMPRESS, &level) != 0 ||
		trace_config_output(
		    w->out, TRACE_OPTION_OUTPUT_COMPRESSTYPE, &type) != 0) &&
	    compression != WRITER_PLAIN) {
		tell(why, w->uri, w->out);
		return E_REFUSED;
	}
	if (trace_start_output(w->out) != 0) {
		tell(why, w->uri, w->out);
		return E_REFUSED;
	}
	return OK;
}

enum status
writer_open(struct writer **out, const char *uri,
    enum writer_compression compression, int level, char why[WRITER_WHY_MAX])
{
	struct writer *w = calloc(1, sizeof(*w));
	enum status st;

	*out = NULL;
	snprintf(why, WRITER_WHY_MAX, "%s", status_text(E_NOMEM));
	if (w == NULL)
		return E_NOMEM;
	w->uri = uri;
	w->type = TRACE_TYPE_UNKNOWN;
	st = start_output(w, compression, level, why);
	if (st == OK) {
		w->packet = trace_create_packet();
		w->erf_packet = trace_create_packet();
		if (w->packet == NULL || w->erf_packet == NULL)
			st = E_NOMEM;
	}
	if (st != OK) {
		writer_close(w);
		return st;
	}
	*out = w;
	return OK;
}

/* Report a failure of the file. */
static enum status
check_file(struct writer *w, int error)
{
	if (error == 0)
		return OK;
	snprintf(w->error, sizeof(w->error), "%s: %s", w->uri, strerror(error));
	return E_IO;
}

/* libtrace ends the program if a packet with its checksum is longer. */
static uint32_t
wire_max(libtrace_linktype_t type)
{
	return UINT16_MAX -
	       (type == TRACE_TYPE_ETH ? ETHERNET_CHECKSUM_LEN : 0);
}

static void
construct(struct writer *w, libtrace_linktype_t type,
    const struct record *record, const uint8_t *bytes)
{
	const uint32_t most = wire_max(type);
	const uint32_t len = record->len <= most ? record->len : most;
	struct constructed *h;

	trace_construct_packet(w->packet, type, bytes, (uint16_t)len);
	h = w->packet->header;
	h->seconds = (uint32_t)(record->ns / NS_PER_S);
	h->microseconds = (uint32_t)(record->ns % NS_PER_S / 1000);
	h->wire_len = record->wire_len <= most ? record->wire_len : most;
	w->packet->wire_length = -1; /* libtrace's cached value */
}

static enum status
write_packet(struct writer *w, libtrace_packet_t *packet)
{
	libtrace_err_t e;

	/* pcap: returns 0 for success */
	if (trace_write_packet(w->out, packet) >= 0)
		return w->file != NULL ? check_file(w, outfile_error(w->file))
				       : OK;
	e = trace_get_err_output(w->out);
	if (e.err_num == TRACE_ERR_NO_CONVERSION ||
	    e.err_num == TRACE_ERR_BAD_PACKET)
		return E_MALFORMED;
	tell(w->error, w->uri, w->out);
	return E_IO;
}

/* Rounded up, so that a reader that rounds down gets the same nanoseconds. */
static uint64_t
erf_time(uint64_t ns)
{
	const uint64_t fraction = ((ns % NS_PER_S << 32) + NS_PER_S - 1) /
				  NS_PER_S;

	return ns / NS_PER_S << 32 | fraction;
}

static uint8_t *
big_u16(uint8_t *out, unsigned v)
{
	out = little_u8(out, (uint8_t)(v >> 8));
	return little_u8(out, (uint8_t)v);
}

static void
make_erf(struct writer *w, const struct record *r, const uint8_t *bytes)
{
	const uint32_t len = r->len <= ERF_LEN_MAX ? r->len : ERF_LEN_MAX;
	const uint32_t most = wire_max(TRACE_TYPE_ETH);
	/* libtrace counts the checksum. */
	const uint32_t wire = ETHERNET_CHECKSUM_LEN +
			      (r->wire_len <= most ? r->wire_len : most);
	uint8_t *at = little_u64(w->record, erf_time(r->ns));

	at = little_u8(at, ERF_ETHERNET);
	at = little_u8(at, ERF_VARYING_LENGTH);
	at = big_u16(at, ERF_HEADER_LEN + ERF_PAD_LEN + len);
	at = big_u16(at, 0); /* lost before it */
	at = big_u16(at, wire);
	at = big_u16(at, 0); /* the pad */
	(void)little_bytes(at, bytes, len);
}

/* Write a packet as if it had been read from a file of that format. */
static enum status
write_erf(struct writer *w, const struct record *r, const uint8_t *bytes)
{
	libtrace_packet_t *p = w->erf_packet;

	make_erf(w, r, bytes);
	p->trace = w->erf;
	p->type = TRACE_RT_DATA_ERF;
	p->buf_control = TRACE_CTRL_EXTERNAL;
	p->buffer = p->header = w->record;
	p->payload = w->record + ERF_HEADER_LEN + ERF_PAD_LEN;
	p->capture_length = p->wire_length = p->payload_length = -1;
	p->link_type = TRACE_TYPE_ETH;
	return write_packet(w, p);
}

enum status
writer_packet(
    struct writer *w, const struct record *record, const uint8_t *bytes)
{
	const libtrace_linktype_t type = linktype_to_libtrace(
	    record->link_type);

	/* ERF has no packets without bytes. */
	if (type == TRACE_TYPE_UNKNOWN || (w->erf != NULL && record->len == 0))
		return E_MALFORMED;
	/* libtrace would write it with the first packet's type. */
	if (w->has_one_type && w->type != TRACE_TYPE_UNKNOWN && w->type != type)
		return E_MALFORMED;
	w->type = type;
	if (w->erf != NULL && type == TRACE_TYPE_ETH)
		return write_erf(w, record, bytes);
	construct(w, type, record, bytes);
	return write_packet(w, w->packet);
}

const char *
writer_error(const struct writer *w)
{
	return w->error;
}

/* libtrace must close its end of the pipe before we close ours. */
enum status
writer_finish(struct writer *w)
{
	if (w->out != NULL)
		trace_destroy_output(w->out);
	w->out = NULL;
	return w->file != NULL ? check_file(w, outfile_finish(w->file)) : OK;
}

void
writer_close(struct writer *w)
{
	if (w == NULL)
		return;
	if (w->packet != NULL)
		trace_destroy_packet(w->packet);
	if (w->erf_packet != NULL) {
		w->erf_packet->buffer = NULL; /* the buffer is ours */
		trace_destroy_packet(w->erf_packet);
	}
	if (w->erf != NULL)
		trace_destroy_dead(w->erf);
	if (w->out != NULL)
		trace_destroy_output(w->out);
	outfile_destroy(w->file);
	free(w);
}
