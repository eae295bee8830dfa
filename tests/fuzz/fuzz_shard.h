/* SPDX-License-Identifier: MIT */
/* A worker's state over the file system in memory (tests/lib/fake_fs), for
 * targets that play its connections. */
#ifndef TESTS_FUZZ_FUZZ_SHARD_H
#define TESTS_FUZZ_FUZZ_SHARD_H

#include <stdbool.h>
#include <stdint.h>

struct shard;

/* Limits in bytes; turn_last(), shard_destroy() and fake_fs_end() are the
 * caller's. */
struct shard *fuzz_shard(
    uint32_t max_packet_size, uint64_t max_memory, bool has_udp);
/* What all of them account for: 0 once they are gone. */
uint64_t fuzz_shard_memory(void);

#endif
