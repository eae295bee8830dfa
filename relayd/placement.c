/* SPDX-License-Identifier: MIT */
#include "relayd/placement.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/list.h"

struct claim {
	struct list node;
	struct placement_key key;
	unsigned refs; /* how many sessions have it */
};

struct host {
	struct list node;
	struct peer_host host;
	unsigned sessions;
};

struct placement {
	struct list claims;
	struct list hosts; /* those that have sessions */
	unsigned n_workers;
	unsigned next;	     /* where the search for the least load begins */
	unsigned sessions[]; /* per worker */
};

enum status
placement_create(struct placement **out, unsigned n_workers)
{
	struct placement *p;

	p = calloc(1, sizeof(*p) + n_workers * sizeof(p->sessions[0]));
	*out = p;
	if (p == NULL)
		return E_NOMEM;
	list_init(&p->claims);
	list_init(&p->hosts);
	p->n_workers = n_workers;
	return OK;
}

static void
free_host(struct host *h)
{
	list_del(&h->node);
	free(h);
}

void
placement_destroy(struct placement *p)
{
	struct claim *c;

	if (p == NULL)
		return;
	while (!list_empty(&p->claims)) {
		c = list_first(&p->claims, struct claim, node);
		list_del(&c->node);
		free(c);
	}
	while (!list_empty(&p->hosts))
		free_host(list_first(&p->hosts, struct host, node));
	free(p);
}

static struct claim *
find(struct placement *p, const struct placement_key *key)
{
	struct list *n, *tmp;
	struct claim *c;

	if (!key->has_peer_id)
		return NULL;
	list_for_each (n, tmp, &p->claims) {
		c = list_entry(n, struct claim, node);
		if (c->key.peer_session == key->peer_session &&
		    memcmp(&c->key.uuid, &key->uuid, sizeof(key->uuid)) == 0)
			return c;
	}
	return NULL;
}

static struct host *
find_host(struct placement *p, const struct peer_host *host)
{
	struct host *h;

	list_each (h, &p->hosts, struct host, node)
		if (peer_host_is_same(&h->host, host))
			return h;
	return NULL;
}

static struct host *
find_or_make_host(struct placement *p, const struct peer_host *host)
{
	struct host *h = find_host(p, host);

	if (h != NULL)
		return h;
	h = calloc(1, sizeof(*h));
	if (h == NULL)
		return NULL;
	h->host = *host;
	list_append(&p->hosts, &h->node);
	return h;
}

/* Among equal loads the workers are taken in turn. */
static unsigned
least_loaded(struct placement *p)
{
	unsigned best = p->next % p->n_workers;

	for (unsigned i = 0; i < p->n_workers; i++) {
		unsigned w = (p->next + i) % p->n_workers;

		if (p->sessions[w] < p->sessions[best])
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
placement_claim(struct placement *p, struct placement_key *key)
{
	struct host *h = find_or_make_host(p, &key->host);
	struct claim *c;

	if (h == NULL)
		return E_NOMEM;
	if (!key->has_peer_id)
		name_by_host(key);
	c = find(p, key);
	if (c == NULL) {
		key->worker = least_loaded(p);
		if (key->has_peer_id) {
			c = calloc(1, sizeof(*c));
			if (c == NULL) {
				if (h->sessions == 0)
					free_host(h);
				return E_NOMEM;
			}
			c->key = *key;
			list_append(&p->claims, &c->node);
		}
	} else {
		key->worker = c->key.worker;
	}
	if (c != NULL)
		c->refs++;
	p->sessions[key->worker]++;
	h->sessions++;
	return OK;
}

void
placement_release(struct placement *p, const struct placement_key *key)
{
	struct host *h = find_host(p, &key->host);
	struct claim *c = find(p, key);

	assert(p->sessions[key->worker] > 0);
	p->sessions[key->worker]--;
	assert(h != NULL);
	if (--h->sessions == 0)
		free_host(h);
	if (c == NULL || --c->refs > 0)
		return;
	list_del(&c->node);
	free(c);
}

unsigned
placement_of_host(struct placement *p, const struct peer_host *host)
{
	const struct host *h = find_host(p, host);

	return h == NULL ? 0 : h->sessions;
}

unsigned
placement_sessions(const struct placement *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_workers; i++)
		n += p->sessions[i];
	return n;
}
