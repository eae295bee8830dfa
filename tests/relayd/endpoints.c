/* SPDX-License-Identifier: MIT */
#include "tests/relayd/endpoints.h"

#include <check.h>
#include <string.h>

#include "common/clock.h"
#include "common/reader.h"
#include "proto/data.h"
#include "proto/relay.h"
#include "relayd/live/live_objects.h"
#include "relayd/record/control.h"
#include "relayd/record/cycle.h"
#include "relayd/record/ingest.h"
#include "relayd/record/shard.h"
#include "store/store.h"
#include "tests/lib/fake_fs.h"
#include "tests/lib/one_registry.h"

#define MINOR 13

struct endpoints endpoints;
struct account endpoints_memory = {
	.soft = 1 << 24, .hard = 2 << 24, .fair = (1 << 24) / ACCOUNT_FAIR_PART
};

static struct published session_ids;

static void
notify(struct live_notifier *d, enum live_event what, void *object)
{
}

static void
wake(struct live_notifier *d, uint64_t bits, const void *source)
{
}

static struct live_notifier notifier = { .notify = notify, .wake = wake };

void
endpoints_begin(uint32_t live_timer_us, bool loses_when_full)
{
	static char peer[] = "test";
	static const struct control_config control = { .allow_clear = true };
	const struct shard_config config = { .allow_clear = true,
		.loses_when_full = loses_when_full,
		.max_packet_size = 1 << 20,
		.memory = &endpoints_memory,
		.session_ids = &session_ids,
		.notifier = &notifier };
	const struct store_config store = { .base_fd = fake_fs_begin(),
		.max_files = 10,
		.index_lock_timeout_ns = NS_PER_S,
		.memory = &endpoints_memory.used,
		.registry = one_registry() };
	const struct relay_session_request q = { .session_name = "s",
		.hostname = "h",
		.base_path = "b",
		.live_timer_us = live_timer_us,
		.uuid = { { 1 } },
		.trace_format = 1 };
	struct endpoints *e = &endpoints;
	struct buf ask = { 0 };

	e->now = NS_PER_S;
	clock_freeze(e->now, 0);
	ck_assert_int_eq(shard_create(&e->shard, &config, &store), OK);
	e->shard->ids.is_sequence = true;
	ck_assert_int_eq(control_create(&e->control, &control, peer), OK);
	e->control->shard = e->shard;
	for (unsigned i = 0; i < ENDPOINTS_INPUTS; i++)
		ck_assert_int_eq(
		    ingest_create(&e->inputs[i], e->shard, peer, NULL), OK);
	relay_request_version(&ask, 2, MINOR);
	relay_request_create_session(&ask, MINOR, &q);
	relay_request_create_chunk(&ask, 0, 0, NULL);
	(void)endpoints_serve(&ask, 0);
}

void
endpoints_end(void)
{
	if (endpoints.shard == NULL)
		return;
	control_destroy(endpoints.control, false);
	for (unsigned i = 0; i < ENDPOINTS_INPUTS; i++)
		ingest_destroy(endpoints.inputs[i]);
	cycle_last(endpoints.shard);
	shard_destroy(endpoints.shard);
	endpoints.shard = NULL;
	ck_assert_uint_eq(account_used(&endpoints_memory), 0);
}

uint32_t
endpoints_serve(struct buf *ask, size_t at)
{
	struct buf out = { 0 };
	struct reader r;
	size_t used;
	uint32_t code = 0;
	enum status st = control_input(
	    endpoints.control, buf_data(ask), buf_len(ask), &used, &out);

	ck_assert(st == OK || st == E_REFUSED_CLOSE);
	if (buf_len(&out) >= at + 4) {
		r = reader_over(buf_data(&out) + at, buf_len(&out) - at);
		code = reader_u32(&r);
	}
	buf_free(&out);
	buf_free(ask);
	return code;
}

uint32_t
endpoints_add_stream(
    const char *channel, uint64_t file_size, uint64_t file_count)
{
	struct buf ask = { 0 };

	relay_request_add_stream(
	    &ask, MINOR, channel, "ust", file_size, file_count, 0);
	return endpoints_serve(&ask, 8);
}

uint32_t
endpoints_record(
    uint64_t stream, uint64_t seq, uint64_t packet_bits, uint64_t content_bits)
{
	struct buf ask = { 0 };

	relay_request_index(&ask, MINOR,
	    &(struct relay_index){ .stream = stream,
		.net_seq = seq,
		.packet_size = packet_bits,
		.content_size = content_bits,
		.timestamp_end = seq + 1,
		.packet_seq_num = seq });
	return endpoints_serve(&ask, 0);
}

uint32_t
endpoints_ask(uint32_t cmd, uint64_t stream, uint64_t seq)
{
	struct buf ask = { 0 };

	relay_request_stream_seq(&ask, cmd, stream, seq);
	return endpoints_serve(&ask, 0);
}

enum status
endpoints_data(
    unsigned input, uint64_t stream, uint64_t seq, uint8_t fill, uint32_t size)
{
	const struct data_header h = {
		.stream = stream, .net_seq = seq, .size = size
	};
	uint8_t bytes[ENDPOINTS_PACKET];
	struct buf b = { 0 };
	enum status st;
	size_t used;

	memset(bytes, fill, sizeof(bytes));
	data_header_encode(&b, &h);
	buf_bytes(&b, bytes, size);
	st = ingest_input(
	    endpoints.inputs[input], buf_data(&b), buf_len(&b), &used);
	buf_free(&b);
	return st;
}

void
endpoints_wait(uint64_t ns)
{
	endpoints.now += ns;
	clock_freeze(endpoints.now, 0);
}

void
endpoints_cycle(void)
{
	cycle_commit(endpoints.shard);
	(void)store_tick(endpoints.shard->store);
	(void)cycle_tick(endpoints.shard, endpoints.now);
}
