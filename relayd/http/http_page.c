/* SPDX-License-Identifier: MIT */
/* The status page. */
#include <event2/http.h>
#include <stdlib.h>

#include "common/clock.h"
#include "relayd/http/http_internal.h"
#include "relayd/http/page.h"

static bool
has_busy(const struct question *q)
{
	for (unsigned i = 0; i < THREADS_MAX; i++)
		if (q->is_busy[i])
			return true;
	return false;
}

static void
answer_page(struct http *h, struct question *q)
{
	struct page p = { .history = &h->view.history,
		.has_busy = has_busy(q),
		.now_s = clock_wall_s() };
	struct buf b = { 0 };
	struct found f;

	found_collect(&f, h, q);
	p.state = !q->wants_closed  ? "active"
		  : q->wants_active ? "all"
				    : "closed";
	p.sessions = f.all;
	p.n = f.n;
	p.next = f.has_more && f.n > 0 ? f.all[f.n - 1]->id : 0;
	p.status = json_of_status(&h->view);
	if (!f.lacks_memory && p.status != NULL && json_is_whole()) {
		page_write(&b, &p);
		(void)evhttp_add_header(
		    evhttp_request_get_output_headers(q->request),
		    "Content-Security-Policy", page_csp());
		api_answer_buf(q->request, "text/html; charset=utf-8", &b);
	} else {
		server_answer_text(q->request, 503, API_NO_MEMORY);
	}
	json_decref(p.status);
	free(f.all);
}

void
page_serve(struct http *h, struct evhttp_request *r)
{
	sessions_ask(h, r, "active", answer_page);
}
