/* SPDX-License-Identifier: MIT */
#include "relayd/http/history.h"

void
history_add(struct history *h, const double rates[RATES])
{
	uint64_t *to = h->ring[(h->first + h->n) % HISTORY_S];

	if (h->n < HISTORY_S)
		h->n++;
	else
		h->first = (h->first + 1) % HISTORY_S;
	for (unsigned i = 0; i < RATES; i++)
		to[i] = (uint64_t)rates[i] +
			(rates[i] > (double)(uint64_t)rates[i]);
}

uint64_t
history_at(const struct history *h, unsigned i, enum view_rate rate)
{
	return h->ring[(h->first + i) % HISTORY_S][rate];
}

uint64_t
history_most(const struct history *h, enum view_rate rate)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < h->n; i++)
		if (history_at(h, i, rate) > most)
			most = history_at(h, i, rate);
	return most;
}
