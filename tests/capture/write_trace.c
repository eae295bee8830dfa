/* SPDX-License-Identifier: MIT */
/*
 * Writes a CTF trace with one packet of each kind, for stock readers: arguments
 * are a directory that is there, and what of a packet it has (none, headers,
 * full). Packets of CTF have 3 events each, and padding.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/capture/samples.h"
#include "tools/capture/ctf.h"

#define BEGIN_NS 1700000000123456789
#define STEP_NS 1000000001
#define EVENTS 3
#define PADDING 24
/* Bytes of an input that begin after, so that lengths differ. */
#define NOT_CAPTURED 1000

static const char *const uris[] = { "pcapfile:a", "say \"\\n\"\n\x01"
						  "9?\xc3\xa9" };
static struct ctf_trace trace = {
	.uuid = { 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0x4d, 0xef, 0x81, 0x23,
	    0x45, 0x67, 0x89, 0xab, 0xcd, 0xef },
	.hostname = "box",
	.uris = uris,
	.n_uris = 2,
	.snaplen = 65535,
	.is_anonymised = true,
};

static FILE *
open_file(const char *dir, const char *name)
{
	char path[4096];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (f == NULL)
		err(EXIT_FAILURE, "%s", path);
	return f;
}

static void
save(FILE *f, const void *p, size_t n)
{
	if (fwrite(p, 1, n, f) != n)
		err(EXIT_FAILURE, "write");
}

static void
close_file(FILE *f)
{
	if (fclose(f) != 0)
		err(EXIT_FAILURE, "close");
}

static void
write_metadata(const char *dir)
{
	FILE *f = open_file(dir, "metadata");
	struct buf b = { 0 };

	if (ctf_metadata(&b, &trace) != OK)
		errx(EXIT_FAILURE, "no memory");
	save(f, buf_data(&b), buf_len(&b));
	buf_free(&b);
	close_file(f);
}

/* The Nth event; behind the samples comes one of statistics. */
static size_t
encode(uint8_t *out, size_t nth)
{
	const bool is_stats = nth == samples_n;
	const struct record_stats stats = { 1000, 20, UINT64_MAX };
	struct bytes b = is_stats ? bytes_copy(&stats, sizeof(stats))
				  : sample_bytes(&samples[nth]);
	struct record *r = sample_record(
	    &b, is_stats ? 0 : samples[nth].link_type);
	struct headers h;
	size_t size;

	if (is_stats)
		r->kind = RECORD_STATS;
	r->ns = BEGIN_NS + nth * STEP_NS;
	r->wire_len += NOT_CAPTURED;
	r->direction = nth % 4 < 3 ? (uint8_t)(nth % 4) : DIRECTION_UNKNOWN;
	headers_find(&h, r->link_type, b.p, (uint32_t)b.n);
	size = is_stats ? event_encode_stats(out, r)
			: event_encode(out, r, &h, trace.payload);
	free(r);
	free(b.p);
	return size;
}

static void
write_packet(FILE *f, size_t first, size_t n, uint64_t number)
{
	static uint8_t mem[65536];
	struct ctf_packet packet = { .instance = 5,
		.timestamp_begin = BEGIN_NS + first * STEP_NS,
		.timestamp_end = BEGIN_NS + (first + n - 1) * STEP_NS,
		.packet_seq_num = number,
		.events_discarded = 10 * number,
		.cpu_id = 3,
		.input = 1 };
	size_t size = CTF_HEADER_LEN;

	for (size_t i = 0; i < n; i++)
		size += encode(mem + size, first + i);
	packet.content_size = size;
	packet.packet_size = size + PADDING;
	ctf_header_encode(mem, &trace, &packet);
	memset(mem + size, 0, PADDING);
	save(f, mem, size + PADDING);
}

static enum payload
payload_of(const char *name)
{
	if (strcmp(name, "none") == 0)
		return PAYLOAD_NONE;
	if (strcmp(name, "headers") == 0)
		return PAYLOAD_HEADERS;
	if (strcmp(name, "full") == 0)
		return PAYLOAD_FULL;
	errx(EXIT_FAILURE, "%s: what?", name);
}

int
main(int argc, char **argv)
{
	const size_t events = samples_n + 1;
	uint64_t number = 0;
	FILE *f;

	if (argc != 3)
		errx(EXIT_FAILURE, "usage: directory none|headers|full");
	trace.payload = payload_of(argv[2]);
	write_metadata(argv[1]);
	f = open_file(argv[1], "stream_0");
	for (size_t i = 0; i < events; i += EVENTS)
		write_packet(
		    f, i, events - i < EVENTS ? events - i : EVENTS, number++);
	close_file(f);
	return EXIT_SUCCESS;
}
