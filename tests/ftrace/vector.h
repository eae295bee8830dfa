/* SPDX-License-Identifier: MIT */
/* The recorded sessions of tests/vectors/tracecmd. */
#ifndef TESTS_FTRACE_VECTOR_H
#define TESTS_FTRACE_VECTOR_H

#include "tests/lib/bytes.h"

/* The file tracecmd-NAME-PART.bin; the caller frees its bytes. */
struct bytes vector_part(const char *name, const char *part);
/* The metadata that is in the messages of the part c2s. */
struct bytes vector_metadata(const char *name);

#endif
