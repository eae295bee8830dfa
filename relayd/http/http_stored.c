/* SPDX-License-Identifier: MIT */
/* Stored traces, and orders about them, by the retention thread. */
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/relpath.h"
#include "relayd/http/http_internal.h"

/* The members of I; IS_DELETED: in a list of what was deleted. */
static void
write_item(struct buf *b, const struct stored_item *i, bool is_deleted)
{
	char id[40];

	json_open(b, NULL, '{');
	snprintf(id, sizeof(id), "%" PRIx64 "-%" PRIx64, i->ino, i->born);
	json_add_string(b, "id", id);
	json_add_string(b, "path", i->path);
	json_add_string(b, "session", i->session);
	json_add_string(b, "host", i->host);
	json_add_string(b, "kind", i->kind);
	json_add_number(b, "begin_ns", i->began_ns);
	json_add_number(b, "end_ns", i->ended_ns);
	json_add_number(b, "bytes", i->bytes);
	if (is_deleted) {
		json_add_string(b, "reason", deleted_names[i->reason]);
	} else {
		json_add_bool(b, "kept", i->is_kept);
		json_add_string(
		    b, "state", i->is_active ? "active" : "finished");
		json_add_bool(b, "unreadable", i->is_unreadable);
		json_add_bool(b, "losses", i->has_losses);
	}
	json_close(b, '}');
}

static void
write_items(struct buf *b, const char *name, const struct stored_info *i,
    bool are_deleted)
{
	json_open(b, name, '[');
	for (unsigned n = 0; n < i->n_items; n++)
		write_item(b, &i->items[n], are_deleted);
	json_close(b, ']');
}

static void
write_list(struct buf *b, const struct stored_info *i, bool has_download)
{
	json_open(b, NULL, '{');
	json_add_bool(b, "downloads", has_download);
	write_items(b, "stored", i, false);
	if (i->has_more)
		json_add_number(b, "next",
		    i->n_items == 0 ? 0 : i->items[i->n_items - 1].number);
	else
		json_add_null(b, "next");
	json_close(b, '}');
}

static void
write_vacuum(struct buf *b, const struct stored_info *i)
{
	json_open(b, NULL, '{');
	json_add_bool(b, "dry_run", i->is_dry);
	json_write_limits(b, &i->figures);
	json_add_number(b, "use_bytes", i->figures.use_bytes);
	json_add_number(b, "free_bytes", i->figures.free_bytes);
	write_items(b, "deleted", i, true);
	json_add_number(b, "deleted_bytes", i->deleted_bytes);
	json_add_bool(b, "has_more", i->has_more);
	json_add_bool(b, "done", i->is_done);
	json_close(b, '}');
}

static void
answer_stored(struct http *h, struct question *q)
{
	const struct stored_info *i = q->stored;
	struct evhttp_request *r = q->request;
	struct buf b = { 0 };

	if (q->is_busy[QUESTION_RETENTION])
		api_answer_error(r, 503,
		    h->view.phase == VIEW_DRAINING
			? "the relay is stopping"
			: "the disk does not answer in time");
	else if (i->st == E_NOENT)
		api_answer_error(
		    r, 404, "the relay knows no trace at that path");
	else if (i->st == E_REFUSED)
		api_answer_error(r, 503,
		    "the relay has no notes of its traces: those in its "
		    "--state-dir cannot be used, or another relay uses them");
	else if (i->st == E_NOMEM ||
		 (i->st == OK && i->kind == STORED_KEEP && i->n_items == 0))
		server_answer_text(r, 503, API_NO_MEMORY);
	else if (i->st != OK)
		api_answer_error(r, 503,
		    "the change cannot be written to the state directory");
	else {
		if (i->kind == STORED_LIST)
			write_list(&b, i, h->settings.has_download);
		else if (i->kind == STORED_VACUUM)
			write_vacuum(&b, i);
		else
			write_item(&b, &i->items[0], false);
		api_answer_json(r, &b);
	}
}

void
stored_take_summary(struct http *h, struct stored_info *take_i)
{
	struct view *v = &h->view;

	h->awaits_summary = false;
	free(v->oldest_path);
	v->oldest_path = NULL;
	v->has_stored = true;
	v->stored = take_i->figures;
	if (take_i->n_items > 0) {
		v->oldest_path = strdup(take_i->items[0].path);
		v->oldest_ended_ns = take_i->items[0].ended_ns;
		v->oldest_bytes = take_i->items[0].bytes;
	}
	stored_info_destroy(take_i);
}

/* Ask the thread what the query of R says; READ returns NULL or an error. */
static void
serve(struct http *h, struct evhttp_request *r, enum stored_request kind,
    const char *(*read)(struct stored_info *i, const struct evkeyvalq *query))
{
	struct question *q = question_new(h, r, answer_stored);
	const char *error = "malformed query";
	struct evkeyvalq query;

	if (q == NULL)
		return;
	q->is_stored = true;
	/* A list can have megabytes. */
	q->is_small = kind != STORED_LIST;
	q->stored = stored_info_create();
	if (q->stored == NULL) {
		question_destroy(q);
		server_answer_text(r, 503, API_NO_MEMORY);
		return;
	}
	q->stored->kind = kind;
	if (query_parse(&query, r)) {
		error = read(q->stored, &query);
		evhttp_clear_headers(&query);
	}
	if (error == NULL) {
		ask(q);
		return;
	}
	question_destroy(q);
	api_answer_error(r, 400, error);
}

static const char *
read_list(struct stored_info *i, const struct evkeyvalq *query)
{
	const char *path = evhttp_find_header(query, "path");
	const char *error = query_list(
	    query, &i->limit, &i->after, i->host, sizeof(i->host));

	if (error != NULL)
		return error;
	if (path == NULL)
		return NULL;
	if (strlen(path) >= RELPATH_MAX)
		return "the path is too long";
	i->path = strdup(path);
	return i->path == NULL ? API_NO_MEMORY : NULL;
}

void
stored_serve(struct http *h, struct evhttp_request *r)
{
	serve(h, r, STORED_LIST, read_list);
}

static const char *
read_vacuum(struct stored_info *i, const struct evkeyvalq *query)
{
	uint64_t is_dry = 0;

	/* A typing error must not delete anything. */
	if (evhttp_find_header(query, "dry_run") == NULL ||
	    query_number(query, "dry_run", 0, 1, &is_dry) != OK)
		return "dry_run must be 0 or 1";
	i->is_dry = is_dry != 0;
	return NULL;
}

void
vacuum_serve(struct http *h, struct evhttp_request *r)
{
	serve(h, r, STORED_VACUUM, read_vacuum);
}

static const char *
read_keep(struct stored_info *i, const struct evkeyvalq *query)
{
	const char *path = evhttp_find_header(query, "path");
	uint64_t keeps = 1;

	if (path == NULL || *path == '\0' || strlen(path) >= RELPATH_MAX)
		return "path must be one of /api/v1/stored";
	if (query_number(query, "keep", 0, 1, &keeps) != OK)
		return "keep must be 0 or 1";
	i->keeps = keeps != 0;
	i->path = strdup(path);
	return i->path == NULL ? API_NO_MEMORY : NULL;
}

void
keep_serve(struct http *h, struct evhttp_request *r)
{
	serve(h, r, STORED_KEEP, read_keep);
}

void
stored_tick(struct http *h)
{
	struct stored_info *i;

	/* Ask once at a time: the thread may hang. */
	if (h->retention == NULL || h->awaits_summary)
		return;
	i = stored_info_create();
	if (i == NULL)
		return;
	i->kind = STORED_SUMMARY;
	h->awaits_summary = stored_post(h, i);
}
