/* SPDX-License-Identifier: MIT */
/* The data of a recorder: its metadata, then its pages. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/ftrace/recorder_internal.h"

/* V1 metadata may come byte by byte. After a check that takes longer, wait, so
 * that checks take this share of the time. */
#define LONG_CHECK_NS NS_PER_MS
#define CHECK_SHARE 20

static void
on_bytes(void *arg, uint32_t cpu, const uint8_t *p, size_t n)
{
	struct recorder *r = arg;

	page_feed_bytes(&r->feed, cpu, p, n);
}

static void
on_ended(void *arg, uint32_t cpu)
{
	struct recorder *r = arg;

	log_debug("peer=%s: all pages of CPU %u have arrived", r->name, cpu);
	/* The recorder may have waited for this. */
	if (r->state == RECORDER_DRAINING)
		loop_set_timer(r->timer, 0);
}

static uint32_t
page_size_max(const struct recorder_dialog_begin *begin)
{
	return begin->is_tcp ? DAT_PAGE_BYTES_MAX : DATA_DATAGRAM_BYTES;
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
	enum status st = OK;

	assert(begin->cpus <= MESSAGE_CPUS_MAX);
	if (begin->unknown > 0)
		log_peer(LOG_INFO, "peer=%s: %u unknown options", r->name,
		    begin->unknown);
	/* Its pages' size is checked now, since a refusal is shown to its user
	 * now, and again when the metadata states it. */
	if (begin->page_size > page_size_max(begin)) {
		r->dialog.why = PAGE_FEED_TOO_LARGE;
		st = E_LIMIT;
	}
	if (st == OK) {
		r->dialog.why = recorders_refuse(
		    r->all, (const struct sockaddr *)&r->peer, more);
		st = r->dialog.why == NULL ? OK : E_LIMIT;
	}
	if (st == OK) {
		r->use.fds += more.fds;
		r->use.ports = more.ports;
		st = recording_create(&r->feed.recording, &r->all->recordings,
		    r->name, begin->cpus);
	}
	if (st == OK)
		st = data_sockets_create(&r->data, &config, ports);
	if (st == OK)
		log_peer(LOG_NOTICE, "peer=%s: %u CPUs, %s, version %u",
		    r->name, begin->cpus, begin->is_tcp ? "TCP" : "UDP",
		    begin->is_v1 ? 1 : 3);
	return st;
}

static bool
recorder_may_use(void *arg, uint64_t bytes)
{
	const struct recorder *r = arg;
	const struct recorder_use more = { .memory = bytes };

	return recorders_refuse(
		   r->all, (const struct sockaddr *)&r->peer, more) == NULL;
}

/* Begins the pages if the metadata is whole; E_MORE: it is not. */
static enum status
begin_pages(struct recorder *r, bool is_end)
{
	const struct page_feed_config config = {
		.is_datagrams = !r->dialog.begin.is_tcp,
		.is_end = is_end,
		.page_size_max = page_size_max(&r->dialog.begin),
		.live = r->all->live,
		.base = r->all->loop->base,
		.may_use = recorder_may_use,
		.arg = r,
	};
	const enum status st = page_feed_begin(
	    &r->feed, &config, &r->dialog.why);

	assert(r->state == RECORDER_TALKING);
	if (st != OK)
		return st;
	r->state = RECORDER_RUNNING;
	return data_sockets_start(r->data, r->feed.layout.size);
}

enum status
recorder_check_metadata(struct recorder *r, bool is_last)
{
	const uint64_t now = clock_now_ns();
	enum status st = OK;
	uint64_t took;

	if (r->dialog.begin.is_v1 && r->state == RECORDER_TALKING &&
	    r->dialog.state == DIALOG_METADATA &&
	    r->feed.recording->metadata_size > 0 &&
	    (is_last || now >= r->check_ns)) {
		st = begin_pages(r, false);
		took = clock_now_ns() - now;
		if (took > LONG_CHECK_NS)
			r->check_ns = now + took * CHECK_SHARE;
	}
	return st == E_MORE ? OK : st;
}

/* Metadata in memory, of all recorders. */
static uint64_t
metadata_memory(const struct recorders *all)
{
	const struct recorder *r;
	uint64_t sum = 0;

	list_each (r, &all->list, struct recorder, node)
		if (r->feed.recording != NULL && !r->feed.recording->is_kept)
			sum += r->feed.recording->metadata_size;
	return sum;
}

static enum status
on_metadata(void *arg, const uint8_t *p, size_t n)
{
	struct recorder *r = arg;

	/* V1: unexpected bytes after the metadata. */
	if (r->state != RECORDER_TALKING) {
		r->dialog.why = "unexpected bytes after the metadata";
		return E_PROTOCOL;
	}
	if (!r->feed.recording->is_kept &&
	    metadata_memory(r->all) + n > METADATA_MEMORY_BYTES) {
		r->dialog.why = "the metadata of all recorders is too large";
		return E_LIMIT;
	}
	return recording_metadata(r->feed.recording, p, n);
}

static enum status
on_metadata_end(void *arg)
{
	return begin_pages(arg, true);
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
