/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz_shard.h"

#include <assert.h>

#include "common/clock.h"
#include "relayd/record/shard.h"
#include "store/store.h"
#include "tests/lib/fake_fs.h"
#include "tests/lib/one_registry.h"

static struct account memory;
static struct published session_ids;

struct shard *
fuzz_shard(uint32_t max_packet_size, uint64_t max_memory, bool has_udp)
{
	const struct shard_config config = { .allow_clear = true,
		.max_packet_size = max_packet_size,
		.memory = &memory,
		.data_port = has_udp,
		.udp_port = has_udp,
		.session_ids = &session_ids,
		.resume_ns = NS_PER_S };
	const struct store_config store = { .base_fd = fake_fs_begin(),
		.max_files = 3,
		.index_lock_timeout_ns = NS_PER_S,
		.memory = &memory.used,
		.registry = one_registry() };
	struct shard *sh;
	enum status st;

	memory.soft = max_memory;
	memory.hard = 2 * max_memory;
	memory.fair = max_memory / ACCOUNT_FAIR_PART;
	st = shard_create(&sh, &config, &store);

	assert(st == OK);
	sh->ids.is_sequence = true;
	return sh;
}

uint64_t
fuzz_shard_memory(void)
{
	return account_used(&memory);
}
