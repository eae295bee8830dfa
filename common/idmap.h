/* SPDX-License-Identifier: MIT */
/*
 * 64-bit id -> pointer. Open addressing, single owner; any id may be a key,
 * no value may be NULL. Ids come from peers, so they are hashed with a seed of
 * this process. All zeros is an empty map, which holds no memory.
 */
#ifndef COMMON_IDMAP_H
#define COMMON_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

struct idmap_slot;

#define IDMAP_SLOT 16 /* bytes of one of the CAP */

struct idmap {
	struct idmap_slot *slots;
	uint32_t n, cap; /* cap is zero or a power of two */
	uint32_t cursor; /* where idmap_any() looks first */
};

/* An id for a name of N bytes, hashed with the same seed. Different names are
 * likely to have different ids. */
uint64_t idmap_key(const void *p, size_t n);

/* The same with a seed that the next process takes over, for keys that move to
 * it. The seed is set before the first key is made. */
uint64_t idmap_lasting_key(const void *p, size_t n);
uint64_t idmap_lasting_seed(void);
void idmap_set_lasting_seed(uint64_t s);

void idmap_free(struct idmap *m); /* the values are the caller's */
/* E_EXISTS leaves the map as it was. */
enum status idmap_insert(struct idmap *m, uint64_t id, void *value) MUST_CHECK;
void *idmap_find(const struct idmap *m, uint64_t id); /* NULL: none */
void *idmap_remove(struct idmap *m, uint64_t id);     /* NULL: none */
/* The next id, in any order; *AT is 0 at first. False: there are no more. The
 * map must not change meanwhile. */
bool idmap_next(const struct idmap *m, uint32_t *at, uint64_t *id) MUST_CHECK;
/* Any entry, for emptying a map; NULL when the map is empty. */
void *idmap_any(struct idmap *m);

#endif
