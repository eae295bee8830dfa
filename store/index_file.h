/* SPDX-License-Identifier: MIT */
/* Records in an index file that something before this process has left. */
#ifndef STORE_INDEX_FILE_H
#define STORE_INDEX_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct index_record;

/* Record N of FD, from 0. */
bool index_file_read(
    int fd, uint64_t n, unsigned minor, struct index_record *out);
/* *LAST is the last of N records, of which there is at least one. Is it whole
 * (index_is_whole()), for a data file of SIZE bytes? */
bool index_file_is_whole(int fd, uint64_t n, unsigned minor, uint64_t size,
    struct index_record *last);

#endif
