/* SPDX-License-Identifier: MIT */
#include "tools/ctl/since.h"

#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/parse.h"

/* ".25" and nothing after it; "" is 0. */
static enum status
parse_fraction(const char *s, uint64_t *ns)
{
	uint64_t digit = NS_PER_S / 10;

	*ns = 0;
	if (*s == '\0')
		return OK;
	if (*s++ != '.' || *s == '\0')
		return E_MALFORMED;
	for (; *s >= '0' && *s <= '9'; s++, digit /= 10)
		*ns += (uint64_t)(*s - '0') * digit;
	return *s == '\0' ? OK : E_MALFORMED;
}

static const char *
parse_clock(const char *s, struct tm *tm)
{
	const char *end = strptime(s, "%H:%M:%S", tm);

	return end != NULL ? end : strptime(s, "%H:%M", tm);
}

/* TEXT without its "Z". */
static enum status
parse_time(char *text, bool is_utc, uint64_t now, uint64_t *out)
{
	const time_t second = (time_t)(now / NS_PER_S);
	struct tm tm, day;
	const char *end;
	uint64_t ns;
	time_t t;

	if (is_utc)
		gmtime_r(&second, &tm);
	else
		localtime_r(&second, &tm);
	tm.tm_sec = 0;
	tm.tm_isdst = -1;
	day = tm;
	end = strptime(text, "%Y-%m-%d", &day);
	if (end != NULL)
		tm = day;
	if (end != NULL && *end != '\0') {
		if (*end != ' ' && *end != 'T')
			return E_MALFORMED;
		end = parse_clock(end + 1, &tm);
	} else if (end != NULL) {
		tm.tm_hour = tm.tm_min = 0;
	} else {
		end = parse_clock(text, &tm);
	}
	if (end == NULL || parse_fraction(end, &ns) != OK)
		return E_MALFORMED;
	t = is_utc ? timegm(&tm) : mktime(&tm);
	if (t < 0)
		return E_MALFORMED;
	*out = (uint64_t)t * NS_PER_S + ns;
	return OK;
}

static enum status
parse_seconds(char *text, uint64_t *out)
{
	const size_t n = strspn(text, "0123456789");
	uint64_t s, ns;
	enum status st = parse_fraction(text + n, &ns);

	text[n] = '\0';
	if (st == OK)
		st = parse_u64(text, 0, UINT64_MAX / NS_PER_S - 1, &s);
	if (st == OK)
		*out = s * NS_PER_S + ns;
	return st == OK ? OK : E_MALFORMED;
}

enum status
since_parse(const char *text, uint64_t now, uint64_t *out)
{
	char copy[64];
	uint64_t ago;
	size_t n = strlen(text);
	bool is_utc;

	if (n == 0 || n >= sizeof(copy))
		return E_MALFORMED;
	memcpy(copy, text, n + 1);
	if (*copy == '@')
		return parse_seconds(copy + 1, out);
	if (parse_duration(copy, now, &ago) == OK) {
		*out = now - ago;
		return OK;
	}
	is_utc = copy[n - 1] == 'Z';
	if (is_utc)
		copy[n - 1] = '\0';
	return parse_time(copy, is_utc, now, out);
}
