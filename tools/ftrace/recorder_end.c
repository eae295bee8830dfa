/* SPDX-License-Identifier: MIT */
/* From the last word of a recorder until nothing is left of it: what is under
 * way, its name, its file, its sink. */
#include <inttypes.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/ftrace/recorder_internal.h"

/* A name server that does not answer delays a file by so much. */
#define NAME_WAIT_MS 2000

void
recorder_free_recording(struct recorder *r)
{
	if (r->recording != NULL && !r->all->is_kept)
		r->all->memory -= recording_metadata_size(r->recording);
	recording_destroy(r->recording);
	r->recording = NULL;
}

static void
tell_pages(const struct recorder *r)
{
	const struct recording *g = r->recording;
	const bool has_file = *recording_file(g) != '\0';
	uint64_t pages = 0;

	if (has_file && !recording_knows_pages(g)) {
		log_peer(LOG_NOTICE, "peer=%s: %s, which was whole", r->name,
		    recording_file(g));
		return;
	}
	for (uint32_t i = 0; i < recording_cpus(g); i++) {
		log_debug("peer=%s: %" PRIu64 " pages of CPU %u", r->name,
		    recording_pages_received(g, i), i);
		pages += recording_pages_received(g, i);
	}
	log_peer(LOG_NOTICE, "peer=%s: %" PRIu64 " pages%s%s", r->name, pages,
	    has_file		? " in "
	    : r->finished == OK ? "; no file"
				: "; no file yet",
	    recording_file(g));
}

/* What there is of it, and what is missing. */
static void
tell_end(const struct recorder *r)
{
	const uint64_t lost = recording_lost(r->recording);
	const uint64_t cuts = page_feed_cuts(&r->feed);

	/* Why there is no file was told; of what was left, no more is known. */
	if (r->finished == OK || recording_knows_pages(r->recording))
		tell_pages(r);
	if (cuts > 0)
		log_peer(LOG_WARN,
		    "peer=%s: pages of which the recorder has not sent the "
		    "rest: %" PRIu64 "; the events in it are missing",
		    r->name, cuts);
	if (r->counts.dropped > 0)
		log_peer(LOG_WARN,
		    "peer=%s: %" PRIu64 " pages are lost: they found no room "
		    "in the kernel (net.core.rmem_max)",
		    r->name, r->counts.dropped);
	if (r->counts.malformed > 0 || r->counts.strangers > 0)
		log_peer(LOG_WARN,
		    "peer=%s: refused: %" PRIu64 " datagrams that are no "
		    "page, %" PRIu64 " of others",
		    r->name, r->counts.malformed, r->counts.strangers);
	if (lost > 0)
		log_peer(LOG_WARN,
		    "peer=%s: %" PRIu64 " bytes could not be written", r->name,
		    lost);
}

/* Its file is there. What only that needed is for others. */
static void
on_finished(struct background_job *job)
{
	struct recorder *r = container_of(job, struct recorder, finish_job);
	const uint64_t keep = r->feed.sink != NULL ? SINK_FDS : 0;

	tell_end(r);
	recorder_free_recording(r);
	if (r->fds > keep) {
		r->all->fds -= r->fds - keep;
		r->fds = keep;
	}
	r->state = RECORDER_SINKING;
	recorder_advance(r);
}

/* In a thread of its own: it has nothing but its files now. */
static void
finish_work(struct background_job *job)
{
	struct recorder *r = container_of(job, struct recorder, finish_job);

	r->finished = recording_finish(r->recording);
}

/* Does something that it has sent still come? */
static bool
is_draining(const struct recorder *r, uint64_t now)
{
	return r->data != NULL && r->page_size > 0 && !r->all->is_ending &&
	       !data_sockets_are_done(r->data, r->ended_ns) &&
	       now - r->ended_ns < DRAIN_MS * NS_PER_MS;
}

static bool
is_naming(const struct recorder *r, uint64_t now)
{
	return r->naming != NULL && !r->all->is_ending &&
	       now - r->ended_ns < NAME_WAIT_MS * NS_PER_MS;
}

static bool
is_sinking(const struct recorder *r, uint64_t now)
{
	struct recorder_sink *sink = r->feed.sink;

	return sink != NULL && !sink->ops->is_done(sink) &&
	       now - r->ended_ns < SINK_END_MS * NS_PER_MS &&
	       (!r->all->is_ending ||
		   now - r->all->ending_ns < SINK_STOP_MS * NS_PER_MS);
}

/* No more pages come. */
static void
end_pages(struct recorder *r, uint64_t now)
{
	if (r->data != NULL && r->all->is_ending)
		data_sockets_drain(r->data);
	recorder_data_free(r);
	r->ports = 0;
	page_feed_end(&r->feed);
	r->ended_ns = now;
	r->state = RECORDER_NAMING;
}

void
recorder_finish_file(struct recorder *r)
{
	recorder_name_forget(r);
	r->state = RECORDER_FINISHING;
	r->finish_job = (struct background_job){ .work = finish_work,
		.done = on_finished };
	background_add(r->all->finishing, &r->finish_job);
}

void
recorder_advance(struct recorder *r)
{
	const uint64_t now = clock_now_ns();

	if (r->state == RECORDER_DRAINING && !is_draining(r, now))
		end_pages(r, now);
	if (r->state == RECORDER_NAMING && !is_naming(r, now)) {
		if (r->recording != NULL) {
			recorder_finish_file(r);
			return;
		}
		r->state = RECORDER_SINKING;
	}
	if (r->state == RECORDER_SINKING && !is_sinking(r, now))
		recorder_destroy(r);
	else if (r->state >= RECORDER_DRAINING &&
		 r->state != RECORDER_FINISHING)
		recorder_set_timer(r, LOOK_MS);
}
