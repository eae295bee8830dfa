/* SPDX-License-Identifier: MIT */
/*
 * Text for people: names that come from peers, made harmless for a terminal,
 * and numbers with their units. Any thread, after setlocale().
 */
#ifndef TOOLS_CTL_TEXT_H
#define TOOLS_CTL_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* What fits every number below, with its unit. */
#define TEXT_UNIT_MAX 32

/*
 * S, which should be UTF-8, to OUT of N bytes, as it can be shown in one line:
 * what controls a terminal or turns the direction of writing is shown as \x1b
 * or \u202e, and so is what the locale cannot show; bytes that are no UTF-8 as
 * \xff; a backslash stays. What does not fit is cut off. Returns OUT.
 */
char *text_escape(char *out, size_t n, const char *s);
/* The same in memory of its own, which is the caller's. */
char *text_escaped(const char *s);
/* Control bytes of S become question marks. */
void text_make_plain(char *s);

/* Columns that S, which text_escape() made, takes on a terminal. */
unsigned text_width(const char *s);
/* How many bytes at the start of S take at most COLUMNS. */
size_t text_fit(const char *s, unsigned columns);

/* "0 B", "1.5 KiB", "123 MiB": three figures, powers of 1024. Each returns
 * OUT. */
char *text_bytes(char out[TEXT_UNIT_MAX], uint64_t n);
/* The same per second; N below 0 or none at all is 0. */
char *text_rate(char out[TEXT_UNIT_MAX], double n);
/* N per second, of things that are counted: "0", "0.1", "1.8", "25". What is
 * above 0 is never shown as 0. */
char *text_per_second(char out[TEXT_UNIT_MAX], double n);
/* "1 packet", "2 packets": N of what ONE names, in 9 letters at most. */
char *text_count(char out[TEXT_UNIT_MAX], uint64_t n, const char *one);
/* "45s", "12m 30s", "4h 05m", "3d 04h" */
char *text_duration(char out[TEXT_UNIT_MAX], double seconds);
/* Local time, "2026-11-22 13:40:11"; 0 is "-". */
char *text_time(char out[TEXT_UNIT_MAX], uint64_t seconds);

#endif
