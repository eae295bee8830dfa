/* SPDX-License-Identifier: MIT */
#include "store/store.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/fds.h"
#include "common/log.h"
#include "store/chunk.h"
#include "store/journal.h"
#include "store/output.h"
#include "store/reserve.h"
#include "store/tracefile.h"

/* Larger buffers of records that waited for a lock are freed. */
#define SPARE_MAX (64 * 1024)

/* Is FD on the file system that the syncer syncs? */
static bool
is_synced_in_time(const struct store *s, int fd)
{
	struct stat ours, there;

	if (s->config.syncer == NULL)
		return false;
	if (fstat(s->config.base_fd, &ours) == 0 && fstat(fd, &there) == 0 &&
	    ours.st_dev == there.st_dev)
		return true;
	log_error("--sync: the output directory is on another file system now, "
		  "which is not synced: restart the relay");
	return false;
}

static enum status
make_output(const struct store *s, struct output **out, int fd, bool owns_fd)
{
	static const enum journal_sync_kind kinds[] = {
		[STORE_SYNC_NONE] = JOURNAL_UNSYNCED,
		[STORE_SYNC_CLOSE] = JOURNAL_SYNCED_AT_CLOSE,
		[STORE_SYNC_PACKET] = JOURNAL_SYNCED,
		[STORE_SYNC_TIME] = JOURNAL_SYNCED,
	};
	struct journal_config config = { .sync = kinds[s->config.sync] };

	if (is_synced_in_time(s, fd))
		config.syncer = s->config.syncer;
	else if (s->config.syncer != NULL)
		config.sync = JOURNAL_UNSYNCED;
	if (output_create(out, fd, owns_fd, &config) != OK)
		return E_NOMEM;
	if (s->config.has_no_reserve)
		reserve_disable(&(*out)->reserve);
	return OK;
}

enum status
store_create(struct store **out, const struct store_config *config)
{
	struct store *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	s->config = *config;
	list_init(&s->open_files);
	list_init(&s->old_families);
	packet_pool_init(&s->packets, config->max_cached, config->memory);
	/* One spare buffer is enough: most streams write their records at
	 * once. */
	buf_spares_init(&s->spares, 1, SPARE_MAX);
	if (make_output(s, &s->output, config->base_fd, false) != OK) {
		store_destroy(s);
		return E_NOMEM;
	}
	*out = s;
	return OK;
}

void
store_destroy(struct store *s)
{
	if (s == NULL)
		return;
	while (chunk_free_some(s))
		;
	assert(list_empty(&s->open_files) && s->n_open == 0);
	fds_lent_back(s->n_lent);
	output_put(s->output);
	packet_pool_free(&s->packets);
	buf_spares_free(&s->spares);
	free(s);
}

struct output *
store_output(struct store *s)
{
	const char *path = s->config.output;
	struct output *o;
	int fd;

	if (path == NULL || output_is_at(s->output, path))
		return s->output;
	fd = output_open(path);
	/* After a failure the old one stays, and creating the session reports
	 * the reason. */
	if (fd < 0)
		log_peer(LOG_WARN,
		    "output directory %s was removed or replaced; if "
		    "--sandbox=strict makes the new one inaccessible, restart "
		    "the relay",
		    path);
	if (fd < 0 || make_output(s, &o, fd, true) != OK)
		return s->output;
	log_warn(
	    "output directory %s was removed or replaced; opened again", path);
	output_put(s->output);
	s->output = o;
	return o;
}

void
store_end(struct store *s)
{
	s->is_ending = true;
	s->ending_since_ns = clock_now_ns();
}

void
store_leave(struct store *s)
{
	journal_leave(s->output->journal);
}

bool
store_is_late_to_sync(const struct store *s)
{
	return s->is_ending &&
	       clock_now_ns() - s->ending_since_ns > STORE_LAST_SYNCS_NS;
}

bool
store_syncs_packets(const struct store *s)
{
	return s->config.sync == STORE_SYNC_PACKET && !s->is_ending;
}

bool
store_syncs_names(const struct store *s)
{
	return s->config.sync == STORE_SYNC_CLOSE ||
	       s->config.sync == STORE_SYNC_PACKET;
}

void
store_sync_failed(struct store *s, const char *path, const char *name)
{
	s->sync_errors++;
	if (log_ratelimit(&s->last_error_log, NS_PER_S))
		log_errno(LOG_ERROR,
		    "%s/%s: --sync: cannot be synced to the disk", path, name);
}

uint64_t
store_tick(struct store *s)
{
	uint64_t next = journal_tick(s->output->journal);

	next = clock_earlier(next, reserve_tick(&s->output->reserve));
	return clock_earlier(next, tracefile_pool_tick(s));
}
