/* SPDX-License-Identifier: MIT */
/*
 * The names of a kernel's functions by address, from /proc/kallsyms in a
 * recording. The text comes from a peer: what is no symbol is skipped. Never
 * changes. Pure functions.
 */
#ifndef TOOLS_FTRACE_SYMBOLS_H
#define TOOLS_FTRACE_SYMBOLS_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"

/* The length of "NAME+0xOFFSET" with its NUL; longer names are cut. The kernel
 * has names of up to 511 letters. */
#define SYMBOL_TEXT_MAX 560

struct symbols;

/* TEXT is borrowed for the call. E_NOMEM. */
enum status symbols_create(struct symbols **out, struct span text) MUST_CHECK;
void symbols_destroy(struct symbols *s); /* NULL is fine */
/* "NAME+0xOFFSET", or "NAME" for the first byte of a function; "" if ADDRESS is
 * in none. Returns the length. */
unsigned symbols_text(
    const struct symbols *s, uint64_t address, char out[SYMBOL_TEXT_MAX]);

#endif
