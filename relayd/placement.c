/* SPDX-License-Identifier: MIT */
#include "relayd/placement.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/list.h"

/* A session that was placed. */
struct placed {
	struct list node;
	struct placement_key key;
};

struct placement {
	struct list sessions; /* struct placed */
	unsigned n_workers;
	unsigned next;	 /* where the search for the least load begins */
	unsigned load[]; /* sessions per worker */
};

enum status
placement_create(struct placement **out, unsigned n_workers)
{
	struct placement *p;

	p = calloc(1, sizeof(*p) + n_workers * sizeof(p->load[0]));
	*out = p;
	if (p == NULL)
		return E_NOMEM;
	list_init(&p->sessions);
	p->n_workers = n_workers;
	return OK;
}

void
placement_destroy(struct placement *p)
{
	struct placed *s;

	if (p == NULL)
		return;
	while (!list_empty(&p->sessions)) {
		s = list_first(&p->sessions, struct placed, node);
		list_del(&s->node);
		free(s);
	}
	free(p);
}

/* Do both stand for sessions of one tracing session? */
static bool
has_same_ids(const struct placement_key *a, const struct placement_key *b)
{
	return a->has_peer_id && b->has_peer_id &&
	       a->peer_session == b->peer_session &&
	       memcmp(&a->uuid, &b->uuid, sizeof(a->uuid)) == 0;
}

/* Among equal loads the workers are taken in turn. */
static unsigned
least_loaded(struct placement *p)
{
	unsigned best = p->next % p->n_workers;

	for (unsigned i = 0; i < p->n_workers; i++) {
		unsigned w = (p->next + i) % p->n_workers;

		if (p->load[w] < p->load[best])
			best = w;
	}
	p->next = best + 1;
	return best;
}

/* The domains of an old peer's tracing session have no common id. */
static void
name_by_host(struct placement_key *key)
{
	static const struct peer_host unknown;

	if (peer_host_is_same(&key->host, &unknown))
		return;
	key->has_peer_id = true;
	key->peer_session = UINT64_MAX;
	memcpy(key->uuid.b, key->host.bytes, sizeof(key->uuid.b));
}

enum status
placement_restore(struct placement *p, const struct placement_key *key)
{
	struct placed *s = calloc(1, sizeof(*s));

	assert(key->worker < p->n_workers);
	if (s == NULL)
		return E_NOMEM;
	s->key = *key;
	list_append(&p->sessions, &s->node);
	p->load[key->worker]++;
	return OK;
}

enum status
placement_claim(struct placement *p, struct placement_key *key)
{
	bool has_sibling = false;
	const struct placed *o;

	if (!key->has_peer_id)
		name_by_host(key);
	list_each (o, &p->sessions, struct placed, node) {
		has_sibling = has_same_ids(&o->key, key);
		if (has_sibling)
			break;
	}
	key->worker = has_sibling ? o->key.worker : least_loaded(p);
	return placement_restore(p, key);
}

void
placement_release(struct placement *p, const struct placement_key *key)
{
	struct placed *s, *found = NULL;

	list_each (s, &p->sessions, struct placed, node) {
		if (s->key.worker == key->worker &&
		    s->key.has_peer_id == key->has_peer_id &&
		    peer_host_is_same(&s->key.host, &key->host) &&
		    (!key->has_peer_id || has_same_ids(&s->key, key))) {
			found = s;
			break;
		}
	}
	assert(found != NULL && p->load[key->worker] > 0);
	p->load[key->worker]--;
	list_del(&found->node);
	free(found);
}

unsigned
placement_of_host(struct placement *p, const struct peer_host *host)
{
	const struct placed *s;
	unsigned n = 0;

	list_each (s, &p->sessions, struct placed, node)
		n += peer_host_is_same(&s->key.host, host);
	return n;
}

unsigned
placement_sessions(const struct placement *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_workers; i++)
		n += p->load[i];
	return n;
}
