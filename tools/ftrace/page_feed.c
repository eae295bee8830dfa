/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/page_feed.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/ftrace/dat_read.h"
#include "tools/ftrace/page_align.h"

struct page_feed_cpu {
	struct page_feed *feed;
	uint32_t cpu;
	bool is_raw; /* no memory: bytes are stored as they come */
	struct page_align align;
};

static void
deliver(void *arg, const uint8_t *p, size_t n)
{
	const struct page_feed_cpu *c = arg;
	const struct page_feed *f = c->feed;

	assert(n % f->layout.size == 0);
	recording_pages(f->recording, c->cpu, p, n);
	if (f->live != NULL)
		live_pages(f->live, c->cpu, p, n);
}

static void
free_live(struct page_feed *f)
{
	live_destroy(f->live);
	f->live = NULL;
}

/* The memory of a live session is known once it exists. */
static void
create_live(struct page_feed *f, const struct page_feed_config *config,
    const struct live_about *about)
{
	char why[DAT_WHY_MAX];
	struct live *live;

	if (config->live == NULL)
		return;
	if (live_create(&live, config->live, config->base, about, why) != OK) {
		log_warn("peer=%s: stored, not live: %s", f->name, why);
	} else if (!config->may_use(config->arg, live_memory(live))) {
		log_peer(LOG_WARN,
		    "peer=%s: no memory is left for its metadata: stored, not "
		    "live",
		    f->name);
		live_destroy(live);
	} else {
		f->live = live;
	}
}

static enum status
begin_feed(struct page_feed *f, const struct page_feed_config *config,
    const struct live_about *about)
{
	const uint64_t memory = config->is_datagrams
				    ? 0
				    : about->cpus * (uint64_t)page_align_memory(
							&f->layout);
	const bool is_raw = !config->may_use(config->arg, memory);

	f->is_whole = config->is_datagrams;
	f->recording->page_size = about->page_size;
	f->all = calloc(about->cpus, sizeof(*f->all));
	if (f->all == NULL)
		return E_NOMEM;
	f->cpus = about->cpus;
	for (uint32_t i = 0; i < f->cpus; i++)
		f->all[i] = (struct page_feed_cpu){
			.feed = f, .cpu = i, .is_raw = is_raw
		};
	if (is_raw) {
		log_peer(LOG_WARN,
		    "peer=%s: no memory is left for its pages: stored as they "
		    "come, not live",
		    f->name);
		return OK;
	}
	f->memory = memory;
	create_live(f, config, about);
	return OK;
}

enum status
page_feed_begin(struct page_feed *f, const struct page_feed_config *config,
    const char **why)
{
	struct recording *r = f->recording;
	struct live_about about = { .name = f->name,
		.cpus = r->n_parts,
		.is_local = config->is_local,
		.connected_ns = config->connected_ns };
	struct dat_layout l;
	enum status st = recording_map(
	    r, &about.metadata, &about.metadata_size);

	assert(f->all == NULL);
	if (st != OK)
		return st;
	st = dat_read_layout(&l, about.metadata, about.metadata_size);
	if (st == E_MALFORMED || (st == E_MORE && config->is_end)) {
		*why = "not the metadata of a trace.dat";
		st = E_MALFORMED;
	} else if (st == OK && l.has_cpus && l.cpus != about.cpus) {
		*why = "the metadata has another number of CPUs";
		st = E_PROTOCOL;
	} else if (st == OK && l.page_size > config->page_size_max) {
		*why = PAGE_FEED_TOO_LARGE;
		st = E_LIMIT;
	}
	if (st == OK) {
		about.page_size = l.page_size;
		f->layout = page_layout_of(l.page_size, l.long_size, l.is_big);
		st = begin_feed(f, config, &about);
		log_peer(LOG_INFO,
		    "peer=%s: metadata of %zu bytes, version %u, pages of %u",
		    f->name, about.metadata_size, l.version, l.page_size);
	}
	recording_unmap(r);
	return st;
}

/* Handles the first bytes of a CPU. Without memory for it, nothing is live. */
static void
begin_cpu(struct page_feed *f, struct page_feed_cpu *c)
{
	if (page_align_init(&c->align, &f->layout, deliver, c) == OK)
		return;
	if (f->live != NULL)
		log_error("peer=%s: out of memory; stored, not live", f->name);
	c->is_raw = true;
	free_live(f);
}

void
page_feed_bytes(struct page_feed *f, uint32_t cpu, const uint8_t *p, size_t n)
{
	struct page_feed_cpu *c = &f->all[cpu];

	assert(cpu < f->cpus);
	if (f->is_whole) {
		deliver(c, p, n);
		return;
	}
	if (c->align.rest == NULL && !c->is_raw)
		begin_cpu(f, c);
	if (c->is_raw)
		recording_pages(f->recording, cpu, p, n);
	else
		page_align_bytes(&c->align, p, n);
}

void
page_feed_end(struct page_feed *f)
{
	for (uint32_t i = 0; i < f->cpus; i++)
		if (f->all[i].align.rest != NULL)
			page_align_end(&f->all[i].align);
	if (f->live != NULL)
		live_end(f->live);
}

/* Logs what was recorded, and what is missing. */
static void
log_end(const struct page_feed *f)
{
	const struct recording *r = f->recording;
	uint64_t pages = 0, cuts = 0;

	for (uint32_t i = 0; i < r->n_parts; i++)
		pages += recording_pages_received(r, i);
	for (uint32_t i = 0; i < f->cpus; i++)
		cuts += f->all[i].align.cuts;
	/* If a file could not be made, the reason was logged. */
	if (r->page_size > 0)
		log_peer(LOG_NOTICE, "peer=%s: %" PRIu64 " pages%s%s", f->name,
		    pages,
		    *r->file != '\0'	? " in "
		    : f->finished == OK ? "; no file"
					: "; no file yet",
		    r->file);
	else if (f->finished == OK)
		log_peer(LOG_NOTICE, "peer=%s: %s", f->name,
		    *r->file == '\0' ? "its metadata is incomplete; no file"
				     : "its file was already complete");
	if (cuts > 0)
		log_peer(LOG_WARN,
		    "peer=%s: %" PRIu64
		    " incomplete pages: the recorder has not sent the rest; "
		    "the events in it are missing",
		    f->name, cuts);
	if (r->lost > 0)
		log_peer(LOG_WARN,
		    "peer=%s: %" PRIu64 " bytes could not be written", f->name,
		    r->lost);
}

static void
on_joined_files(struct background_job *job)
{
	struct page_feed *f = container_of(job, struct page_feed, job);

	log_end(f);
	f->done(f->arg);
}

/* In a thread, which alone uses the files now. */
static void
finish_work(struct background_job *job)
{
	struct page_feed *f = container_of(job, struct page_feed, job);

	f->finished = recording_finish(f->recording);
}

void
page_feed_finish(struct page_feed *f, struct background *b,
    void (*done)(void *arg), void *arg)
{
	assert(f->recording != NULL);
	f->done = done;
	f->arg = arg;
	f->job = (struct background_job){ .work = finish_work,
		.done = on_joined_files };
	background_add(b, &f->job);
}

bool
page_feed_is_live(const struct page_feed *f, uint64_t since_ns)
{
	return f->live != NULL && !live_is_done(f->live) &&
	       clock_now_ns() - since_ns < LIVE_END_MS * NS_PER_MS;
}

uint64_t
page_feed_memory(const struct page_feed *f)
{
	return f->memory + (f->live == NULL ? 0 : live_memory(f->live));
}

void
page_feed_free(struct page_feed *f)
{
	for (uint32_t i = 0; i < f->cpus; i++)
		page_align_free(&f->all[i].align);
	free(f->all);
	f->all = NULL;
	f->cpus = 0;
	free_live(f);
	recording_destroy(f->recording);
	f->recording = NULL;
}
