/* SPDX-License-Identifier: MIT */
/*
 * A relay without sockets, over tests/lib/fake_fs: a shard, and an endpoint
 * for each recorded connection. Bytes are handed over in pieces of any size;
 * replies are compared with the recorded ones as they come.
 */
#ifndef TESTS_REPLAY_PLAYER_H
#define TESTS_REPLAY_PLAYER_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/replay/recorded.h"

struct player;

/* One at a time: the file system is the program's. */
struct player *player_create(const struct recorded *r);
/* Ends what is open as an ordered shutdown does. The tree stays until the next
 * player_create(). */
void player_destroy(struct player *p);

void player_open(struct player *p, unsigned wire);
/* Hand over what lies between the last piece and END, as one piece. */
void player_feed(struct player *p, unsigned wire, size_t end);
/* The rest, and the end of the connection. */
void player_fin(struct player *p, unsigned wire);

size_t player_fed(const struct player *p, unsigned wire);
/*
 * Would a peer send what lies before END now? Packets only of streams whose
 * ADD_STREAM was answered; a rotation only when the one before is through.
 */
bool player_may_feed(const struct player *p, unsigned wire, size_t end);
/* What differed from the recording first; NULL: nothing. */
const char *player_failure(const struct player *p);

#endif
