/* SPDX-License-Identifier: MIT */
#include "common/status.h"

#include <stddef.h>

#include "common/compiler.h"

static const struct {
	const char *text;
	enum blame blame;
} rows[] = {
#define STATUS(name, blame, text) [name] = { text, BLAME_##blame },
#include "common/status.tbl.h"
#undef STATUS
};

const char *
status_text(enum status st)
{
	return (size_t)st < ARRAY_LEN(rows) ? rows[st].text : "unknown status";
}

enum blame
status_blame(enum status st)
{
	return (size_t)st < ARRAY_LEN(rows) ? rows[st].blame : BLAME_US;
}
