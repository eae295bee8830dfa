/* SPDX-License-Identifier: MIT */
/*
 * A count of references that threads share; get and put from any thread. (Not
 * urcu_ref: ThreadSanitizer does not see the order that it gives.)
 */
#ifndef COMMON_REF_H
#define COMMON_REF_H

#include "common/publish.h"

struct ref {
	struct published n;
};

static inline void
ref_init(struct ref *r)
{
	publish(&r->n, 1);
}

static inline void
ref_get(struct ref *r)
{
	published_add(&r->n, 1);
}

/* RELEASE runs when this was the last reference. */
static inline void
ref_put(struct ref *r, void (*release)(struct ref *r))
{
	if (published_release(&r->n) == 0)
		release(r);
}

#endif
