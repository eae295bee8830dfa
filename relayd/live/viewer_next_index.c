/* SPDX-License-Identifier: MIT */
/*
 * GET_NEXT_INDEX (live 2.6). The table of rules below says what a viewer is
 * answered; each row has its reason. The rest of the file is what its rows
 * check, and how their answers are made and held.
 */
#include <assert.h>
#include <inttypes.h>

#include "common/clock.h"
#include "common/log.h"
#include "ctf/index.h"
#include "ctf/stream_classes.h"
#include "store/folder.h"
#include "store/metadata_log.h"
#include "store/packet_log.h"
#include "relayd/live/live_objects.h"
#include "relayd/live/open_files.h"
#include "relayd/live/viewer_internal.h"
#include "relayd/live/viewers.h"
#include "relayd/stats/stats.h"

/* The offset of an interrupted RETRY: babeltrace2 takes the first 4 bytes of
 * any reply as the OK of its DETACH (live 4.8). */
#define OFFSET_OF_INTERRUPTED (UINT64_C(1) << 32)

/* The state of the stream that is asked for, at the viewer's position. */
#define PACKET (1u << LOG_PACKET)   /* there is a packet */
#define BEACON (1u << LOG_INACTIVE) /* no packet before the beacon's time */
#define SILENT (1u << LOG_RETRY)    /* nothing is known */
#define ENDED (1u << LOG_END)	    /* there will be no packet */
#define UNKNOWN (ENDED << 1)	    /* the viewer does not know the stream */
#define METADATA (ENDED << 2)	    /* it has metadata */
#define DATA (PACKET | BEACON | SILENT | ENDED)

enum answer {
	ANSWER_ERR,
	ANSWER_HUP,
	ANSWER_HUP_AND_FORGET,
	ANSWER_OK, /* the packet, or what is after it */
	ANSWER_OK_WITHOUT_PACKET,
	ANSWER_INACTIVE_AGAIN, /* with the bound that it was sent before */
	ANSWER_INACTIVE,       /* with the time of the beacon */
	ANSWER_RETRY,
	ANSWER_RETRY_INTERRUPTED,
	WAIT_FOR_EVENT,	 /* of a published stream */
	WAIT_FOR_STREAM, /* to have data, or to be announced without */
	WAIT_FOR_CLASS,	 /* RETRY meanwhile */
};

/* A request, what is known of it, and its answer. */
struct index_request {
	struct viewer *viewer;
	struct position *position; /* NULL if the state is UNKNOWN */
	const struct live_how *how;
	unsigned state;
	struct log_view view;
	uint32_t flags;
	/* Until when hidden streams of the same host may turn up with events
	 * later than SAFE_TIME; 0: there are none that matter. */
	uint64_t hidden_until_ns, safe_time;
	/* The answer. */
	struct live_index index;
	bool is_news;	   /* it is sent at once (live 4.8) */
	bool is_end;	   /* the position is forgotten */
	bool awaits_class; /* answer when the metadata has come */
	uint64_t until_ns; /* not 0: answer then, or on an event */
};

/* Has the viewer sent more while the request was held? */
static bool
is_interrupted(struct index_request *q)
{
	return q->how->is_interrupted && q->how->was_held;
}

static uint64_t
waited_ns(const struct index_request *q)
{
	return clock_now_ns() - q->how->arrived_ns;
}

/* Is the event of a published stream still on its way to this worker? */
static bool
is_event_pending(struct index_request *q)
{
	return q->how->may_hold && waited_ns(q) < VIEWER_MESSAGE_NS &&
	       viewers_are_behind(q->viewer->viewers);
}

/* The record at P, and a reference to the file that holds its packet. E_NOENT:
 * the file is gone; look again. E_NOMEM: a later try may succeed. */
static enum status
read_record(struct viewer *v, const struct position *p,
    struct index_record *rec, struct open_file **file)
{
	struct packet_log *log = p->stream->log;
	enum status st;

	st = open_files_get(&v->viewers->files, file, log, p->pos, p->file);
	if (st != OK)
		return st;
	if (!packet_log_recent(log, p->pos, rec))
		st = open_file_record(&v->viewers->files, *file, p->pos, rec);
	/* The ring may have replaced the file before it was opened here. */
	if (published(&log->start) > p->pos)
		st = E_NOENT;
	if (st != OK)
		open_file_put(*file);
	return st;
}

/* Does the packet end at SAFE_TIME or before? */
static bool
is_packet_safe(const struct index_request *q)
{
	struct index_record rec;
	struct open_file *file;

	if (q->state != PACKET || q->safe_time == 0 ||
	    read_record(q->viewer, q->position, &rec, &file) != OK)
		return false;
	open_file_put(file);
	return rec.timestamp_end <= q->safe_time;
}

/* May a hidden stream have events before the end of this answer? */
static bool
may_pass_hidden(struct index_request *q)
{
	return q->hidden_until_ns != 0 && q->how->may_hold &&
	       waited_ns(q) < VIEWER_EARLY_NS && !is_packet_safe(q);
}

/* Does another stream keep the viewer from showing events later than TIME? A
 * viewer shows nothing beyond the end of what it has of any of its streams. A
 * stream of which it has nothing yet does not count: its own request is held,
 * and until then the viewer shows nothing. */
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

static bool
has_new_stream(const struct index_request *q)
{
	return (q->flags & LIVE_FLAG_NEW_STREAM) != 0;
}

/* babeltrace2 before 2.1 looks at the flags of OK replies only. It gets one OK
 * without a packet for streams whose flag it ignored. */
static bool
may_send_empty_ok(const struct index_request *q)
{
	const struct viewer *v = q->viewer;

	return v->created_before_list && v->minor < LIVE_MINOR_FORMATS &&
	       !v->has_had_empty_ok && q->view.has_ctf_stream;
}

/* After the end of the stream the viewer might show events later than those of
 * streams that were not announced to it. May the end be sent? Not if the viewer
 * will ask for new streams when it gets the flag. */
static bool
may_end(struct index_request *q)
{
	const struct viewer *v = q->viewer;
	const bool will_ask = v->minor >= LIVE_MINOR_FORMATS
				  ? !v->has_been_flagged
				  : may_send_empty_ok(q);

	return !has_new_stream(q) || !will_ask ||
	       is_kept_by_another(
		   v, q->position, viewer_knows_until(v, q->position));
}

static bool
lacks_class(struct index_request *q)
{
	const struct position *m = q->position->trace->metadata;

	return m != NULL && q->view.has_ctf_stream &&
	       !stream_classes_have(published(&m->stream->metadata->classes),
		   q->view.ctf_stream) &&
	       published(&m->stream->metadata->is_ended) == 0 &&
	       viewer_may_wait_for_class(q->viewer, q->position);
}

static bool
needs_empty_ok(struct index_request *q)
{
	return has_new_stream(q) && q->viewer->has_been_flagged &&
	       may_send_empty_ok(q);
}

/* Times of a stream never go back (live 6, P5). */
static bool
may_send_bound(const struct index_request *q, uint64_t time)
{
	return q->view.has_ctf_stream && time >= q->position->last_sent &&
	       time >= viewer_min_begin(q->position, time);
}

static bool
may_repeat_bound(struct index_request *q)
{
	return has_new_stream(q) && q->position->has_bound &&
	       may_send_bound(q, q->position->bound);
}

static bool
may_send_beacon(struct index_request *q)
{
	return !has_new_stream(q) && may_send_bound(q, q->view.beacon);
}

/* The first row that applies is the answer. */
static const struct rule {
	unsigned states;
	bool (*applies)(struct index_request *q); /* NULL: always */
	enum answer answer;
} rules[] = {
	/* Rows 1 and 2 of live 2.6. */
	{ UNKNOWN, NULL, ANSWER_ERR },
	{ METADATA, NULL, ANSWER_HUP },
	/* babeltrace2 left on Ctrl-C: it takes the reply for that of its
	 * DETACH_SESSION (live 4.8). */
	{ DATA, is_interrupted, ANSWER_RETRY_INTERRUPTED },
	/* A time later than the beginning of a stream that the viewer does not
	 * know makes the stream's events old when it learns of them; then it
	 * stops with an error (live 4.6, 4). In this row, the event of the new
	 * stream has not reached this worker. */
	{ PACKET | BEACON, is_event_pending, WAIT_FOR_EVENT },
	/* The new stream is known but hidden until it has data. Beacons are not
	 * delayed: examine() lowers their time. */
	{ PACKET | ENDED, may_pass_hidden, WAIT_FOR_STREAM },
	/* The new stream is ready to be announced. HUP waits until the viewer
	 * has asked for it. */
	{ ENDED, may_end, ANSWER_HUP_AND_FORGET },
	/* A viewer aborts on an index or a bound whose stream class it does not
	 * have (live 4.11). */
	{ DATA, lacks_class, WAIT_FOR_CLASS },
	{ PACKET, NULL, ANSWER_OK },
	/* babeltrace2 before 2.1 ignored the flag (live 4.9). */
	{ DATA, needs_empty_ok, ANSWER_OK_WITHOUT_PACKET },
	/* A later bound would put the first packets of unannounced streams in
	 * the past (live 4.6, 4). */
	{ BEACON, may_repeat_bound, ANSWER_INACTIVE_AGAIN },
	/* Without a bound from each stream a viewer shows nothing (live 4.6,
	 * 3). */
	{ BEACON, may_send_beacon, ANSWER_INACTIVE },
	{ DATA, NULL, ANSWER_RETRY },
};

static void
skip_to(struct viewer *v, struct position *p, uint64_t pos, enum loss cause,
    const char *why)
{
	assert(pos >= p->pos);
	log_info("peer=%s viewer lost %" PRIu64 " packets of %s/%s, %s unread",
	    v->peer, pos - p->pos, p->stream->path, p->stream->channel, why);
	v->lost += pos - p->pos;
	stats_lost(v->viewers->stats, cause, pos - p->pos);
	p->pos = pos;
}

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

/* Set what is known of the stream now. The log comes first: streams that were
 * published before what it shows are counted then. */
static void
examine(struct index_request *q)
{
	struct viewer *v = q->viewer;
	struct position *p = q->position;
	uint64_t start;

	q->hidden_until_ns = 0;
	q->safe_time = UINT64_MAX;
	if (p == NULL || p->stream->is_metadata) {
		q->state = p == NULL ? UNKNOWN : METADATA;
		q->flags = p == NULL ? 0 : flags_of(v, p);
		return;
	}
	start = published(&p->stream->log->start);
	if (p->pos < start)
		skip_to(v, p, start, LOSS_viewer_overwritten,
		    "overwritten or cleared");
	q->state = 1u << packet_log_look(p->stream->log, p->pos, &q->view);
	if (q->state != SILENT)
		q->hidden_until_ns = viewer_waits_until(v, p, &q->safe_time);
	if (q->hidden_until_ns == 0 || is_kept_by_another(v, p, q->safe_time)) {
		q->hidden_until_ns = 0;
		q->safe_time = UINT64_MAX;
	}
	if (q->state == BEACON && q->view.beacon > q->safe_time)
		q->view.beacon = q->safe_time;
	q->flags = flags_of(v, p);
}

/* A file of the log cannot be opened: did it leave the log meanwhile, or did
 * somebody remove it? Then the packets in it are lost, for all viewers. */
static void
skip_missing_file(struct viewer *v, struct position *p)
{
	struct packet_log *log = p->stream->log;
	uint64_t count = published(&log->count);
	struct log_place place;

	if (packet_log_place(log, p->pos, &place) != OK)
		return;
	folder_put(place.folder);
	if (published(&log->start) <= p->pos)
		skip_to(v, p, place.next < count ? place.next : count,
		    LOSS_viewer_removed, "whose file was removed");
}

/* Answer with the packet at the position. False: its file is gone, or it is not
 * for this viewer; the position may have moved. */
static bool
take_packet(struct index_request *q)
{
	struct viewer *v = q->viewer;
	struct position *p = q->position;
	enum begin_change change = BEGIN_KEPT;
	struct open_file *file;
	struct index_record rec;

	switch (read_record(v, p, &rec, &file)) {
	case OK:
		break;
	case E_NOENT:
		skip_missing_file(v, p);
		return false;
	case E_NOMEM:
		if (log_ratelimit(&v->viewers->files.last_log, LOG_AGAIN_NS))
			log_warn("peer=%s viewer waits: no descriptor or "
				 "memory for stream %s/%s",
			    v->peer, p->stream->path, p->stream->channel);
		q->is_news = false;
		return true; /* RETRY */
	default:
		q->index.status = LIVE_INDEX_ERR;
		return true;
	}
	if (p->min_begin != 0)
		change = viewer_change_begin(v, p, file, &rec);
	if (change == BEGIN_SKIP_PACKET) {
		open_file_put(file);
		p->pos++;
		return false;
	}
	open_part_done(&p->part);
	open_file_put(p->file);
	p->file = file;
	open_file_promise(&v->viewers->files, file, rec.offset,
	    rec.packet_size / 8, &p->part);
	p->has_new_begin = change == BEGIN_CHANGED;
	p->pos++;
	assert(p->pos <= published(&p->stream->log->count));
	viewer_note_sent(p, rec.timestamp_end);
	q->index = (struct live_index){ .status = LIVE_INDEX_OK,
		.flags = q->flags,
		.offset = rec.offset,
		.packet_size = rec.packet_size,
		.content_size = rec.content_size,
		.timestamp_begin = rec.timestamp_begin,
		.timestamp_end = rec.timestamp_end,
		.events_discarded = rec.events_discarded,
		/* The class of a stream never changes (live 6, P4). */
		.ctf_stream = q->view.has_ctf_stream ? q->view.ctf_stream
						     : rec.ctf_stream };
	return true;
}

/* The same bound again is nothing new. */
static void
answer_inactive(struct index_request *q, uint64_t time)
{
	struct position *p = q->position;

	q->index.status = LIVE_INDEX_INACTIVE;
	q->index.timestamp_end = time;
	q->index.ctf_stream = q->view.ctf_stream;
	q->is_news = has_new_stream(q) || !p->has_bound || p->bound != time;
	assert(time >= p->last_sent);
	if (q->is_news) {
		p->has_bound = true;
		p->bound = time;
		viewer_note_sent(p, time);
	}
}

/* Wait until UNTIL_NS; RETRY without flags if replies are not held. */
static void
answer_later(struct index_request *q, uint64_t until_ns)
{
	q->is_news = false;
	if (q->viewer->viewers->holds_replies)
		q->until_ns = until_ns;
	else
		q->index.flags = 0;
}

/* All answers except packets, which take_packet() gives. */
static void
make_answer(struct index_request *q, enum answer answer)
{
	switch (answer) {
	case ANSWER_ERR:
		q->index.status = LIVE_INDEX_ERR;
		break;
	case ANSWER_HUP_AND_FORGET:
		q->is_end = true;
		/* fallthrough */
	case ANSWER_HUP:
		q->index.status = LIVE_INDEX_HUP;
		break;
	case ANSWER_OK:
		assert(false);
		break;
	case ANSWER_OK_WITHOUT_PACKET:
		q->viewer->has_had_empty_ok = true;
		q->index.status = LIVE_INDEX_OK;
		q->index.ctf_stream = q->view.ctf_stream;
		break;
	case ANSWER_INACTIVE_AGAIN:
		answer_inactive(q, q->position->bound);
		break;
	case ANSWER_INACTIVE:
		answer_inactive(q, q->view.beacon);
		break;
	case WAIT_FOR_CLASS:
		q->awaits_class = true;
		/* fallthrough */
	case ANSWER_RETRY:
		q->is_news = has_new_stream(q);
		break;
	case ANSWER_RETRY_INTERRUPTED:
		q->is_news = false;
		break;
	case WAIT_FOR_EVENT:
		answer_later(q, q->how->arrived_ns + VIEWER_MESSAGE_NS);
		break;
	case WAIT_FOR_STREAM:
		answer_later(q, q->hidden_until_ns);
		break;
	}
}

/* A viewer that skips many packets asks again, so that others are served. */
static void
find_answer(struct index_request *q)
{
	const struct rule *r;

	for (unsigned n = 0; n < VIEWER_PASSES_MAX; n++) {
		examine(q);
		r = rules;
		while ((r->states & q->state) == 0 ||
		       (r->applies != NULL && !r->applies(q)))
			r++;
		assert(r < rules + ARRAY_LEN(rules));
		q->index = (struct live_index){ .status = LIVE_INDEX_RETRY,
			.flags = q->flags };
		q->is_news = true;
		q->is_end = q->awaits_class = false;
		q->until_ns = 0;
		if (r->answer != ANSWER_OK) {
			make_answer(q, r->answer);
			return;
		}
		if (take_packet(q))
			return;
	}
}

static bool
has_packet(const struct position *p)
{
	struct log_view view;

	return packet_log_look(p->stream->log, p->pos, &view) == LOG_PACKET;
}

/* How many streams V reads; the count stops above VIEWER_CYCLE_STREAMS.
 * *HAS_NEWS: another stream than P has a packet to read. */
static unsigned
look_at_others(const struct viewer *v, const struct position *p, bool *has_news)
{
	const struct list *n;
	const struct position *o;
	unsigned count = 0;

	*has_news = false;
	for (n = v->announced.next;
	     n != &v->announced && count <= VIEWER_CYCLE_STREAMS; n = n->next) {
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
 * May "nothing" be held (live 4.8)? babeltrace2 asks for no other stream before
 * it has an answer for this one, so a request is held when it asks for the same
 * stream again. A viewer that asks for its streams in turn must not wait at one
 * stream while another has a packet. A viewer that lists before it creates its
 * session may be of either kind (babeltrace 1.5 asks in turn): its request is
 * held at each stream, until any stream has a packet to read.
 */
static bool
may_hold_nothing(const struct index_request *q, struct live_held *held)
{
	const struct viewer *v = q->viewer;
	const struct live_stream *s = q->position->stream;
	bool has_news;

	if (v->created_before_list && v->nothing_id != s->id)
		return false;
	if (!viewer_may_hold(v, q->how, s->session, s->log, held))
		return false;
	if (v->created_before_list)
		return true;
	held->is_turn = look_at_others(v, q->position, &has_news) <=
			VIEWER_CYCLE_STREAMS;
	return !held->is_turn || !has_news;
}

/* What a held request waits for, besides hidden streams. */
enum {
	WAIT_LOG = 1,	/* an event of its stream */
	WAIT_CLASS = 2, /* of the trace's metadata */
	WAIT_TURN = 4,	/* a packet of another stream */
};

/* What the answer waits for if it must be held; else 0. */
static unsigned
waits_for(struct index_request *q, struct live_held *held)
{
	if (q->until_ns != 0)
		*held = (struct live_held){ .until_ns = q->until_ns,
			.is_early = true };
	else if (q->is_news || !may_hold_nothing(q, held))
		return 0;
	held->is_any = q->awaits_class;
	viewer_hold_for_hidden(q->viewer, held);
	return WAIT_LOG | (q->awaits_class ? WAIT_CLASS : 0) |
	       (held->is_turn ? WAIT_TURN : 0);
}

/* Ask the writers to wake this worker. */
static void
begin_wait(const struct index_request *q, unsigned sources)
{
	const uint64_t bit = q->viewer->viewers->wake_bit;
	const struct position *p;

	waiters_add(&q->position->stream->log->waiters, bit);
	if ((sources & WAIT_CLASS) != 0)
		waiters_add(
		    &q->position->trace->metadata->stream->metadata->waiters,
		    bit);
	viewer_wait_for_hidden(q->viewer);
	if ((sources & WAIT_TURN) == 0)
		return;
	list_each (p, &q->viewer->announced, struct position, node) {
		if (!p->stream->is_metadata)
			waiters_add(&p->stream->log->waiters, bit);
	}
}

static enum live_outcome
send_answer(struct index_request *q, struct live_reply *reply)
{
	struct viewer *v = q->viewer;
	struct live_index *i = &q->index;

	assert(q->is_news || q->position != NULL);
	if (!q->is_news) {
		v->nothing_id = q->position->stream->id;
		if (q->how->is_interrupted)
			*i = (struct live_index){ .status = LIVE_INDEX_RETRY,
				.offset = OFFSET_OF_INTERRUPTED };
	}
	if (q->is_end)
		viewer_hang_up(v, q->position);
	if ((i->flags & LIVE_FLAG_NEW_STREAM) != 0)
		v->has_been_flagged = true;
	viewer_count(v, q->is_news);
	log_debug("peer=%s index status=%" PRIu32 " flags=%" PRIu32
		  " size=%" PRIu64 " begin=%" PRIu64 " end=%" PRIu64,
	    v->peer, i->status, i->flags, i->packet_size, i->timestamp_begin,
	    i->timestamp_end);
	live_reply_index(reply->out, i);
	return LIVE_REPLY;
}

enum live_outcome
viewer_next_index(struct viewer *v, uint64_t id, const struct live_how *how,
    struct live_reply *reply, struct live_held *held)
{
	struct position *p = viewer_position(v, id);
	struct index_request q = { .viewer = v, .how = how, .position = p };
	unsigned wanted, asked = 0;

	if (p != NULL && p->state != POSITION_ANNOUNCED)
		q.position = NULL;
	/* Register with the writers, then look again, so that no event between
	 * is missed. */
	for (;;) {
		find_answer(&q);
		wanted = waits_for(&q, held);
		if (wanted == 0)
			return send_answer(&q, reply);
		if ((wanted & ~asked) == 0)
			return LIVE_HOLD;
		begin_wait(&q, wanted);
		asked |= wanted;
	}
}

bool
viewer_is_its_turn(const struct viewer *v, const void *source)
{
	const struct position *p;

	assert(viewers_are_mine(v->viewers));
	list_each (p, &v->announced, struct position, node) {
		if (p->stream->is_metadata || p->stream->log != source)
			continue;
		/* The event may be a beacon only: then keep waiting. */
		waiters_add(&p->stream->log->waiters, v->viewers->wake_bit);
		return has_packet(p);
	}
	return false;
}
