/* SPDX-License-Identifier: MIT */
/* The settings of what is deleted: sizes and times that may also be none. */
#include "relayd/process/options_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/parse.h"

#define NONE "none"
#define PERCENT_MAX 99

enum status
options_take_max_use(const struct option_row *r, void *to, const char *arg)
{
	if (strcmp(arg, NONE) == 0) {
		*(uint64_t *)to = 0;
		return OK;
	}
	return parse_size(arg, 1, INT64_MAX, to) == OK
		   ? OK
		   : options_bad_size(r, arg, "M", "G");
}

void
options_show_max_use(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const uint64_t bytes = *(const uint64_t *)from;

	if (bytes == 0)
		snprintf(out, n, NONE);
	else
		option_show_bytes(bytes, out, n);
}

enum status
options_take_keep_free(const struct option_row *r, void *to, const char *arg)
{
	const size_t len = strlen(arg);
	struct keep_free *k = to;
	char number[24];

	*k = (struct keep_free){ 0 };
	if (strcmp(arg, NONE) == 0 || strcmp(arg, "0") == 0)
		return OK;
	if (len > 0 && arg[len - 1] == '%' && len < sizeof(number)) {
		memcpy(number, arg, len - 1);
		number[len - 1] = '\0';
		return parse_u64(number, 0, PERCENT_MAX, &k->percent) == OK
			   ? OK
			   : E_MALFORMED;
	}
	return parse_size(arg, 1, INT64_MAX, &k->bytes) == OK
		   ? OK
		   : options_bad_size(r, arg, "G", "%");
}

void
options_show_keep_free(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct keep_free *k = from;

	if (k->percent > 0)
		snprintf(out, n, "%" PRIu64 "%%", k->percent);
	else if (k->bytes > 0)
		option_show_bytes(k->bytes, out, n);
	else
		snprintf(out, n, NONE);
}

enum status
options_take_max_age(const struct option_row *r, void *to, const char *arg)
{
	if (strcmp(arg, NONE) == 0) {
		*(uint64_t *)to = 0;
		return OK;
	}
	if (parse_duration(arg, AGE_MAX, to) != OK || *(uint64_t *)to == 0)
		return options_bad_amount(r, arg, "s", "d");
	return OK;
}

void
options_show_max_age(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const uint64_t ns = *(const uint64_t *)from;

	if (ns == 0)
		snprintf(out, n, NONE);
	else
		option_show_ns(ns, out, n);
}

enum status
options_compare_ages(const struct options *o)
{
	char age[32], least[32], where[PATH_MAX + 16];

	if (o->max_age_ns == 0 || o->max_age_ns >= o->keep_at_least_ns)
		return OK;
	option_show_ns(o->max_age_ns, age, sizeof(age));
	option_show_ns(o->keep_at_least_ns, least, sizeof(least));
	options_where(&o->from[OPT_MAX_AGE], where, sizeof(where));
	if (where[0] == '\0')
		options_where(
		    &o->from[OPT_KEEP_AT_LEAST], where, sizeof(where));
	return options_refuse("%s--max-age=%s is less than --keep-at-least=%s: "
			      "set --keep-at-least=%s, or a longer --max-age",
	    where, age, least, age);
}

enum status
options_take_admin_socket(const struct option_row *r, void *to, const char *arg)
{
	struct admin_socket *a = to;

	*a = (struct admin_socket){ .is_off = strcmp(arg, NONE) == 0,
		.is_explicit = true };
	if (a->is_off)
		return OK;
	if (arg[0] != '/' || strlen(arg) >= sizeof(a->path))
		return options_refuse(
		    "invalid value \"%s\" for --admin-socket: the path must be "
		    "absolute, and at most %zu bytes",
		    arg, sizeof(a->path) - 1);
	memcpy(a->path, arg, strlen(arg) + 1);
	return OK;
}

void
options_show_admin_socket(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct admin_socket *a = from;

	snprintf(out, n, "%s", a->is_off ? NONE : a->path);
}
