/* SPDX-License-Identifier: MIT */
#include "store/state_stub.h"

#include "common/state.h"

__attribute__((weak)) void
packet_log_put_state(struct state_out *o, struct packet_log *x)
{
	o->bad = true;
}

__attribute__((weak)) enum status
packet_log_get_state(struct packet_log **out, struct state_in *in)
{
	*out = NULL;
	return E_MALFORMED;
}

__attribute__((weak)) void
metadata_log_put_state(struct state_out *o, struct metadata_log *x)
{
	o->bad = true;
}

__attribute__((weak)) enum status
metadata_log_get_state(struct metadata_log **out, struct state_in *in)
{
	*out = NULL;
	return E_MALFORMED;
}

__attribute__((weak)) void
folder_put_state(struct state_out *o, struct folder *x)
{
	o->bad = true;
}

__attribute__((weak)) enum status
folder_get_state(struct folder **out, struct state_in *in)
{
	*out = NULL;
	return E_MALFORMED;
}
