/* SPDX-License-Identifier: MIT */
/*
 * tracepulse check: one line and an exit status, as monitoring systems with
 * plug-ins of Nagios take them (https://nagios-plugins.org, "Plugin Output").
 */
#ifndef TOOLS_CTL_CHECK_H
#define TOOLS_CTL_CHECK_H

#include <stdint.h>

#include "tools/ctl/options.h"
#include "tools/ctl/status.h"

/* Exit statuses. */
enum verdict { CHECK_OK, CHECK_WARNING, CHECK_CRITICAL, CHECK_UNKNOWN };

struct check {
	enum verdict verdict;
	char reasons[512]; /* of a verdict that is not OK */
};

/* Judge S. LOST: packets since the last check, or since the relay started. */
void check_judge(struct check *k, const struct ctl_options *o,
    const struct relay_status *s, uint64_t lost);

/*
 * Count the packets lost since FILE was written, and write FILE again. The
 * first count is 0; after a restart of the relay, all losses since then count.
 * E_IO: with errno; E_MALFORMED: the file is not ours.
 */
enum status check_lost_since(
    const char *file, const struct relay_status *s, uint64_t *lost) MUST_CHECK;

#endif
