/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/slices.h"

struct word {
	const char *text;
	enum slice_part part;
};

/* NAME without LEN bytes at AT. */
static char *
without(const char *name, const char *at, size_t len)
{
	char *out;

	if (asprintf(&out, "%.*s%s", (int)(at - name), name, at + len) < 0)
		out = NULL;
	return out;
}

/* "syscall_entry_read" of LTTng, "syscalls:sys_enter_read" of ftrace. */
static enum slice_part
inside(const char *name, char **slice)
{
	static const struct word words[] = {
		{ "syscall_entry_", SLICE_BEGIN },
		{ "syscall_exit_", SLICE_END },
		{ "sys_enter_", SLICE_BEGIN },
		{ "sys_exit_", SLICE_END },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *at = strstr(name, words[i].text);
		size_t kept;

		if (at == NULL)
			continue;
		kept = strcspn(words[i].text, "_") + 1;
		*slice = without(name, at + kept, strlen(words[i].text) - kept);
		return words[i].part;
	}
	return SLICE_NONE;
}

enum slice_part
slice_part(const char *name, char **slice)
{
	static const struct word words[] = {
		{ "entry", SLICE_BEGIN },
		{ "enter", SLICE_BEGIN },
		{ "begin", SLICE_BEGIN },
		{ "exit", SLICE_END },
		{ "end", SLICE_END },
	};
	size_t len = strlen(name);
	enum slice_part part = inside(name, slice);

	for (size_t i = 0; part == SLICE_NONE && i < 5; i++) {
		size_t n = strlen(words[i].text);
		const char *at = name + len - n;

		if (len < n + 2 || strcmp(at, words[i].text) != 0 ||
		    strchr("_:", at[-1]) == NULL)
			continue;
		*slice = without(name, at - 1, n + 1);
		part = words[i].part;
	}
	return part;
}
