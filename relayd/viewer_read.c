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

/* From ADD_STREAM to STREAMS_SENT a busy session daemon took 0.2 s; a stock
 * viewer that is told a later time meanwhile dies. */
#define ADDING_MAX_NS (1 * NS_PER_S)

static uint32_t
flags_of(struct viewer *v, const struct position *p)
{
	const struct position *m = p->trace->metadata;
	uint32_t flags = 0;

	/* Not while a cleared session's metadata comes again: babeltrace 1.5
	 * asks until it gets some, and this viewer has it all. */
	if (m != NULL && (m->sent == 0 || metadata_log_length(
					      m->stream->metadata) > m->sent))
		flags |= LIVE_FLAG_NEW_METADATA;
	if (viewer_has_unannounced(v))
		flags |= LIVE_FLAG_NEW_STREAM;
	return flags;
}

static void
move_up(struct viewer *v, struct position *p, uint64_t pos, const char *why)
{
	log_info("peer=%s viewer lost %" PRIu64 " packets of %s/%s, %s unread",
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
read_record(struct viewer *v, const struct position *p,
    struct index_record *rec, struct open_file **file)
{
	struct packet_log *log = p->stream->log;
	enum status st;

	st = open_files_get(&v->gallery->files, file, log, p->pos, p->file);
	if (st != OK)
		return st;
	if (!packet_log_recent(log, p->pos, rec))
		st = open_file_record(*file, p->pos, rec);
	/* A ring may have put another file in its place before it was open. */
	if (packet_log_start(log) > p->pos)
		st = E_NOENT;
	if (st != OK)
		open_file_put(*file);
	return st;
}

/* The record is given. */
static void
go_on(struct position *p, const struct index_record *rec,
    struct open_file *take_file)
{
	open_file_put(p->file);
	p->file = take_file;
	p->pos++;
	if (rec->timestamp_end > p->last_time)
		p->last_time = rec->timestamp_end;
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
	log_debug("peer=%s index status=%" PRIu32 " flags=%" PRIu32
		  " size=%" PRIu64 " begin=%" PRIu64 " end=%" PRIu64,
	    v->peer, i->status, i->flags, i->packet_size, i->timestamp_begin,
	    i->timestamp_end);
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

/* Until when streams that are being added keep V waiting; 0: there are none. A
 * peer that never publishes them must not stop its viewers for good. */
static uint64_t
wait_for_added(const struct viewer *v)
{
	const struct list *n;
	uint64_t since, until = 0;

	for (n = v->attachments.next; n != &v->attachments; n = n->next) {
		since = published(
		    &list_entry(n, struct attachment, node)->session->adding);
		if (since != 0 && since + ADDING_MAX_NS > until)
			until = since + ADDING_MAX_NS;
	}
	return until > clock_now_ns() ? until : 0;
}

enum found {
	FOUND,	     /* the index is the answer */
	FOUND_AGAIN, /* a file went away: look again */
};

struct find {
	struct live_index index;
	bool is_news;
	bool is_end;	   /* of the stream */
	uint64_t until_ns; /* not 0: later, then or at a message under way */
};

static bool
is_packet_before(struct viewer *v, const struct position *p, uint64_t time)
{
	struct index_record rec;
	struct open_file *file;

	if (time == 0 || read_record(v, p, &rec, &file) != OK)
		return false;
	open_file_put(file);
	return rec.timestamp_end <= time;
}

/*
 * Streams are being added, or published and on their way here by a message, or
 * known and not yet heard, and what NEXT promises may be of a time after their
 * beginning (live 4.6, 4). Until when to wait, 0: not. After packet_log_look():
 * what was added before what it saw, counts.
 */
static uint64_t
must_hear_first(struct viewer *v, const struct position *p,
    const struct live_how *how, enum log_next next, const struct log_view *view)
{
	uint64_t until, safe = 0;

	if (!how->may_hold || (next != LOG_PACKET && next != LOG_INACTIVE))
		return 0;
	until = wait_for_added(v);
	if (until == 0 && gallery_is_behind(v->gallery))
		until = how->arrived_ns + ADDING_MAX_NS;
	if (until == 0) {
		until = viewer_silent_until(v, &safe);
		if (until != 0 &&
		    (next == LOG_PACKET ? is_packet_before(v, p, safe)
					: view->beacon <= safe))
			until = 0;
	}
	/* Where processes come all the time, nobody waits for all of them. */
	if (until > how->arrived_ns + ADDING_MAX_NS)
		until = how->arrived_ns + ADDING_MAX_NS;
	return until;
}

static enum found
find_packet(struct viewer *v, struct position *p, const struct log_view *view,
    struct find *f)
{
	struct live_index *i = &f->index;
	struct open_file *file;
	struct index_record rec;

	switch (read_record(v, p, &rec, &file)) {
	case OK:
		go_on(p, &rec, file);
		fill_ok(i, &rec);
		/* The class of a stream never changes (live 6, P4). */
		if (view->has_ctf_stream)
			i->ctf_stream = view->ctf_stream;
		return FOUND;
	case E_NOENT:
		pass_missing_file(v, p);
		i->status = LIVE_INDEX_RETRY;
		return FOUND_AGAIN;
	case E_NOMEM:
		if (log_ratelimit(&v->gallery->files.last_log, 10 * NS_PER_S))
			log_warn("peer=%s viewer waits: no descriptor or "
				 "memory for stream %s/%s",
			    v->peer, p->stream->path, p->stream->channel);
		i->status = LIVE_INDEX_RETRY;
		f->is_news = false;
		return FOUND;
	default:
		i->status = LIVE_INDEX_ERR;
		return FOUND;
	}
}

/* What is at the position? */
static enum found
look(struct viewer *v, struct position *p, const struct live_how *how,
    struct find *f)
{
	struct log_view view;
	enum log_next next;

	catch_up(v, p);
	next = packet_log_look(p->stream->log, p->pos, &view);
	*f = (struct find){ .is_news = true,
		.is_end = next == LOG_END,
		.until_ns = must_hear_first(v, p, how, next, &view) };
	if (f->until_ns != 0 && !v->gallery->holds_replies) {
		f->index.status = LIVE_INDEX_RETRY;
		f->until_ns = 0;
		f->is_news = false;
		return FOUND;
	}
	if (f->until_ns != 0)
		return FOUND;
	f->index.flags = flags_of(v, p);
	if (next == LOG_PACKET)
		return find_packet(v, p, &view, f);
	if (next == LOG_END)
		f->index.status = LIVE_INDEX_HUP;
	else
		f->is_news = fill_nothing(v, p, next, &view, &f->index);
	return FOUND;
}

/* Hold it, unless the writers (WAITS: they know) had something meanwhile. */
static bool
is_to_be_held(struct viewer *v, struct position *p, const struct find *f,
    const struct live_how *how, bool *waits, struct live_held *held)
{
	if (f->until_ns != 0)
		*held = (struct live_held){ .until_ns = f->until_ns };
	else if (f->is_news || !viewer_may_hold(v, how, p->stream->session,
				   p->stream->log, held))
		return false;
	if (*waits)
		viewer_hold_for_silent(v, held);
	else
		packet_log_wait(p->stream->log, v->gallery->wake_bit);
	return true;
}

enum live_outcome
viewer_next_index(struct viewer *v, uint64_t id, const struct live_how *how,
    struct live_reply *reply, struct live_held *held)
{
	const struct live_index interrupted = { .status = LIVE_INDEX_RETRY,
		.offset = OFFSET_OF_INTERRUPTED };
	struct position *p = viewer_position(v, id);
	bool waits = false;
	int tries = TRIES;
	struct find f;

	if (p == NULL || !p->is_announced)
		return send_status(v, LIVE_INDEX_ERR, 0, reply);
	if (p->stream->is_metadata)
		return send_status(v, LIVE_INDEX_HUP, flags_of(v, p), reply);
	if (how->is_interrupted && how->was_held)
		return send_index(v, &interrupted, false, reply);
	for (;;) {
		uint64_t before = p->pos;
		enum found found = look(v, p, how, &f);

		if (found == FOUND_AGAIN && (p->pos != before || --tries > 0))
			continue;
		if (!is_to_be_held(v, p, &f, how, &waits, held))
			break;
		if (waits)
			return LIVE_HOLD;
		viewer_wait_for_silent(v);
		waits = true;
	}
	if (!f.is_news && how->is_interrupted)
		f.index = interrupted;
	if (f.is_end)
		viewer_hang_up(v, p);
	return send_index(v, &f.index, f.is_news, reply);
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

	if (p == NULL || p->file == NULL ||
	    !open_file_has(p->file, q->offset, q->length))
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

	if (p == NULL || !p->is_announced || !p->stream->is_metadata)
		return refuse_metadata(v, reply);
	for (;;) {
		is_ended = metadata_log_is_ended(p->stream->metadata);
		if (new_metadata(p, reply))
			break;
		/* Cleared before it was read; babeltrace2 would ask on. */
		if (p->sent == 0 && is_ended)
			return refuse_metadata(v, reply);
		/* Held only while the trace has not given any, and not for
		 * babeltrace2: interrupted here, it aborts whatever comes. */
		if (p->sent == 0 && !v->created_before_list &&
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
