/* SPDX-License-Identifier: MIT */
#include "relayd/live/live_list.h"

#include <assert.h>
#include <stdlib.h>

#include "common/buf.h"
#include "proto/live.h"
#include "relayd/live/live_objects.h"

static enum status
make_room(struct live_list *l, uint32_t n)
{
	assert(l->items == NULL);
	if (n == 0)
		return OK;
	l->items = calloc(n, sizeof(*l->items));
	return l->items == NULL ? E_NOMEM : OK;
}

enum status
live_list_streams(struct live_list *l, uint32_t n)
{
	l->has_sessions = false;
	return make_room(l, n);
}

enum status
live_list_sessions(struct live_list *l, uint32_t n, unsigned minor)
{
	l->has_sessions = true;
	l->minor = minor;
	return make_room(l, n);
}

void
live_list_add_stream(struct live_list *l, struct live_stream *s)
{
	assert(!l->has_sessions);
	l->items[l->n++] = live_stream_get(s);
}

void
live_list_add_session(struct live_list *l, struct live_session *s)
{
	assert(l->has_sessions);
	l->items[l->n++] = live_session_get(s);
}

static void
encode_stream(const struct live_stream *s, struct buf *out)
{
	live_reply_stream(out, &(struct live_stream_record){ .id = s->id,
				   .trace_id = s->trace_id,
				   .is_metadata = s->is_metadata,
				   .path = s->path,
				   .channel = s->channel });
}

static void
encode_session(const struct live_session *s, unsigned minor, struct buf *out)
{
	live_reply_session(out, minor,
	    &(struct live_session_record){ .id = s->id,
		.live_timer_us = s->live_timer_us,
		.clients = (uint32_t)published(&s->clients),
		.streams = (uint32_t)published(&s->streams),
		.hostname = s->hostname,
		.name = s->name,
		.trace_format = s->is_ctf2 });
}

static void
put(const struct live_list *l, void *item)
{
	if (l->has_sessions)
		live_session_put(item);
	else
		live_stream_put(item);
}

bool
live_list_encode(struct live_list *l, struct buf *out)
{
	if (l->next == l->n)
		return false;
	do {
		void *item = l->items[l->next++];

		if (l->has_sessions)
			encode_session(item, l->minor, out);
		else
			encode_stream(item, out);
		put(l, item);
	} while (l->next < l->n && !out->bad &&
		 buf_len(out) + LIVE_STREAM_RECORD_LEN <= LIVE_LIST_PIECE);
	return true;
}

size_t
live_list_memory(const struct live_list *l)
{
	return l->n * sizeof(*l->items);
}

void
live_list_free(struct live_list *l)
{
	while (l->next < l->n)
		put(l, l->items[l->next++]);
	free(l->items);
	*l = (struct live_list){ 0 };
}
