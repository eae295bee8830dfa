/* SPDX-License-Identifier: MIT */
#include "common/idmap.h"

#include <assert.h>
#include <stdlib.h>

#include "common/ids.h"

/* The least of which a quarter can stay free. Most maps have few ids. */
#define IDMAP_MIN 4

struct idmap_slot {
	uint64_t id;
	void *value; /* NULL: free */
};

_Static_assert(sizeof(struct idmap_slot) <= IDMAP_SLOT, "its size");

static uint64_t seed, lasting_seed;

/* This runs before main(), so that threads need not agree which of them sets
 * the seed. */
__attribute__((constructor)) static void
set_seed(void)
{
	seed = ids_random();
	lasting_seed = ids_random();
}

static uint64_t
hash(uint64_t id)
{
	uint64_t h = id ^ seed;

	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

/* The slot of ID, or the free one where it would go. CAP is not zero. */
static size_t
slot_of(const struct idmap_slot *slots, size_t cap, uint64_t id)
{
	size_t i = (size_t)hash(id) & (cap - 1);

	while (slots[i].value != NULL && slots[i].id != id)
		i = (i + 1) & (cap - 1);
	return i;
}

/* The hash is FNV-1a. */
static uint64_t
key_of(const void *p, size_t n, uint64_t with)
{
	const uint8_t *at = p, *end = at + n;
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ with;

	for (; at < end; at++)
		h = (h ^ *at) * UINT64_C(0x100000001b3);
	return h;
}

uint64_t
idmap_key(const void *p, size_t n)
{
	return key_of(p, n, seed);
}

uint64_t
idmap_lasting_key(const void *p, size_t n)
{
	return key_of(p, n, lasting_seed);
}

uint64_t
idmap_lasting_seed(void)
{
	return lasting_seed;
}

void
idmap_set_lasting_seed(uint64_t s)
{
	lasting_seed = s;
}

void
idmap_free(struct idmap *m)
{
	free(m->slots);
	*m = (struct idmap){ 0 };
}

static enum status
idmap_grow(struct idmap *m)
{
	const uint32_t cap = m->cap == 0 ? IDMAP_MIN : m->cap * 2;
	struct idmap_slot *slots;

	if (cap <= m->cap)
		return E_NOMEM;
	slots = calloc(cap, sizeof(*slots));
	if (slots == NULL)
		return E_NOMEM;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].value != NULL)
			slots[slot_of(slots, cap, m->slots[i].id)] =
			    m->slots[i];
	free(m->slots);
	m->slots = slots;
	m->cap = cap;
	m->cursor = 0;
	return OK;
}

enum status
idmap_insert(struct idmap *m, uint64_t id, void *value)
{
	assert(value != NULL);
	if (idmap_find(m, id) != NULL)
		return E_EXISTS;
	/* A quarter of the slots stays free: probes stay short, and they
	 * end. */
	if (m->n >= m->cap - m->cap / 4 && idmap_grow(m) != OK)
		return E_NOMEM;
	m->slots[slot_of(m->slots, m->cap, id)] = (struct idmap_slot){ id,
		value };
	m->n++;
	return OK;
}

void *
idmap_find(const struct idmap *m, uint64_t id)
{
	return m->cap == 0 ? NULL
			   : m->slots[slot_of(m->slots, m->cap, id)].value;
}

/* Close the hole at I: entries whose probes passed I move up, so that a removed
 * entry needs no mark. */
static void
close_hole(struct idmap *m, size_t i)
{
	const size_t mask = m->cap - 1;
	size_t j = i;

	m->slots[i].value = NULL;
	for (;;) {
		size_t home;

		j = (j + 1) & mask;
		if (m->slots[j].value == NULL)
			return;
		home = (size_t)hash(m->slots[j].id) & mask;
		if (((j - home) & mask) < ((j - i) & mask))
			continue;
		m->slots[i] = m->slots[j];
		m->slots[j].value = NULL;
		i = j;
	}
}

void *
idmap_remove(struct idmap *m, uint64_t id)
{
	void *value;
	size_t i;

	if (m->cap == 0)
		return NULL;
	i = slot_of(m->slots, m->cap, id);
	value = m->slots[i].value;
	if (value == NULL)
		return NULL;
	close_hole(m, i);
	m->n--;
	return value;
}

bool
idmap_next(const struct idmap *m, uint32_t *at, uint64_t *id)
{
	while (*at < m->cap && m->slots[*at].value == NULL)
		++*at;
	if (*at == m->cap)
		return false;
	*id = m->slots[(*at)++].id;
	return true;
}

void *
idmap_any(struct idmap *m)
{
	if (m->n == 0)
		return NULL;
	/* Search from where the last call stopped, so that emptying a map takes
	 * linear time. */
	while (m->slots[m->cursor].value == NULL)
		m->cursor = (m->cursor + 1) & (m->cap - 1);
	return m->slots[m->cursor].value;
}
