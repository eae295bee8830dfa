/* SPDX-License-Identifier: MIT */
/*
 * The tar format (POSIX.1-2017, pax, "ustar Interchange Format"), as far as
 * regular files need it. Any thread.
 *
 * A file is a header, its bytes, and zeros up to a multiple of TAR_BLOCK; a
 * name of more than 100 bytes or a size of 8 GiB and more has a pax header
 * before. TAR_END zeros end the archive.
 */
#ifndef STORE_TAR_H
#define STORE_TAR_H

#include <stdint.h>

#include "common/buf.h"

#define TAR_BLOCK 512
#define TAR_END (2 * TAR_BLOCK)

struct tar_file {
	const char *name; /* with its directories; not absolute */
	uint64_t size;	  /* bytes */
	uint64_t mtime;	  /* seconds since the epoch */
};

/* Append the header of F, mode 0644, owner 0. Without memory B is bad. */
void tar_add_header(struct buf *b, const struct tar_file *f);
/* Bytes of that header. */
uint64_t tar_header_size(const struct tar_file *f);
/* The zeros after SIZE bytes. */
uint64_t tar_padding(uint64_t size);

#endif
