/* SPDX-License-Identifier: MIT */
#include "tests/lib/bytes.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"

struct bytes
bytes_copy(const void *p, size_t n)
{
	struct bytes b = { malloc(n), n };

	if (b.p == NULL && n > 0)
		err(EXIT_FAILURE, "malloc");
	if (n > 0)
		memcpy(b.p, p, n);
	return b;
}

/* The content of B, which is freed. */
static struct bytes
from_buf(struct buf *b)
{
	struct bytes out;

	if (b->bad)
		errx(EXIT_FAILURE, "out of memory");
	out = bytes_copy(b->mem == NULL ? NULL : buf_data(b), buf_len(b));
	buf_free(b);
	return out;
}

struct bytes
bytes_hex(const char *hex)
{
	static const char digits[] = "0123456789abcdef";
	struct buf b = { 0 };
	unsigned byte = 0, nibbles = 0;

	for (; *hex != '\0'; hex++) {
		const char *d = strchr(digits, *hex);

		if (d == NULL)
			continue;
		byte = byte << 4 | (unsigned)(d - digits);
		if (++nibbles % 2 == 0)
			buf_u8(&b, (uint8_t)byte);
	}
	if (nibbles % 2 != 0)
		errx(EXIT_FAILURE, "half a byte");
	return from_buf(&b);
}

struct bytes
bytes_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct buf b = { 0 };
	char chunk[4096];
	size_t n;

	if (f == NULL)
		err(EXIT_FAILURE, "%s", path);
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_bytes(&b, chunk, n);
	if (ferror(f))
		err(EXIT_FAILURE, "%s", path);
	(void)fclose(f);
	return from_buf(&b);
}

char *
bytes_source_path(const char *path)
{
	const char *srcdir = getenv("srcdir");
	const size_t n = strlen(path) + 2;
	char *full;

	if (srcdir == NULL)
		srcdir = ".";
	full = malloc(strlen(srcdir) + n);
	if (full == NULL)
		err(EXIT_FAILURE, "malloc");
	(void)snprintf(full, strlen(srcdir) + n, "%s/%s", srcdir, path);
	return full;
}

struct bytes
bytes_source_file(const char *path)
{
	char *full = bytes_source_path(path);
	struct bytes b = bytes_file(full);

	free(full);
	return b;
}
