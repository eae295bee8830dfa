/* SPDX-License-Identifier: MIT */
#include "tests/lib/live_pair.h"

#include <err.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <urcu.h>

#include "common/reader.h"
#include "proto/data.h"
#include "proto/frame.h"
#include "proto/relay.h"
#include "relayd/live/open_files.h"
#include "relayd/record/session.h"
#include "relayd/record/shard.h"
#include "relayd/record/stream.h"
#include "relayd/record/cycle.h"
#include "store/packet.h"
#include "store/store.h"
#include "tests/lib/one_registry.h"
#include "tests/lib/temp_dir.h"

#define MINOR 13

#define MUST(condition)                                                     \
	do {                                                                \
		if (!(condition))                                           \
			errx(EXIT_FAILURE, "%s:%d: %s", __FILE__, __LINE__, \
			    #condition);                                    \
	} while (0)

static void
notify(struct live_notifier *d, enum live_event what, void *object)
{
	struct live_pair *s = container_of(d, struct live_pair, notifier);
	struct live_pair_news *n = calloc(1, sizeof(*n));

	MUST(n != NULL);
	n->what = what;
	n->object = object;
	live_get(object);
	if (what == LIVE_EVENT_STREAM)
		s->n_waiting++;
	viewers_note_sent(&s->viewers, what);
	*s->end = n;
	s->end = &n->next;
}

static void
wake(struct live_notifier *d, uint64_t bits, const void *source)
{
	struct live_pair *s = container_of(d, struct live_pair, notifier);

	MUST(bits == s->viewers.wake_bit);
	s->woken = source;
}

void
live_pair_open(struct live_pair *s, bool holds_replies, unsigned max_viewers)
{
	struct shard_config config = { .allow_clear = true,
		.max_packet_size = 1 << 20 };
	struct store_config store = { .max_files = LIVE_PAIR_FILES_MAX,
		.registry = one_registry() };

	*s = (struct live_pair){
		.notifier = { .n_workers = 1, .notify = notify, .wake = wake },
		.host = "host"
	};
	MUST(temp_dir(s->dir, sizeof(s->dir), "check_live_pair"));
	s->base_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(s->base_fd >= 0);
	s->end = &s->first;
	account_init(&s->memory, 1 << 30, UINT64_C(1) << 31,
	    (1 << 30) / ACCOUNT_FAIR_PART);
	config.memory = &s->memory;
	store.memory = &s->memory.used;
	config.session_ids = &s->session_ids;
	config.notifier = &s->notifier;
	store.base_fd = s->base_fd;
	MUST(shard_create(&s->shard, &config, &store) == OK);
	viewers_init(
	    &s->viewers, 0, holds_replies, max_viewers, &s->viewer_ids);
	viewers_begin(&s->viewers);
	/* No reply waits for a stream class; a test may change this. */
	s->viewers.class_ns = 0;
	rcu_register_thread();
}

static int
remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

long
live_pair_size(const struct live_pair *s, const char *pattern)
{
	glob_t found = { 0 };
	char path[512];
	struct stat sb;
	long size = -1;

	snprintf(path, sizeof(path), "%s/%s", s->dir, pattern);
	if (glob(path, 0, NULL, &found) == 0 &&
	    stat(found.gl_pathv[0], &sb) == 0)
		size = (long)sb.st_size;
	globfree(&found);
	return size;
}

void
live_pair_remove(const struct live_pair *s, const char *below)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", s->dir, below);
	MUST(nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

void
live_pair_close(struct live_pair *s)
{
	MUST(list_empty(&s->viewers.all));
	cycle_last(s->shard);
	MUST(s->shard->traces.names_bytes == 0 &&
	     s->shard->store->names_bytes == 0);
	shard_destroy(s->shard);
	live_pair_deliver_all(s);
	viewers_destroy(&s->viewers);
	MUST(list_empty(&s->viewers.files.all));
	rcu_unregister_thread();
	rcu_barrier();
	close(s->base_fd);
	live_pair_remove(s, "");
}

bool
live_pair_deliver(struct live_pair *s)
{
	struct live_pair_news *n = s->first;

	if (n == NULL)
		return false;
	s->first = n->next;
	if (s->first == NULL)
		s->end = &s->first;
	if (n->what == LIVE_EVENT_STREAM)
		s->n_waiting--;
	viewers_take_event(&s->viewers, n->what, n->object);
	free(n);
	return true;
}

void
live_pair_deliver_all(struct live_pair *s)
{
	while (live_pair_deliver(s))
		;
}

struct session *
live_pair_session(
    struct live_pair *s, const char *name, uint32_t live_us, bool is_ctf2)
{
	struct relay_session_request q = { .session_name = name,
		.hostname = s->host,
		.base_path = "",
		.live_timer_us = live_us,
		.peer_session = published(&s->session_ids) + 1,
		.creation_time = 1500000000,
		.trace_format = is_ctf2 ? 2 : 1 };
	struct relay_create_session wish;
	struct session *session;
	struct buf b = { 0 };
	struct reader r;

	q.uuid.b[0] = 1;
	relay_request_create_session(&b, is_ctf2 ? 15 : MINOR, &q);
	r = reader_over(
	    buf_data(&b) + RELAY_HEADER_LEN, buf_len(&b) - RELAY_HEADER_LEN);
	MUST(
	    relay_create_session_decode(&r, is_ctf2 ? 15 : MINOR, &wish) == OK);
	MUST(session_create(&session, s->shard, &wish, MINOR, "peer") == OK);
	buf_free(&b);
	live_pair_create_chunk(session, 0);
	return session;
}

struct stream *
live_pair_stream(struct session *session, const char *path, const char *channel,
    uint64_t file_size, uint64_t file_count)
{
	struct relay_add_stream q;
	struct buf b = { 0 };
	uint64_t handle;
	struct reader r;
	enum status st;

	relay_request_add_stream(
	    &b, MINOR, channel, path, file_size, file_count, 0);
	r = reader_over(
	    buf_data(&b) + RELAY_HEADER_LEN, buf_len(&b) - RELAY_HEADER_LEN);
	MUST(relay_add_stream_decode(&r, MINOR, &q) == OK);
	st = stream_create(session, &q, &handle);
	buf_free(&b);
	MUST(st == OK || st == E_REFUSED || st == E_EXISTS);
	return st == OK ? session_stream(session, handle) : NULL;
}

static void
commit(struct stream *t)
{
	cycle_commit(t->session->shard);
}

void
live_pair_data(struct stream *t, const struct live_pair_packet *p)
{
	struct packet_pool *pool = &t->session->shard->store->packets;
	struct data_header h = {
		.stream = t->handle, .net_seq = p->seq, .size = p->bytes
	};
	struct packet *packet = packet_create(pool, p->seq);

	MUST(packet != NULL);
	MUST(intake_begin(t, &h) == OK);
	packet->size = p->bytes;
	for (uint32_t i = 0; i < p->bytes; i += 8) {
		uint64_t word = p->tag + i;

		if (p->raw != NULL)
			memcpy(&word, (const char *)p->raw + i, 8);
		MUST(packet_copy(pool, packet, &word, 8) == 8);
	}
	MUST(intake_add_packet(t, packet) == OK);
	commit(t);
}

void
live_pair_index(struct stream *t, const struct live_pair_packet *p)
{
	MUST(stream_add_record(
		 t, &(struct relay_index){ .stream = t->handle,
			.net_seq = p->seq,
			.packet_size = p->bytes * 8,
			.content_size = p->content_bits != 0 ? p->content_bits
							     : p->bytes * 8,
			.timestamp_begin = p->begin,
			.timestamp_end = p->end,
			.ctf_stream = p->ctf_stream,
			.packet_seq_num = p->seq }) == OK);
	commit(t);
}

void
live_pair_packet(struct stream *t, const struct live_pair_packet *p)
{
	live_pair_data(t, p);
	live_pair_index(t, p);
}

void
live_pair_beacon(struct stream *t, uint64_t time)
{
	MUST(stream_beacon(t, &(struct relay_index){ .stream = t->handle,
				  .timestamp_end = time,
				  .ctf_stream = LIVE_PAIR_CLASS }) == OK);
	commit(t);
}

void
live_pair_metadata(struct stream *t, const void *p, size_t n)
{
	uint32_t done = 0;

	MUST(stream_metadata(t,
		 &(struct relay_send_metadata){
		     .stream = t->handle, .data = p, .size = n },
		 &done) == OK);
}

void
live_pair_rotate(struct stream *t, bool has_chunk, uint64_t chunk, uint64_t seq)
{
	struct relay_position at = { t->handle, seq };
	struct relay_rotate rot;
	struct buf b = { 0 };
	uint32_t done = 0, code;
	struct reader r;

	relay_request_rotate(
	    &b, (struct relay_optional){ has_chunk, chunk }, &at, 1);
	r = reader_over(
	    buf_data(&b) + RELAY_HEADER_LEN, buf_len(&b) - RELAY_HEADER_LEN);
	MUST(relay_rotate_decode(&r, &rot) == OK);
	MUST(session_rotate(t->session, &rot, &done, &code) == OK);
	MUST(code == RELAY_OK);
	buf_free(&b);
}

void
live_pair_create_chunk(struct session *session, uint64_t chunk)
{
	MUST(session_finish_deletions(session, chunk));
	MUST(session_create_chunk(session,
		 &(struct relay_create_chunk){ .id = chunk,
		     .creation_time = 1500000000 + chunk }) == RELAY_OK);
}

void
live_pair_close_chunk(struct session *session, uint64_t chunk, uint32_t command)
{
	char path[RELPATH_MAX];

	MUST(session_close_chunk(session,
		 &(struct relay_close_chunk){ .id = chunk,
		     .close_time = 1500000000 + chunk,
		     .has_command = true,
		     .command = command },
		 path) == RELAY_OK);
}

enum live_outcome
live_pair_ask(struct viewer *v, const struct live_request *q,
    const struct live_how *how, struct buf *out, struct live_held *held)
{
	struct live_reply reply = { .out = out };
	enum live_outcome outcome;
	uint8_t *at;

	buf_consume(out, buf_len(out));
	outcome = viewer_serve(v, q, how, &reply, held);
	while (live_list_encode(&reply.list, out))
		;
	live_list_free(&reply.list);
	MUST(!out->bad);
	MUST(outcome == LIVE_REPLY || outcome == LIVE_REPLY_LAST ||
	     (buf_len(out) == 0 && reply.file == NULL));
	if (reply.file != NULL) {
		at = buf_reserve(out, (size_t)reply.length);
		MUST(at != NULL &&
		     pread(reply.file->data_fd, at, (size_t)reply.length,
			 (off_t)reply.offset) == (ssize_t)reply.length);
		buf_added(out, (size_t)reply.length);
		open_file_done(reply.file);
	}
	return outcome;
}

enum live_outcome
live_pair_tell(struct viewer *v, const struct live_request *q, struct buf *out)
{
	struct live_held held = { 0 };

	return live_pair_ask(v, q, &(struct live_how){ 0 }, out, &held);
}

uint32_t
live_pair_u32(const struct buf *out, size_t at)
{
	struct reader r;

	MUST(buf_len(out) >= at + 4);
	r = reader_over(buf_data(out) + at, 4);
	return reader_u32(&r);
}

uint64_t
live_pair_u64(const struct buf *out, size_t at)
{
	struct reader r;

	MUST(buf_len(out) >= at + 8);
	r = reader_over(buf_data(out) + at, 8);
	return reader_u64(&r);
}

struct live_index
live_pair_index_of(const struct buf *out)
{
	MUST(buf_len(out) == 64);
	return (struct live_index){ .offset = live_pair_u64(out, 0),
		.packet_size = live_pair_u64(out, 8),
		.content_size = live_pair_u64(out, 16),
		.timestamp_begin = live_pair_u64(out, 24),
		.timestamp_end = live_pair_u64(out, 32),
		.events_discarded = live_pair_u64(out, 40),
		.ctf_stream = live_pair_u64(out, 48),
		.status = live_pair_u32(out, 56),
		.flags = live_pair_u32(out, 60) };
}

bool
live_pair_is_packet(
    const struct buf *out, size_t at, const struct live_pair_packet *p)
{
	uint64_t word;

	if (buf_len(out) != at + p->bytes)
		return false;
	for (uint32_t i = 0; i < p->bytes; i += 8) {
		memcpy(&word, buf_data(out) + at + i, 8);
		if (word != p->tag + i)
			return false;
	}
	return true;
}
