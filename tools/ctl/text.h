/* SPDX-License-Identifier: MIT */
/*
 * Text for people: names from peers, escaped for a terminal, and numbers with
 * units. Any thread, after setlocale().
 */
#ifndef TOOLS_CTL_TEXT_H
#define TOOLS_CTL_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Enough for every number below, with its unit. */
#define TEXT_UNIT_MAX 32

/*
 * Copy S, which should be UTF-8, to OUT of N bytes so that it can be shown in
 * one line: characters that control a terminal, change the direction of writing
 * or are not in the locale become \x1b or \u202e, bytes that are not UTF-8
 * \xff; a backslash stays. Text that does not fit is cut off. Returns OUT.
 */
char *text_escape(char *out, size_t n, const char *s);
/* The same, in memory that the caller frees. */
char *text_escaped(const char *s);
/* Columns of S, a result of text_escape(), on a terminal. */
unsigned text_width(const char *s);
/* The number of bytes at the start of S that take at most COLUMNS. */
size_t text_fit(const char *s, unsigned columns);

/* "0 B", "1.5 KiB", "123 MiB": three figures, powers of 1024. Each returns
 * OUT. */
char *text_bytes(char out[TEXT_UNIT_MAX], uint64_t n);
/* The same per second; 0 if N is negative or not a number. */
char *text_rate(char out[TEXT_UNIT_MAX], double n);
/* N per second, of counted things: "0", "0.1", "1.8", "25". A number above 0 is
 * never shown as 0. */
char *text_per_second(char out[TEXT_UNIT_MAX], double n);
/* "1 packet", "2 packets"; ONE has at most 9 letters. */
char *text_count(char out[TEXT_UNIT_MAX], uint64_t n, const char *one);
/* "45s", "12m 30s", "4h 05m", "3d 04h" */
char *text_duration(char out[TEXT_UNIT_MAX], double seconds);
/* Local time, "2026-11-22 13:40:11"; 0 is "-". */
char *text_time(char out[TEXT_UNIT_MAX], uint64_t seconds);

#endif
