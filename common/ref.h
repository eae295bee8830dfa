/* SPDX-License-Identifier: MIT */
/* A count of references that threads share; get and put from any thread. */
#ifndef COMMON_REF_H
#define COMMON_REF_H

#include <stdbool.h>
#include <urcu/ref.h>

struct ref {
	struct urcu_ref n;
};

static inline void
ref_init(struct ref *r)
{
	urcu_ref_init(&r->n);
}

static inline void
ref_get(struct ref *r)
{
	urcu_ref_get(&r->n);
}

/* RELEASE runs when the last one goes. */
static inline void
ref_put(struct ref *r, void (*release)(struct urcu_ref *n))
{
	urcu_ref_put(&r->n, release);
}

#endif
