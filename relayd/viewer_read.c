/* SPDX-License-Identifier: MIT */
/* Reading at a position: indexes, packets, metadata (live 2.6, 2.9, 2.10). */
#include <inttypes.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/catalog.h"
#include "relayd/gallery.h"
#include "relayd/open_files.h"
#include "relayd/viewer.h"
#include "store/folder.h"
#include "store/index.h"
#include "store/metadata_log.h"
#include "store/packet_log.h"

/* Of an interrupted RETRY: babeltrace2 takes the first 4 bytes of whatever
 * comes for its DETACH's OK (live 4.8). */
#define OFFSET_OF_INTERRUPTED (UINT64_C(1) << 32)

/* A file may be dropped between looking and opening: look again so often. */
#define TRIES 3

static uint32_t
flags_of(const struct viewer *v, const struct position *p)
{
	const struct position *m = p->trace->metadata;
	uint32_t flags = 0;
	uint64_t length;

	if (m != NULL) {
		length = metadata_log_length(m->stream->metadata);
		if (length == 0 || length > m->sent)
			flags |= LIVE_FLAG_NEW_METADATA;
	}
	if (viewer_has_unannounced(v, NULL))
		flags |= LIVE_FLAG_NEW_STREAM;
	return flags;
}

static void
move_up(struct viewer *v, struct position *p, uint64_t pos, const char *why)
{
	log_info("peer=%s viewer lost %" PRIu64 " packets of stream %s/%s, %s "
		 "before it read them",
	    v->peer, pos - p->pos, p->stream->path, p->stream->channel, why);
	v->lost += pos - p->pos;
	p->pos = pos;
}

/* A position below the start is moved there: a ring was overwritten, or the
 * session cleared. */
static void
catch_up(struct viewer *v, struct position *p)
{
	uint64_t start = packet_log_start(p->stream->log);

	if (p->pos < start)
		move_up(v, p, start, "overwritten or cleared");
}

/* A file of the log cannot be opened: did it leave the log meanwhile, or did
 * somebody remove it? Then the packets in it are lost, for all viewers. */
static void
pass_missing_file(struct viewer *v, struct position *p)
{
	struct packet_log *log = p->stream->log;
	uint64_t count = packet_log_count(log);
	struct log_place place;

	if (packet_log_place(log, p->pos, &place) != OK)
		return;
	folder_put(place.folder);
	if (packet_log_start(log) <= p->pos)
		move_up(v, p, place.next < count ? place.next : count,
		    "whose file was removed");
}

/* E_NOENT: gone meanwhile; look again. */
static enum status
read_record(struct viewer *v, struct position *p, struct index_record *rec)
{
	struct packet_log *log = p->stream->log;
	struct open_file *f;
	enum status st;

	st = open_files_get(&v->gallery->files, &f, log, p->pos);
	if (st != OK)
		return st;
	if (!packet_log_recent(log, p->pos, rec))
		st = open_file_record(f, p->pos, rec);
	if (st != OK) {
		open_file_put(f);
		return packet_log_start(log) > p->pos ? E_NOENT : st;
	}
	open_file_put(p->file);
	p->file = f;
	p->pos++;
	if (rec->timestamp_end > p->last_time)
		p->last_time = rec->timestamp_end;
	return OK;
}

static void
fill_ok(struct live_index *i, const struct index_record *rec)
{
	i->status = LIVE_INDEX_OK;
	i->offset = rec->offset;
	i->packet_size = rec->packet_size;
	i->content_size = rec->content_size;
	i->timestamp_begin = rec->timestamp_begin;
	i->timestamp_end = rec->timestamp_end;
	i->events_discarded = rec->events_discarded;
	i->ctf_stream = rec->ctf_stream;
}

/*
 * Nothing is there, but streams were published of which this viewer does not
 * know. babeltrace2 before 2.1 looks at flags on OK only: it gets one without
 * a packet, once (live 4.9).
 */
static bool
wants_empty_ok(const struct viewer *v, const struct log_view *view)
{
	return v->created_before_list && v->minor < LIVE_MINOR_FORMATS &&
	       v->has_been_flagged && !v->has_had_empty_ok &&
	       view->has_ctf_stream;
}

/* INACTIVE, as far as this viewer may be told. True: it is news. */
static bool
fill_inactive(const struct viewer *v, struct position *p,
    const struct log_view *view, struct live_index *i)
{
	uint64_t time = view->beacon;

	/* A later bound would make the first packets of the streams that it
	 * does not know a thing of the past (live 4.6, 4). */
	if ((i->flags & LIVE_FLAG_NEW_STREAM) != 0 && p->has_bound)
		time = p->bound;
	else if ((i->flags & LIVE_FLAG_NEW_STREAM) != 0)
		return false;
	if (time < p->last_time)
		return false;
	i->status = LIVE_INDEX_INACTIVE;
	i->timestamp_end = time;
	i->ctf_stream = view->ctf_stream;
	if (p->has_bound && p->bound == time)
		return false;
	p->has_bound = true;
	p->bound = time;
	p->last_time = time;
	return true;
}

static bool
fill_nothing(struct viewer *v, struct position *p, enum log_next next,
    const struct log_view *view, struct live_index *i)
{
	bool is_news = false;

	i->status = LIVE_INDEX_RETRY;
	if ((i->flags & LIVE_FLAG_NEW_STREAM) != 0) {
		if (wants_empty_ok(v, view)) {
			v->has_had_empty_ok = true;
			i->status = LIVE_INDEX_OK;
			i->ctf_stream = view->ctf_stream;
			return true;
		}
		is_news = true;
	}
	if (next == LOG_INACTIVE && view->has_ctf_stream)
		is_news |= fill_inactive(v, p, view, i);
	return is_news;
}

static enum live_outcome
send_index(struct viewer *v, const struct live_index *i, bool is_news,
    struct live_reply *reply)
{
	if ((i->flags & LIVE_FLAG_NEW_STREAM) != 0)
		v->has_been_flagged = true;
	viewer_count(v, is_news);
	live_reply_index(reply->out, i);
	return LIVE_REPLY;
}

static enum live_outcome
send_status(
    struct viewer *v, uint32_t status, uint32_t flags, struct live_reply *reply)
{
	return send_index(v,
	    &(struct live_index){ .status = status, .flags = flags }, true,
	    reply);
}

/*
 * Published streams are on their way here by a message, and what NEXT promises
 * may be of a time after their beginning. After packet_log_look(): what was
 * published before what it saw, counts.
 */
static bool
must_hear_first(const struct viewer *v, enum log_next next)
{
	return (next == LOG_PACKET || next == LOG_INACTIVE) &&
	       gallery_is_behind(v->gallery);
}

enum found {
	FOUND,	     /* *i is the answer */
	FOUND_AGAIN, /* a file went away: look again */
	FOUND_LATER, /* not before the message that is under way */
};

/* What is at the position? */
static enum found
look(struct viewer *v, struct position *p, bool may_wait, struct live_index *i,
    bool *is_news, bool *is_end)
{
	struct index_record rec;
	struct log_view view;
	enum log_next next;

	catch_up(v, p);
	next = packet_log_look(p->stream->log, p->pos, &view);
	if (may_wait && must_hear_first(v, next))
		return FOUND_LATER;
	*i = (struct live_index){ .flags = flags_of(v, p) };
	*is_news = true;
	*is_end = next == LOG_END;
	if (next == LOG_END) {
		i->status = LIVE_INDEX_HUP;
		return FOUND;
	}
	if (next != LOG_PACKET) {
		*is_news = fill_nothing(v, p, next, &view, i);
		return FOUND;
	}
	switch (read_record(v, p, &rec)) {
	case OK:
		fill_ok(i, &rec);
		/* The class of a stream never changes (live 6, P4). */
		if (view.has_ctf_stream)
			i->ctf_stream = view.ctf_stream;
		return FOUND;
	case E_NOENT:
		pass_missing_file(v, p);
		i->status = LIVE_INDEX_RETRY;
		return FOUND_AGAIN;
	default:
		i->status = LIVE_INDEX_ERR;
		return FOUND;
	}
}

enum live_outcome
viewer_next_index(struct viewer *v, uint64_t id, const struct live_how *how,
    struct live_reply *reply, struct live_held *held)
{
	struct position *p = viewer_position(v, id);
	bool is_news, is_end, waits = false;
	struct live_index i;
	int tries = TRIES;

	if (p == NULL || !p->is_announced)
		return send_status(v, LIVE_INDEX_ERR, 0, reply);
	if (p->stream->is_metadata)
		return send_status(v, LIVE_INDEX_HUP, flags_of(v, p), reply);
	for (;;) {
		switch (look(v, p, how->may_hold, &i, &is_news, &is_end)) {
		case FOUND_LATER:
			*held = (struct live_held){
				.until_ns = how->arrived_ns + NS_PER_S
			};
			return LIVE_HOLD;
		case FOUND_AGAIN:
			if (--tries > 0)
				continue;
			break;
		case FOUND:
			break;
		}
		if (is_news || !viewer_may_hold(v, how, p->stream->session,
				   p->stream->log, held))
			break;
		if (waits)
			return LIVE_HOLD;
		/* From here on the writer will wake us: look once more. */
		packet_log_wait(p->stream->log, v->gallery->wake_bit);
		waits = true;
	}
	if (!is_news && how->is_interrupted)
		i = (struct live_index){ .status = LIVE_INDEX_RETRY,
			.offset = OFFSET_OF_INTERRUPTED };
	if (is_end)
		viewer_hang_up(v, p);
	return send_index(v, &i, is_news, reply);
}

static enum live_outcome
refuse_packet(struct viewer *v, struct live_reply *reply)
{
	viewer_count(v, true);
	live_reply_packet(reply->out, LIVE_PACKET_ERR, 0, 0);
	return LIVE_REPLY;
}

enum live_outcome
viewer_packet(
    struct viewer *v, const struct live_request *q, struct live_reply *reply)
{
	struct position *p = viewer_position(v, q->id);
	struct stat sb;

	if (p == NULL || p->file == NULL || fstat(p->file->data_fd, &sb) != 0 ||
	    q->offset > (uint64_t)sb.st_size ||
	    q->length > (uint64_t)sb.st_size - q->offset)
		return refuse_packet(v, reply);
	viewer_count(v, true);
	live_reply_packet(reply->out, LIVE_PACKET_OK, q->length, 0);
	if (q->length > 0) {
		reply->file = open_file_ref(p->file);
		reply->offset = q->offset;
		reply->length = q->length;
	}
	return LIVE_REPLY;
}

/* The bytes of P's metadata that this viewer has not had; false: none. */
static bool
new_metadata(struct position *p, struct live_reply *reply)
{
	struct folder *folder;
	struct stat sb;
	uint64_t length = metadata_log_look(p->stream->metadata, &folder);
	bool has = false;

	if (folder != NULL && length > p->sent &&
	    open_file_metadata(&reply->file, folder) == OK) {
		has = fstat(reply->file->data_fd, &sb) == 0 &&
		      (uint64_t)sb.st_size >= length;
		if (!has) {
			open_file_put(reply->file);
			reply->file = NULL;
		}
	}
	folder_put(folder);
	if (!has)
		return false;
	reply->offset = p->sent;
	reply->length = length - p->sent;
	p->sent = length;
	return true;
}

enum live_outcome
viewer_metadata(struct viewer *v, uint64_t id, const struct live_how *how,
    struct live_reply *reply, struct live_held *held)
{
	struct position *p = viewer_position(v, id);
	bool waits = false;

	if (p == NULL || !p->is_announced || !p->stream->is_metadata) {
		viewer_count(v, true);
		live_reply_metadata(reply->out, 0, LIVE_METADATA_ERR);
		return LIVE_REPLY;
	}
	while (!new_metadata(p, reply)) {
		/* Held only while the trace has not given any. */
		if (p->sent == 0 &&
		    !metadata_log_is_ended(p->stream->metadata) &&
		    viewer_may_hold(v, how, p->stream->session,
			p->stream->metadata, held)) {
			if (waits)
				return LIVE_HOLD;
			metadata_log_wait(
			    p->stream->metadata, v->gallery->wake_bit);
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
