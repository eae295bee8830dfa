/* SPDX-License-Identifier: MIT */
/* The event of the traced test application: demo:ev { n, text }. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER demo
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/interop/tp.h"

#if !defined(TESTS_INTEROP_TP_H) || \
    defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TESTS_INTEROP_TP_H

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(demo, ev,
	LTTNG_UST_TP_ARGS(int, n, const char *, text),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, n, n)
		lttng_ust_field_string(text, text)
	)
)
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
