/* SPDX-License-Identifier: MIT */
/*
 * Packets to a file, in nanoseconds: pcap, by libpcap, with one link type; or
 * pcapng (draft-ietf-opsawg-pcapng), with an interface for each link type.
 */
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/capture/file_series.h"
#include "tools/capture/little.h"
#include "tools/capture/options.h"
#include "tools/capture/pcap_input.h"
#include "tools/capture/sink.h"

/* After so many bytes, or so much time, what was written is in the file. */
#define FLUSH_BYTES (256 * 1024)
#define FLUSH_NS (1 * NS_PER_S)
/* Interfaces of a pcapng file: one for each link type. */
#define LINK_TYPES_MAX 16

/* Types and lengths of blocks. */
#define SECTION 0x0a0d0d0a
#define SECTION_LEN 28
#define SECTION_MAGIC 0x1a2b3c4d
#define INTERFACE 1
#define INTERFACE_LEN 32
#define ENHANCED_PACKET 6
#define ENHANCED_PACKET_LEN 32
/* Of a pcap file, and before each packet in it. */
#define FILE_HEADER_LEN 24
#define PACKET_HEADER_LEN 16
#define OPTION_RESOLUTION 9 /* of times; 9: 10^-9 s */

struct sink_pcap {
	struct sink sink; /* first */
	bool is_ng, is_micro, is_packet_buffered;
	struct file_series series;
	FILE *file;
	char buffer[2 * FLUSH_BYTES]; /* of FILE */
	pcap_t *pcap;
	pcap_dumper_t *dumper; /* owns FILE */
	uint16_t link_types[LINK_TYPES_MAX];
	uint32_t n_link_types;
	uint64_t flush_at; /* clock_now_ns(); UINT64_MAX: all is in the file */
	uint64_t pending;  /* bytes */
	/* What is in the file for certain. */
	uint64_t whole_packets, whole_bytes;
	off_t whole_end;
};

static struct sink_pcap *
pcap_of(struct sink *sink)
{
	return (struct sink_pcap *)sink;
}

/* The file keeps the packets that are whole: these are reported. */
static enum status
fail(struct sink_pcap *f)
{
	const int error = errno;
	struct stat s;

	f->flush_at = UINT64_MAX;
	__fpurge(f->file);
	if (fstat(fileno(f->file), &s) == 0 && S_ISREG(s.st_mode))
		(void)!ftruncate(fileno(f->file), f->whole_end);
	f->sink.written = f->whole_packets;
	f->sink.bytes = f->whole_bytes;
	return sink_fail(
	    &f->sink, E_IO, "%s: %s", f->series.path, strerror(error));
}

static enum status
flush(struct sink_pcap *f)
{
	struct stat s;

	f->flush_at = UINT64_MAX;
	f->pending = 0;
	if (ferror(f->file) || fflush(f->file) != 0)
		return fail(f);
	if (fstat(fileno(f->file), &s) == 0)
		f->whole_end = s.st_size;
	f->whole_packets = f->sink.written;
	f->whole_bytes = f->sink.bytes;
	return OK;
}

static void
put_section(struct sink_pcap *f)
{
	uint8_t block[SECTION_LEN], *at = little_u32(block, SECTION);

	at = little_u32(at, SECTION_LEN);
	at = little_u32(at, SECTION_MAGIC);
	at = little_u16(at, 1); /* version 1.0 */
	at = little_u16(at, 0);
	at = little_u64(at, UINT64_MAX); /* its length is not known */
	(void)little_u32(at, SECTION_LEN);
	(void)fwrite(block, sizeof(block), 1, f->file);
	f->series.rotation.bytes += SECTION_LEN;
}

/* What a file says of its longest packet: readers cut what is longer, and
 * libpcap refuses what exceeds its limit, which depends on the link type. */
static uint32_t
snaplen_of(uint16_t link_type)
{
	switch (link_type) {
	case 189: /* USB, of Linux */
	case 220: /* the same, with padding */
	case 231: /* D-Bus */
	case 249: /* USB, of USBPcap */
	case 279: /* EBHSCR */
		return LARGE_RECORD_LEN_MAX;
	default:
		return RECORD_LEN_MAX;
	}
}

static void
put_interface(struct sink_pcap *f, uint16_t link_type)
{
	uint8_t block[INTERFACE_LEN] = { 0 },
		*at = little_u32(block, INTERFACE);

	at = little_u32(at, INTERFACE_LEN);
	at = little_u16(at, link_type);
	at = little_u16(at, 0);
	at = little_u32(at, snaplen_of(link_type));
	at = little_u16(at, OPTION_RESOLUTION);
	at = little_u16(at, 1);
	*at = f->is_micro ? 6 : 9;
	/* With padding, and the end of the options. */
	(void)little_u32(block + INTERFACE_LEN - 4, INTERFACE_LEN);
	(void)fwrite(block, sizeof(block), 1, f->file);
	f->series.rotation.bytes += INTERFACE_LEN;
}

static void
put_packet_block(struct sink_pcap *f, uint32_t interface,
    const struct record *r, const uint8_t *bytes)
{
	static const uint8_t zeros[4];
	const uint32_t pad = -r->len % 4;
	const uint32_t len = ENHANCED_PACKET_LEN + r->len + pad;
	const uint64_t time = f->is_micro ? r->ns / 1000 : r->ns;
	uint8_t block[ENHANCED_PACKET_LEN],
	    *at = little_u32(block, ENHANCED_PACKET);

	at = little_u32(at, len);
	at = little_u32(at, interface);
	at = little_u32(at, (uint32_t)(time >> 32));
	at = little_u32(at, (uint32_t)time);
	at = little_u32(at, r->len);
	at = little_u32(at, r->wire_len);
	(void)fwrite(block, (size_t)(at - block), 1, f->file);
	(void)fwrite(bytes, 1, r->len, f->file);
	(void)fwrite(zeros, 1, pad, f->file);
	(void)little_u32(block, len);
	(void)fwrite(block, 4, 1, f->file);
	f->series.rotation.bytes += len;
}

/* The file's header. E_MALFORMED: libpcap writes no such link type. */
static enum status
open_dumper(struct sink_pcap *f, uint16_t link_type)
{
	if (f->pcap == NULL)
		f->pcap = pcap_open_dead_with_tstamp_precision(
		    pcap_input_dlt(link_type), (int)snaplen_of(link_type),
		    f->is_micro ? PCAP_TSTAMP_PRECISION_MICRO
				: PCAP_TSTAMP_PRECISION_NANO);
	if (f->pcap == NULL)
		return sink_fail(&f->sink, E_NOMEM, "out of memory");
	f->dumper = pcap_dump_fopen(f->pcap, f->file);
	f->series.rotation.bytes = FILE_HEADER_LEN;
	if (f->dumper != NULL)
		return ferror(f->file) ? fail(f) : OK;
	pcap_close(f->pcap);
	f->pcap = NULL;
	return ferror(f->file) ? fail(f) : E_MALFORMED;
}

/* Where in the file this link type is. E_MALFORMED: nowhere. */
static enum status
find_link_type(struct sink_pcap *f, uint16_t link_type, uint32_t *interface)
{
	enum status st = OK;

	for (*interface = 0; *interface < f->n_link_types; (*interface)++)
		if (f->link_types[*interface] == link_type)
			return OK;
	if (link_type == LINKTYPE_UNKNOWN ||
	    f->n_link_types == (f->is_ng ? LINK_TYPES_MAX : 1))
		return E_MALFORMED;
	if (f->is_ng)
		put_interface(f, link_type);
	else
		st = open_dumper(f, link_type);
	if (st == OK)
		f->link_types[f->n_link_types++] = link_type;
	return st;
}

static void
put_packet(struct sink_pcap *f, const struct record *r, const uint8_t *bytes)
{
	const uint64_t rest = r->ns % NS_PER_S;
	/* libpcap writes nanoseconds from the member of the microseconds. */
	const struct pcap_pkthdr h = {
		.ts = { .tv_sec = (time_t)(r->ns / NS_PER_S),
		    .tv_usec = (suseconds_t)(f->is_micro ? rest / 1000
							 : rest) },
		.caplen = r->len,
		.len = r->wire_len,
	};

	pcap_dump((uint8_t *)f->dumper, &h, bytes);
	f->series.rotation.bytes += PACKET_HEADER_LEN + r->len;
}

/* A file server may report only when a descriptor is closed that the disk was
 * full. */
static enum status
complete_file(struct sink_pcap *f)
{
	const int fd = dup(fileno(f->file));
	enum status st = flush(f);

	if (st == OK && fd >= 0 && close(fd) != 0)
		return fail(f);
	return st;
}

static void
close_file(struct sink_pcap *f)
{
	if (f->dumper != NULL)
		pcap_dump_close(f->dumper);
	else if (f->file != NULL)
		fclose(f->file);
	f->dumper = NULL;
	f->file = NULL;
}

static enum status
open_file(struct sink_pcap *f)
{
	enum status st;
	struct stat s;
	int fd;

	st = sink_open_file(&f->sink, f->series.path, &fd);
	if (st != OK)
		return st;
	f->file = fdopen(fd, "wb");
	if (f->file == NULL) {
		close(fd);
		return E_NOMEM;
	}
	(void)setvbuf(f->file, f->buffer, _IOFBF, sizeof(f->buffer));
	/* Standard output may be appended to a file. */
	f->whole_end = fstat(fd, &s) == 0 ? s.st_size : 0;
	if (f->is_ng) {
		put_section(f);
		f->n_link_types = 0;
		return OK;
	}
	return f->pcap != NULL ? open_dumper(f, f->link_types[0]) : OK;
}

static enum status
next_file(struct sink_pcap *f, uint64_t ns)
{
	enum status st = complete_file(f);

	if (st == OK)
		st = file_series_next(&f->series, ns);
	if (st != OK)
		return st;
	close_file(f);
	return open_file(f);
}

static enum status
put_record(struct sink *sink, const struct record *r, const uint8_t *bytes)
{
	struct sink_pcap *f = pcap_of(sink);
	uint32_t interface;
	enum status st;

	if (r->kind != RECORD_PACKET)
		return OK;
	st = find_link_type(f, r->link_type, &interface);
	if (st == E_MALFORMED) {
		sink->left_out++;
		return OK;
	}
	if (st == OK && file_series_rotates(&f->series) &&
	    file_series_is_due(&f->series, r->ns)) {
		st = next_file(f, r->ns);
		if (st == OK)
			st = find_link_type(f, r->link_type, &interface);
	}
	if (st != OK)
		return st;
	if (f->is_ng)
		put_packet_block(f, interface, r, bytes);
	else
		put_packet(f, r, bytes);
	if (ferror(f->file))
		return fail(f);
	sink->written++;
	sink->bytes += r->len;
	f->pending += r->len + ENHANCED_PACKET_LEN;
	if (f->flush_at == UINT64_MAX)
		f->flush_at = clock_now_ns() + FLUSH_NS;
	return f->pending < FLUSH_BYTES && !f->is_packet_buffered ? OK
								  : flush(f);
}

static unsigned
pollfds(struct sink *sink, struct pollfd out[SINK_POLLFDS], uint64_t *at_ns)
{
	(void)out;
	*at_ns = pcap_of(sink)->flush_at;
	return 0;
}

static enum status
work(struct sink *sink)
{
	struct sink_pcap *f = pcap_of(sink);

	return clock_now_ns() < f->flush_at ? OK : flush(f);
}

static enum status
finish(struct sink *sink)
{
	struct sink_pcap *f = pcap_of(sink);
	uint32_t interface;
	enum status st = OK;

	/* A file without packets has a link type, too. */
	if (!f->is_ng && f->dumper == NULL && sink->left_out == 0)
		st = find_link_type(f, LINKTYPE_ETHERNET, &interface);
	return st == OK ? complete_file(f) : st;
}

static void
destroy(struct sink *sink)
{
	struct sink_pcap *f = pcap_of(sink);

	close_file(f);
	if (f->pcap != NULL)
		pcap_close(f->pcap);
}

static const struct sink_ops ops = {
	.record = put_record,
	.pollfds = pollfds,
	.work = work,
	.finish = finish,
	.destroy = destroy,
};

enum status
sink_pcap_create(struct sink **out, const struct sink_config *config,
    const char *path, bool is_ng, const struct capture_options *options,
    char why[SINK_ERROR_MAX])
{
	struct sink_pcap *f = sink_new(sizeof(*f), &ops, config, why);
	enum status st;

	if (f == NULL)
		return E_NOMEM;
	f->is_ng = is_ng;
	f->is_micro = options->precision == PRECISION_MICRO;
	f->is_packet_buffered = options->is_packet_buffered;
	f->flush_at = UINT64_MAX;
	f->series = (struct file_series){ .name = path,
		.rotation = options->rotation,
		.count = options->files };
	st = file_series_begin(&f->series, clock_wall_ns());
	if (st != OK)
		(void)sink_fail(&f->sink, st, "%s: the name is too long", path);
	else if (file_series_rotates(&f->series) && strcmp(path, "-") == 0)
		st = sink_fail(&f->sink, E_REFUSED,
		    "-w -: standard output cannot be rotated");
	else
		st = open_file(f);
	return sink_opened(out, &f->sink, st, why);
}
