/* SPDX-License-Identifier: MIT */
/* Which live sessions tracepulse watch shows. Main thread. */
#ifndef TOOLS_CTL_PICK_H
#define TOOLS_CTL_PICK_H

#include "common/compiler.h"
#include "tools/ctl/ctl.h"
#include "tools/ctl/session.h"

struct picked {
	struct pick {
		const struct session *session;
		bool is_named; /* by an operand without a pattern */
	} * all;	       /* one for each host and name */
	size_t n;
};

/*
 * The open live sessions of S that the operands mean, or without operands all
 * of them. An operand is what session_is_called() takes, or else a pattern
 * (glob(7)) for NAME or HOST/NAME.
 *
 * Standard error says which have no application yet. As babeltrace2 shows
 * nothing of any before each has one, those that are not named are left out if
 * others have one. CTL_FAILED: the reason was printed. Free OUT->all.
 */
int pick_sessions(const struct ctl *c, const struct sessions *s,
    struct picked *out) MUST_CHECK;

#endif
