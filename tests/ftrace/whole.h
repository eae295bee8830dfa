/* SPDX-License-Identifier: MIT */
/* A whole trace.dat in memory, converted; every packet is looked at. */
#ifndef TESTS_FTRACE_WHOLE_H
#define TESTS_FTRACE_WHOLE_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "tools/ftrace/kernel_stream.h"

/* What dat_read() says, or kernel_trace_create(). Aborts on a packet that
 * breaks a promise: sizes, an order of time, counts. *COUNTS is the sum of all.
 */
enum status whole_convert(
    const uint8_t *p, size_t n, struct kernel_counts *counts);

#endif
