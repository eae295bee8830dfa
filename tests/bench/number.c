/* SPDX-License-Identifier: MIT */
#include "tests/bench/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/program.h"

static unsigned
scale_of(const char *suffix)
{
	if (strcmp(suffix, "k") == 0)
		return 10;
	if (strcmp(suffix, "M") == 0)
		return 20;
	return *suffix == '\0' ? 0 : 99;
}

uint64_t
number_parse(const char *text, uint64_t min, uint64_t max)
{
	unsigned long long v;
	unsigned scale;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	scale = scale_of(end);
	if (errno != 0 || end == text || *text == '-' || scale > 20 ||
	    v > max >> scale || v << scale < min)
		program_bad_usage("%s: not a number from %llu to %llu", text,
		    (unsigned long long)min, (unsigned long long)max);
	return v << scale;
}
