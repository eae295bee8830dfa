/* SPDX-License-Identifier: MIT */
/* Packets over UDP (udp 1 to 5): fragments, pace, and resending. */
#ifndef TOOLS_CLIENT_CLIENT_UDP_H
#define TOOLS_CLIENT_CLIENT_UDP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/client/datagrams.h"
#include "tools/client/window.h"

struct client;
struct client_packet;
struct dialog_reply;

#define CLIENT_RESENDS 4096 /* ranges that wait to be sent again */

struct client_resend {
	unsigned stream;
	uint64_t net_seq;
	uint32_t fragment, count; /* fragments that are still to be sent */
};

struct client_udp {
	struct udp_open_reply link; /* the values in force */
	struct datagrams datagrams;
	struct window window;
	uint64_t filled; /* packets of the outbox that are in datagrams */
	uint32_t offset; /* next byte, of the next packet */
	struct client_resend *resends;
	unsigned n_resends, resend; /* the current one */
	bool is_asked;		    /* UDP_STATUS is not answered */
	uint64_t asked_ns;
	bool has_loss; /* the last answer told of a loss */
	uint64_t held; /* packets held, in all streams */
	uint64_t held_bytes;
};

/* Ask for the wanted values; take the values in force, and open the socket. */
void client_udp_ask_open(struct client *c);
enum status client_udp_take_open(
    struct client *c, const struct dialog_reply *r) MUST_CHECK;
/* The answer to UDP_STATUS. */
enum status client_udp_take_status(
    struct client *c, const struct dialog_reply *r) MUST_CHECK;
/* Send what may be sent now; ask what is missing when it is time. */
enum status client_udp_work(struct client *c) MUST_CHECK;
/* Ask at once, if there is room: what was lost so far becomes known. */
void client_udp_ask(struct client *c);
/* Keep a packet that was sent and may be asked for. */
enum status client_udp_hold(struct client *c, unsigned stream,
    const struct client_packet *packet) MUST_CHECK;
/* Is there room for another packet to be held? */
bool client_udp_has_room(const struct client *c);
/* Is all that was sent known to have arrived, or to be lost? */
bool client_udp_is_idle(const struct client *c);
/* When client_udp_work() has something to do, if nothing happens before. */
uint64_t client_udp_wake_ns(const struct client *c);
void client_udp_free(struct client *c);

#endif
