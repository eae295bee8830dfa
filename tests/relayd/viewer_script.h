/* SPDX-License-Identifier: MIT */
/*
 * Conversations of viewers with the relay, written as text: what the tracer
 * sends, what a viewer asks, and the whole reply that it must get. Steps are
 * separated by ";": WORDS, or WORDS = REPLY. "3x STEP, STEP" does these three
 * times. viewer_script.c lists the words.
 *
 *     packet data 10-90; ask data = OK 10-90; 3x ask data = RETRY;
 *     ask data = HOLD 200 data
 *
 * It runs in the fixture, whose clock stands still until "wait MS".
 */
#ifndef TESTS_RELAYD_VIEWER_SCRIPT_H
#define TESTS_RELAYD_VIEWER_SCRIPT_H

enum script_start {
	ATTACHED, /* the viewer has attached and fetched the metadata */
	OPEN,	  /* it has not attached */
	NO_HOLDS, /* attached, with a relay that holds no replies */
};

struct script {
	const char *name; /* what is true, for the message of a failure */
	enum script_start start;
	const char *steps;
};

void script_run(const struct script *s);

#endif
