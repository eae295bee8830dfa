/* SPDX-License-Identifier: MIT */
/* What the programs of the bench share. */
#ifndef TESTS_BENCH_PROGRAM_H
#define TESTS_BENCH_PROGRAM_H

#include <netinet/in.h>

#include "common/option.h"

/* Exits with 1 and a message that begins with the program's name. */
_Noreturn void program_fail(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* The same with 2, and where help is. */
_Noreturn void program_bad_usage(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* Store the options in O, the struct that the rows of T mean. Exits with 2 and
 * a message if one is wrong, with 0 after --help. */
void program_options(
    const struct option_table *t, void *o, int argc, char **argv);
/* An IPv4 address; exits with 2 if it is none. */
struct in_addr program_address(const char *text);

/* As many descriptors as the system allows. */
void program_raise_descriptors(void);

#endif
