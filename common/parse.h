/* SPDX-License-Identifier: MIT */
/* Values of options and variables. The whole of S must be a value. Any
 * thread. */
#ifndef COMMON_PARSE_H
#define COMMON_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/* Decimal digits only. E_MALFORMED: not a number; E_LIMIT: out of range. */
enum status parse_u64(
    const char *s, uint64_t min, uint64_t max, uint64_t *out) MUST_CHECK;

/* The same, and a sign is allowed. */
enum status parse_int(const char *s, int min, int max, int *out) MUST_CHECK;

/* Bytes: 4096B, 64k, 256M, 2G, 1T (powers of 1024, any case, "KiB" too). Only 0
 * may lack a unit. */
enum status parse_size(
    const char *s, uint64_t min, uint64_t max, uint64_t *out) MUST_CHECK;

/* 250ms, 2s, 1m, 12h, 7d. Only 0 may lack a unit. *OUT and MAX are in ns. */
enum status parse_duration(
    const char *s, uint64_t max, uint64_t *out) MUST_CHECK;

/* Is S a size or duration that was refused because it has no unit? */
bool parse_lacks_unit(const char *s);

/* yes, true, on, a number that is not 0; no, false, off, 0 (any case). */
enum status parse_bool(const char *s, bool *out) MUST_CHECK;

#endif
