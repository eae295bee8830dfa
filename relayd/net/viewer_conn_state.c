/* SPDX-License-Identifier: MIT */
#include "common/state.h"
#include "relayd/net/viewer_conn.h"

void
viewer_conns_put_state(struct state_out *o, struct viewer_conns *set)
{
	o->bad = true;
}

enum status
viewer_conns_get_state(struct viewer_conns *set, struct state_in *in,
    struct account *conns, const struct live_notifier *notifier,
    unsigned *taken, unsigned *closed)
{
	return E_MALFORMED;
}

void
viewer_conns_begin(struct viewer_conns *set)
{
}
