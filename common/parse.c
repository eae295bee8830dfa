/* SPDX-License-Identifier: MIT */
#include "common/parse.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"

struct unit {
	const char *name;
	uint64_t factor;
};

/* Digits at the start of S; *END is what follows them. */
static enum status
parse_digits(const char *s, uint64_t *out, char **end)
{
	if (*s < '0' || *s > '9')
		return E_MALFORMED;
	errno = 0;
	*out = strtoull(s, end, 10);
	return errno != 0 ? E_LIMIT : OK;
}

static enum status
parse_with_unit(
    const char *s, const struct unit *units, size_t n_units, uint64_t *out)
{
	uint64_t value;
	char *end;
	enum status st = parse_digits(s, &value, &end);

	if (st != OK)
		return st;
	if (*end == '\0' && value == 0) {
		*out = 0;
		return OK;
	}
	for (size_t i = 0; i < n_units; i++)
		if (strcasecmp(end, units[i].name) == 0)
			return __builtin_mul_overflow(
				   value, units[i].factor, out)
				   ? E_LIMIT
				   : OK;
	return E_MALFORMED;
}

enum status
parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;
	enum status st = parse_digits(s, out, &end);

	if (st != OK)
		return st;
	if (*end != '\0')
		return E_MALFORMED;
	return min <= *out && *out <= max ? OK : E_LIMIT;
}

enum status
parse_int(const char *s, int min, int max, int *out)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(s, &end, 10);
	if (end == s || *end != '\0')
		return E_MALFORMED;
	if (errno != 0 || value < min || value > max)
		return E_LIMIT;
	*out = (int)value;
	return OK;
}

enum status
parse_size(const char *s, uint64_t min, uint64_t max, uint64_t *out)
{
	static const struct unit units[] = {
		{ "B", 1 },
		{ "k", UINT64_C(1) << 10 },
		{ "KiB", UINT64_C(1) << 10 },
		{ "M", UINT64_C(1) << 20 },
		{ "MiB", UINT64_C(1) << 20 },
		{ "G", UINT64_C(1) << 30 },
		{ "GiB", UINT64_C(1) << 30 },
		{ "T", UINT64_C(1) << 40 },
		{ "TiB", UINT64_C(1) << 40 },
	};
	enum status st = parse_with_unit(s, units, ARRAY_LEN(units), out);

	if (st != OK)
		return st;
	return min <= *out && *out <= max ? OK : E_LIMIT;
}

enum status
parse_duration(const char *s, uint64_t max, uint64_t *out)
{
	static const struct unit units[] = {
		{ "ms", NS_PER_MS },
		{ "s", NS_PER_S },
		{ "m", 60 * NS_PER_S },
		{ "h", 3600 * NS_PER_S },
		{ "d", 24 * 3600 * NS_PER_S },
	};
	enum status st = parse_with_unit(s, units, ARRAY_LEN(units), out);

	if (st != OK)
		return st;
	return *out <= max ? OK : E_LIMIT;
}

bool
parse_lacks_unit(const char *s)
{
	return *s != '\0' && s[strspn(s, "0123456789")] == '\0' &&
	       s[strspn(s, "0")] != '\0';
}

enum status
parse_bool(const char *s, bool *out)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{ "yes", true },
		{ "true", true },
		{ "on", true },
		{ "no", false },
		{ "false", false },
		{ "off", false },
	};
	uint64_t number;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasecmp(s, words[i].word) == 0) {
			*out = words[i].value;
			return OK;
		}
	if (parse_u64(s, 0, UINT64_MAX, &number) != OK)
		return E_MALFORMED;
	*out = number != 0;
	return OK;
}
