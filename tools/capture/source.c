/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/source.h"

#include <errno.h>
#include <libtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tools/capture/interface.h"
#include "tools/capture/libtrace_packet.h"
#include "tools/capture/parallel_input.h"
#include "tools/capture/pcap_input.h"

/* libtrace 3 reads the header of a record of a pcap file, and a packet of up to
 * 65,535 bytes after it, into a buffer of LIBTRACE_PACKET_BUFSIZE bytes, which
 * is too small by the header. So it gets a larger one. */
#define PACKET_BUFFER_LEN (LIBTRACE_PACKET_BUFSIZE + 4096)
/* The header of a record in a pcap file. */
#define RECORD_HEADER_LEN 16

struct source {
	char *uri;
	/* One of these two, or else the members of libtrace that follow. */
	struct interface *interface;
	struct pcap_input *pcap;
	libtrace_t *trace;
	struct parallel_input *parallel; /* NULL: it is read serially */
	libtrace_packet_t *packet;
	libtrace_filter_t *filter;
	bool is_live;
	bool drops_outgoing; /* a loopback interface shows each packet twice */
	bool counts_new_drops; /* libtrace counts since the last question */
	uint64_t dropped;      /* their sum */
	char error[SOURCE_WHY_MAX];
};

/* Live formats. */
static const char *const live_formats[] = { "int:", "ring:", "pcapint:", "bpf:",
	"dag:", "rt:", "dpdk:", "dpdkvdev:", "xdp:", "pfring:", "ndag:",
	"etsilive:", "tzsplive:" };

static bool
is_live_uri(const char *uri)
{
	for (size_t i = 0; i < sizeof(live_formats) / sizeof(*live_formats);
	     i++)
		if (strncmp(uri, live_formats[i], strlen(live_formats[i])) == 0)
			return true;
	return false;
}

/* Advice for the user; "" if there is none. */
static const char *
advice(const char *problem)
{
	return strstr(problem, "not permitted") != NULL
		   ? " (root or CAP_NET_RAW is required)"
		   : "";
}

/* Copy libtrace's last error, one line without its newline. */
static void
copy_error(char why[SOURCE_WHY_MAX], const char *uri, libtrace_t *trace)
{
	libtrace_err_t e = trace_get_err(trace);

	e.problem[strcspn(e.problem, "\n")] = '\0';
	snprintf(why, SOURCE_WHY_MAX, "%s: %s%s", uri,
	    e.problem[0] != '\0' ? e.problem : "failed", advice(e.problem));
}

/* libtrace compiles a filter with its first packet: try it with an empty one.
 */
static enum status
try_filter(struct source *s, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	static const uint8_t nothing[64];
	libtrace_packet_t *p = trace_create_packet();
	enum status st = OK;

	if (p == NULL)
		return E_NOMEM;
	trace_construct_packet(p, TRACE_TYPE_ETH, nothing, sizeof(nothing));
	if (trace_apply_filter(s->filter, p) < 0) {
		snprintf(why, SOURCE_WHY_MAX, "%s: invalid filter \"%s\"",
		    config->uri, config->filter);
		st = E_REFUSED;
	}
	trace_destroy_packet(p);
	return st;
}

/* A filter that is valid. libtrace 3 uses what was compiled for the try;
 * libtrace 4 copies it, and frees it with each copy, so it gets another. */
static enum status
make_filter(struct source *s, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	enum status st;

	s->filter = trace_create_filter(config->filter);
	if (s->filter == NULL)
		return E_NOMEM;
	st = try_filter(s, config, why);
#ifdef HAVE_LIBTRACE_PARALLEL
	trace_destroy_filter(s->filter);
	s->filter = trace_create_filter(config->filter);
	if (s->filter == NULL)
		return E_NOMEM;
#endif
	return st;
}

static enum status
configure(struct source *s, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	int snaplen = (int)config->snaplen, on = 1;
	enum status st;

	if (config->filter != NULL) {
		st = make_filter(s, config, why);
		if (st != OK)
			return st;
		if (s->is_live &&
		    trace_config(s->trace, TRACE_OPTION_FILTER, s->filter) != 0)
			goto fail;
	}
	/* libtrace does not cut or filter files: packets of files are cut by
	 * the reader, and filtered after their length was made safe. */
	if (s->is_live && snaplen != 0 &&
	    trace_config(s->trace, TRACE_OPTION_SNAPLEN, &snaplen) != 0)
		goto fail;
	if (s->is_live && config->promiscuous &&
	    trace_config(s->trace, TRACE_OPTION_PROMISC, &on) != 0)
		goto fail;
	return OK;
fail:
	copy_error(why, config->uri, s->trace);
	return E_REFUSED;
}

static enum status
make_packet(struct source *s)
{
	s->packet = trace_create_packet();
	if (s->packet == NULL)
		return E_NOMEM;
	/* Packets of live sources are in the kernel's memory, or are cut off.
	 */
	if (s->is_live)
		return OK;
	s->packet->buffer = malloc(PACKET_BUFFER_LEN);
	s->packet->buf_control = TRACE_CTRL_PACKET; /* it frees it */
	return s->packet->buffer != NULL ? OK : E_NOMEM;
}

static enum status
start_trace(struct source *s, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	const enum status st = parallel_input_start(
	    &s->parallel, s->trace, config, s->drops_outgoing);

	if (st == E_NOMEM)
		return st;
	errno = EIO; /* as in next_of_file() */
	if (st != OK || (s->parallel == NULL && trace_start(s->trace) != 0)) {
		copy_error(why, config->uri, s->trace);
		return E_REFUSED;
	}
	return s->parallel == NULL ? make_packet(s) : OK;
}

static enum status
open_trace(struct source *s, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	enum status st;

	/* wandio would read ahead in its own thread, with 50 MiB of buffers,
	 * and be no faster. Setting this is safe: we have no threads yet. */
	(void)setenv("LIBTRACEIO", "nothreads", 0);
	s->trace = trace_create(config->uri);
	if (trace_is_err(s->trace)) {
		copy_error(why, config->uri, s->trace);
		return E_REFUSED;
	}
	st = configure(s, config, why);
	if (st != OK)
		return st;
	return start_trace(s, config, why);
}

static enum status
open_interface(struct source *s, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	char reason[SOURCE_WHY_MAX] = "";
	const enum status st = interface_open(
	    &s->interface, source_place(config->uri), config, reason);

	if (st == E_REFUSED)
		snprintf(why, SOURCE_WHY_MAX, "%s: %.300s%s", config->uri,
		    reason, advice(reason));
	return st;
}

/* The URI for what a user has named, malloc'd: the name of an interface is
 * enough. */
static char *
uri_of(const struct source_config *config)
{
	const char *name = config->uri;
	char *uri;

	if (config->is_file || strchr(name, ':') != NULL ||
	    !interface_is_there(name))
		return strdup(name);
	return asprintf(&uri, "int:%s", name) < 0 ? NULL : uri;
}

static enum status
start(struct source *s, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	enum status st;

	if (strncmp(config->uri, "int:", 4) == 0)
		return open_interface(s, config, why);
	st = pcap_input_open(&s->pcap, config, why);
	return st == OK && s->pcap == NULL ? open_trace(s, config, why) : st;
}

enum status
source_open(struct source **out, const struct source_config *given,
    char why[SOURCE_WHY_MAX])
{
	struct source *s = calloc(1, sizeof(*s));
	struct source_config own = *given, *config = &own;
	enum status st = E_NOMEM;

	*out = NULL;
	snprintf(why, SOURCE_WHY_MAX, "%s", status_text(E_NOMEM));
	if (s == NULL)
		return st;
	s->uri = uri_of(given);
	if (s->uri == NULL) {
		source_close(s);
		return st;
	}
	own.uri = s->uri;
	s->is_live = is_live_uri(s->uri);
	s->drops_outgoing = s->is_live &&
			    interface_is_loopback(source_place(s->uri));
	st = start(s, config, why);
	if (st == OK && strncmp(config->uri, "ring:", 5) == 0) {
#ifndef HAVE_LIBTRACE_PARALLEL /* libtrace 3 */
		s->counts_new_drops = true;
#endif
		interface_tune_bound(source_place(config->uri));
	}
	if (st != OK) {
		source_close(s);
		return st;
	}
	*out = s;
	return OK;
}

void
source_close(struct source *s)
{
	if (s == NULL)
		return;
	interface_close(s->interface);
	pcap_input_close(s->pcap);
	parallel_input_close(s->parallel);
	if (s->packet != NULL)
		trace_destroy_packet(s->packet);
	if (s->trace != NULL)
		trace_destroy(s->trace);
	if (s->filter != NULL)
		trace_destroy_filter(s->filter);
	free(s->uri);
	free(s);
}

bool
source_is_live(const struct source *s)
{
	return s->is_live;
}

const char *
source_error(const struct source *s)
{
	return s->error;
}

uint64_t
source_dropped(struct source *s)
{
	uint64_t n;

	if (s->interface != NULL)
		return interface_dropped(s->interface);
	if (s->parallel != NULL)
		return parallel_input_dropped(s->parallel);
	if (s->trace == NULL)
		return 0;
	n = trace_get_dropped_packets(s->trace);
	if (n == UINT64_MAX) /* unknown */
		return s->dropped;
	s->dropped = s->counts_new_drops ? s->dropped + n : n;
	return s->dropped;
}

static enum source_got
fail(struct source *s)
{
	if (!trace_is_err(s->trace))
		return SOURCE_END;
	copy_error(s->error, s->uri, s->trace);
	return SOURCE_FAILED;
}

/* libtrace takes a file that ends immediately after the header of a record for
 * a whole one. But it has overwritten the previous header. */
static enum source_got
next_of_file(struct source *s)
{
	static const uint8_t none[RECORD_HEADER_LEN] = { 0 };
	uint8_t *header = s->packet->buffer;
	enum source_got got;

	if (s->packet->buf_control == TRACE_CTRL_PACKET)
		memcpy(header, none, sizeof(none));
	/* libtrace reports errno for a record that is cut off, without having
	 * set it, and then asserts that it is not 0. */
	errno = EIO;
	if (trace_read_packet(s->trace, s->packet) > 0)
		return SOURCE_PACKET;
	got = fail(s);
	if (got != SOURCE_END || s->packet->buffer != header ||
	    s->packet->buf_control != TRACE_CTRL_PACKET ||
	    memcmp(header, none, sizeof(none)) == 0)
		return got;
	snprintf(s->error, sizeof(s->error),
	    "%s: the file ends within a packet", s->uri);
	return SOURCE_FAILED;
}

static enum source_got
next_live(struct source *s, struct source_wait *wait)
{
	const libtrace_eventobj_t e = trace_event(s->trace, s->packet);

	*wait = (struct source_wait){ .fd = -1, .timeout_ms = -1 };
	switch (e.type) {
	case TRACE_EVENT_PACKET:
		return e.size > 0 ? SOURCE_PACKET : fail(s);
	case TRACE_EVENT_IOWAIT:
		wait->fd = e.fd;
		return SOURCE_NOTHING;
	case TRACE_EVENT_SLEEP:
		wait->timeout_ms = (int)(e.seconds * 1000) + 1;
		return SOURCE_NOTHING;
	case TRACE_EVENT_TERMINATE:
	default:
		return fail(s);
	}
}

/* Describe the packet, and filter those of files: the kernel filters live ones.
 * SOURCE_NOTHING: skip the packet. */
static enum source_got
describe_packet(struct source *s, struct record *record, const uint8_t **bytes)
{
	int passes = 1;

	if (!packet_describe(s->packet, record, bytes) ||
	    (s->drops_outgoing && record->direction == DIRECTION_OUTGOING))
		return SOURCE_NOTHING;
	if (s->filter != NULL && !s->is_live)
		passes = trace_apply_filter(s->filter, s->packet);
	if (passes >= 0)
		return passes > 0 ? SOURCE_PACKET : SOURCE_NOTHING;
	snprintf(s->error, sizeof(s->error),
	    "%s: the filter does not apply to this link type", s->uri);
	return SOURCE_FAILED;
}

enum source_got
source_next(struct source *s, struct record *record, const uint8_t **bytes,
    struct source_wait *wait)
{
	enum source_got got;

	if (s->interface != NULL) {
		got = interface_next(s->interface, record, bytes, wait);
		if (got == SOURCE_FAILED)
			snprintf(s->error, sizeof(s->error), "%s: %s", s->uri,
			    strerror(errno));
		return got;
	}
	if (s->pcap != NULL)
		return pcap_input_next(
		    s->pcap, s->uri, record, bytes, s->error);
	for (;;) {
		if (s->is_live)
			got = next_live(s, wait);
		else
			got = next_of_file(s);
		if (got != SOURCE_PACKET)
			return got;
		got = describe_packet(s, record, bytes);
		if (got != SOURCE_NOTHING)
			return got;
	}
}

unsigned
source_threads(const struct source *s)
{
	return parallel_input_threads(s->parallel);
}

enum source_got
source_run(struct source *s, const struct source_calls *calls, int stop)
{
	const enum source_got got = parallel_input_run(
	    s->parallel, calls, stop);

	if (got == SOURCE_FAILED)
		copy_error(s->error, s->uri, s->trace);
	return got;
}

void
source_list_formats(void)
{
	trace_help();
}
