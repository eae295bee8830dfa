/* SPDX-License-Identifier: MIT */
#include "tests/lib/fault.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
int __wrap_asprintf(char **out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static _Thread_local unsigned countdown;
static _Thread_local unsigned long count;
static _Thread_local bool happened;

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

unsigned
fault_pause(void)
{
	const unsigned left = countdown;

	countdown = 0;
	return left;
}

void
fault_go_on(unsigned left)
{
	countdown = left;
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

char *
__wrap_strdup(const char *s)
{
	const size_t n = strlen(s) + 1;
	char *copy = __wrap_malloc(n);

	return copy == NULL ? NULL : memcpy(copy, s, n);
}

int
__wrap_asprintf(char **out, const char *format, ...)
{
	va_list args;
	int n;

	if (fails())
		return -1;
	va_start(args, format);
	n = vasprintf(out, format, args);
	va_end(args);
	return n;
}
