/* SPDX-License-Identifier: MIT */
/*
 * Names that peers choose, made safe: the only way to a file name.
 *
 * A relpath has one or more components joined by single slashes; none is empty,
 * ".", or "..", none is longer than NAME_MAX bytes, and the whole is shorter
 * than RELPATH_MAX. Components are UTF-8 without control characters (U+0000 to
 * U+001F, U+007F to U+009F), except that a character may be cut short. A
 * relpath never begins with a slash. A relname is one component. (Rules:
 * streaming 7.1-7.3, 9.29; those of 7.1-7.3 are the rules of lttng-relayd
 * 2.16.)
 */
#ifndef COMMON_RELPATH_H
#define COMMON_RELPATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"

#define RELPATH_MAX 4096 /* with the NUL; the limit of peers for replies */

struct relpath {
	uint32_t len;
	uint32_t refs; /* counted by relpath_share() and relpath_free() */
	char s[];      /* NUL-terminated */
};

/*
 * Parse S. One leading slash is dropped (peers before 2.11 send it; two are
 * refused). Repeated slashes, trailing slashes and "." components are dropped,
 * too. E_MALFORMED, E_NOMEM. The caller frees *OUT with relpath_free(). This
 * function and those below set *OUT to NULL on failure.
 */
enum status relpath_parse(struct relpath **out, struct span s) MUST_CHECK;

/* S is exactly one component. */
enum status relname_parse(struct relpath **out, struct span s) MUST_CHECK;

/* A, a slash, B; either may be NULL (not both). E_LIMIT beyond RELPATH_MAX. */
enum status relpath_join(struct relpath **out, const struct relpath *a,
    const struct relpath *b) MUST_CHECK;

/* P with SUFFIX (our own text, no slash) appended. E_LIMIT also when the last
 * component would exceed NAME_MAX. */
enum status relpath_suffix(struct relpath **out, const struct relpath *p,
    const char *suffix) MUST_CHECK;

enum status relpath_dup(
    struct relpath **out, const struct relpath *p) MUST_CHECK;

/* A reference to P instead of a copy, for long-lived paths; freed with
 * relpath_free(). All references are used on one thread. */
struct relpath *relpath_share(const struct relpath *p);

/* Bytes of memory of P. */
uint64_t relpath_memory(const struct relpath *p);

bool relpath_equal(const struct relpath *a, const struct relpath *b);

/* The first component of P, as a path of its own. */
enum status relpath_top(
    struct relpath **out, const struct relpath *p) MUST_CHECK;

void relpath_free(struct relpath *p); /* NULL is fine */

#endif
