/* SPDX-License-Identifier: MIT */
#include "tests/bench/feed.h"

#include <string.h>

#include "common/buf.h"
#include "proto/data.h"

/* Of one writev. */
#define PACKETS_MAX 128
#define IOV_MAX_USED 512
#define BYTES_MAX (1024 * 1024)

#define HEAD (DATA_HEADER_LEN + SHAPE_TAG)

struct gather {
	struct iovec iov[IOV_MAX_USED];
	uint8_t heads[PACKETS_MAX][HEAD];
	int n;
	size_t bytes;
};

/* Header and tag stand in one piece, as the data follows them. */
static void
put_head(const struct feed *f, const struct packet_id *id, uint8_t out[HEAD])
{
	struct data_header h = { f->handles[id->stream], id->packet,
		f->shape->size, f->shape->padding };
	struct buf b = { .mem = out, .cap = DATA_HEADER_LEN };

	data_header_encode(&b, &h);
	shape_tag(id, out + DATA_HEADER_LEN);
}

static void
add(struct gather *g, void *p, size_t n)
{
	g->iov[g->n++] = (struct iovec){ p, n };
	g->bytes += n;
}

/* The packet from byte AT of header and data on. */
static void
add_packet(struct gather *g, const struct feed *f, uint64_t number, uint64_t at,
    uint8_t head[HEAD])
{
	const uint64_t length = DATA_HEADER_LEN + (uint64_t)f->shape->size;
	const struct packet_id id = feed_packet(f, number);
	size_t head_len = length < HEAD ? (size_t)length : HEAD;

	if (at < head_len) {
		put_head(f, &id, head);
		add(g, head + at, head_len - (size_t)at);
		at = head_len;
	}
	while (at < length && g->n < IOV_MAX_USED && g->bytes < BYTES_MAX) {
		struct iovec run = shape_run(
		    &id, at - DATA_HEADER_LEN, (size_t)(length - at));

		add(g, run.iov_base, run.iov_len);
		at += run.iov_len;
	}
}

static void
advance(struct feed *f, uint64_t sent)
{
	const uint64_t length = DATA_HEADER_LEN + (uint64_t)f->shape->size;

	f->at += sent;
	f->next += f->at / length;
	f->at %= length;
}

ssize_t
feed_send(struct feed *f, int fd, uint64_t most)
{
	struct gather g;
	uint64_t left = feed_total(f) - f->next, at = f->at;
	ssize_t sent;

	g.n = 0;
	g.bytes = 0;
	if (left > most)
		left = most;
	if (left > PACKETS_MAX)
		left = PACKETS_MAX;
	/* A packet needs two pieces, or it does not begin in this call. */
	for (uint64_t i = 0;
	     i < left && g.n < IOV_MAX_USED - 1 && g.bytes < BYTES_MAX; i++) {
		add_packet(&g, f, f->next + i, at, g.heads[i]);
		at = 0;
	}
	sent = writev(fd, g.iov, g.n);
	if (sent > 0)
		advance(f, (uint64_t)sent);
	return sent;
}
