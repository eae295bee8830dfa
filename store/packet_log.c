/* SPDX-License-Identifier: MIT */
/*
 * The order of stores and loads:
 *
 * 1. Append: clear the beacon, store the record in its slot (between two stores
 * of its sequence number), publish the count.
 *
 * 2. Beacon: the time, then the flag; never while a packet is arriving.
 *
 * 3. The end mark comes last.
 *
 * 4. A reader loads in reverse order: end, beacon, count. So a packet that is
 * not below the count did not exist when the beacon was read.
 *
 * 5. The start moves up before a file is removed from the list, and that
 * happens before the file is unlinked.
 */
#include "store/packet_log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <urcu.h>

#include "common/publish.h"
#include "common/ref.h"
#include "common/state.h"
#include "store/folder.h"

/* Records kept in memory per stream (640 bytes), once a viewer has asked for
 * one: a viewer that is not late never reads the index file again, and a stream
 * without viewers keeps none. */
#define RECENT 8
#define WORDS (sizeof(struct index_record) / sizeof(uint64_t))

/* A file of the log. Readers go from the newest to older ones. RCU delays
 * freeing a removed file until they have left it. */
struct log_file {
	struct rcu_head rcu;
	struct published_pointer older; /* NULL: the oldest */
	struct log_file *newer;		/* writer only */
	uint64_t first, number;
	struct folder *folder; /* a reference */
	uint64_t chunk;
};

/* SEQ is position + 1 if the words are that record, 0 while they change. */
struct slot {
	struct published seq, word[WORDS];
};

/* Of all logs, except those that only wait for readers. */
static struct published files, files_max;

void
packet_log_limit_files(uint64_t limit)
{
	publish(&files_max, limit);
}

enum status
packet_log_file_create(struct log_file **out, struct folder *folder,
    uint64_t number, uint64_t chunk)
{
	struct log_file *f = calloc(1, sizeof(*f));

	*out = f;
	if (f == NULL)
		return E_NOMEM;
	f->number = number;
	f->chunk = chunk;
	f->folder = folder_get(folder);
	return OK;
}

void
packet_log_file_destroy(struct log_file *f)
{
	if (f == NULL)
		return;
	folder_put(f->folder);
	free(f);
}

static void
free_file(struct rcu_head *head)
{
	packet_log_file_destroy(container_of(head, struct log_file, rcu));
}

enum status
packet_log_create(struct packet_log **out, const char *channel,
    bool is_numbered, unsigned minor)
{
	size_t n = strlen(channel) + 1;
	struct packet_log *log = calloc(1, sizeof(*log) + n);

	*out = NULL;
	if (log == NULL)
		return E_NOMEM;
	ref_init(&log->ref);
	log->is_numbered = is_numbered;
	log->minor = minor;
	memcpy(log->channel, channel, n);
	*out = log;
	return OK;
}

struct packet_log *
packet_log_get(struct packet_log *log)
{
	ref_get(&log->ref);
	return log;
}

static void
release(struct ref *r)
{
	struct packet_log *log = container_of(r, struct packet_log, ref);
	struct log_file *f, *newer;

	published_sub(&files, log->n_files);
	for (f = log->oldest; f != NULL; f = newer) {
		newer = f->newer;
		packet_log_file_destroy(f);
	}
	free(log->recent);
	free(log);
}

void
packet_log_put(struct packet_log *log)
{
	if (log != NULL)
		ref_put(&log->ref, release);
}

/* Drop the files up to LAST. */
static void
drop(struct packet_log *log, struct log_file *last)
{
	struct log_file *rest = last->newer, *f, *newer;
	uint64_t start = rest != NULL ? rest->first : published(&log->count);

	if (start > published(&log->start))
		publish(&log->start, start);
	publish_pointer(rest != NULL ? &rest->older : &log->newest, NULL);
	for (f = log->oldest; f != rest; f = newer) {
		newer = f->newer;
		call_rcu(&f->rcu, free_file);
		log->n_files--;
		published_sub(&files, 1);
	}
	log->oldest = rest;
}

void
packet_log_add_file(struct packet_log *log, struct log_file *take_f)
{
	struct log_file *newest = published_pointer(&log->newest);
	const uint64_t max = published(&files_max);

	take_f->first = published(&log->count);
	publish_pointer(&take_f->older, newest);
	if (newest == NULL)
		log->oldest = take_f;
	else
		newest->newer = take_f;
	publish_pointer(&log->newest, take_f);
	log->n_files++;
	if (published_add(&files, 1) > max && max != 0 &&
	    log->n_files > LOG_FILES_MIN)
		drop(log, log->oldest);
}

void
packet_log_drop_file(struct packet_log *log, uint64_t number, uint64_t chunk)
{
	for (struct log_file *f = log->oldest; f != NULL; f = f->newer)
		if (f->number == number && f->chunk == chunk) {
			drop(log, f);
			return;
		}
}

void
packet_log_drop_chunk(struct packet_log *log, uint64_t chunk)
{
	struct log_file *last = NULL;

	for (struct log_file *f = log->oldest; f != NULL; f = f->newer)
		if (f->chunk == chunk)
			last = f;
	if (last != NULL)
		drop(log, last);
}

static void
keep_recent(
    struct packet_log *log, uint64_t pos, const struct index_record *rec)
{
	uint64_t w[WORDS];
	struct slot *s;

	if (log->recent == NULL) {
		if (published(&log->is_read) == 0)
			return;
		log->recent = calloc(RECENT, sizeof(*log->recent));
		if (log->recent == NULL)
			return; /* readers find the record in the file */
		publish(&log->has_recent, 1);
	}
	memcpy(w, rec, sizeof(w));
	s = &log->recent[pos % RECENT];
	published_set_word(&s->seq, 0);
	published_fence();
	for (size_t i = 0; i < WORDS; i++)
		published_set_word(&s->word[i], w[i]);
	publish(&s->seq, pos + 1);
}

bool
packet_log_recent(
    struct packet_log *log, uint64_t pos, struct index_record *rec)
{
	const struct slot *s;
	uint64_t w[WORDS];

	if (published(&log->has_recent) == 0) {
		published_add_bits(&log->is_read, 1);
		return false;
	}
	s = &log->recent[pos % RECENT];
	if (published(&s->seq) != pos + 1)
		return false;
	for (size_t i = 0; i < WORDS; i++)
		w[i] = published_word(&s->word[i]);
	published_fence();
	if (published_word(&s->seq) != pos + 1)
		return false;
	memcpy(rec, w, sizeof(w));
	return true;
}

static void
set_ctf_stream(struct packet_log *log, uint64_t ctf_stream)
{
	/* Only the first id counts: viewers cannot follow a change. */
	if (published(&log->has_ctf_stream) != 0)
		return;
	publish(&log->ctf_stream, ctf_stream);
	publish(&log->has_ctf_stream, 1);
}

void
packet_log_append(struct packet_log *log, const struct index_record *rec)
{
	uint64_t pos = published(&log->count);

	set_ctf_stream(log, rec->ctf_stream);
	publish(&log->has_beacon, 0);
	keep_recent(log, pos, rec);
	if (rec->timestamp_end > log->last_time)
		log->last_time = rec->timestamp_end;
	log->has_instance = log->minor > 0;
	log->instance = rec->ctf_instance;
	publish(&log->count, pos + 1);
}

void
packet_log_continue(
    struct packet_log *log, uint64_t n, const struct index_record *last)
{
	set_ctf_stream(log, last->ctf_stream);
	log->last_time = last->timestamp_end;
	publish(&log->count, n);
}

void
packet_log_beacon(struct packet_log *log, uint64_t time, uint64_t ctf_stream)
{
	set_ctf_stream(log, ctf_stream);
	if (time < log->last_time)
		return;
	log->last_time = time;
	publish(&log->beacon, time);
	publish(&log->has_beacon, 1);
}

void
packet_log_no_beacon(struct packet_log *log, uint64_t ctf_stream)
{
	set_ctf_stream(log, ctf_stream);
	publish(&log->has_beacon, 0);
}

void
packet_log_end(struct packet_log *log)
{
	publish(&log->is_ended, 1);
}

enum log_next
packet_log_look(
    const struct packet_log *log, uint64_t pos, struct log_view *view)
{
	bool is_ended = published(&log->is_ended) != 0;
	bool has_beacon = published(&log->has_beacon) != 0;
	enum log_next next = LOG_RETRY;

	view->beacon = published(&log->beacon);
	if (pos < published(&log->count))
		next = LOG_PACKET;
	else if (is_ended)
		next = LOG_END;
	else if (has_beacon)
		next = LOG_INACTIVE;
	view->has_ctf_stream = published(&log->has_ctf_stream) != 0;
	view->ctf_stream = published(&log->ctf_stream);
	return next;
}

enum status
packet_log_place(
    const struct packet_log *log, uint64_t pos, struct log_place *out)
{
	const struct log_file *f;
	uint64_t next = UINT64_MAX;
	enum status st = E_NOENT;

	rcu_read_lock();
	f = published_pointer(&log->newest);
	for (; f != NULL && f->first > pos; f = published_pointer(&f->older))
		next = f->first;
	if (f != NULL) {
		*out = (struct log_place){
			.folder = folder_get(f->folder),
			.first = f->first,
			.next = next,
			.number = f->number,
			.is_numbered = log->is_numbered,
		};
		st = OK;
	}
	rcu_read_unlock();
	return st;
}

static const struct state_member file_members[] = {
	STATE_DROP(struct log_file, rcu),
	STATE_DROP(struct log_file, older),
	STATE_DROP(struct log_file, newer),
	STATE_KEEP(struct log_file, first),
	STATE_KEEP(struct log_file, number),
	STATE_CODE(struct log_file, folder),
	STATE_KEEP(struct log_file, chunk),
};
static STATE_TABLE(file_state, struct log_file, file_members);

static const struct state_member members[] = {
	STATE_DROP(struct packet_log, ref),
	STATE_PUBLISHED(struct packet_log, start),
	STATE_PUBLISHED(struct packet_log, count),
	STATE_PUBLISHED(struct packet_log, has_beacon),
	STATE_PUBLISHED(struct packet_log, beacon),
	STATE_PUBLISHED(struct packet_log, has_ctf_stream),
	STATE_PUBLISHED(struct packet_log, ctf_stream),
	STATE_PUBLISHED(struct packet_log, is_ended),
	STATE_DROP(struct packet_log, waiters), /* they ask again */
	STATE_DROP(struct packet_log, is_read),
	STATE_DROP(struct packet_log, recent), /* in the index file, too */
	STATE_DROP(struct packet_log, has_recent),
	STATE_CODE(struct packet_log, newest),
	STATE_CODE(struct packet_log, oldest),
	STATE_CODE(struct packet_log, n_files),
	STATE_KEEP(struct packet_log, last_time),
	STATE_CODE(struct packet_log, minor),
	STATE_CODE(struct packet_log, is_numbered),
	STATE_KEEP(struct packet_log, has_instance),
	STATE_KEEP(struct packet_log, instance),
	STATE_TAIL(struct packet_log, channel),
};
static STATE_TABLE(packet_log_state, struct packet_log, members);

void
packet_log_put_state(struct state_out *o, struct packet_log *log)
{
	if (!state_put_object(o, log))
		return;
	state_put_text(o, log->channel);
	state_put_bool(o, log->is_numbered);
	state_put_u32(o, log->minor);
	state_put(o, &packet_log_state, log);
	state_put_u64(o, log->n_files);
	for (const struct log_file *f = log->oldest; f != NULL; f = f->newer) {
		state_put(o, &file_state, f);
		folder_put_state(o, f->folder);
	}
}

static void
put_log(void *log)
{
	packet_log_put(log);
}

static enum status
get_files(struct packet_log *log, struct state_in *in)
{
	uint64_t n = state_get_u64(in), last = 0, first;
	struct folder *folder;
	struct log_file *f;
	enum status st = state_in_status(in);

	for (; n > 0 && st == OK; n--) {
		struct log_file as = { .first = 0 };

		st = state_get(in, &file_state, &as);
		if (st == OK)
			st = folder_get_state(&folder, in);
		if (st != OK)
			return st;
		if (folder == NULL || as.first < last ||
		    as.first > published(&log->count)) {
			folder_put(folder);
			return E_MALFORMED;
		}
		st = packet_log_file_create(&f, folder, as.number, as.chunk);
		folder_put(folder);
		if (st != OK)
			return st;
		first = last = as.first;
		packet_log_add_file(log, f);
		f->first = first;
	}
	return st;
}

enum status
packet_log_get_state(struct packet_log **out, struct state_in *in)
{
	const char *channel;
	bool is_numbered;
	unsigned minor;
	uint32_t number;
	enum status st;
	void *found;

	*out = NULL;
	if (state_get_object(in, &packet_log_state, &found, &number)) {
		if (found != NULL)
			*out = packet_log_get(found);
		return state_in_status(in);
	}
	channel = state_get_text(in);
	is_numbered = state_get_bool(in);
	minor = state_get_u32(in, 1);
	if (channel == NULL || in->r.bad)
		return E_MALFORMED;
	st = packet_log_create(out, channel, is_numbered, minor);
	if (st == OK)
		st = state_get(in, &packet_log_state, *out);
	if (st == OK)
		st = get_files(*out, in);
	if (st != OK) {
		packet_log_put(*out);
		*out = NULL;
		return st;
	}
	state_made_shared(
	    in, number, &packet_log_state, packet_log_get(*out), put_log);
	return OK;
}
