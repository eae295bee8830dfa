/* SPDX-License-Identifier: MIT */
/*
 * The folder of a tracing session of a peer before 2.11: what comes before
 * "kernel" or "ust" in its stream paths. Such peers name whole paths and have
 * no ids, so a session claims the folder of its first stream, as later sessions
 * claim their directories: as long as it lives, no other session begins a trace
 * there. Stock peers name one folder.
 *
 * The domains of one tracing session have a control connection each, and share
 * the folder. They are taken for one if they come from one address with the
 * same host name and session name (before 2.4 there are no names); the acceptor
 * brings them to one worker.
 */
#ifndef RELAYD_RECORD_OLD_ROOT_H
#define RELAYD_RECORD_OLD_ROOT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/compiler.h"
#include "common/list.h"
#include "common/relpath.h"
#include "common/status.h"

struct dir_claim;
struct session;
struct shard;
struct state_in;
struct state_out;

struct old_root {
	struct list node; /* shard->old_roots */
	unsigned refs;	  /* sessions */
	int fd;		  /* from folder_dir_open(), locked */
	struct dir_claim *claim;
	struct relpath *path;
	uint64_t owner; /* stands for the address and names of its sessions */
};

/* S begins a trace at PATH: claim its folder, unless S has claimed it, or PATH
 * is a host's folder, in which others begin traces. E_EXISTS: another session
 * has it, or a folder above or below it, or S has another one. E_LATER: call it
 * again in the next cycle. E_IO, E_NOMEM. */
enum status old_root_enter(
    struct session *s, const struct relpath *path) MUST_CHECK;
void old_root_leave(struct session *s);

/* All folders of a shard, before its sessions, which name theirs (NULL is
 * fine). A folder that cannot be claimed again is logged, and its sessions
 * cannot be read. old_roots_are_read() frees those that no session has.
 * E_MALFORMED. */
void old_roots_put_state(struct state_out *o, const struct shard *sh);
enum status old_roots_get_state(
    struct shard *sh, struct state_in *in) MUST_CHECK;
void old_roots_are_read(struct shard *sh);
void old_root_put_name(struct state_out *o, const struct old_root *r);
enum status old_root_get_name(
    struct session *s, struct state_in *in) MUST_CHECK;

#endif
