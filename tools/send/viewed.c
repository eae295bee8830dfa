/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/send/viewed.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/send/identity.h"
#include "tools/send/viewed_internal.h"

/* How long the end of an interrupted session may take. */
#define STOP_NS NS_PER_S

static bool
goes_on(void *arg)
{
	const struct viewed *v = arg;

	return v->stop_ns != 0 ? clock_now_ns() < v->stop_ns
			       : v->config->goes_on(v->config->arg);
}

enum status
viewed_fail(struct viewed *v, enum status st, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(v->why, SEND_ERROR_MAX, fmt, args);
	va_end(args);
	return st;
}

enum status
viewed_of_sink(struct viewed *v, enum status st)
{
	if (st == OK || st == E_STOPPED)
		return st;
	return viewed_fail(v, st, "%s", v->out->ops->error(v->out));
}

enum status
viewed_request(struct viewed *v, const struct live_request *q, struct reader *r)
{
	enum status st = live_viewer_ask(&v->viewer, q, r);

	if (st != OK && st != E_STOPPED)
		(void)viewed_fail(v, st, "%s", v->viewer.error);
	return st;
}

enum status
viewed_ask(struct viewed *v, enum live_cmd cmd, uint64_t id, struct reader *r)
{
	return viewed_request(v,
	    &(struct live_request){
		.cmd = cmd, .id = id, .seek = LIVE_SEEK_BEGINNING },
	    r);
}

static struct viewed_trace *
find_trace(struct viewed *v, unsigned part, const struct live_announced *s)
{
	struct viewed_trace *t;

	list_each (t, &v->traces, struct viewed_trace, node)
		if (t->id == s->trace_id && t->part == part)
			return t;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return NULL;
	t->part = part;
	t->id = s->trace_id;
	t->path = strndup(s->path.p, s->path.n);
	list_init(&t->streams);
	list_append(&v->traces, &t->node);
	return t;
}

static bool
add_stream(struct viewed *v, unsigned part, const struct live_announced *s)
{
	struct viewed_trace *t = find_trace(v, part, s);
	struct viewed_stream *new;

	if (t == NULL || t->path == NULL)
		return false;
	if (s->is_metadata) {
		t->has_metadata_id = t->is_stale = true;
		t->metadata_id = s->id;
		return true;
	}
	new = calloc(1, sizeof(*new));
	if (new == NULL)
		return false;
	new->trace = t;
	new->id = s->id;
	new->channel = strndup(s->channel.p, s->channel.n);
	list_append(&t->streams, &new->node);
	v->has_new = true;
	v->totals->streams++;
	return new->channel != NULL;
}

/* The streams of a reply to ATTACH_SESSION or GET_NEW_STREAMS. */
static enum status
take_streams(struct viewed *v, unsigned part, struct reader *r)
{
	struct live_announced s;

	for (uint32_t n = reader_u32(r); n > 0; n--) {
		live_announced_decode(r, &s);
		if (r->bad)
			return viewed_fail(
			    v, E_MALFORMED, "the relay sent half a stream");
		if (!add_stream(v, part, &s))
			return viewed_fail(v, E_NOMEM, "out of memory");
		v->has_news = true;
	}
	return OK;
}

static enum status
attach(struct viewed *v, unsigned part)
{
	struct viewed_part *p = &v->parts[part];
	struct reader r;
	enum status st = viewed_ask(
	    v, LIVE_CMD_attach_session, v->ids->ids[part], &r);
	uint32_t status;

	if (st != OK)
		return st;
	status = reader_u32(&r);
	switch (status) {
	case LIVE_ATTACH_OK:
		p->is_attached = true;
		return take_streams(v, part, &r);
	case LIVE_ATTACH_UNKNOWN:
		p->has_hup = true;
		return OK;
	case LIVE_ATTACH_ALREADY:
		return viewed_fail(
		    v, E_BUSY, "the relay has a viewer of it already");
	default:
		return viewed_fail(v, E_REFUSED,
		    "the relay refused a viewer: %s",
		    live_status_name(LIVE_CMD_attach_session, status));
	}
}

static enum status
take_parts(struct viewed *v)
{
	const unsigned n = (unsigned)published(&v->ids->n);
	enum status st = OK;

	for (; st == OK && v->n_parts < n; v->n_parts += st == OK)
		st = attach(v, v->n_parts);
	return st;
}

static enum status
ask_streams(struct viewed *v)
{
	struct reader r;
	enum status st = OK;
	uint32_t status;

	v->is_stale = false;
	v->streams_ns = clock_now_ns() + VIEWED_STREAMS_MS * NS_PER_MS;
	for (unsigned i = 0; i < v->n_parts && st == OK; i++) {
		if (!v->parts[i].is_attached || v->parts[i].has_hup)
			continue;
		st = viewed_ask(
		    v, LIVE_CMD_get_new_streams, v->ids->ids[i], &r);
		if (st != OK)
			return st;
		status = reader_u32(&r);
		if (status == LIVE_STREAMS_HUP)
			v->parts[i].has_hup = true;
		else if (status == LIVE_STREAMS_OK)
			st = take_streams(v, i, &r);
		else if (status != LIVE_STREAMS_NO_NEW)
			st = viewed_fail(v, E_PROTOCOL,
			    "the relay has forgotten its viewer");
	}
	return st;
}

/* T has more metadata: read it again. What is only partly there is read again
 * later. */
static enum status
read_metadata(struct viewed *v, struct viewed_trace *t)
{
	struct viewed_part *p = &v->parts[t->part];
	struct send_session s = { .hostname = v->config->hostname,
		.name = v->config->name,
		.live_timer_us = v->config->live_timer_us };
	struct buf text = { 0 };
	struct tsdl tsdl = { 0 };
	const char *why = tsdl.error;
	enum status st = tsdl_unpack(
	    &text, buf_data(&t->metadata), buf_len(&t->metadata), &why);

	if (st == OK)
		st = tsdl_parse(
		    &tsdl, (const char *)buf_data(&text), buf_len(&text));
	if (st == OK) {
		tsdl_free(&t->tsdl);
		t->tsdl = tsdl;
		t->is_readable = true;
		identity_complete(
		    &s, (const char *)buf_data(&text), buf_len(&text));
	} else if (st != E_MALFORMED) {
		(void)viewed_fail(v, st, "%s: %s", t->path, why);
	}
	if (st != OK)
		tsdl_free(&tsdl);
	buf_free(&text);
	if (st != OK || p->is_ours)
		return st == E_MALFORMED ? OK : st;
	if (v->session.name == NULL)
		v->session = s;
	p->is_ours = memcmp(&v->session.identity, &s.identity,
			 sizeof(s.identity)) == 0;
	return p->is_ours ? OK : E_EXISTS;
}

enum status
viewed_fetch_metadata(struct viewed *v, struct viewed_trace *t)
{
	const size_t had = buf_len(&t->metadata);
	struct reader r;
	uint64_t length;
	enum status st;

	do {
		st = viewed_ask(v, LIVE_CMD_get_metadata, t->metadata_id, &r);
		if (st != OK)
			return st;
		length = reader_u64(&r);
		/* An error is the end of the metadata (live 2.10). */
		t->is_stale = reader_u32(&r) == LIVE_METADATA_OK && length > 0;
		if (t->is_stale)
			buf_bytes(&t->metadata, reader_take(&r, length),
			    (size_t)length);
		if (t->metadata.bad)
			st = viewed_fail(v, E_NOMEM, "out of memory");
	} while (st == OK && t->is_stale);
	if (st != OK || buf_len(&t->metadata) == had)
		return st;
	v->has_news = true;
	return read_metadata(v, t);
}

static void
free_trace(struct viewed_trace *t)
{
	struct viewed_stream *s, *next;

	list_each_safe (s, next, &t->streams, struct viewed_stream, node) {
		free(s->channel);
		free(s);
	}
	list_del(&t->node);
	buf_free(&t->metadata);
	tsdl_free(&t->tsdl);
	free(t->path);
	free(t);
}

/* It is another session with the same name. Nothing of it is in the sink. */
static enum status
decline(struct viewed *v, unsigned part)
{
	struct viewed_trace *t;
	struct reader r;

	list_each (t, &v->traces, struct viewed_trace, node)
		t->is_over |= t->part == part;
	v->parts[part].has_hup = true;
	v->parts[part].is_attached = false;
	published_add_bits(&v->ids->declined, UINT64_C(1) << part);
	return viewed_ask(v, LIVE_CMD_detach_session, v->ids->ids[part], &r);
}

static enum status
fetch_all_metadata(struct viewed *v)
{
	struct viewed_trace *t;
	enum status st = OK;

	list_each (t, &v->traces, struct viewed_trace, node) {
		/* No stream says so of a trace that is not readable yet. */
		if ((t->is_stale || !t->is_readable) && t->has_metadata_id &&
		    !t->is_over)
			st = viewed_fetch_metadata(v, t);
		if (st == E_EXISTS)
			st = decline(v, t->part);
		if (st != OK)
			return st;
	}
	return OK;
}

static enum status
open_output(struct viewed *v)
{
	const struct send_output_config config = {
		.session = v->session, .goes_on = goes_on, .arg = v
	};
	enum status st = v->config->sink->ops->open(
	    v->config->sink, &config, &v->out, v->why);

	v->totals->is_open = st == OK;
	return st;
}

/* A session that its sender has continued may be two parts, of which the first
 * has ended: both have the same traces, and the sink has one at a time. */
static bool
waits_for_other(const struct viewed *v, const struct viewed_trace *t)
{
	const struct viewed_trace *o;

	list_each (o, &v->traces, struct viewed_trace, node) {
		if (o != t && o->is_announced && !o->is_over &&
		    strcmp(o->path, t->path) == 0)
			return true;
	}
	return false;
}

enum status
viewed_announce(struct viewed *v, struct viewed_trace *t)
{
	struct send_output *out = v->out;
	struct viewed_stream *s;
	enum status st = OK;

	if (!t->is_readable || t->is_over || waits_for_other(v, t))
		return OK;
	if (!t->is_announced)
		st = out->ops->add_stream(
		    out, t->path, "metadata", &t->number, &t->sent);
	t->is_announced |= st == OK;
	list_each (s, &t->streams, struct viewed_stream, node) {
		if (st != OK || s->is_announced)
			continue;
		st = out->ops->add_stream(
		    out, t->path, s->channel, &s->number, &s->position);
		s->is_announced = st == OK;
		s->has_next = s->position > 0;
		s->next = s->position;
	}
	if (st == OK && buf_len(&t->metadata) > t->sent) {
		st = out->ops->metadata(out, t->number,
		    buf_data(&t->metadata) + t->sent,
		    buf_len(&t->metadata) - t->sent);
		t->sent = buf_len(&t->metadata);
	}
	return viewed_of_sink(v, st);
}

static enum status
announce_all(struct viewed *v)
{
	struct viewed_trace *t;
	enum status st = OK;

	if (v->out == NULL && v->session.name != NULL)
		st = open_output(v);
	if (st != OK || v->out == NULL)
		return st;
	list_each (t, &v->traces, struct viewed_trace, node)
		if (st == OK)
			st = viewed_announce(v, t);
	if (st != OK || !v->has_new)
		return st;
	v->has_new = false;
	return viewed_of_sink(v, v->out->ops->streams_sent(v->out));
}

enum status
viewed_catch_up(struct viewed *v)
{
	enum status st = take_parts(v);

	if (st == OK && (v->is_stale || clock_now_ns() >= v->streams_ns))
		st = ask_streams(v);
	if (st == OK)
		st = fetch_all_metadata(v);
	return st == OK ? announce_all(v) : st;
}

static enum status
ask_all(struct viewed *v)
{
	struct viewed_trace *t;
	struct viewed_stream *s, *next;
	bool is_packet;
	enum status st = OK;

	list_each (t, &v->traces, struct viewed_trace, node) {
		list_each_safe (
		    s, next, &t->streams, struct viewed_stream, node) {
			is_packet = s->is_announced;
			for (unsigned n = 0;
			     st == OK && is_packet && n < VIEWED_PACKETS; n++)
				st = viewed_ask_next(v, s, &is_packet);
			if (st != OK)
				return st;
		}
	}
	return OK;
}

/* Wait for something new, or at least have the sink do its work. */
static enum status
rest(struct viewed *v)
{
	const unsigned ms = v->has_news ? 0 : v->pause_ms;

	v->pause_ms = v->has_news ? VIEWED_PAUSE_MIN_MS : 2 * ms;
	if (v->pause_ms > VIEWED_PAUSE_MAX_MS)
		v->pause_ms = VIEWED_PAUSE_MAX_MS;
	if (v->out != NULL)
		return viewed_of_sink(v, v->out->ops->work(v->out, (int)ms));
	(void)usleep(ms * 1000);
	return OK;
}

static bool
has_streams(const struct viewed *v)
{
	const struct viewed_trace *t;

	list_each (t, &v->traces, struct viewed_trace, node)
		if (!list_empty(&t->streams))
			return true;
	return false;
}

static enum status
turn(struct viewed *v)
{
	struct viewed_trace *t, *next;
	enum status st;

	v->has_news = false;
	v->is_stale |= !has_streams(v);
	st = viewed_catch_up(v);
	if (st == OK)
		st = ask_all(v);
	list_each_safe (t, next, &v->traces, struct viewed_trace, node)
		if (t->is_over)
			free_trace(t);
	return st == OK ? rest(v) : st;
}

static bool
has_ended(const struct viewed *v)
{
	for (unsigned i = 0; i < v->n_parts; i++)
		if (!v->parts[i].has_hup)
			return false;
	return v->n_parts == published(&v->ids->n) && !has_streams(v);
}

/* Of struct live_viewer: meanwhile the sink does its work. */
static bool
viewer_goes_on(void *arg)
{
	struct viewed *v = arg;

	/* A failure is returned by the next call, too. */
	if (v->out != NULL)
		(void)!v->out->ops->work(v->out, 0);
	return goes_on(v);
}

static enum status
begin(struct viewed *v)
{
	struct reader r;
	enum status st = live_viewer_open(
	    &v->viewer, v->config->url, viewer_goes_on, v);

	if (st != OK && st != E_STOPPED)
		return viewed_fail(v, st, "%s", v->viewer.error);
	if (st == OK)
		st = viewed_ask(v, LIVE_CMD_create_session, 0, &r);
	if (st == OK && reader_u32(&r) != LIVE_CREATE_OK)
		st = viewed_fail(v, E_REFUSED, "the relay refused a viewer");
	return st;
}

static enum status
end(struct viewed *v, enum status st)
{
	struct viewed_trace *t, *next;

	if (v->out != NULL) {
		v->stop_ns = st == E_STOPPED ? clock_now_ns() + STOP_NS : 0;
		if (st == OK)
			st = viewed_of_sink(v, v->out->ops->finish(v->out));
		else if (st == E_STOPPED)
			(void)!v->out->ops->flush(v->out);
		v->out->ops->stats(v->out, &v->totals->sent);
		v->out->ops->destroy(v->out);
	}
	list_each_safe (t, next, &v->traces, struct viewed_trace, node)
		free_trace(t);
	live_viewer_close(&v->viewer);
	v->totals->parts = v->n_parts;
	return st;
}

enum status
viewed_run(const struct viewed_config *config, struct viewed_parts *parts,
    struct viewed_totals *totals, char why[SEND_ERROR_MAX])
{
	struct viewed v = { .config = config,
		.ids = parts,
		.totals = totals,
		.why = why,
		.is_stale = true,
		.pause_ms = VIEWED_PAUSE_MIN_MS };
	enum status st;

	why[0] = '\0';
	*totals = (struct viewed_totals){ 0 };
	list_init(&v.traces);
	st = begin(&v);
	while (st == OK) {
		st = turn(&v);
		if (st == OK && has_ended(&v))
			break;
	}
	return end(&v, st);
}
