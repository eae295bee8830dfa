/* SPDX-License-Identifier: MIT */
/*
 * The beacons of a session that a relay records on this machine: a file in its
 * directory (streaming 5.7). LTTng's own directories have none.
 *
 * What the file says of a stream is true once all packets are read that are in
 * the directory after it was read. So the order is: read, scan, note, send
 * packets, send beacons.
 */
#ifndef TOOLS_SEND_FOLLOW_BEACONS_H
#define TOOLS_SEND_FOLLOW_BEACONS_H

#include <stdbool.h>

#include "tools/send/followed.h"

/* More is not read: 4,096 lines with long paths. */
#define FOLLOW_BEACONS_MAX (4 << 20)

/* From now on a relay writes the file. */
void follow_beacons_ask(const struct followed *f);
/* Read the file. True: it has another text than before. */
bool follow_beacons_read(struct followed *f);
/* Note what it says with the streams that are known. */
void follow_beacons_note(struct followed *f);
/* Has S ended? The file named it, and does so no longer, or never did: the text
 * of the time when S was found, and the one after it, may be older than S. */
static inline bool
follow_beacons_has_ended(
    const struct followed *f, const struct followed_stream *s)
{
	return s->listed < f->n_beacons &&
	       (s->listed != 0 || f->n_beacons >= s->since + 2);
}

#endif
