/* SPDX-License-Identifier: MIT */
/* The value of --since. */
#ifndef TOOLS_CTL_SINCE_H
#define TOOLS_CTL_SINCE_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"

/*
 * Seconds since 1970 (@1700000000.5), a time (2026-11-22 13:40:11.25; with "T"
 * instead of the space; with "Z" at its end it is UTC, otherwise local; the
 * date may be left out, and is NOW's then; so may the seconds), or how long
 * before NOW (10m), with the units of parse_duration(). *OUT and NOW are ns
 * since 1970. E_MALFORMED.
 */
enum status since_parse(
    const char *text, uint64_t now, uint64_t *out) MUST_CHECK;

#endif
