/* SPDX-License-Identifier: MIT */
/* Answers, with the headers that all of them have. */
#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>
#include <string.h>

#include "relayd/http/server.h"

static void
header(struct evhttp_request *r, const char *name, const char *value)
{
	(void)evhttp_add_header(
	    evhttp_request_get_output_headers(r), name, value);
}

void
server_headers(struct evhttp_request *r, const char *type)
{
	header(r, "Content-Type", type);
	header(r, "X-Content-Type-Options", "nosniff");
	header(r, "Referrer-Policy", "no-referrer");
	header(r, "Cache-Control", "no-store");
	header(r, "Connection", "close");
}

void
server_answer(struct evhttp_request *r, int code, const char *type,
    const void *body, size_t n)
{
	struct evbuffer *out = evbuffer_new();
	char length[24];

	server_headers(r, type);
	snprintf(length, sizeof(length), "%zu", n);
	header(r, "Content-Length", length);
	if (out != NULL && evhttp_request_get_command(r) != EVHTTP_REQ_HEAD)
		(void)evbuffer_add(out, body, n);
	evhttp_send_reply(r, code, NULL, out);
	if (out != NULL)
		evbuffer_free(out);
}

void
server_answer_text(struct evhttp_request *r, int code, const char *text)
{
	char line[256];

	snprintf(line, sizeof(line), "%s\n", text);
	server_answer(r, code, "text/plain; charset=utf-8", line, strlen(line));
}

void
server_refuse_method(struct evhttp_request *r, const char *allowed)
{
	char text[64];

	header(r, "Allow", allowed);
	snprintf(text, sizeof(text), "only %s",
	    strcmp(allowed, "POST") == 0 ? "POST" : "GET and HEAD");
	server_answer_text(r, 405, text);
}
