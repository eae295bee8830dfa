/* SPDX-License-Identifier: MIT */
#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/names.h"

struct name {
	uint64_t number;
	char text[];
};

static int
compare(const void *a, const void *b)
{
	return strcmp(
	    ((const struct name *)a)->text, ((const struct name *)b)->text);
}

uint64_t
names_number(struct names *names, const char *name, bool *is_new)
{
	size_t len = strlen(name) + 1;
	struct name *one = malloc(sizeof(*one) + len);
	struct name **found;

	if (one == NULL)
		return 0;
	memcpy(one->text, name, len);
	found = tsearch(one, &names->tree, compare);
	*is_new = found != NULL && *found == one;
	if (*is_new)
		one->number = ++names->n;
	else
		free(one);
	return found != NULL ? (*found)->number : 0;
}

void
names_free(struct names *names)
{
	tdestroy(names->tree, free);
	*names = (struct names){ 0 };
}
