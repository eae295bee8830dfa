/* SPDX-License-Identifier: MIT */
/*
 * The only file where the order of two stores matters:
 *  1. append: the beacon off, then the record into its slot (its sequence
 *     number around it), then the count;
 *  2. beacon: the time, then the flag; never while a packet is on its way;
 *  3. the end mark after everything;
 *  4. a reader loads in the reverse order: end, beacon, count. So a packet that
 *     it does not find at the count was not there when it saw the beacon;
 *  5. the start moves up before a file is taken out, and a file is taken out
 *     before it is unlinked.
 */
#include "store/packet_log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <urcu.h>

#include "common/publish.h"
#include "common/ref.h"
#include "store/folder.h"

/* Records kept in memory per stream, from its first record on (640 bytes): a
 * viewer that is not late never reads the index file. */
#define RECENT 8
#define WORDS 9

struct log_file {
	uint64_t first, number;
	struct folder *folder;
	uint64_t chunk;
};

/* The list of files. RCU replaces it as a whole. */
struct log_files {
	struct rcu_head rcu;
	unsigned n;
	struct log_file f[];
};

/* SEQ is position + 1 when the words are that record, 0 while they change. */
struct slot {
	struct published seq, word[WORDS];
};

struct packet_log {
	struct ref ref;
	struct published start, count;
	struct published has_beacon, beacon;
	struct published has_ctf_stream, ctf_stream;
	struct published is_ended;
	struct waiters waiters;
	struct slot *recent; /* RECENT slots; made with the first record */
	struct published has_recent;
	struct published_pointer files; /* struct log_files */
	/* writer only */
	uint64_t last_time; /* end of the last packet, or last beacon */
	unsigned minor;
	bool is_numbered;
	char channel[];
};

static struct log_files *
files_of(const struct packet_log *log)
{
	return published_pointer(&log->files);
}

/* Every entry holds a reference on its folder. */
static void
free_files(struct rcu_head *head)
{
	struct log_files *files = container_of(head, struct log_files, rcu);

	for (unsigned i = 0; i < files->n; i++)
		folder_put(files->f[i].folder);
	free(files);
}

enum status
packet_log_create(struct packet_log **out, const char *channel,
    bool is_numbered, unsigned minor)
{
	size_t n = strlen(channel) + 1;
	struct packet_log *log = calloc(1, sizeof(*log) + n);
	struct log_files *files;

	*out = NULL;
	if (log == NULL)
		return E_NOMEM;
	files = calloc(1, sizeof(*files));
	if (files == NULL) {
		free(log);
		return E_NOMEM;
	}
	publish_pointer(&log->files, files);
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

	free_files(&files_of(log)->rcu);
	free(log->recent);
	free(log);
}

void
packet_log_put(struct packet_log *log)
{
	if (log != NULL)
		ref_put(&log->ref, release);
}

const char *
packet_log_channel(const struct packet_log *log)
{
	return log->channel;
}

unsigned
packet_log_minor(const struct packet_log *log)
{
	return log->minor;
}

uint64_t
packet_log_start(const struct packet_log *log)
{
	return published(&log->start);
}

uint64_t
packet_log_count(const struct packet_log *log)
{
	return published(&log->count);
}

bool
packet_log_is_ended(const struct packet_log *log)
{
	return published(&log->is_ended) != 0;
}

/* A copy of the files from FROM on, with room for one more. */
static struct log_files *
copy_files(const struct log_files *old, unsigned from)
{
	unsigned n = old->n - from;
	struct log_files *new;

	new = calloc(1, sizeof(*new) + (n + 1) * sizeof(new->f[0]));
	if (new == NULL)
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		new->f[i] = old->f[from + i];
		folder_get(new->f[i].folder);
	}
	new->n = n;
	return new;
}

static void
replace_files(struct packet_log *log, struct log_files *take_new)
{
	struct log_files *old = files_of(log);

	publish_pointer(&log->files, take_new);
	call_rcu(&old->rcu, free_files);
}

enum status
packet_log_add_file(struct packet_log *log, struct folder *folder,
    uint64_t number, uint64_t chunk)
{
	struct log_files *new = copy_files(files_of(log), 0);

	if (new == NULL)
		return E_NOMEM;
	new->f[new->n++] = (struct log_file){
		.first = published(&log->count),
		.number = number,
		.folder = folder_get(folder),
		.chunk = chunk,
	};
	replace_files(log, new);
	return OK;
}

/* Drop the first N files. */
static void
drop(struct packet_log *log, unsigned n)
{
	const struct log_files *old = files_of(log);
	struct log_files *new;
	uint64_t start;

	if (n == 0)
		return;
	start = n < old->n ? old->f[n].first : published(&log->count);
	if (start > published(&log->start))
		publish(&log->start, start);
	new = copy_files(old, n);
	/* Without memory the old list stays. Opening a dropped file fails, but
	 * nobody opens a file below the start. */
	if (new != NULL)
		replace_files(log, new);
}

void
packet_log_drop_file(struct packet_log *log, uint64_t number, uint64_t chunk)
{
	const struct log_files *files = files_of(log);

	for (unsigned i = 0; i < files->n; i++)
		if (files->f[i].number == number &&
		    files->f[i].chunk == chunk) {
			drop(log, i + 1);
			return;
		}
}

void
packet_log_drop_chunk(struct packet_log *log, uint64_t chunk)
{
	const struct log_files *files = files_of(log);
	unsigned n = 0;

	for (unsigned i = 0; i < files->n; i++)
		if (files->f[i].chunk == chunk)
			n = i + 1;
	drop(log, n);
}

static void
keep_recent(
    struct packet_log *log, uint64_t pos, const struct index_record *rec)
{
	const uint64_t w[WORDS] = { rec->offset, rec->packet_size,
		rec->content_size, rec->timestamp_begin, rec->timestamp_end,
		rec->events_discarded, rec->ctf_stream, rec->ctf_instance,
		rec->packet_seq_num };
	struct slot *s;

	if (log->recent == NULL) {
		log->recent = calloc(RECENT, sizeof(*log->recent));
		if (log->recent == NULL)
			return; /* readers find the record in the file */
		publish(&log->has_recent, 1);
	}
	s = &log->recent[pos % RECENT];
	published_set_word(&s->seq, 0);
	published_fence();
	for (int i = 0; i < WORDS; i++)
		published_set_word(&s->word[i], w[i]);
	publish(&s->seq, pos + 1);
}

bool
packet_log_recent(
    const struct packet_log *log, uint64_t pos, struct index_record *rec)
{
	const struct slot *s;
	uint64_t w[WORDS];

	if (published(&log->has_recent) == 0)
		return false;
	s = &log->recent[pos % RECENT];
	if (published(&s->seq) != pos + 1)
		return false;
	for (int i = 0; i < WORDS; i++)
		w[i] = published_word(&s->word[i]);
	published_fence();
	if (published_word(&s->seq) != pos + 1)
		return false;
	*rec = (struct index_record){ w[0], w[1], w[2], w[3], w[4], w[5], w[6],
		w[7], w[8] };
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
	publish(&log->count, pos + 1);
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
	const struct log_files *files;
	enum status st = E_NOENT;

	rcu_read_lock();
	files = files_of(log);
	for (unsigned i = files->n; i-- > 0;) {
		if (files->f[i].first > pos)
			continue;
		*out = (struct log_place){
			.folder = folder_get(files->f[i].folder),
			.first = files->f[i].first,
			.next = i + 1 < files->n ? files->f[i + 1].first
						 : UINT64_MAX,
			.number = files->f[i].number,
			.is_numbered = log->is_numbered,
		};
		st = OK;
		break;
	}
	rcu_read_unlock();
	return st;
}

void
packet_log_wait(struct packet_log *log, uint64_t bit)
{
	waiters_add(&log->waiters, bit);
}

uint64_t
packet_log_take_waiters(struct packet_log *log)
{
	return waiters_take(&log->waiters);
}
