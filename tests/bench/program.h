/* SPDX-License-Identifier: MIT */
/* What the load generators share as programs. */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

/* Exits with 1 and a message that begins with the program's name. */
_Noreturn void program_fail(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* As many descriptors as the system allows. */
void program_raise_descriptors(void);

#endif
