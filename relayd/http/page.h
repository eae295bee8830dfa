/* SPDX-License-Identifier: MIT */
/*
 * The status page: one file, page.html, that is part of the program. It is
 * whole without its script: what stands in {{...}} there is filled in here,
 * with the figures of the API and the first sessions. What comes from peers is
 * escaped.
 */
#ifndef RELAYD_HTTP_PAGE_H
#define RELAYD_HTTP_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"

struct history;
struct session_info;

/* What it shows; all is borrowed. */
struct page {
	json_t *status; /* of json_of_status() */
	const struct history *history;
	const struct session_info *const *sessions;
	unsigned n;
	uint64_t next;	   /* the next page is behind this id; 0: none */
	const char *state; /* that was asked for: "active", "closed", "all" */
	bool has_busy;	   /* a worker did not answer */
	uint64_t now_s;	   /* since the Unix epoch */
};

/* B is bad when there was no memory. */
void page_write(struct buf *b, const struct page *p);
/* Its Content-Security-Policy. */
const char *page_csp(void);

#endif
