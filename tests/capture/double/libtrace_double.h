/* SPDX-License-Identifier: MIT */
/*
 * How the substitute for libtrace 4 behaves, by variables of the environment,
 * since a whole program is run with it, too.
 */
#ifndef TESTS_CAPTURE_DOUBLE_LIBTRACE_DOUBLE_H
#define TESTS_CAPTURE_DOUBLE_LIBTRACE_DOUBLE_H

/* A file whose packets come instead of an interface's; without it, libtrace 3
 * reads the interface. */
#define DOUBLE_FILE "LIBTRACE_DOUBLE_FILE"
/* So many packets more or less are told as dropped: half of them at once. */
#define DOUBLE_DROPPED "LIBTRACE_DOUBLE_DROPPED"
/* After the last packet it does not end by itself: interfaces do not. */
#define DOUBLE_STAYS "LIBTRACE_DOUBLE_STAYS"
/* The file's packets come again and again. */
#define DOUBLE_REPEATS "LIBTRACE_DOUBLE_REPEATS"
/* So many threads, whatever was asked for. */
#define DOUBLE_THREADS "LIBTRACE_DOUBLE_THREADS"
/* After each packet there is a message about the capture. */
#define DOUBLE_META "LIBTRACE_DOUBLE_META"
/* trace_pstart() fails. */
#define DOUBLE_FAILS "LIBTRACE_DOUBLE_FAILS"

#endif
