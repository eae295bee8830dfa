/* SPDX-License-Identifier: MIT */
/*
 * usage: anon_pcap KEY-FILE mend|blank <IN >OUT: anon_packet() on each packet
 * of a pcap file of this machine's byte order, in memory of exactly its size.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/bytes.h"
#include "tools/capture/anon.h"
#include "tools/capture/record.h"

struct file_header {
	uint32_t magic, version, zone, accuracy, snaplen, link_type;
};

struct packet_header {
	uint32_t seconds, fraction, cap_len, wire_len;
};

static void
put(const void *p, size_t n)
{
	if (fwrite(p, 1, n, stdout) != n)
		err(1, "write");
}

static void
one(struct anon *a, uint16_t link_type, struct packet_header *h,
    enum anon_checksums sums)
{
	static uint8_t raw[RECORD_LEN_MAX];
	const uint32_t n = h->cap_len;
	struct bytes packet;

	if (n > sizeof(raw) || fread(raw, 1, n, stdin) != n)
		errx(1, "packet is cut off");
	packet = bytes_copy(raw, n);
	if (!anon_packet(a, link_type, packet.p, n, sums))
		h->wire_len = 0; /* not to be passed on */
	put(h, sizeof(*h));
	put(packet.p, n);
	free(packet.p);
}

int
main(int argc, char **argv)
{
	struct file_header file;
	struct packet_header packet;
	uint8_t key[ANON_KEY_LEN];
	enum anon_checksums sums;
	struct anon *a;
	const char *why;

	if (argc != 3)
		errx(2, "usage: anon_pcap KEY-FILE mend|blank");
	sums = strcmp(argv[2], "mend") == 0 ? ANON_MEND : ANON_BLANK;
	if (anon_read_key(argv[1], key, &why) != OK)
		errx(1, "%s: %s", argv[1], why);
	if (anon_create(&a, key) != OK)
		errx(1, "out of memory");
	if (fread(&file, sizeof(file), 1, stdin) != 1)
		errx(1, "no header");
	put(&file, sizeof(file));
	while (fread(&packet, sizeof(packet), 1, stdin) == 1)
		one(a, (uint16_t)file.link_type, &packet, sums);
	anon_destroy(a);
	return fflush(stdout) == 0 ? 0 : 1;
}
