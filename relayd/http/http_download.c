/* SPDX-License-Identifier: MIT */
/*
 * A finished trace as a tar file. The retention thread reads it, in parts: one
 * is asked for when the one before was sent, so a slow client costs no memory,
 * and deletions and lists have their turn in between. While traces are being
 * recorded, a download rests after each part: it would take the disk from them.
 */
#include <ctype.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/parse.h"
#include "relayd/http/gzip.h"
#include "relayd/http/http_internal.h"

/* Bytes of a part: read in well under a millisecond if they are in memory. */
#define PART_SIZE (256 * 1024)

struct download {
	struct http_face *face;
	struct evhttp_request *r;
	struct stored_info *part; /* NULL: the thread has it */
	uint64_t at, end;	  /* what is still to be read */
	bool packs;		  /* as gzip */
	bool has_begun;		  /* to answer */
	bool is_asking, is_gone;
	uint64_t asked_ns; /* for the last part */
	struct event *rested;
};

static void
destroy(struct download *d)
{
	d->face->http->n_downloads--;
	stored_info_destroy(d->part);
	event_free(d->rested);
	free(d);
}

static void ask_part(struct download *d);

/* Without memory the answer is cut, or 503. */
static void
fail(struct download *d, int code, const char *text)
{
	if (!d->has_begun)
		api_answer_error(d->r, code, text);
	else if (!d->is_gone)
		server_cut_parts(d->face->server, d->r);
	destroy(d);
}

static const struct {
	enum status st;
	int code;
	const char *text;
} failures[] = {
	{ E_NOENT, 404, "the relay knows no such trace" },
	{ E_BUSY, 409, "the trace is still being recorded" },
	{ E_LIMIT, 503, "the trace has too many files for a tar file" },
	{ E_REFUSED, 503, "the relay has no notes of its traces" },
	{ E_NOMEM, 503, API_NO_MEMORY },
};

static void
fail_with(struct download *d, enum status st)
{
	for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
		if (failures[i].st == st) {
			fail(d, failures[i].code, failures[i].text);
			return;
		}
	}
	fail(d, 503, "the trace cannot be read");
}

static void
header(struct download *d, const char *name, const char *value)
{
	(void)evhttp_add_header(
	    evhttp_request_get_output_headers(d->r), name, value);
}

static const char *
asked(const struct download *d, const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(d->r), name);
}

/* Of "bytes=FIRST-" and "bytes=FIRST-LAST" (RFC 9110, 14.2) make AT and END;
 * other ranges are ignored, as they may be. False: FIRST is not inside. */
static bool
take_range(struct download *d, const char *range)
{
	const uint64_t size = d->end;
	uint64_t first, last = UINT64_MAX;
	char dash = '\0';
	int n = 0;

	if (sscanf(range, "bytes=%" SCNu64 "%c%n", &first, &dash, &n) < 2 ||
	    dash != '-' ||
	    (range[n] != '\0' &&
		parse_u64(range + n, first, UINT64_MAX, &last) != OK))
		return true;
	if (first >= size)
		return false;
	d->at = first;
	if (last < size - 1)
		d->end = last + 1;
	return true;
}

/* The status of the answer, with the headers that it needs. */
static int
choose_range(struct download *d, const char *tag)
{
	const uint64_t size = d->end;
	const char *range = d->packs ? NULL : asked(d, "Range");
	const char *only = asked(d, "If-Range");
	char text[80];
	bool is_inside;

	if (!d->packs)
		header(d, "Accept-Ranges", "bytes");
	if (range == NULL || (only != NULL && strcmp(only, tag) != 0))
		return 200;
	is_inside = take_range(d, range);
	if (is_inside && d->at == 0 && d->end == size)
		return 200;
	if (is_inside)
		snprintf(text, sizeof(text),
		    "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, d->at, d->end - 1,
		    size);
	else
		snprintf(text, sizeof(text), "bytes */%" PRIu64, size);
	header(d, "Content-Range", text);
	return is_inside ? 206 : 416;
}

/* Ask for the next part; not before others had the disk for as long as the last
 * one took, if they need it. */
static void
rest(struct download *d)
{
	const bool records = d->face->http->view.rates[RATE_received_bytes] > 0;
	const uint64_t us = (clock_now_ns() - d->asked_ns) / 1000;
	const struct timeval pause = {
		.tv_sec = (time_t)(us / 1000000),
		.tv_usec = (suseconds_t)(us % 1000000),
	};

	if (!records)
		ask_part(d);
	else if (evtimer_add(d->rested, &pause) != 0)
		fail_with(d, E_NOMEM);
}

static void
on_rested(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	ask_part(arg);
}

static void
on_sent(void *arg)
{
	struct download *d = arg;

	if (d->at < d->end) {
		rest(d);
		return;
	}
	server_end_parts(d->face->server, d->r);
	destroy(d);
}

static void
on_gone(void *arg)
{
	struct download *d = arg;

	d->is_gone = true;
	if (!d->is_asking)
		destroy(d);
}

/* The name of the file where the client keeps it (RFC 6266). */
static void
name_file(struct download *d)
{
	const char *path = d->part->path;
	const char *slash = strrchr(path, '/');
	char text[64 + NAME_MAX];
	int at = snprintf(text, sizeof(text), "attachment; filename=\"");

	for (path = slash == NULL ? path : slash + 1;
	     *path != '\0' && at < NAME_MAX; path++)
		text[at++] = isalnum((unsigned char)*path) ||
				     strchr("-_.", *path) != NULL
				 ? *path
				 : '_';
	snprintf(text + at, sizeof(text) - (size_t)at, ".tar%s\"",
	    d->packs ? ".gz" : "");
	header(d, "Content-Disposition", text);
}

/* The files are known: begin to answer. */
static void
begin(struct download *d)
{
	struct server_parts parts = {
		.type = d->packs ? "application/gzip" : "application/x-tar",
		.sent = on_sent,
		.gone = on_gone,
		.arg = d,
	};
	char tag[64];
	int code;

	const struct stored_info *i = d->part;

	d->end = i->size;
	snprintf(tag, sizeof(tag), "\"%" PRIx64 "-%" PRIx64 "-%" PRIx64 "\"",
	    i->ino, i->tag, i->size);
	header(d, "ETag", tag);
	name_file(d);
	code = choose_range(d, tag);
	if (code == 416) {
		fail(d, code, "the range begins after the end");
		return;
	}
	parts.size = d->packs ? SERVER_SIZE_UNKNOWN : d->end - d->at;
	if (!server_begin_parts(d->face->server, d->r, code, &parts)) {
		destroy(d);
		return;
	}
	d->has_begun = true;
	ask_part(d);
}

/* Another part was read. */
static void
send_part(struct download *d)
{
	const struct buf *data = &d->part->data;
	struct buf packed = { 0 };

	d->at += buf_len(data);
	if (d->packs)
		gzip_add(&packed, buf_data(data), buf_len(data));
	if (packed.bad)
		fail_with(d, E_NOMEM);
	else if (d->packs)
		server_add_part(
		    d->face->server, d->r, buf_data(&packed), buf_len(&packed));
	else
		server_add_part(
		    d->face->server, d->r, buf_data(data), buf_len(data));
	buf_free(&packed);
}

static void
on_answer(struct http *h, struct question *q)
{
	struct download *d = q->download;
	enum status st;

	d->is_asking = false;
	d->part = q->stored;
	q->stored = NULL;
	st = q->is_busy[QUESTION_RETENTION] ? E_IO : d->part->st;
	if (d->is_gone)
		destroy(d);
	else if (st == E_LATER)
		ask_part(d);
	else if (st != OK)
		fail_with(d, st);
	else if (!d->has_begun)
		begin(d);
	else
		send_part(d);
}

static void
ask_part(struct download *d)
{
	struct question *q = question_create(d->face->http, on_answer);
	const uint64_t left = d->end - d->at;

	if (q == NULL) {
		fail_with(d, E_NOMEM);
		return;
	}
	d->part->at = d->at;
	d->part->n = left < PART_SIZE ? (size_t)left : PART_SIZE;
	buf_truncate(&d->part->data, 0);
	q->is_stored = q->is_small = true;
	q->stored = d->part;
	q->download = d;
	d->part = NULL;
	d->is_asking = true;
	d->asked_ns = clock_now_ns();
	ask(q);
}

/* PATH is what follows /api/v1/stored/: ID/trace.tar or ID/trace.tar.gz, where
 * ID is what the list calls it. */
void
download_serve(struct http_face *f, struct evhttp_request *r, const char *path)
{
	struct stored_info *part;
	struct download *d;
	struct event *rested;
	uint64_t ino, born;
	int n = 0;

	if (sscanf(path, "%" SCNx64 "-%" SCNx64 "/trace.tar%n", &ino, &born,
		&n) < 2 ||
	    n == 0 || (path[n] != '\0' && strcmp(path + n, ".gz") != 0)) {
		api_answer_error(r, 404, "unknown path");
		return;
	}
	if (!f->http->settings.has_download) {
		api_answer_error(r, 403,
		    "downloads are off; see --http-download of the relay");
		return;
	}
	if (path[n] != '\0' && r->major == 1 && r->minor == 0) {
		api_answer_error(r, 505,
		    "a download as gzip needs HTTP/1.1, which shows where it "
		    "ends");
		return;
	}
	if (f->http->n_downloads >= DOWNLOADS_MAX) {
		server_answer_later(r, "too many downloads; try again");
		return;
	}
	d = calloc(1, sizeof(*d));
	part = stored_info_create();
	rested = evtimer_new(f->http->loop.base, on_rested, d);
	if (d == NULL || part == NULL || rested == NULL) {
		free(d);
		stored_info_destroy(part);
		if (rested != NULL)
			event_free(rested);
		server_answer_text(r, 503, API_NO_MEMORY);
		return;
	}
	f->http->n_downloads++;
	part->kind = STORED_READ;
	part->ino = ino;
	part->born = born;
	*d = (struct download){
		.face = f,
		.r = r,
		.part = part,
		.packs = path[n] != '\0',
		.rested = rested,
	};
	ask_part(d);
}
