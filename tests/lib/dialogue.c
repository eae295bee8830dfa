/* SPDX-License-Identifier: MIT */
#include "tests/lib/dialogue.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/reader.h"

#define HEADER_LEN 13

struct dialogue
dialogue_read(const char *name)
{
	struct dialogue d = { 0 };
	struct reader r;
	char path[256];

	(void)snprintf(
	    path, sizeof(path), "tests/vectors/live-dialogues/%s.bin", name);
	d.file = bytes_source_file(path);
	d.parts = calloc(d.file.n / HEADER_LEN + 1, sizeof(*d.parts));
	if (d.parts == NULL)
		err(EXIT_FAILURE, "calloc");
	r = reader_over(d.file.p, d.file.n);
	while (reader_left(&r) > 0) {
		struct dialogue_part *part = &d.parts[d.n++];

		part->is_reply = reader_u8(&r) != 0;
		part->us = reader_u64(&r);
		part->n = reader_u32(&r);
		part->p = reader_take(&r, part->n);
		if (part->p == NULL)
			errx(EXIT_FAILURE, "%s: cut short", path);
	}
	return d;
}

void
dialogue_free(struct dialogue *d)
{
	free(d->parts);
	free(d->file.p);
}
