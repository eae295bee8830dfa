/* SPDX-License-Identifier: MIT */
/* Contracts that relayd/live is written against. The bodies in state_stub.c
 * refuse, and give way to those of store/, with which these files go. */
#ifndef STORE_STATE_STUB_H
#define STORE_STATE_STUB_H

#include "common/compiler.h"
#include "common/status.h"

struct folder;
struct metadata_log;
struct packet_log;
struct state_in;
struct state_out;

/* The object; NULL is fine. *OUT: a new reference, or NULL. */
void packet_log_put_state(struct state_out *o, struct packet_log *log);
enum status packet_log_get_state(
    struct packet_log **out, struct state_in *in) MUST_CHECK;
void metadata_log_put_state(struct state_out *o, struct metadata_log *log);
enum status metadata_log_get_state(
    struct metadata_log **out, struct state_in *in) MUST_CHECK;
void folder_put_state(struct state_out *o, struct folder *f);
enum status folder_get_state(
    struct folder **out, struct state_in *in) MUST_CHECK;

#endif
