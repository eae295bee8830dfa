/* SPDX-License-Identifier: MIT */
/* A worker's state over the file system in memory (tests/lib/fake_fs), for fuzz
 * targets that act as its connections. */
#ifndef TESTS_FUZZ_FUZZ_SHARD_H
#define TESTS_FUZZ_FUZZ_SHARD_H

#include <stdbool.h>
#include <stdint.h>

struct shard;

/* The limits are in bytes. The caller calls cycle_last(), shard_destroy() and
 * fake_fs_end() at the end. */
struct shard *fuzz_shard(
    uint32_t max_packet_size, uint64_t max_memory, bool has_udp);
/* The memory that all such shards account for: 0 once they are gone. */
uint64_t fuzz_shard_memory(void);

#endif
