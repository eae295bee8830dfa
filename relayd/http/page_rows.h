/* SPDX-License-Identifier: MIT */
/* The part of the page that is a table of sessions. */
#ifndef RELAYD_HTTP_PAGE_ROWS_H
#define RELAYD_HTTP_PAGE_ROWS_H

struct buf;
struct page;

/* ARGS are not used: these are two of the functions that fill in. */
void page_rows(struct buf *b, const struct page *p, const char *args);
void page_links(struct buf *b, const struct page *p, const char *args);

#endif
