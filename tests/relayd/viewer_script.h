/* SPDX-License-Identifier: MIT */
/*
 * Conversations of viewers with the relay as scripts (tests/lib/script.h): what
 * the tracer sends, what a viewer asks, and the whole reply that it must get.
 * viewer_script.c lists the words. It runs in the fixture, whose clock stands
 * still until "wait MS".
 *
 *     packet data 10-90; ask data = OK 10-90; 3x ask data = RETRY;
 *     ask data = HOLD 200 data
 */
#ifndef TESTS_RELAYD_VIEWER_SCRIPT_H
#define TESTS_RELAYD_VIEWER_SCRIPT_H

enum script_start {
	ATTACHED, /* the viewer has attached and fetched the metadata */
	OPEN,	  /* it has not attached */
	NO_HOLDS, /* attached, with a relay that holds no replies */
};

struct viewer_script {
	const char *name; /* what is true, for the message of a failure */
	enum script_start start;
	const char *steps;
};

void viewer_script_run(const struct viewer_script *s);

#endif
