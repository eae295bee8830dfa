/* SPDX-License-Identifier: MIT */
#include "store/index_file.h"

#include <stddef.h>
#include <unistd.h>

#include "ctf/index.h"

bool
index_file_read(int fd, uint64_t n, unsigned minor, struct index_record *out)
{
	uint8_t bytes[INDEX_RECORD_MAX];
	const uint32_t len = index_record_len(minor);

	if (pread(fd, bytes, len, (off_t)(INDEX_HEADER_LEN + n * len)) !=
	    (ssize_t)len)
		return false;
	index_decode(bytes, out, minor);
	return true;
}

bool
index_file_is_whole(int fd, uint64_t n, unsigned minor, uint64_t size,
    struct index_record *last)
{
	struct index_record before;

	return index_file_read(fd, n - 1, minor, last) &&
	       (n == 1 || index_file_read(fd, n - 2, minor, &before)) &&
	       index_is_whole(last, n == 1 ? NULL : &before, size);
}
