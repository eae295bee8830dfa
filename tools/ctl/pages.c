/* SPDX-License-Identifier: MIT */
#include "tools/ctl/pages.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/ctl.h"

char *
pages_query(const char *name, const char *text)
{
	char *escaped, *out;

	if (text == NULL)
		return ctl_text("%s", "");
	escaped = ctl_memory(curl_easy_escape(NULL, text, 0));
	out = ctl_text("&%s=%s", name, escaped);
	curl_free(escaped);
	return out;
}

/* Where the page after J begins, for the query; NULL: there is none. */
static char *
next_page(const json_t *j)
{
	const json_t *next = json_object_get(j, "next");

	if (json_is_string(next))
		return pages_query("after", json_string_value(next));
	return json_is_integer(next) ? ctl_text("&after=%" JSON_INTEGER_FORMAT,
					   json_integer_value(next))
				     : NULL;
}

static enum status
fetch_page(struct fetch *f, const char *path, const char *query,
    const char *after, json_t **out)
{
	char *whole = ctl_text(
	    "%s?limit=%d%s%s", path, PAGES_ENTRIES, query, after);
	enum status st = fetch_json(f, whole, false, out);

	free(whole);
	return st;
}

/* Add the entries of PAGE to ALL. */
static enum status
merge_page(struct fetch *f, json_t *all, json_t *page, const char *name)
{
	json_t *entries = json_object_get(page, name);

	if (!json_is_array(entries))
		return fetch_refuse(f, name);
	if (json_array_extend(json_object_get(all, name), entries) != 0 ||
	    json_object_set(all, "next", json_object_get(page, "next")) != 0)
		return E_NOMEM;
	return OK;
}

enum status
pages_fetch(struct fetch *f, const char *path, const char *name,
    const char *query, json_t **out)
{
	char *after = NULL, *before = NULL;
	json_t *page = NULL;
	enum status st = fetch_page(f, path, query, "", out);

	for (unsigned n = 1; st == OK && n < PAGES_MAX; n++) {
		after = next_page(n == 1 ? *out : page);
		/* A page that names itself would be fetched forever. */
		if (after == NULL ||
		    (before != NULL && strcmp(after, before) == 0))
			break;
		json_decref(page);
		st = fetch_page(f, path, query, after, &page);
		if (st == OK)
			st = merge_page(f, *out, page, name);
		free(before);
		before = after;
		after = NULL;
	}
	free(after);
	free(before);
	json_decref(page);
	if (st == OK)
		return OK;
	json_decref(*out);
	*out = NULL;
	return st;
}
