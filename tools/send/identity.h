/* SPDX-License-Identifier: MIT */
/* When a session was created, and which it is, as the metadata of one of its
 * traces says. Any thread. */
#ifndef TOOLS_SEND_IDENTITY_H
#define TOOLS_SEND_IDENTITY_H

#include <stddef.h>

#include "tools/sink/sink.h"

/*
 * Complete S, which has hostname and name, by the metadata TEXT of N bytes.
 *
 * creation_time is trace_creation_datetime of its env block (LTTng 2.11 and
 * later have it in all traces of a session), or 0: then no time is to be
 * appended to the name, nor if the name ends with a time. The identity is a
 * hash of host name, session name and creation time; without a creation time,
 * of the trace's UUID in its place. So all traces of a session of LTTng say the
 * same, whichever relay they come from.
 */
void identity_complete(struct send_session *s, const char *text, size_t n);

#endif
