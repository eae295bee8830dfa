/* SPDX-License-Identifier: MIT */
/* What the paths share: answers, queries, questions. */
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "relayd/http/http_internal.h"

void
api_answer_buf(struct evhttp_request *r, const char *type, struct buf *take_b)
{
	if (take_b->bad)
		server_answer_text(r, 503, API_NO_MEMORY);
	else
		server_answer(r, 200, type, buf_data(take_b), buf_len(take_b));
	buf_free(take_b);
}

void
api_answer_json(struct evhttp_request *r, int code, json_t *take_j)
{
	char *text = json_is_whole() && take_j != NULL
			 ? json_dumps(take_j, JSON_COMPACT)
			 : NULL;

	json_decref(take_j);
	if (text == NULL)
		server_answer_text(r, 503, API_NO_MEMORY);
	else
		server_answer(r, code, "application/json", text, strlen(text));
	free(text);
}

void
api_answer_error(struct evhttp_request *r, int code, const char *text)
{
	json_t *j = json_object();

	(void)json_object_set_new(j, "error", json_string(text));
	api_answer_json(r, code, j);
}

struct question *
question_new(struct evhttp_request *r, enum info_wish wish,
    void (*done)(struct http *h, struct question *q))
{
	struct question *q = calloc(1, sizeof(*q));

	if (q == NULL) {
		server_answer_text(r, 503, API_NO_MEMORY);
		return NULL;
	}
	list_init(&q->node);
	q->request = r;
	q->wish.wish = wish;
	q->done = done;
	q->wants_active = true;
	return q;
}

/* The value of NAME in the query; NULL: it is not there. */
const char *
query_text(const struct evkeyvalq *query, const char *name)
{
	return evhttp_find_header(query, name);
}

enum status
query_number(const struct evkeyvalq *query, const char *name, uint64_t min,
    uint64_t max, uint64_t *out)
{
	const char *text = query_text(query, name);

	return text == NULL ? OK : parse_u64(text, min, max, out);
}

bool
query_parse(struct evkeyvalq *query, const struct evhttp_request *r)
{
	const char *text = evhttp_uri_get_query(
	    evhttp_request_get_evhttp_uri(r));

	if (evhttp_parse_query_str(text == NULL ? "" : text, query) == 0)
		return true;
	evhttp_clear_headers(query);
	return false;
}
