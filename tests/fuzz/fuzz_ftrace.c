/* SPDX-License-Identifier: MIT */
/*
 * A recorder's control connection: the first byte says in what pieces the
 * others come. Whatever they are, the dialog begins once at most, metadata
 * comes only after that, and nothing after its end; replies are bounded; and
 * where pages would go in the file is behind the metadata, one behind the
 * other.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tools/ftrace/dat_read.h"
#include "tools/ftrace/recorder_dialog.h"

struct seen {
	struct recorder_dialog d;
	struct buf metadata;
	uint32_t cpus;
	bool has_begun, has_ended;
};

static enum status
on_begin(void *arg, const struct recorder_dialog_begin *begin)
{
	struct seen *s = arg;

	assert(!s->has_begun);
	assert(begin->cpus > 0 && begin->cpus <= MESSAGE_CPUS_MAX);
	s->has_begun = true;
	s->cpus = begin->cpus;
	return OK;
}

static enum status
on_metadata(void *arg, const uint8_t *p, size_t n)
{
	struct seen *s = arg;

	assert(s->has_begun && !s->has_ended && n > 0);
	buf_bytes(&s->metadata, p, n);
	assert(!s->metadata.bad);
	return OK;
}

static enum status
on_metadata_end(void *arg)
{
	struct seen *s = arg;

	assert(s->has_begun && !s->has_ended);
	s->has_ended = true;
	return OK;
}

static const struct recorder_dialog_ops ops = { on_begin, on_metadata,
	on_metadata_end };

/* Every CPU but each third has a page. */
static void
check_plan(const struct dat_layout *layout, const uint8_t *p, size_t n,
    uint32_t n_cpus)
{
	struct dat_part *parts = calloc(n_cpus, sizeof(*parts));
	struct dat_plan plan;
	enum status st;

	assert(parts != NULL);
	for (uint32_t i = 0; i < n_cpus; i++)
		parts[i].size = i % 3 == 2 ? 0 : layout->page_size;
	st = dat_plan_make(&plan, layout, n, parts, n_cpus);
	if (st == OK) {
		uint64_t at = n + buf_len(&plan.head);

		for (uint32_t i = 0; i < n_cpus; i++) {
			if (parts[i].size == 0)
				continue;
			assert(parts[i].offset >= at);
			assert(parts[i].offset % layout->page_size == 0);
			at = parts[i].offset + parts[i].size;
		}
		assert(buf_len(&plan.tail) == 0 || plan.tail_offset >= at);
		assert(plan.size <
		       (uint64_t)n +
			   ((uint64_t)n_cpus + 2) * 2 * DAT_PAGE_BYTES_MAX +
			   (1 << 20));
		if (plan.has_patch) {
			uint8_t bytes[sizeof(plan.patch)];

			assert(plan.patch_offset <= n - sizeof(bytes));
			memcpy(bytes, p + plan.patch_offset, sizeof(bytes));
		}
	} else {
		assert(st == E_PROTOCOL && layout->has_cpus &&
		       layout->cpus != n_cpus);
	}
	dat_plan_free(&plan);
	free(parts);
}

static void
check_layout(const uint8_t *p, size_t n, uint32_t cpus)
{
	struct dat_layout layout;

	if (dat_read_layout(&layout, p, n) != OK)
		return;
	assert(layout.version == 6 || layout.version == 7);
	assert(layout.page_size > 0 && layout.page_size <= DAT_PAGE_BYTES_MAX);
	assert(memchr(layout.clock, '\0', sizeof(layout.clock)) != NULL);
	check_plan(&layout, p, n, cpus);
}

/* The answer of an agent, whose ports are replaced. */
static void
check_resp(const uint8_t *p, size_t n)
{
	struct tracecmd_message m;
	struct message_resp resp;
	struct buf out = { 0 };
	size_t used;
	enum status st;

	if (message_parse(&m, p, n, &used) != OK ||
	    m.number != MESSAGE_TRACE_RESP ||
	    message_resp_decode(&resp, &m) != OK)
		return;
	assert(resp.sync_port <= UINT16_MAX);
	for (uint32_t i = 0; i < resp.cpus; i++)
		resp.ports[i] = (uint16_t)(65535 - i);
	st = message_put_resp(&out, &resp);
	assert(st == OK || st == E_LIMIT);
	assert(buf_len(&out) <= MESSAGE_BYTES_MAX);
	buf_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const size_t most = n == 0 ? 1 : (size_t)p[0] * p[0] + 1;
	struct seen s = { .cpus = 2 };
	uint16_t ports[MESSAGE_CPUS_MAX];
	enum status st = OK;

	if (n == 0)
		return 0;
	for (uint32_t i = 0; i < MESSAGE_CPUS_MAX; i++)
		ports[i] = (uint16_t)(65535 - i);
	recorder_dialog_init(&s.d, &ops, &s);
	for (size_t at = 1; at < n && st == OK; at += most) {
		const size_t len = n - at < most ? n - at : most;

		st = recorder_dialog_input(&s.d, p + at, len);
		if (st == OK && s.d.state == DIALOG_PORTS)
			st = recorder_dialog_ports(&s.d, ports);
		assert(buf_len(&s.d.out) <=
		       DIALOG_REPLY_BYTES_MAX + 2 * MESSAGE_BYTES_MAX);
		assert(buf_len(&s.d.in) <= MESSAGE_BYTES_MAX);
	}
	if (buf_len(&s.metadata) > 0)
		check_layout(
		    buf_data(&s.metadata), buf_len(&s.metadata), s.cpus);
	/* The same bytes as metadata, so that its lengths are met at once. */
	check_layout(p + 1, n - 1, 2);
	check_resp(p + 1, n - 1);
	recorder_dialog_free(&s.d);
	buf_free(&s.metadata);
	return 0;
}
