/* SPDX-License-Identifier: MIT */
/* Bodies of contracts for a restart that are not written yet: each fails. */
#include "common/state.h"
#include "store/chunk.h"
#include "store/session_dir.h"
#include "store/tracefile.h"

#define LACKS(name, type, ...)                             \
	void name##_put_state(struct state_out *o, type x) \
	{                                                  \
		(void)x;                                   \
		o->bad = true;                             \
	}                                                  \
	enum status name##_get_state(__VA_ARGS__)          \
	{                                                  \
		*out = NULL;                               \
		in->r.bad = true;                          \
		return E_MALFORMED;                        \
	}

LACKS(session_dir, struct session_dir *, struct session_dir **out,
    struct state_in *in, struct store *store)
LACKS(chunk, const struct chunk *, struct chunk **out, struct state_in *in,
    struct store *store, void (*released)(struct chunk *take_c, void *arg),
    void *arg)
LACKS(tracefile, const struct tracefile *, struct tracefile **out,
    struct state_in *in, struct store *store, struct chunk *chunk,
    struct chunk_family *family)

void
chunk_put_family(struct state_out *o, const struct chunk_family *f)
{
	(void)f;
	o->bad = true;
}

enum status
chunk_get_family(
    struct chunk_family **out, struct state_in *in, const struct chunk *c)
{
	(void)c;
	*out = NULL;
	in->r.bad = true;
	return E_MALFORMED;
}

void
tracefile_settle(struct tracefile *tf, const struct packet *first)
{
	(void)tf;
	(void)first;
}
