/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/pcap_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

/* For a file that is read from start to end; stdio's own buffer has 4 KiB. */
#define READ_BUFFER (256 * 1024)
/* The interval between two checks of a pipe that has fewer bytes than the
 * magic. */
#define PEEK_NS (10 * NS_PER_MS)

struct pcap_input {
	pcap_t *pcap;
	FILE *file; /* PCAP closes it, once it is there */
	uint16_t link_type;
	char buffer[READ_BUFFER]; /* of FILE */
};

/* Read up to SIZE bytes of a pipe without removing them; waits for the first
 * one. */
static ssize_t
peek_pipe(int fd, void *bytes, size_t size)
{
	int ends[2];
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	n = tee(fd, ends[1], size, 0);
	if (n > 0)
		n = read(ends[0], bytes, size);
	close(ends[0]);
	close(ends[1]);
	return n;
}

/* Has the writer closed the pipe? */
static bool
is_finished(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && (p.revents & POLLHUP) != 0;
}

bool
pcap_input_peek(int fd, uint32_t *magic)
{
	const struct timespec pause = { .tv_nsec = PEEK_NS };
	const off_t at = lseek(fd, 0, SEEK_CUR);
	bool is_all = false;
	ssize_t n;

	if (at >= 0)
		return pread(fd, magic, sizeof(*magic), at) == sizeof(*magic);
	for (;;) {
		n = peek_pipe(fd, magic, sizeof(*magic));
		if (n == sizeof(*magic) || n <= 0 || is_all)
			return n == sizeof(*magic);
		/* poll(2) cannot wait for more: the pipe is readable. */
		is_all = is_finished(fd);
		nanosleep(&pause, NULL);
	}
}

/* With microseconds or nanoseconds, in either byte order; pcapng. */
static const uint32_t magics[] = { 0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d,
	0x4d3cb2a1, 0x0a0d0d0a };

static bool
is_pcap(uint32_t magic)
{
	for (size_t i = 0; i < ARRAY_LEN(magics); i++)
		if (magic == magics[i])
			return true;
	return false;
}

static enum status
refuse(char why[SOURCE_WHY_MAX], const char *uri, const char *reason)
{
	snprintf(why, SOURCE_WHY_MAX, "%.250s: %.250s", uri, reason);
	return E_REFUSED;
}

enum status
pcap_input_compile(pcap_t *p, const char *text, struct bpf_program *program,
    char why[SOURCE_WHY_MAX])
{
	if (pcap_compile(p, program, text, 1, PCAP_NETMASK_UNKNOWN) == 0)
		return OK;
	snprintf(why, SOURCE_WHY_MAX, "invalid filter \"%.200s\": %.200s", text,
	    pcap_geterr(p));
	return E_REFUSED;
}

static enum status
set_filter(struct pcap_input *in, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	char reason[SOURCE_WHY_MAX];
	struct bpf_program program;
	int result;

	if (config->filter == NULL)
		return OK;
	if (pcap_input_compile(in->pcap, config->filter, &program, reason) !=
	    OK) {
		return refuse(why, config->uri, reason);
	}
	result = pcap_setfilter(in->pcap, &program);
	pcap_freecode(&program);
	if (result == 0)
		return OK;
	return refuse(why, config->uri, pcap_geterr(in->pcap));
}

/* libpcap's DLT_ numbers are those of files, except these (pcap-linktype(7)).
 */
static const struct {
	uint16_t in_files;
	int dlt;
} numbers[] = {
	{ 100, DLT_ATM_RFC1483 },
	{ LINKTYPE_RAW, DLT_RAW },
	{ 102, DLT_SLIP_BSDOS },
	{ 103, DLT_PPP_BSDOS },
	{ 106, DLT_ATM_CLIP },
	{ 246, DLT_PFSYNC },
};

static uint16_t
number_in_files(int dlt)
{
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].dlt == dlt)
			return numbers[i].in_files;
	return dlt >= 0 && dlt < LINKTYPE_UNKNOWN ? (uint16_t)dlt
						  : LINKTYPE_UNKNOWN;
}

int
pcap_input_dlt(uint16_t link_type)
{
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].in_files == link_type)
			return numbers[i].dlt;
	return link_type;
}

static enum status
open_pcap(struct pcap_input *in, const struct source_config *config,
    char why[SOURCE_WHY_MAX])
{
	char error[PCAP_ERRBUF_SIZE];

	in->pcap = pcap_fopen_offline_with_tstamp_precision(
	    in->file, PCAP_TSTAMP_PRECISION_NANO, error);
	if (in->pcap == NULL) {
		return refuse(why, config->uri, error);
	}
	in->link_type = number_in_files(pcap_datalink(in->pcap));
	return set_filter(in, config, why);
}

/* A plain name, or a format of pcap. */
static bool
may_be_pcap(const char *uri)
{
	return source_place(uri) == uri || strncmp(uri, "pcap:", 5) == 0 ||
	       strncmp(uri, "pcapfile:", 9) == 0 ||
	       strncmp(uri, "pcapng:", 7) == 0;
}

/* Takes FD. */
static enum status
open_stream(struct pcap_input *in, int take_fd)
{
	in->file = take_fd >= 0 ? fdopen(take_fd, "rb") : NULL;
	if (in->file == NULL && take_fd >= 0)
		close(take_fd);
	if (in->file == NULL)
		return E_NOMEM;
	(void)setvbuf(in->file, in->buffer, _IOFBF, sizeof(in->buffer));
	return OK;
}

enum status
pcap_input_open(struct pcap_input **out, const struct source_config *config,
    int fd, char why[SOURCE_WHY_MAX])
{
	struct pcap_input *in;
	uint32_t magic;
	enum status st;

	*out = NULL;
	if (!may_be_pcap(config->uri) || !pcap_input_peek(fd, &magic) ||
	    !is_pcap(magic))
		return OK;
	in = calloc(1, sizeof(*in));
	if (in == NULL)
		return E_NOMEM;
	st = open_stream(in, fcntl(fd, F_DUPFD_CLOEXEC, 0));
	if (st == OK)
		st = open_pcap(in, config, why);
	if (st == OK)
		*out = in;
	else
		pcap_input_close(in);
	return st;
}

void
pcap_input_close(struct pcap_input *in)
{
	if (in == NULL)
		return;
	if (in->pcap != NULL)
		pcap_close(in->pcap);
	else if (in->file != NULL)
		fclose(in->file);
	free(in);
}

/* The direction of Linux's cooked packets, which begin with it. */
static uint8_t
cooked_direction(const struct pcap_input *in, const uint8_t *p, uint32_t n)
{
	static const uint8_t directions[] = { DIRECTION_INCOMING,
		DIRECTION_INCOMING, DIRECTION_INCOMING, DIRECTION_OTHER,
		DIRECTION_OUTGOING };

	if (in->link_type != LINKTYPE_LINUX_SLL || n < 2 || p[0] != 0 ||
	    p[1] >= sizeof(directions))
		return DIRECTION_UNKNOWN;
	return directions[p[1]];
}

/* Nanoseconds. A file may have any value; less than 0, or more than a few
 * seconds, is not valid. */
static uint64_t
part_of_second(int64_t ns)
{
	return ns >= 0 && ns < 10 * (int64_t)NS_PER_S ? (uint64_t)ns : 0;
}

enum source_got
pcap_input_next(struct pcap_input *in, const char *uri, struct record *r,
    const uint8_t **bytes, char why[SOURCE_WHY_MAX])
{
	struct pcap_pkthdr *h;
	const int got = pcap_next_ex(in->pcap, &h, bytes);

	if (got == PCAP_ERROR_BREAK)
		return SOURCE_END;
	if (got != 1) {
		(void)refuse(why, uri, pcap_geterr(in->pcap));
		return SOURCE_FAILED;
	}
	/* Unsigned in the file; libpcap has years from 2038 on below 0. */
	r->ns = (uint64_t)(uint32_t)h->ts.tv_sec * NS_PER_S +
		part_of_second(h->ts.tv_usec);
	r->wire_len = h->len;
	r->cap_len = h->caplen;
	r->link_type = in->link_type;
	r->direction = cooked_direction(in, *bytes, r->cap_len);
	r->kind = RECORD_PACKET;
	return SOURCE_PACKET;
}
