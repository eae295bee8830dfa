/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/send/identity.h"

#include <ctype.h>
#include <endian.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "common/compiler.h"

#define VALUE_MAX 64
#define STAMP "00000000-000000" /* each 0 is any digit */

/* The string after NAME and "=" in TEXT; "": there is none. */
static void
value_of(const char *text, size_t n, const char *name, char out[VALUE_MAX])
{
	const char *end = text + n, *p = memmem(text, n, name, strlen(name));
	size_t len = 0;

	out[0] = '\0';
	if (p == NULL)
		return;
	p += strlen(name);
	while (p < end && (isspace((unsigned char)*p) || *p == '='))
		p++;
	if (p == end || *p != '"')
		return;
	for (p++; p < end && *p != '"' && len < VALUE_MAX - 1; p++)
		out[len++] = *p;
	out[len] = '\0';
}

/* "20261127T142414+0000" as seconds since the epoch; 0: it is something
 * else. */
static uint64_t
parse_time(const char *s)
{
	struct tm tm = { 0 };
	const char *rest = strptime(s, "%Y%m%dT%H%M%S%z", &tm);
	const long offset = tm.tm_gmtoff;
	time_t t;

	if (rest == NULL || *rest != '\0')
		return 0;
	t = timegm(&tm);
	return t > offset ? (uint64_t)(t - offset) : 0;
}

/* Does NAME end with a date and time, as the names that lttng makes up? */
static bool
has_time(const char *name)
{
	const size_t n = strlen(name), len = strlen(STAMP);

	if (n <= len || name[n - len - 1] != '-')
		return false;
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)name[n - len + i];

		if (STAMP[i] == '0' ? !isdigit(c) : c != '-')
			return false;
	}
	return true;
}

/* FNV-1a, with the NUL of S. */
static void
hash(uint64_t *h, const char *s)
{
	do
		*h = (*h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
	while (*s++ != '\0');
}

void
identity_complete(struct send_session *s, const char *text, size_t n)
{
	/* The first one is FNV's own. */
	uint64_t halves[] = { UINT64_C(0xcbf29ce484222325),
		UINT64_C(0x6c62272e07bb0142) };
	char value[VALUE_MAX];

	value_of(text, n, "trace_creation_datetime", value);
	s->creation_time = parse_time(value);
	s->name_has_time = has_time(s->name) || s->creation_time == 0;
	if (s->creation_time == 0)
		value_of(text, n, "uuid", value);
	for (size_t i = 0; i < ARRAY_LEN(halves); i++) {
		hash(&halves[i], s->hostname);
		hash(&halves[i], s->name);
		hash(&halves[i], value);
		halves[i] = htobe64(halves[i]);
	}
	memcpy(s->identity.b, halves, sizeof(s->identity.b));
}
