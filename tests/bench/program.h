/* SPDX-License-Identifier: MIT */
/* What the programs of the bench share. */
#ifndef TESTS_BENCH_PROGRAM_H
#define TESTS_BENCH_PROGRAM_H

/* Exits with 1 and a message that begins with the program's name. */
_Noreturn void program_fail(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* The same with 2, and where help is. */
_Noreturn void program_bad_usage(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* As many descriptors as the system allows. */
void program_raise_descriptors(void);

#endif
