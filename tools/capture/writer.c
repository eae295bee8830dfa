/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/writer.h"

#include <libtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tools/capture/linktype.h"

/* A packet that libtrace constructs has this in front of its bytes, in host
 * order (the pcap format's record header). */
struct constructed {
	uint32_t seconds, microseconds, cap_len, wire_len;
};

struct writer {
	libtrace_out_t *out;
	libtrace_packet_t *packet;
	char error[WRITER_WHY_MAX];
};

static const struct {
	const char *name;
	trace_option_compresstype_t type;
} compressions[WRITER_COMPRESSIONS] = {
	[WRITER_PLAIN] = { "none", TRACE_OPTION_COMPRESSTYPE_NONE },
	[WRITER_GZIP] = { "gzip", TRACE_OPTION_COMPRESSTYPE_ZLIB },
	[WRITER_BZIP2] = { "bzip2", TRACE_OPTION_COMPRESSTYPE_BZ2 },
	[WRITER_LZO] = { "lzo", TRACE_OPTION_COMPRESSTYPE_LZO },
	[WRITER_XZ] = { "xz", TRACE_OPTION_COMPRESSTYPE_LZMA },
};

enum writer_compression
writer_compression_parse(const char *name)
{
	unsigned i = 0;

	while (
	    i < WRITER_COMPRESSIONS && strcmp(compressions[i].name, name) != 0)
		i++;
	return (enum writer_compression)i;
}

/* libtrace's last problem, one line without its end. */
static void
tell(char why[WRITER_WHY_MAX], const char *uri, libtrace_out_t *out)
{
	const libtrace_err_t e = trace_get_err_output(out);

	snprintf(why, WRITER_WHY_MAX, "%s: %s", uri,
	    e.problem[0] != '\0' ? e.problem : "cannot be written");
	why[strcspn(why, "\n")] = '\0';
}

static enum status
start(struct writer *w, const char *uri, enum writer_compression compression,
    int level, char why[WRITER_WHY_MAX])
{
	trace_option_compresstype_t type = compressions[compression].type;

	w->out = trace_create_output(uri);
	if (w->out == NULL || trace_is_err_output(w->out)) {
		snprintf(why, WRITER_WHY_MAX,
		    "%s: libtrace knows no such output", uri);
		if (w->out != NULL)
			tell(why, uri, w->out);
		return E_REFUSED;
	}
	/* An output that compresses nothing may refuse to be told so. */
	if ((trace_config_output(
		 w->out, TRACE_OPTION_OUTPUT_COMPRESS, &level) != 0 ||
		trace_config_output(
		    w->out, TRACE_OPTION_OUTPUT_COMPRESSTYPE, &type) != 0) &&
	    compression != WRITER_PLAIN) {
		tell(why, uri, w->out);
		return E_REFUSED;
	}
	if (trace_start_output(w->out) != 0) {
		tell(why, uri, w->out);
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
	st = start(w, uri, compression, level, why);
	if (st == OK) {
		w->packet = trace_create_packet();
		if (w->packet == NULL)
			st = E_NOMEM;
	}
	if (st != OK) {
		writer_close(w);
		return st;
	}
	*out = w;
	return OK;
}

enum status
writer_packet(
    struct writer *w, const struct record *record, const uint8_t *bytes)
{
	const libtrace_linktype_t type = linktype_to_libtrace(
	    record->link_type);
	const uint32_t len = record->len <= UINT16_MAX ? record->len
						       : UINT16_MAX;
	struct constructed *h;

	if (type == TRACE_TYPE_UNKNOWN)
		return E_MALFORMED;
	trace_construct_packet(w->packet, type, bytes, (uint16_t)len);
	h = w->packet->header;
	h->seconds = (uint32_t)(record->ns / NS_PER_S);
	h->microseconds = (uint32_t)(record->ns % NS_PER_S / 1000);
	h->wire_len = record->wire_len;
	w->packet->wire_length = -1; /* libtrace's note of it */
	if (trace_write_packet(w->out, w->packet) > 0)
		return OK;
	tell(w->error, "output", w->out);
	return E_IO;
}

const char *
writer_error(const struct writer *w)
{
	return w->error;
}

void
writer_close(struct writer *w)
{
	if (w == NULL)
		return;
	if (w->packet != NULL)
		trace_destroy_packet(w->packet);
	if (w->out != NULL)
		trace_destroy_output(w->out);
	free(w);
}
