/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/file_input.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/capture/child.h"
#include "tools/capture/libtrace_packet.h"

#define BUFFER_SIZE (512 * 1024)
_Static_assert(
    RECORD_LEN_MAX < BUFFER_SIZE - sizeof(struct record), "a packet has room");

/* What comes from the process: a byte, once libtrace has accepted the file;
 * then records, each with its bytes. */
struct file_input {
	struct child child;
	FILE *from; /* the process */
	uint8_t bytes[RECORD_LEN_MAX];
	char buffer[BUFFER_SIZE]; /* of FROM */
};

enum status
file_input_check_format(const char *uri, char why[SOURCE_WHY_MAX])
{
	char reason[SOURCE_WHY_MAX];
	enum status st = OK;
	libtrace_t *trace;

	if (source_place(uri) == uri || strncmp(uri, "pcapng:", 7) == 0)
		return OK;
	trace = trace_create(uri); /* opens nothing */
	if (trace_is_err(trace)) {
		libtrace_error(trace, reason);
		snprintf(why, SOURCE_WHY_MAX, "%.250s: %.250s", uri, reason);
		st = E_REFUSED;
	}
	trace_destroy(trace);
	return st;
}

/* Everything from here on runs in the process. What was read is passed on, even
 * if libtrace ends the process. */
static uint8_t waiting[BUFFER_SIZE];
static volatile size_t n_waiting;

static bool
flush(void)
{
	const size_t n = n_waiting;

	n_waiting = 0;
	return child_write(waiting, n);
}

/* The signal comes again, and ends the process. */
static void
on_crash(int number)
{
	signal(number, SIG_DFL);
	(void)flush();
}

static void
watch_crashes(void)
{
	static const int numbers[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE,
		SIGILL };

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		signal(numbers[i], on_crash);
}

struct work {
	const struct source_config *config;
	libtrace_t *trace;
	libtrace_filter_t *filter;
	libtrace_packet_t *packet;
};

static bool
start(struct work *w, char why[SOURCE_WHY_MAX])
{
	const char *uri = w->config->uri;
	char *own;

	/* wandio would read ahead in its own thread, with 50 MiB of buffers,
	 * and be no faster. */
	(void)setenv("LIBTRACEIO", "nothreads", 0);
	if (asprintf(&own, "%.*s-", (int)(source_place(uri) - uri), uri) < 0)
		return false;
	w->trace = trace_create(own);
	free(own);
	if (trace_is_err(w->trace) && source_place(uri) == uri) {
		snprintf(why, SOURCE_WHY_MAX,
		    "the file has no format that can be recognised; name it, "
		    "as in erf:FILE");
		return false;
	}
	if (!trace_is_err(w->trace) && w->config->filter != NULL &&
	    packet_filter_create(&w->filter, w->config->filter, why) != OK)
		return false;
	if (!trace_is_err(w->trace) && trace_start(w->trace) == 0) {
		w->packet = trace_create_packet();
		return w->packet != NULL;
	}
	libtrace_error(w->trace, why);
	return false;
}

/* False: nobody reads it, or there is a problem. */
static bool
put_packet(struct work *w, char why[SOURCE_WHY_MAX])
{
	struct record r = { 0 };
	const uint8_t *bytes;
	int passes = 1;

	if (!packet_describe(w->packet, &r, &bytes))
		return true;
	if (w->filter != NULL)
		passes = trace_apply_filter(w->filter, w->packet);
	if (passes < 0)
		snprintf(why, SOURCE_WHY_MAX,
		    "the filter does not apply to this link type");
	if (passes <= 0)
		return passes == 0;
	if (r.cap_len > RECORD_LEN_MAX)
		r.cap_len = RECORD_LEN_MAX;
	if (n_waiting + sizeof(r) + r.cap_len > sizeof(waiting) && !flush())
		return false;
	memcpy(waiting + n_waiting, &r, sizeof(r));
	if (r.cap_len > 0) /* else BYTES may be NULL */
		memcpy(waiting + n_waiting + sizeof(r), bytes, r.cap_len);
	n_waiting += sizeof(r) + r.cap_len;
	return true;
}

static bool
read_file(const void *config, char why[SOURCE_WHY_MAX])
{
	struct work w = { .config = config };

	if (!start(&w, why) || !child_write("", 1))
		return false;
	watch_crashes();
	/* libtrace reports errno for a record that is cut off, without having
	 * set it, and then asserts that it is not 0. */
	while (errno = EIO, trace_read_packet(w.trace, w.packet) > 0)
		if (!put_packet(&w, why))
			break;
	if (why[0] == '\0' && trace_is_err(w.trace))
		libtrace_error(w.trace, why);
	return flush() && why[0] == '\0';
}

/* And up to here. */
static enum status
end(struct file_input *in, const char *uri, char why[SOURCE_WHY_MAX])
{
	char reason[SOURCE_WHY_MAX];
	const enum status st = child_end(&in->child, reason);

	if (st != OK)
		snprintf(why, SOURCE_WHY_MAX, "%.250s: %.250s", uri, reason);
	return st;
}

enum status
file_input_open(struct file_input **out, const struct source_config *config,
    int fd, char why[SOURCE_WHY_MAX])
{
	struct file_input *in = calloc(1, sizeof(*in));
	enum status st = E_NOMEM;

	*out = NULL;
	if (in == NULL)
		return st;
	if (child_start(&in->child, fd, read_file, config) != OK) {
		snprintf(why, SOURCE_WHY_MAX, "%s: %s", config->uri,
		    strerror(errno));
		file_input_close(in);
		return E_REFUSED;
	}
	in->from = fdopen(in->child.output, "rb");
	if (in->from != NULL) {
		(void)setvbuf(in->from, in->buffer, _IOFBF, sizeof(in->buffer));
		st = getc(in->from) == 0 ? OK : end(in, config->uri, why);
	}
	if (in->from == NULL)
		close(in->child.output);
	if (st == OK)
		*out = in;
	else
		file_input_close(in);
	return st;
}

void
file_input_close(struct file_input *in)
{
	if (in == NULL)
		return;
	child_kill(&in->child);
	if (in->from != NULL)
		fclose(in->from);
	free(in);
}

enum source_got
file_input_next(struct file_input *in, const char *uri, struct record *r,
    const uint8_t **bytes, char why[SOURCE_WHY_MAX])
{
	*bytes = in->bytes;
	if (fread(r, sizeof(*r), 1, in->from) == 1 &&
	    r->cap_len <= RECORD_LEN_MAX &&
	    fread(in->bytes, 1, r->cap_len, in->from) == r->cap_len) {
		r->kind = RECORD_PACKET;
		return SOURCE_PACKET;
	}
	if (in->child.pid > 0 && end(in, uri, why) != OK)
		return SOURCE_FAILED;
	return SOURCE_END;
}
