/* SPDX-License-Identifier: MIT */
/* What a session hands to the next process. */
#include "common/fds.h"
#include "common/state.h"
#include "relayd/record/session.h"

static const struct state_member session_members[] = {
	STATE_KEEP(struct session, id),
};
static STATE_TABLE(session_state, struct session, session_members);

void
session_put_name(struct state_out *o, const struct session *s)
{
	/* It was written with its shard. */
	if (state_put_object(o, s))
		o->bad = true;
}

enum status
session_get_name(struct session **out, struct state_in *in)
{
	uint32_t number;
	void *s;

	*out = NULL;
	if (!state_get_object(in, &session_state, &s, &number))
		return E_MALFORMED;
	*out = s;
	return state_in_status(in);
}

enum status
session_input_again(struct session *s, struct session_input *in)
{
	if (in->is_extra && !fds_take(FDS_EXTRA)) {
		in->is_extra = false;
		return E_LIMIT;
	}
	list_append(&s->inputs.list, &in->node);
	return OK;
}
