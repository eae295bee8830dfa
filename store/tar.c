/* SPDX-License-Identifier: MIT */
#include "store/tar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 100
#define SIZE_MAX_OCTAL UINT64_C(077777777777)
#define TIME_MAX_OCTAL SIZE_MAX_OCTAL

struct header {
	char name[NAME_MAX_BYTES];
	char mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8];
	char type;
	char link[100];
	char magic[6], version[2];
	char user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};

_Static_assert(sizeof(struct header) == TAR_BLOCK, "the header is one block");

uint64_t
tar_padding(uint64_t size)
{
	return (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

/* Octal digits that fill all but the last byte of the field. */
static void
put_octal(char *field, size_t n, uint64_t value)
{
	field[n - 1] = '\0';
	for (size_t i = n - 1; i-- > 0; value /= 8)
		field[i] = (char)('0' + value % 8);
}

static void
add_block(struct buf *b, char type, const char *name, size_t name_len,
    uint64_t size, uint64_t mtime)
{
	struct header h = { .type = type };
	const unsigned char *p = (const unsigned char *)&h;
	unsigned sum = 0;

	memcpy(h.name, name, name_len);
	put_octal(h.mode, sizeof(h.mode), 0644);
	put_octal(h.uid, sizeof(h.uid), 0);
	put_octal(h.gid, sizeof(h.gid), 0);
	put_octal(h.size, sizeof(h.size), size);
	put_octal(h.mtime, sizeof(h.mtime), mtime);
	memcpy(h.magic, "ustar", sizeof(h.magic));
	memcpy(h.version, "00", sizeof(h.version));
	/* It counts as spaces in its own sum, and ends with one. */
	memset(h.checksum, ' ', sizeof(h.checksum));
	for (size_t i = 0; i < sizeof(h); i++)
		sum += p[i];
	put_octal(h.checksum, sizeof(h.checksum) - 1, sum);
	buf_bytes(b, &h, sizeof(h));
}

/* The length of "LENGTH KEY=VALUE\n", which counts its own digits. */
static size_t
record_length(const char *key, size_t value_len)
{
	const size_t rest = strlen(key) + value_len + 3;
	size_t n = rest + 1;

	while (rest + (size_t)snprintf(NULL, 0, "%zu", n) != n)
		n++;
	return n;
}

static void
add_record(struct buf *b, const char *key, const char *value)
{
	char length[24];
	const int n = snprintf(
	    length, sizeof(length), "%zu ", record_length(key, strlen(value)));

	buf_bytes(b, length, (size_t)n);
	buf_bytes(b, key, strlen(key));
	buf_bytes(b, "=", 1);
	buf_bytes(b, value, strlen(value));
	buf_bytes(b, "\n", 1);
}

static bool
is_long(const struct tar_file *f)
{
	return strlen(f->name) > NAME_MAX_BYTES;
}

static bool
is_large(const struct tar_file *f)
{
	return f->size > SIZE_MAX_OCTAL;
}

static void
size_text(char text[24], const struct tar_file *f)
{
	snprintf(text, 24, "%" PRIu64, f->size);
}

/* The bytes of the pax records; 0: F needs none. */
static uint64_t
pax_size(const struct tar_file *f)
{
	uint64_t n = 0;
	char size[24];

	if (is_long(f))
		n += record_length("path", strlen(f->name));
	size_text(size, f);
	if (is_large(f))
		n += record_length("size", strlen(size));
	return n;
}

uint64_t
tar_header_size(const struct tar_file *f)
{
	const uint64_t pax = pax_size(f);

	return TAR_BLOCK + (pax == 0 ? 0 : TAR_BLOCK + pax + tar_padding(pax));
}

void
tar_add_header(struct buf *b, const struct tar_file *f)
{
	const uint64_t pax = pax_size(f);
	const size_t name = strlen(f->name);
	const uint64_t mtime = f->mtime < TIME_MAX_OCTAL ? f->mtime : 0;
	char size[24];

	if (pax > 0)
		add_block(b, 'x', "pax", 3, pax, mtime);
	if (is_long(f))
		add_record(b, "path", f->name);
	size_text(size, f);
	if (is_large(f))
		add_record(b, "size", size);
	buf_zero(b, tar_padding(pax));
	add_block(b, '0', f->name, is_long(f) ? NAME_MAX_BYTES : name,
	    is_large(f) ? 0 : f->size, mtime);
}
