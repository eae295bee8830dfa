/* SPDX-License-Identifier: MIT */
/* Bytes for tests: from files, from hex, and cut to an exact size. */
#ifndef TESTS_LIB_BYTES_H
#define TESTS_LIB_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Malloc'd, of exactly the size N, so that a sanitizer sees any read past it;
 * the caller frees it. */
struct bytes {
	uint8_t *p;
	size_t n;
};

/* Any failure below ends the program: a test cannot go on without. */
struct bytes bytes_copy(const void *p, size_t n);
/* Bytes from hex digits; all other characters are skipped. */
struct bytes bytes_hex(const char *hex);
struct bytes bytes_file(const char *path);
/* A file of the source tree; PATH is from its top. */
struct bytes bytes_source_file(const char *path);
/* The path of the file PATH of the source tree; the caller frees it. */
char *bytes_source_path(const char *path);

#endif
