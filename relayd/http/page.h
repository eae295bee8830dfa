/* SPDX-License-Identifier: MIT */
/* The status page: one file, page.html, that is part of the program. */
#ifndef RELAYD_HTTP_PAGE_H
#define RELAYD_HTTP_PAGE_H

struct evhttp_request;

void page_answer(struct evhttp_request *r);

#endif
