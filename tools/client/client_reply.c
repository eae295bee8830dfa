/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "common/clock.h"
#include "tools/client/client_internal.h"

static enum status
keep_path(struct client *c, const struct dialog_reply *r)
{
	if (r->path.n >= sizeof(c->path))
		return client_fail(c, E_PROTOCOL, "the relay's path is long");
	memcpy(c->path, r->path.p, r->path.n);
	c->path[r->path.n] = '\0';
	return OK;
}

static enum status
take_pending(struct client *c, const struct dialog_reply *r)
{
	if (r->value > 1)
		return client_fail(c, E_PROTOCOL, "%s was answered with %llu",
		    relay_row(r->cmd)->name, (unsigned long long)r->value);
	c->round.is_pending |= r->value == 1;
	c->round.is_answered |= r->cmd == RELAY_CMD_end_data_pending;
	return OK;
}

/* A relay that does not know the question refuses it. */
static enum status
take_configuration(struct client *c, const struct dialog_reply *r)
{
	if (r->code == RELAY_OK && (r->value & RELAY_CONFIG_UDP) != 0)
		return OK;
	return client_fail(
	    c, E_REFUSED, "the relay does not take UDP (--udp-port)");
}

static void
take_index(struct client *c, const struct dialog_reply *r)
{
	const struct client_watch *w = c->config.watch;
	struct client_answered *answered;

	c->in_flight--;
	c->stats.indexes++;
	if (r->tag != CLIENT_BEACON_TAG) {
		answered = &c->streams[r->tag >> 32].answered;
		answered->packets++;
		answered->bytes += r->tag & UINT32_MAX;
	}
	if (w != NULL && w->index_answered != NULL)
		w->index_answered(w->arg, clock_now_ns() - r->at_ns);
}

static enum status
take(struct client *c, const struct dialog_reply *r)
{
	if (r->cmd == RELAY_CMD_get_configuration)
		return take_configuration(c, r);
	if (r->code != RELAY_OK)
		return client_fail(c, E_REFUSED, "the relay answers %s with %u",
		    relay_row(r->cmd)->name, r->code);
	switch (r->cmd) {
	case RELAY_CMD_create_session:
		c->session_id = r->value;
		return keep_path(c, r);
	case RELAY_CMD_add_stream:
		c->streams[r->tag].handle = r->value;
		c->streams[r->tag].has_handle = true;
		return OK;
	case RELAY_CMD_udp_open:
		return client_udp_take_open(c, r);
	case RELAY_CMD_udp_status:
		return client_udp_take_status(c, r);
	case RELAY_CMD_data_pending:
	case RELAY_CMD_end_data_pending:
		return take_pending(c, r);
	case RELAY_CMD_send_index:
		take_index(c, r);
		return OK;
	}
	return OK;
}

enum status
client_take_replies(struct client *c)
{
	struct dialog_reply r;
	enum status st;

	while ((st = dialog_next(&c->dialog, &r)) == OK)
		if ((st = take(c, &r)) != OK)
			return st;
	if (st != E_MORE)
		return client_fail(
		    c, st, "the relay answers what was not asked");
	return client_advance(c);
}
