/* SPDX-License-Identifier: MIT */
/* GET_NEXT_INDEX (live 2.6): what is answered, when an answer must wait because
 * it is too early (live 4.6, 4), and which "nothing" replies are held (live
 * 4.8). */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "ctf/index.h"
#include "store/folder.h"
#include "store/metadata_log.h"
#include "store/packet_log.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/open_files.h"
#include "relayd/live/registry.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/live/viewers.h"
#include "relayd/stats/stats.h"

static bool
has_packet(const struct position *p)
{
	struct log_view view;

	return packet_log_look(p->stream->log, p->pos, &view) == LOG_PACKET;
}

/* How many streams V reads; the count stops above VIEWER_TURN_STREAMS.
 * *HAS_NEWS: another stream than P has a packet to read. */
static unsigned
look_at_others(const struct viewer *v, const struct position *p, bool *has_news)
{
	const struct list *n;
	const struct position *o;
	unsigned count = 0;

	*has_news = false;
	for (n = v->announced.next;
	     n != &v->announced && count <= VIEWER_TURN_STREAMS; n = n->next) {
		o = list_entry(n, struct position, node);
		if (o->stream->is_metadata)
			continue;
		count++;
		if (o != p && has_packet(o))
			*has_news = true;
	}
	return count;
}

/*
 * babeltrace2 asks for no other stream before it has an answer for this one, so
 * a request is held when it asks for the same stream again. A viewer that asks
 * for its streams in turn must not wait at one stream while another has a
 * packet. A viewer that lists before it creates its session may be of either
 * kind (babeltrace 1.5 asks in turn): its request is held at each stream, until
 * any stream has a packet to read.
 */
bool
viewer_may_hold_index(const struct viewer *v, const struct live_how *how,
    const struct position *p, struct live_held *held)
{
	bool has_news;

	if (v->created_before_list && v->nothing_id != p->stream->id)
		return false;
	if (!viewer_may_hold(v, how, p->stream->session, p->stream->log, held))
		return false;
	if (v->created_before_list)
		return true;
	held->is_turn = look_at_others(v, p, &has_news) <= VIEWER_TURN_STREAMS;
	return !held->is_turn || !has_news;
}

void
viewer_wait_for_turn(const struct viewer *v)
{
	const struct position *p;

	list_each (p, &v->announced, struct position, node) {
		if (!p->stream->is_metadata)
			packet_log_wait(p->stream->log, v->viewers->wake_bit);
	}
}

bool
viewer_is_its_turn(const struct viewer *v, const void *source)
{
	const struct position *p;

	assert(registry_is_mine(v->registry));
	list_each (p, &v->announced, struct position, node) {
		if (p->stream->is_metadata || p->stream->log != source)
			continue;
		/* The news may be a beacon only: then the wait goes on. */
		packet_log_wait(p->stream->log, v->viewers->wake_bit);
		return has_packet(p);
	}
	return false;
}

static bool
is_packet_before(struct viewer *v, const struct position *p, uint64_t time)
{
	struct index_record rec;
	struct open_file *file;

	if (time == 0 || viewer_read_record(v, p, &rec, &file) != OK)
		return false;
	open_file_put(file);
	return rec.timestamp_end <= time;
}

/* Does another stream keep V from showing events later than TIME? A viewer
 * shows nothing beyond the end of what it has of any of its streams. A stream
 * of which V has nothing yet does not count: its own request is held, and until
 * then V shows nothing. */
static bool
is_kept_by_another(
    const struct viewer *v, const struct position *p, uint64_t time)
{
	const struct position *o;

	list_each (o, &v->announced, struct position, node) {
		if (o != p && !o->stream->is_metadata && o->last_sent != 0 &&
		    o->last_sent <= time && viewer_is_same_host(o, p))
			return true;
	}
	return false;
}

uint64_t
viewer_must_wait_for_streams(struct viewer *v, const struct position *p,
    const struct live_how *how, enum log_next next, struct log_view *view)
{
	const uint64_t waited = clock_now_ns() - how->arrived_ns;
	uint64_t until, safe;

	if (next == LOG_RETRY)
		return 0;
	if (how->may_hold && next != LOG_END && waited < VIEWER_MESSAGE_NS &&
	    registry_is_behind(v->registry))
		return how->arrived_ns + VIEWER_MESSAGE_NS;
	until = viewer_waits_until(v, p, &safe);
	if (until == 0 || is_kept_by_another(v, p, safe))
		return 0;
	/* Cut the bound whether the request may be held or not: a later one is
	 * never right. */
	if (next == LOG_INACTIVE && view->beacon > safe)
		view->beacon = safe;
	if (!how->may_hold || next == LOG_INACTIVE ||
	    waited >= VIEWER_EARLY_NS ||
	    (next == LOG_PACKET && is_packet_before(v, p, safe)))
		return 0;
	return until;
}

/* Will V ask for new streams if it is told now that there are some? It is told
 * once, by the flag or by an empty OK; a viewer that ignores this is not told
 * again. */
static bool
will_ask(const struct viewer *v, const struct log_view *view)
{
	if (v->minor >= LIVE_MINOR_FORMATS)
		return !v->has_been_flagged;
	return v->created_before_list && !v->has_had_empty_ok &&
	       view->has_ctf_stream;
}

bool
viewer_must_ask_first(const struct viewer *v, const struct position *p,
    uint32_t flags, const struct log_view *view)
{
	return (flags & LIVE_FLAG_NEW_STREAM) != 0 && will_ask(v, view) &&
	       !is_kept_by_another(v, p, viewer_knows_until(v, p));
}

/* The offset in an interrupted RETRY: babeltrace2 takes the first 4 bytes of
 * any reply as the OK of its DETACH (live 4.8). */
#define OFFSET_OF_INTERRUPTED (UINT64_C(1) << 32)

/* A file may be dropped between looking and opening: how often to look
 * again. */
#define TRIES 3

static uint32_t
flags_of(struct viewer *v, const struct position *p)
{
	const struct position *m = p->trace->metadata;
	uint32_t flags = 0;

	/* No flag while a cleared session's metadata comes again: this viewer
	 * has all of it, and babeltrace 1.5 asks until it gets some. */
	if (m != NULL && (m->sent == 0 || metadata_log_length(
					      m->stream->metadata) > m->sent))
		flags |= LIVE_FLAG_NEW_METADATA;
	if (viewer_has_ready(v))
		flags |= LIVE_FLAG_NEW_STREAM;
	return flags;
}

static void
move_up(struct viewer *v, struct position *p, uint64_t pos, enum loss cause,
    const char *why)
{
	log_info("peer=%s viewer lost %" PRIu64 " packets of %s/%s, %s unread",
	    v->peer, pos - p->pos, p->stream->path, p->stream->channel, why);
	v->lost += pos - p->pos;
	stats_lost(v->viewers->stats, cause, pos - p->pos);
	p->pos = pos;
}

/* Move a position that is below the log's start up to it: a ring was
 * overwritten, or the session was cleared. */
static void
catch_up(struct viewer *v, struct position *p)
{
	uint64_t start = packet_log_start(p->stream->log);

	if (p->pos < start)
		move_up(v, p, start, LOSS_viewer_overwritten,
		    "overwritten or cleared");
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
		    LOSS_viewer_removed, "whose file was removed");
}

enum status
viewer_read_record(struct viewer *v, const struct position *p,
    struct index_record *rec, struct open_file **file)
{
	struct packet_log *log = p->stream->log;
	enum status st;

	st = open_files_get(&v->registry->files, file, log, p->pos, p->file);
	if (st != OK)
		return st;
	if (!packet_log_recent(log, p->pos, rec))
		st = open_file_record(&v->registry->files, *file, p->pos, rec);
	/* The ring may have replaced the file before it was opened here. */
	if (packet_log_start(log) > p->pos)
		st = E_NOENT;
	if (st != OK)
		open_file_put(*file);
	return st;
}

static void
note_sent(struct position *p, uint64_t time)
{
	if (time > p->last_sent)
		p->last_sent = time;
	if (time > p->attachment->last_sent)
		p->attachment->last_sent = time;
}

/* The record is given: go to the next position. */
static void
go_on(struct viewer *v, struct position *p, const struct index_record *rec,
    struct open_file *take_file, bool has_new_begin)
{
	open_part_done(&p->part);
	open_file_put(p->file);
	p->file = take_file;
	open_file_promise(&v->registry->files, take_file, rec->offset,
	    rec->packet_size / 8, &p->part);
	p->has_new_begin = has_new_begin;
	p->pos++;
	note_sent(p, rec->timestamp_end);
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
 * No packet is there, but there are published streams that this viewer does not
 * know. babeltrace2 before 2.1 looks at the flags of OK replies only, so it
 * gets one OK without a packet (live 4.9).
 */
static bool
wants_empty_ok(const struct viewer *v, const struct log_view *view)
{
	return v->created_before_list && v->minor < LIVE_MINOR_FORMATS &&
	       v->has_been_flagged && !v->has_had_empty_ok &&
	       view->has_ctf_stream;
}

/* Make an INACTIVE reply, with a time that this viewer may be given. True: it
 * is news. */
static bool
fill_inactive(const struct viewer *v, struct position *p,
    const struct log_view *view, struct live_index *i)
{
	uint64_t time = view->beacon;

	/* After a later bound, the first packets of the streams that the viewer
	 * does not know would be in the past (live 4.6, 4). */
	if ((i->flags & LIVE_FLAG_NEW_STREAM) != 0 && p->has_bound)
		time = p->bound;
	else if ((i->flags & LIVE_FLAG_NEW_STREAM) != 0)
		return false;
	if (time < p->last_sent || time < viewer_min_begin(p, time))
		return false;
	i->status = LIVE_INDEX_INACTIVE;
	i->timestamp_end = time;
	i->ctf_stream = view->ctf_stream;
	if (p->has_bound && p->bound == time)
		return false;
	p->has_bound = true;
	p->bound = time;
	note_sent(p, time);
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

enum found {
	FOUND,	     /* the index is the answer */
	FOUND_AGAIN, /* a file went away: look again */
};

struct find {
	struct live_index index;
	bool is_news;
	bool is_end;	   /* of the stream */
	bool lacks_class;  /* answer when its metadata has come */
	uint64_t until_ns; /* not 0: answer then, or when news comes */
};

/* A stock viewer aborts when it is given an index of a stream before the
 * metadata declares the stream's class. */
static bool
lacks_class(
    const struct viewer *v, struct position *p, const struct log_view *view)
{
	const struct position *m = p->trace->metadata;

	return m != NULL && view->has_ctf_stream &&
	       !metadata_log_has_class(m->stream->metadata, view->ctf_stream) &&
	       !metadata_log_is_ended(m->stream->metadata) &&
	       viewer_may_wait_for_class(v, p);
}

static enum found
find_packet(struct viewer *v, struct position *p, const struct log_view *view,
    struct find *f)
{
	struct live_index *i = &f->index;
	enum begin_change raise = BEGIN_KEPT;
	struct open_file *file;
	struct index_record rec;

	switch (viewer_read_record(v, p, &rec, &file)) {
	case OK:
		if (p->min_begin != 0)
			raise = viewer_change_begin(v, p, file, &rec);
		if (raise == BEGIN_SKIP_PACKET) {
			open_file_put(file);
			p->pos++;
			i->status = LIVE_INDEX_RETRY;
			return FOUND_AGAIN;
		}
		go_on(v, p, &rec, file, raise == BEGIN_CHANGED);
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
		if (log_ratelimit(&v->registry->files.last_log, 10 * NS_PER_S))
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

/* Find out what is at the position. */
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
		.until_ns = viewer_must_wait_for_streams(
		    v, p, how, next, &view) };
	if (f->until_ns != 0 && !v->viewers->holds_replies) {
		f->index.status = LIVE_INDEX_RETRY;
		f->until_ns = 0;
		f->is_news = false;
		return FOUND;
	}
	if (f->until_ns != 0)
		return FOUND;
	f->index.flags = flags_of(v, p);
	if (f->is_end && viewer_must_ask_first(v, p, f->index.flags, &view)) {
		next = LOG_RETRY;
		f->is_end = false;
	}
	f->lacks_class = next != LOG_END && lacks_class(v, p, &view);
	if (f->lacks_class) {
		next = LOG_RETRY;
		view.has_ctf_stream = false;
	}
	if (next == LOG_PACKET)
		return find_packet(v, p, &view, f);
	if (f->is_end)
		f->index.status = LIVE_INDEX_HUP;
	else
		f->is_news = fill_nothing(v, p, next, &view, &f->index);
	return FOUND;
}

/* Ask the writers to wake this worker. */
static void
wait_for_news(struct viewer *v, const struct position *p, const struct find *f,
    const struct live_held *held)
{
	packet_log_wait(p->stream->log, v->viewers->wake_bit);
	if (f->lacks_class)
		metadata_log_wait(
		    p->trace->metadata->stream->metadata, v->viewers->wake_bit);
	viewer_wait_for_silent(v);
	if (held->is_turn)
		viewer_wait_for_turn(v);
}

static bool
is_to_be_held(struct viewer *v, struct position *p, const struct find *f,
    const struct live_how *how, struct live_held *held)
{
	if (f->until_ns != 0)
		*held = (struct live_held){ .until_ns = f->until_ns,
			.is_early = true };
	else if (f->is_news || !viewer_may_hold_index(v, how, p, held))
		return false;
	held->is_any = f->lacks_class;
	viewer_hold_for_silent(v, held);
	return true;
}

enum live_outcome
viewer_next_index(struct viewer *v, uint64_t id, const struct live_how *how,
    struct live_reply *reply, struct live_held *held)
{
	const struct live_index interrupted = { .status = LIVE_INDEX_RETRY,
		.offset = OFFSET_OF_INTERRUPTED };
	struct position *p = viewer_position(v, id);
	bool waits = false, waits_for_class = false, waits_for_turn = false;
	int tries = TRIES, passes = VIEWER_PASSES_MAX;
	struct find f;

	if (p == NULL || p->state != POSITION_ANNOUNCED)
		return send_status(v, LIVE_INDEX_ERR, 0, reply);
	if (p->stream->is_metadata)
		return send_status(v, LIVE_INDEX_HUP, flags_of(v, p), reply);
	if (how->is_interrupted && how->was_held)
		return send_index(v, &interrupted, false, reply);
	for (;;) {
		uint64_t before = p->pos;
		enum found found = look(v, p, how, &f);

		if (found == FOUND_AGAIN &&
		    (p->pos != before ? --passes > 0 : --tries > 0))
			continue;
		if (!is_to_be_held(v, p, &f, how, held))
			break;
		/* The writers knew of the wait before this look, so no news was
		 * missed. */
		if (waits && (waits_for_class || !f.lacks_class) &&
		    (waits_for_turn || !held->is_turn))
			return LIVE_HOLD;
		wait_for_news(v, p, &f, held);
		waits = true;
		waits_for_class |= f.lacks_class;
		waits_for_turn |= held->is_turn;
	}
	if (!f.is_news && how->is_interrupted)
		f.index = interrupted;
	if (!f.is_news)
		v->nothing_id = id;
	if (f.is_end)
		viewer_hang_up(v, p);
	return send_index(v, &f.index, f.is_news, reply);
}
