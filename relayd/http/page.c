/* SPDX-License-Identifier: MIT */
#include "relayd/http/page.h"

#include <event2/http.h>

#include "page_html.h" /* made by embed.sh */
#include "relayd/http/server.h"

void
page_answer(struct evhttp_request *r)
{
	(void)evhttp_add_header(evhttp_request_get_output_headers(r),
	    "Content-Security-Policy", page_policy);
	server_answer(
	    r, 200, "text/html; charset=utf-8", page_html, sizeof(page_html));
}
