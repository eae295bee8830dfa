/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/source.h"

#include <errno.h>
#include <fcntl.h>
#include <libtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/capture/child.h"
#include "tools/capture/decompress.h"
#include "tools/capture/file_input.h"
#include "tools/capture/interface.h"
#include "tools/capture/libtrace_packet.h"
#include "tools/capture/parallel_input.h"
#include "tools/capture/pcap_input.h"

struct source {
	char *uri;
	/* One of these, or else the members of libtrace that follow. */
	struct interface *interface;
	struct pcap_input *pcap;
	struct file_input *file;
	struct child decompressor; /* of these two */
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

/* WHY: the name of the input, and libtrace's last error. */
static enum status
refuse(struct source *s, char why[SOURCE_WHY_MAX])
{
	char reason[SOURCE_WHY_MAX];

	libtrace_error(s->trace, reason);
	snprintf(why, SOURCE_WHY_MAX, "%.250s: %.250s", s->uri, reason);
	return E_REFUSED;
}

static enum status
configure(struct source *s, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	int snaplen = (int)config->snaplen, on = 1;
	char reason[SOURCE_WHY_MAX];
	enum status st = OK;

	if (config->filter != NULL)
		st = packet_filter_create(&s->filter, config->filter, reason);
	if (st == E_REFUSED)
		snprintf(why, SOURCE_WHY_MAX, "%.100s: %.400s", s->uri, reason);
	if (st != OK)
		return st;
	if ((s->filter != NULL &&
		trace_config(s->trace, TRACE_OPTION_FILTER, s->filter) != 0) ||
	    (snaplen != 0 &&
		trace_config(s->trace, TRACE_OPTION_SNAPLEN, &snaplen) != 0) ||
	    (config->promiscuous &&
		trace_config(s->trace, TRACE_OPTION_PROMISC, &on) != 0))
		return refuse(s, why);
	return OK;
}

static enum status
start_trace(struct source *s, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	const enum status st = parallel_input_start(
	    &s->parallel, s->trace, config, s->drops_outgoing);

	if (st == E_NOMEM)
		return st;
	if (st != OK || (s->parallel == NULL && trace_start(s->trace) != 0))
		return refuse(s, why);
	if (s->parallel == NULL)
		s->packet = trace_create_packet();
	return s->parallel != NULL || s->packet != NULL ? OK : E_NOMEM;
}

static enum status
open_trace(struct source *s, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	enum status st;

	s->trace = trace_create(config->uri);
	if (trace_is_err(s->trace))
		return refuse(s, why);
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
		    reason, source_advice(reason));
	return st;
}

/* The URI for what a user has named, malloc'd: the name of an interface is
 * enough. */
static char *
uri_of(const struct source_config *config)
{
	const char *name = config->uri;
	char *uri;

	if (config->is_file || source_place(name) != name ||
	    !interface_is_there(name))
		return strdup(name);
	return asprintf(&uri, "int:%s", name) < 0 ? NULL : uri;
}

/* The file of a URI. -1 with errno. */
static int
open_place(const char *uri)
{
	const char *path = source_place(uri);
	struct stat st;
	int fd;

	if (strcmp(path, "-") == 0)
		return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode))
		return fd;
	close(fd);
	errno = EISDIR;
	return -1;
}

/* If *FD is compressed, a process decompresses it: *FD is then its output. */
static enum status
add_decompressor(struct source *s, int *fd)
{
	uint32_t magic;
	enum status st;

	if (!pcap_input_peek(*fd, &magic) ||
	    !decompress_is_for((const uint8_t *)&magic))
		return OK;
	st = child_start(&s->decompressor, *fd, decompress, NULL);
	if (st != OK)
		return st;
	close(*fd);
	*fd = s->decompressor.output;
	return OK;
}

/* Is a damaged compressed file the reason of what happened? Then it is in
 * WHY. */
static bool
is_damaged(struct source *s, bool is_at_end, char why[SOURCE_WHY_MAX])
{
	char reason[SOURCE_WHY_MAX];

	if (s->decompressor.pid == 0 ||
	    (!is_at_end && !child_complains(&s->decompressor)) ||
	    child_end(&s->decompressor, reason) == OK)
		return false;
	snprintf(why, SOURCE_WHY_MAX, "%.250s: %.250s", s->uri, reason);
	return true;
}

/* libtrace reads what is not in a format of pcap. */
static enum status
open_stream(struct source *s, const struct source_config *config, int fd,
    char why[SOURCE_WHY_MAX])
{
	enum status st = pcap_input_open(&s->pcap, config, fd, why);

	if (st == OK && s->pcap == NULL)
		st = file_input_open(&s->file, config, fd, why);
	return st == E_REFUSED && is_damaged(s, false, why) ? E_REFUSED : st;
}

static enum status
open_file(struct source *s, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	enum status st = file_input_check_format(config->uri, why);
	int fd;

	if (st != OK)
		return st;
	fd = open_place(config->uri);
	if (fd >= 0 && add_decompressor(s, &fd) == OK) {
		st = open_stream(s, config, fd, why);
		close(fd);
		return st;
	}
	snprintf(why, SOURCE_WHY_MAX, "%s: %s", config->uri,
	    errno == ENOENT && source_place(config->uri) == config->uri &&
		    !config->is_file
		? "no such interface or file"
		: strerror(errno));
	if (fd >= 0)
		close(fd);
	return E_REFUSED;
}

static enum status
start(struct source *s, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	if (strncmp(config->uri, "int:", 4) == 0)
		return open_interface(s, config, why);
	return s->is_live ? open_trace(s, config, why)
			  : open_file(s, config, why);
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
#ifndef HAVE_LIBTRACE_4 /* libtrace 3 */
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
	file_input_close(s->file);
	child_kill(&s->decompressor);
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
	(void)refuse(s, s->error);
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

static enum source_got
next_of_file(struct source *s, struct record *record, const uint8_t **bytes)
{
	const enum source_got got =
	    s->pcap != NULL
		? pcap_input_next(s->pcap, s->uri, record, bytes, s->error)
		: file_input_next(s->file, s->uri, record, bytes, s->error);

	return got != SOURCE_PACKET &&
		       is_damaged(s, got == SOURCE_END, s->error)
		   ? SOURCE_FAILED
		   : got;
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
	if (s->pcap != NULL || s->file != NULL)
		return next_of_file(s, record, bytes);
	do
		got = next_live(s, wait);
	while (got == SOURCE_PACKET &&
	       (!packet_describe(s->packet, record, bytes) ||
		   (s->drops_outgoing &&
		       record->direction == DIRECTION_OUTGOING)));
	return got;
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
		(void)refuse(s, s->error);
	return got;
}

void
source_list_formats(void)
{
	trace_help();
}
