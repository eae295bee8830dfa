/* SPDX-License-Identifier: MIT */
/*
 * How many bytes may be under way: those sent since the last question that the
 * relay has answered. Halved on loss, once for all that was under way then;
 * else it grows, at first by what was confirmed, then slowly. Single owner.
 */
#ifndef TOOLS_CLIENT_WINDOW_H
#define TOOLS_CLIENT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW_FIRST (256 * 1024)
#define WINDOW_LEAST (64 * 1024)
/* What receive buffers hold: more at once is lost when the relay is busy. */
#define WINDOW_MOST (2 * 1024 * 1024)

struct window {
	uint64_t size;	    /* bytes that may be under way */
	uint64_t threshold; /* below it the growth is fast */
	uint64_t sent;	    /* so far */
	uint64_t asked;	    /* SENT at the last question */
	uint64_t confirmed; /* SENT at the last one that was answered */
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
/* Its answer: whether packets were lost, and how many bytes the relay misses.
 * They may be under way still, so they count as that; but for half of the
 * window, or a lost packet could stop everything. */
void window_answer(struct window *w, bool has_loss, uint64_t missing);
/* Is it time for a question? After a quarter: with a half, the relay had
 * nothing left to read while its one answer travelled. */
bool window_is_due(const struct window *w);

#endif
