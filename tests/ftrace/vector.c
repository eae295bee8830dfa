/* SPDX-License-Identifier: MIT */
#include "tests/ftrace/vector.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/buf.h"
#include "tests/lib/unit.h"
#include "tools/ftrace/message.h"

#define GREETING 13

struct bytes
vector_part(const char *name, const char *part)
{
	char path[256];

	snprintf(path, sizeof(path),
	    "tests/vectors/tracecmd/tracecmd-%s-%s.bin", name, part);
	return bytes_source_file(path);
}

struct bytes
vector_metadata(const char *name)
{
	struct bytes all = vector_part(name, "c2s"), out;
	struct buf b = { 0 };

	for (size_t at = GREETING, used; at < all.n; at += used) {
		struct tracecmd_message m;

		MUST(message_parse(&m, all.p + at, all.n - at, &used) == OK);
		if (m.number == MESSAGE_SEND_DATA)
			buf_bytes(&b, m.data.p, m.data.n);
	}
	MUST(!b.bad);
	out = bytes_copy(buf_data(&b), buf_len(&b));
	buf_free(&b);
	free(all.p);
	return out;
}
