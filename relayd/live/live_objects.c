/* SPDX-License-Identifier: MIT */
#include "relayd/live/live_objects.h"

#include <stdlib.h>
#include <string.h>

#include "store/metadata_log.h"
#include "store/packet_log.h"

static void
session_release(struct ref *r)
{
	struct live_session *s = container_of(r, struct live_session, ref);

	free(s->hostname);
	free(s->name);
	free(s);
}

enum status
live_session_create(struct live_session **out, uint64_t id,
    uint32_t live_timer_us, bool is_ctf2, const char *hostname,
    const char *name)
{
	struct live_session *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	ref_init(&s->ref);
	s->id = id;
	s->live_timer_us = live_timer_us;
	s->is_ctf2 = is_ctf2;
	s->hostname = strdup(hostname);
	s->name = strdup(name);
	if (s->hostname == NULL || s->name == NULL) {
		live_session_put(s);
		return E_NOMEM;
	}
	*out = s;
	return OK;
}

struct live_session *
live_session_get(struct live_session *s)
{
	ref_get(&s->ref);
	return s;
}

void
live_session_put(struct live_session *s)
{
	if (s != NULL)
		ref_put(&s->ref, session_release);
}

static void
stream_release(struct ref *r)
{
	struct live_stream *s = container_of(r, struct live_stream, ref);

	live_session_put(s->session);
	packet_log_put(s->log);
	metadata_log_put(s->metadata);
	free(s->path);
	free(s->channel);
	free(s);
}

enum status
live_stream_create(struct live_stream **out, struct live_session *session,
    uint64_t id, uint64_t trace_id, const char *path, const char *channel,
    struct packet_log *log, struct metadata_log *metadata)
{
	struct live_stream *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	ref_init(&s->ref);
	s->id = id;
	s->trace_id = trace_id;
	s->is_metadata = metadata != NULL;
	s->session = live_session_get(session);
	s->log = log == NULL ? NULL : packet_log_get(log);
	s->metadata = metadata == NULL ? NULL : metadata_log_get(metadata);
	s->path = strdup(path);
	s->channel = strdup(channel);
	if (s->path == NULL || s->channel == NULL) {
		live_stream_put(s);
		return E_NOMEM;
	}
	*out = s;
	return OK;
}

struct live_stream *
live_stream_get(struct live_stream *s)
{
	ref_get(&s->ref);
	return s;
}

void
live_stream_put(struct live_stream *s)
{
	if (s != NULL)
		ref_put(&s->ref, stream_release);
}

static bool
is_of_stream(enum live_news what)
{
	return what == LIVE_NEWS_STREAM || what == LIVE_NEWS_STREAM_CLOSED;
}

void
live_news_get(enum live_news what, void *object)
{
	if (is_of_stream(what))
		live_stream_get(object);
	else
		live_session_get(object);
}

void
live_news_put(enum live_news what, void *object)
{
	if (is_of_stream(what))
		live_stream_put(object);
	else
		live_session_put(object);
}
