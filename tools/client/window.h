/* SPDX-License-Identifier: MIT */
/*
 * How many bytes may be under way. Bytes are under way if they were sent after
 * the last question that the relay has answered. The window is halved on a
 * loss, once for all that was under way then. Otherwise it grows, at first by
 * what was confirmed, then slowly. Single owner.
 */
#ifndef TOOLS_CLIENT_WINDOW_H
#define TOOLS_CLIENT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW_FIRST (256 * 1024)
#define WINDOW_LEAST (64 * 1024)
/* As much as receive buffers hold: if more comes at once, bytes are lost when
 * the relay is busy. */
#define WINDOW_MOST (2 * 1024 * 1024)

struct window {
	uint64_t size;	    /* bytes that may be under way */
	uint64_t threshold; /* below it the growth is fast */
	uint64_t sent;	    /* so far */
	uint64_t asked;	    /* SENT at the last question */
	uint64_t confirmed; /* SENT at the last answered question */
	uint64_t cut;	    /* SENT when it was last halved */
};

void window_init(struct window *w);
size_t window_allowance(const struct window *w);
static inline void
window_spend(struct window *w, size_t bytes)
{
	w->sent += bytes;
}
/* A question goes out now. */
void window_ask(struct window *w);
/* The answer to the question: whether packets were lost, and how many bytes the
 * relay misses. Missing bytes may still be under way, so they count as that,
 * but at most half of the window: otherwise a lost packet could stop
 * everything. */
void window_answer(struct window *w, bool has_loss, uint64_t missing);
/* Is it time for a question? It is after a quarter of the window: after a half,
 * the relay would have nothing left to read while its only answer is under
 * way. */
bool window_is_due(const struct window *w);

#endif
