/* SPDX-License-Identifier: MIT */
/* The live sessions that tracepulse watch and tail show. Main thread. */
#ifndef TOOLS_CTL_PICK_H
#define TOOLS_CTL_PICK_H

#include "common/compiler.h"
#include "tools/ctl/ctl.h"
#include "tools/ctl/session.h"

struct picked {
	struct pick {
		const struct relay_session *session;
		bool is_named; /* by an operand without a pattern */
	} * all;	       /* one for each host and name */
	size_t n;
};

/*
 * Select the open live sessions of S that the operands name, or all without
 * operands. An operand is as in session_is_called(), or a pattern
 * (glob(7)) for NAME or HOST/NAME.
 *
 * Sessions without an application are reported on standard error. babeltrace2
 * shows nothing of any session before each has one, so those that are not named
 * are left out if others have one. CTL_FAILED: the reason was printed. Free
 * OUT->all.
 */
int pick_sessions(const struct ctl *c, const struct sessions *s,
    struct picked *out) MUST_CHECK;

/* Does each operand name an open live session of S, or is there any without
 * operands? */
bool pick_is_complete(const struct ctl *c, const struct sessions *s) MUST_CHECK;

/* Does babeltrace2 show S with the sessions of P? */
bool pick_has(const struct picked *p, const struct relay_session *s) MUST_CHECK;

#endif
