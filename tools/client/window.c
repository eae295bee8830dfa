/* SPDX-License-Identifier: MIT */
#include "tools/client/window.h"

#define THRESHOLD (WINDOW_MOST / 2)
/* When the growth is slow, a whole confirmed window adds this many bytes. */
#define STEP (32 * 1024)

void
window_init(struct window *w)
{
	*w = (struct window){ .size = WINDOW_FIRST, .threshold = THRESHOLD };
}

size_t
window_allowance(const struct window *w)
{
	const uint64_t under_way = w->sent - w->confirmed;

	return under_way >= w->size ? 0 : (size_t)(w->size - under_way);
}

void
window_ask(struct window *w)
{
	w->asked = w->sent;
}

static void
halve(struct window *w)
{
	w->size = w->size / 2 < WINDOW_LEAST ? WINDOW_LEAST : w->size / 2;
	w->threshold = w->size;
	w->cut = w->sent;
}

static void
grow(struct window *w, uint64_t confirmed)
{
	w->size += w->size < w->threshold ? confirmed
					  : confirmed * STEP / w->size;
	if (w->size > WINDOW_MOST)
		w->size = WINDOW_MOST;
}

void
window_answer(struct window *w, bool has_loss, uint64_t missing)
{
	const uint64_t before = w->confirmed;

	if (missing > w->size / 2)
		missing = w->size / 2;
	if (w->asked > before + missing)
		w->confirmed = w->asked - missing;
	if (!has_loss)
		grow(w, w->confirmed - before);
	/* Another loss among bytes sent before the last cut tells nothing
	 * new. */
	else if (w->asked > w->cut)
		halve(w);
}

bool
window_is_due(const struct window *w)
{
	return w->sent - w->asked >= w->size / 4;
}
