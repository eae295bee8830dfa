/* SPDX-License-Identifier: MIT */
/* What the files notes*.c share; not for other files. */
#ifndef STORE_NOTES_INTERNAL_H
#define STORE_NOTES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "store/notes.h"

#define NOTES_NAME_LEN 64

/* A file of notes, open and locked. */
struct notes_file {
	int fd; /* -1: none */
	unsigned number;
	uint64_t length;
	bool is_torn; /* the last line has no newline */
};

/* The name of file NUMBER, from 1 on; END is "" or ".new". */
void notes_file_name(
    unsigned number, const char *end, char out[NOTES_NAME_LEN]);
/* Does the name stand for the file FD? */
bool notes_file_is_at(int base_fd, const char *name, int fd);
/* OK: *F is open and locked. E_NOENT: there is no such file. E_BUSY: another
 * relay has it, or it is none of ours, which is logged. */
enum status notes_file_open(
    struct notes_file *f, int base_fd, unsigned number) MUST_CHECK;
/* Remove what a relay that is dead was writing anew. */
void notes_file_remove_left(int base_fd, unsigned number);

#endif
