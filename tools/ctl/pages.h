/* SPDX-License-Identifier: MIT */
/* Lists that the relay sends in pages. Main thread. */
#ifndef TOOLS_CTL_PAGES_H
#define TOOLS_CTL_PAGES_H

#include <jansson.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ctl/fetch.h"

#define PAGES_ENTRIES 1000 /* of one page */
/* A relay has 10,000 sessions at most, and remembers the last 1,000 that ended.
 */
#define PAGES_MAX 100

/*
 * All pages of PATH (without a query), whose array is the member NAME, as one
 * answer: the first one, with the entries of all, and a "next" that is not null
 * if there were more than PAGES_MAX. QUERY: further parameters, "" or "&a=b".
 * *OUT is the caller's. Fails as fetch_json() does, with fetch_error().
 */
enum status pages_fetch(struct fetch *f, const char *path, const char *name,
    const char *query, json_t **out) MUST_CHECK;

/* "&NAME=TEXT", escaped, in memory of its own; "" for a TEXT that is NULL.
 */
char *pages_query(const char *name, const char *text);

#endif
