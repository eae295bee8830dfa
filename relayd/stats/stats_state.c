/* SPDX-License-Identifier: MIT */
/* Counters go on after a restart, so that nobody sees them begin again. Each is
 * named in the state: versions may have different ones. */
#include <string.h>

#include "common/compiler.h"
#include "common/state.h"
#include "relayd/stats/stats.h"

/* Far more than there are: the length of a state is not trusted. */
#define COUNTERS_MAX 1000

enum { COUNTER = 1, GAUGE = 0 };

static const struct {
	const char *name;
	bool is_counter;
} rows[STATS] = {
#define STAT(id, kind, metric, label, value, help) { #id, kind == COUNTER },
#include "relayd/stats/stats.tbl.h"
#undef STAT
};

void
stats_put_state(struct state_out *o)
{
	for (unsigned i = 0; i < STATS; i++) {
		if (!rows[i].is_counter)
			continue;
		state_put_text(o, rows[i].name);
		state_put_u64(o, stats_sum((enum stats_row)i));
	}
	state_put_text(o, NULL);
}

enum status
stats_get_state(struct state_in *in)
{
	const char *name;
	uint64_t n;

	for (unsigned k = 0;
	     k < COUNTERS_MAX && (name = state_get_text(in)) != NULL; k++) {
		n = state_get_u64(in);
		for (unsigned i = 0; i < STATS; i++)
			if (rows[i].is_counter &&
			    strcmp(rows[i].name, name) == 0)
				stats_add(stats_main(), (enum stats_row)i, n);
	}
	return state_in_status(in);
}
