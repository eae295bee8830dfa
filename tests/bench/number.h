/* SPDX-License-Identifier: MIT */
/* Numbers on the command line of a bench program. */
#ifndef TESTS_BENCH_NUMBER_H
#define TESTS_BENCH_NUMBER_H

#include <stdint.h>

/* With k or M behind it for KiB and MiB. Exits with 2 and a message when it is
 * no number, or not from MIN to MAX. */
uint64_t number_parse(const char *text, uint64_t min, uint64_t max);

#endif
