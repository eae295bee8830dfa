/* SPDX-License-Identifier: MIT */
#include "relayd/stats/info.h"

#include <stdlib.h>
#include <string.h>

uint64_t
sums_lost(const struct sums *s)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < LOSSES; i++)
		n += s->lost[i];
	return n;
}

void
session_info_clear(struct session_info *s)
{
	free(s->host);
	free(s->name);
	free(s->path);
	free(s->peer);
	s->host = s->name = s->path = s->peer = NULL;
}

static char *
copy_of(const char *text)
{
	return strdup(text == NULL ? "" : text);
}

enum status
session_info_copy(struct session_info *out, const struct session_info *from)
{
	*out = *from;
	out->host = copy_of(from->host);
	out->name = copy_of(from->name);
	out->path = copy_of(from->path);
	out->peer = copy_of(from->peer);
	if (out->host != NULL && out->name != NULL && out->path != NULL &&
	    out->peer != NULL)
		return OK;
	session_info_clear(out);
	return E_NOMEM;
}

struct info *
info_create(void)
{
	return calloc(1, sizeof(struct info));
}

void
info_destroy(struct info *i)
{
	if (i == NULL)
		return;
	for (unsigned n = 0; n < i->n_sessions; n++)
		session_info_clear(&i->sessions[n]);
	for (unsigned n = 0; n < i->n_streams; n++)
		free(i->streams[n].name);
	for (unsigned n = 0; n < i->n_viewers; n++)
		free(i->viewers[n].peer);
	free(i->sessions);
	free(i->streams);
	free(i->viewers);
	free(i->reply);
	free(i);
}

void *
info_grow(void *array, unsigned *n, size_t size)
{
	void *grown, **at = array;

	if (*n == 0 || (*n >= 8 && (*n & (*n - 1)) == 0)) {
		grown = realloc(*at, (*n < 8 ? 8 : 2 * (size_t)*n) * size);
		if (grown == NULL)
			return NULL;
		*at = grown;
	}
	return memset((char *)*at + (*n)++ * size, 0, size);
}

static void *
one_more(struct info *i, void *array, unsigned *n, unsigned max, size_t size)
{
	void *added;

	if (*n >= max) {
		i->has_more = true;
		return NULL;
	}
	added = info_grow(array, n, size);
	i->lacks_memory |= added == NULL;
	return added;
}

struct session_info *
info_add_session(struct info *i)
{
	const unsigned max = i->kind == INFO_SESSION ? 1 : i->limit;

	return one_more(
	    i, &i->sessions, &i->n_sessions, max, sizeof(i->sessions[0]));
}

struct stream_info *
info_add_stream(struct info *i)
{
	return one_more(
	    i, &i->streams, &i->n_streams, INFO_MAX, sizeof(i->streams[0]));
}

struct viewer_info *
info_add_viewer(struct info *i)
{
	return one_more(
	    i, &i->viewers, &i->n_viewers, INFO_MAX, sizeof(i->viewers[0]));
}

char *
info_text(struct info *i, const char *text)
{
	char *copy = copy_of(text);

	if (copy == NULL)
		i->lacks_memory = true;
	return copy;
}
