/* SPDX-License-Identifier: MIT */
/* The lines of a file of notes, as bytes. */
#ifndef STORE_NOTES_FORMAT_H
#define STORE_NOTES_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "store/notes.h"

#define NOTES_HEAD "tracepulse-notes 1\n"

/* Appends the line with its newline; without memory B->bad is set. */
void notes_encode(struct buf *b, const struct notes_line *l);
/* LINE has N bytes, without the newline, and a NUL behind them. It is changed:
 * OUT's strings are in it. False: it is torn, damaged, or of another version.
 */
bool notes_decode(struct notes_line *out, char *line, size_t n) MUST_CHECK;

#endif
