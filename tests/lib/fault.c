/* SPDX-License-Identifier: MIT */
#include "tests/lib/fault.h"

#include <stddef.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static unsigned countdown;
static unsigned long count;
static bool happened;

void
fault_arm(unsigned n)
{
	countdown = n;
	happened = false;
}

bool
fault_disarm(void)
{
	countdown = 0;
	return happened;
}

unsigned long
fault_count(void)
{
	return count;
}

static bool
fails(void)
{
	count++;
	if (countdown == 0 || --countdown > 0)
		return false;
	happened = true;
	return true;
}

void *
__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}
