/* SPDX-License-Identifier: MIT */
/* The data of a recorder: its metadata, then its pages. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/ftrace/dat_read.h"
#include "tools/ftrace/live.h"
#include "tools/ftrace/recorder_internal.h"

/* V1 metadata may come byte by byte. After a check that takes longer, wait, so
 * that checks take this share of the time. */
#define LONG_CHECK_NS NS_PER_MS
#define CHECK_SHARE 20

static void
on_bytes(void *arg, uint32_t cpu, const uint8_t *p, size_t n)
{
	struct recorder *r = arg;

	if (page_feed_bytes(&r->feed, cpu, p, n) != OK)
		log_error("peer=%s: out of memory; stored, not live", r->name);
}

static void
on_ended(void *arg, uint32_t cpu)
{
	struct recorder *r = arg;

	log_debug("peer=%s: all pages of CPU %u have arrived", r->name, cpu);
	/* The recorder may have waited for this. */
	if (r->state == RECORDER_DRAINING)
		recorder_set_timer(r, 0);
}

/* Checked when it asks for ports, since a refusal is shown to its user then,
 * and again when the metadata states the size. */
static enum status
check_page_size(struct recorder *r, bool is_tcp, uint32_t page_size)
{
	if (is_tcp || page_size <= DATA_DATAGRAM_BYTES)
		return OK;
	r->dialog.why =
	    "its pages do not fit in datagrams; use TCP (trace-cmd record -t)";
	return E_LIMIT;
}

static enum status
on_begin(void *arg, const struct recorder_dialog_begin *begin,
    uint16_t ports[MESSAGE_CPUS_MAX])
{
	struct recorder *r = arg;
	const struct data_config config = { .base = r->all->loop->base,
		.cpus = begin->cpus,
		.is_tcp = begin->is_tcp,
		.peer = (const struct sockaddr *)&r->peer,
		.peer_name = r->name,
		.bind_host = r->all->bind_host,
		.port_first = r->all->port_first,
		.port_last = r->all->port_last,
		.bytes = on_bytes,
		.ended = on_ended,
		.arg = r };
	const struct recorder_use more = { .fds = recording_fds(begin->cpus) +
						  begin->cpus,
		.ports = begin->cpus };
	enum status st;

	assert(begin->cpus <= MESSAGE_CPUS_MAX);
	if (begin->unknown > 0)
		log_peer(LOG_INFO, "peer=%s: %u unknown options", r->name,
		    begin->unknown);
	st = check_page_size(r, begin->is_tcp, begin->page_size);
	if (st == OK) {
		r->dialog.why = recorders_refuse(
		    r->all, (const struct sockaddr *)&r->peer, more);
		st = r->dialog.why == NULL ? OK : E_LIMIT;
	}
	if (st == OK) {
		r->use.fds += more.fds;
		r->use.ports = more.ports;
		st = recording_create(
		    &r->recording, &r->all->recordings, r->name, begin->cpus);
	}
	if (st == OK)
		st = data_sockets_create(&r->data, &config, ports);
	if (st == OK)
		log_peer(LOG_NOTICE, "peer=%s: %u CPUs, %s, version %u",
		    r->name, begin->cpus, begin->is_tcp ? "TCP" : "UDP",
		    begin->is_v1 ? 1 : 3);
	return st;
}

/* NULL: the recorder is stored only, which was logged. The memory of a live
 * session is known once it exists. */
static struct live *
create_live(struct recorder *r, const struct live_about *about)
{
	struct recorder_use more = { 0 };
	struct live *live;

	if (r->all->live == NULL)
		return NULL;
	if (live_create(&live, r->all->live, r->all->loop->base, about) != OK) {
		log_warn("peer=%s: stored, not live", r->name);
		return NULL;
	}
	more.memory = live_memory(live);
	if (recorders_refuse(r->all, (const struct sockaddr *)&r->peer, more) ==
	    NULL)
		return live;
	log_peer(LOG_WARN,
	    "peer=%s: no memory is left for its metadata: stored, not live",
	    r->name);
	live_destroy(live);
	return NULL;
}

static enum status
begin_feed(struct recorder *r, const struct dat_layout *layout,
    const struct live_about *about)
{
	enum page_feed_how how = r->dialog.begin.is_tcp ? PAGE_FEED_STREAM
							: PAGE_FEED_DATAGRAMS;
	const struct recorder_use more = { .memory = page_feed_memory(
					       layout, about->cpus, how) };
	struct live *live = NULL;

	if (recorders_refuse(r->all, (const struct sockaddr *)&r->peer, more) ==
	    NULL) {
		r->use.memory = more.memory;
		live = create_live(r, about);
	} else {
		how = PAGE_FEED_RAW;
		log_peer(LOG_WARN,
		    "peer=%s: no memory is left for its pages: stored as they "
		    "come, not live",
		    r->name);
	}
	return page_feed_init(&r->feed, r->recording, live, layout, how);
}

/* Begins the pages; the metadata is whole. */
static enum status
begin_pages(struct recorder *r, const struct dat_layout *layout,
    const uint8_t *p, size_t n)
{
	const struct live_about about = { .name = r->name,
		.cpus = r->recording->n_parts,
		.page_size = layout->page_size,
		.metadata = p,
		.metadata_size = n };

	assert(r->state == RECORDER_TALKING);
	r->page_size = layout->page_size;
	r->recording->page_size = layout->page_size;
	if (begin_feed(r, layout, &about) != OK)
		return E_NOMEM;
	r->state = RECORDER_RUNNING;
	log_peer(LOG_INFO,
	    "peer=%s: metadata of %zu bytes, version %u, pages of %u", r->name,
	    n, layout->version, layout->page_size);
	return data_sockets_start(r->data, layout->page_size);
}

/* E_MORE: the metadata is not whole. */
static enum status
check_whole_metadata(struct recorder *r)
{
	struct dat_layout layout;
	const uint8_t *p;
	size_t n;
	enum status st = recording_map(r->recording, &p, &n);

	if (st != OK)
		return st;
	st = dat_read_layout(&layout, p, n);
	if (st == OK && layout.has_cpus &&
	    layout.cpus != r->recording->n_parts) {
		r->dialog.why = "the metadata has another number of CPUs";
		st = E_PROTOCOL;
	}
	if (st == OK)
		st = check_page_size(
		    r, r->dialog.begin.is_tcp, layout.page_size);
	if (st == OK)
		st = begin_pages(r, &layout, p, n);
	recording_unmap(r->recording);
	return st;
}

enum status
recorder_check_metadata(struct recorder *r, bool is_last)
{
	const uint64_t now = clock_now_ns();
	enum status st = OK;
	uint64_t took;

	if (r->dialog.begin.is_v1 && r->state == RECORDER_TALKING &&
	    r->dialog.state == DIALOG_METADATA &&
	    r->recording->metadata_size > 0 &&
	    (is_last || now >= r->check_ns)) {
		st = check_whole_metadata(r);
		took = clock_now_ns() - now;
		if (took > LONG_CHECK_NS)
			r->check_ns = now + took * CHECK_SHARE;
	}
	if (st == E_MALFORMED)
		r->dialog.why = "not the metadata of a trace.dat";
	return st == E_MORE ? OK : st;
}

static enum status
on_metadata(void *arg, const uint8_t *p, size_t n)
{
	struct recorder *r = arg;
	enum status st;

	/* V1: unexpected bytes after the metadata. */
	if (r->state != RECORDER_TALKING) {
		r->dialog.why = "unexpected bytes after the metadata";
		return E_PROTOCOL;
	}
	if (!r->recording->is_kept &&
	    n > METADATA_MEMORY_BYTES - r->all->memory) {
		r->dialog.why = "the metadata of all recorders is too large";
		return E_LIMIT;
	}
	st = recording_metadata(r->recording, p, n);
	/* Charge only stored metadata: only that is released later. */
	if (!r->recording->is_kept && st == OK)
		r->all->memory += n;
	return st;
}

static enum status
on_metadata_end(void *arg)
{
	struct recorder *r = arg;
	const enum status st = check_whole_metadata(r);

	if (st == E_MALFORMED || st == E_MORE)
		r->dialog.why = "not the metadata of a trace.dat";
	return st == E_MORE ? E_MALFORMED : st;
}

const struct recorder_dialog_ops recorder_dialog_ops = {
	.begin = on_begin,
	.metadata = on_metadata,
	.metadata_end = on_metadata_end,
};

void
recorder_data_free(struct recorder *r)
{
	if (r->data != NULL)
		r->counts = data_sockets_counts(r->data);
	data_sockets_destroy(r->data);
	r->data = NULL;
}
