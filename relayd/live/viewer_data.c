/* SPDX-License-Identifier: MIT */
/* GET_PACKET (live 2.9) and GET_METADATA (live 2.10). */
#include <endian.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "ctf/index.h"
#include "ctf/packet.h"
#include "store/folder.h"
#include "store/metadata_log.h"
#include "store/packet_log.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/open_files.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/live/viewers.h"
#include "relayd/stats/stats.h"

/*
 * A stream may begin before the times that the viewer was sent (live 4.11).
 * For the first packet of a new process, a tracer takes the time when it makes
 * the buffers, and adds the streams later; on a busy machine, much later. A
 * stock viewer that was sent a later time in between stops at that packet.
 *
 * Only the beginning of the packet is in the past, never an event: the process
 * begins to trace after its streams are published, so its events are later than
 * all times that its session had sent by then. Therefore this viewer is sent a
 * later beginning. The files are not changed.
 */

/* LTTng's packets (CTF 1.8, 5, with the fields that LTTng declares), bytes. */
#define BEGIN_AT 32
#define HEAD_LEN 64
#define NEW_BEGIN_LEN (BEGIN_AT + 8)
/* A packet of at most this many bits has header and context, but no event. */
#define EMPTY_BITS 672

static uint64_t
word(const uint8_t *p, bool is_big)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return is_big ? be64toh(w) : le64toh(w);
}

static void
put_word(uint8_t *p, uint64_t w, bool is_big)
{
	w = is_big ? htobe64(w) : htole64(w);
	memcpy(p, &w, sizeof(w));
}

/* Has the packet LTTng's layout, and the same values as its index record? */
static bool
is_lttng(
    const uint8_t head[HEAD_LEN], const struct index_record *rec, bool *is_big)
{
	uint32_t magic;

	memcpy(&magic, head, sizeof(magic));
	*is_big = be32toh(magic) == CTF_MAGIC;
	return (*is_big || le32toh(magic) == CTF_MAGIC) &&
	       word(head + BEGIN_AT, *is_big) == rec->timestamp_begin &&
	       word(head + BEGIN_AT + 8, *is_big) == rec->timestamp_end &&
	       word(head + BEGIN_AT + 16, *is_big) == rec->content_size &&
	       word(head + BEGIN_AT + 24, *is_big) == rec->packet_size;
}

enum begin_change
viewer_change_begin(struct viewer *v, struct position *p,
    const struct open_file *file, struct index_record *rec)
{
	uint8_t head[HEAD_LEN];
	bool is_big;

	if (rec->timestamp_begin >= viewer_min_begin(p, rec->timestamp_end)) {
		p->min_begin = 0; /* all later packets are above it, too */
		return BEGIN_KEPT;
	}
	if (rec->packet_size < sizeof(head) * 8 ||
	    pread(file->data_fd, head, sizeof(head), (off_t)rec->offset) !=
		(ssize_t)sizeof(head) ||
	    !is_lttng(head, rec, &is_big)) {
		p->min_begin = 0; /* the packet is sent unchanged */
		return BEGIN_KEPT;
	}
	if (rec->timestamp_end >= p->min_begin) {
		rec->timestamp_begin = p->min_begin;
		put_word(p->new_begin, p->min_begin, is_big);
		p->new_begin_packet = rec->offset;
		return BEGIN_CHANGED;
	}
	if (rec->content_size > EMPTY_BITS) {
		p->min_begin = 0;
		return BEGIN_KEPT;
	}
	v->passed++;
	log_debug("peer=%s viewer skips an empty packet of %s/%s that began "
		  "before it knew the stream",
	    v->peer, p->stream->path, p->stream->channel);
	return BEGIN_SKIP_PACKET;
}

/* BYTES are LENGTH at OFFSET of P's file: put a new begin in. */
static void
put_new_begin(
    const struct position *p, uint64_t offset, uint64_t length, uint8_t *bytes)
{
	const uint64_t at = p->new_begin_packet + BEGIN_AT;

	for (size_t i = 0; p->has_new_begin && i < sizeof(p->new_begin); i++)
		if (at + i >= offset && at + i - offset < length)
			bytes[at + i - offset] = p->new_begin[i];
}

/* LENGTH bytes at OFFSET of P's file are to be sent. The first *COPIED of them,
 * up to the end of a new begin, are put in HEAD; the rest is as in the file.
 * False: the file cannot be read. */
static bool
copy_new_begin(const struct position *p, uint64_t offset, uint64_t length,
    uint8_t head[NEW_BEGIN_LEN], size_t *copied)
{
	const uint64_t end = p->new_begin_packet + NEW_BEGIN_LEN;
	size_t n;

	*copied = 0;
	if (!p->has_new_begin || offset < p->new_begin_packet || offset >= end)
		return true;
	n = (size_t)(end - offset < length ? end - offset : length);
	if (pread(p->file->data_fd, head, n, (off_t)offset) != (ssize_t)n)
		return false;
	put_new_begin(p, offset, n, head);
	*copied = n;
	return true;
}

/* Put the bytes that Q asks for, or their place, into REPLY. False: they are
 * gone. */
static bool
put_bytes(struct viewer *v, struct position *p, const struct live_request *q,
    struct live_reply *reply)
{
	uint8_t head[NEW_BEGIN_LEN];
	size_t n;

	if (open_file_again(&v->viewers->files, p->file) != OK ||
	    !open_file_has(p->file, q->offset, q->length) ||
	    !copy_new_begin(p, q->offset, q->length, head, &n))
		return false;
	live_reply_packet(reply->out, LIVE_PACKET_OK, q->length, 0);
	buf_bytes(reply->out, head, n);
	if (q->length > n) {
		reply->file = open_file_use(p->file);
		reply->offset = q->offset + n;
		reply->length = q->length - n;
	}
	return true;
}

/* The same for a file that was closed to free descriptors, and then deleted:
 * bytes that were kept. */
static bool
put_kept(const struct position *p, const struct live_request *q,
    struct live_reply *reply)
{
	const uint8_t *kept = open_part_bytes(&p->part, q->offset, q->length);
	uint8_t *at;

	if (kept == NULL)
		return false;
	live_reply_packet(reply->out, LIVE_PACKET_OK, q->length, 0);
	at = buf_reserve(reply->out, q->length);
	if (at == NULL)
		return true; /* the reply is bad */
	memcpy(at, kept, q->length);
	put_new_begin(p, q->offset, q->length, at);
	buf_added(reply->out, q->length);
	return true;
}

enum live_outcome
viewer_packet(
    struct viewer *v, const struct live_request *q, struct live_reply *reply)
{
	struct position *p = viewer_position(v, q->id);

	viewer_count(v, true);
	if (p == NULL || p->file == NULL ||
	    (!put_bytes(v, p, q, reply) && !put_kept(p, q, reply))) {
		live_reply_packet(reply->out, LIVE_PACKET_ERR, 0, 0);
		return LIVE_REPLY;
	}
	published_add(&p->stream->session->sent_bytes, q->length);
	/* Viewers ask for the parts of a packet in order. */
	if (q->offset + q->length >= p->part.offset + p->part.length)
		open_part_done(&p->part);
	return LIVE_REPLY;
}

/* A tracer sends the metadata of a new process in two pieces; the classes are
 * in the second. babeltrace2 2.0 aborts at the first packet if it has read the
 * first piece alone. */
static bool
is_worth_reading(const struct viewer *v, struct position *p,
    const struct metadata_view *view)
{
	return p->sent > 0 || view->has_class ||
	       published(&p->stream->metadata->is_ended) != 0 ||
	       !viewer_may_wait_for_class(v, p);
}

/* Put the metadata bytes of P that were not sent to the viewer into REPLY.
 * False: there are none. */
static bool
new_metadata(
    const struct viewer *v, struct position *p, struct live_reply *reply)
{
	struct metadata_view view;
	struct stat sb;
	bool has = false;

	metadata_log_look(p->stream->metadata, &view);
	if (view.length > p->sent && is_worth_reading(v, p, &view) &&
	    open_file_metadata(&v->viewers->files, &reply->file, view.folder) ==
		OK) {
		has = fstat(reply->file->data_fd, &sb) == 0 &&
		      (uint64_t)sb.st_size >= view.length;
		if (!has) {
			open_file_done(reply->file);
			reply->file = NULL;
		}
	}
	folder_put(view.folder);
	if (!has)
		return false;
	reply->offset = p->sent;
	reply->length = view.length - p->sent;
	p->sent = view.length;
	return true;
}

static enum live_outcome
refuse_metadata(struct viewer *v, struct live_reply *reply)
{
	viewer_count(v, true);
	live_reply_metadata(reply->out, 0, LIVE_METADATA_ERR);
	return LIVE_REPLY;
}

enum live_outcome
viewer_metadata(struct viewer *v, uint64_t id, const struct live_how *how,
    struct live_reply *reply, struct live_held *held)
{
	struct position *p = viewer_position(v, id);
	bool is_ended, waits = false;

	if (p == NULL || p->state != POSITION_ANNOUNCED ||
	    !p->stream->is_metadata)
		return refuse_metadata(v, reply);
	for (;;) {
		is_ended = published(&p->stream->metadata->is_ended) != 0;
		if (new_metadata(v, p, reply))
			break;
		/* The metadata was cleared before it was read; without an error
		 * babeltrace2 would ask again forever. */
		if (p->sent == 0 && is_ended)
			return refuse_metadata(v, reply);
		/* Hold only before the viewer has any metadata of the trace.
		 * Never hold babeltrace2: when it is interrupted here, it
		 * aborts after any reply. */
		if (p->sent == 0 && !v->created_before_list &&
		    viewer_may_hold(v, how, p->stream->session,
			p->stream->metadata, held)) {
			if (waits)
				return LIVE_HOLD;
			waiters_add(&p->stream->metadata->waiters,
			    v->viewers->wake_bit);
			waits = true;
			continue;
		}
		if (p->sent == 0)
			viewer_count(v, false);
		live_reply_metadata(reply->out, 0, LIVE_METADATA_NO_NEW);
		return LIVE_REPLY;
	}
	viewer_count(v, true);
	live_reply_metadata(reply->out, reply->length, LIVE_METADATA_OK);
	return LIVE_REPLY;
}
