/* SPDX-License-Identifier: MIT */
/*
 * The beacons of a live session, in a file of its directory (streaming 5.7),
 * for programs on this machine that send the session on while it is recorded:
 * from packets alone they cannot know that a stream is idle. It is written only
 * while there is such a program.
 *
 * On the session's worker. Nothing is synced, and on a full disk nothing is
 * written.
 */
#ifndef RELAYD_RECORD_BEACONS_H
#define RELAYD_RECORD_BEACONS_H

#include <stdint.h>

#include "common/clock.h"

struct session;
struct shard;

/* A change is in the file after this time, together with those that came
 * meanwhile: so it is written twice a second at most. Two relays in a row then
 * differ by less than a second. */
#define BEACONS_NS (NS_PER_S / 2)
/* Sessions whose time comes within this are written together: each wake-up of
 * the worker costs more than a file. */
#define BEACONS_GRID_NS (50 * NS_PER_MS)
/* Sessions with more streams have no such file: it would take longer than a
 * time slice to write. */
#define BEACONS_STREAMS_MAX 4096

/* A beacon of S counts, or a stream has ended. Sessions of peers before 2.11
 * have no directory of their own, and no file. */
void beacons_changed(struct session *s);

/* Write what is due. Returns when to call it again. */
uint64_t beacons_tick(struct shard *sh, uint64_t now_ns);

#endif
