/* SPDX-License-Identifier: MIT */
/* What recording*.c share. */
#ifndef TOOLS_FTRACE_RECORDING_INTERNAL_H
#define TOOLS_FTRACE_RECORDING_INTERNAL_H

#include "tools/ftrace/recording.h"

#define NAME_SUFFIX ".recording"
/* Names that are tried when one is taken. */
#define NAME_TRIES 1000
#define PATH_ROOM 512

struct part {
	int fd;		   /* -1: not open */
	uint64_t received; /* bytes that came */
	uint64_t size;	   /* bytes in the file */
	bool is_cut;	   /* wait for the next page: one was not written */
};

struct recording {
	struct recordings in;
	bool is_kept; /* it has files */
	char name[RECORDING_NAME_MAX];
	char work[PATH_ROOM]; /* the directory's name */
	char file[PATH_ROOM]; /* the final name, once it is there */
	int work_fd, metadata_fd;
	uint64_t metadata_size;
	const uint8_t *map;
	size_t map_size;
	uint32_t page_size; /* 0: not known yet */
	bool has_failed;    /* and this was logged */
	uint64_t lost;
	uint32_t n_parts;
	struct part parts[];
};

struct recording *recording_alloc(
    const struct recordings *in, const char *name, uint32_t cpus);
void recording_part_name(char out[PATH_ROOM], uint32_t cpu);

#endif
