/* SPDX-License-Identifier: MIT */
/* The rows: how each kind of value is taken and shown. */
#include "config.h"

#include "relayd/process/options_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/parse.h"
#include "relayd/process/environment.h"

/* Both sizes of a packet header are 32 bits wide (streaming 2.2). */
#define PACKET_SIZE_MAX (UINT64_C(2) * UINT32_MAX)
#define LOCK_TIMEOUT_MAX (3600 * NS_PER_S)

static const struct origin *busy_with;

const struct origin *
options_origin(void)
{
	return busy_with;
}

void
options_where(const struct origin *from, char *out, size_t n)
{
	out[0] = '\0';
	if (from->kind == ORIGIN_FILE)
		snprintf(out, n, "%s:%u: ", from->name, from->line);
	else if (from->kind == ORIGIN_VARIABLE)
		snprintf(out, n, "%s: ", from->name);
}

enum status
options_refuse(const char *fmt, ...)
{
	char text[LOG_LINE_MAX], where[PATH_MAX + 16] = "";
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	va_end(ap);
	if (busy_with != NULL)
		options_where(busy_with, where, sizeof(where));
	log_error("%s%s", where, text);
	return E_REFUSED;
}

enum status
options_set(struct options *o, enum option_id id, const char *arg,
    const struct origin *where)
{
	const struct row *r = &option_rows[id];
	enum status st;

	busy_with = where;
	st = r->take(r, (char *)o + r->at, arg);
	busy_with = NULL;
	o->from[id] = *where;
	return st;
}

void
options_show(
    const struct options *o, enum option_id id, char out[OPTION_TEXT_MAX])
{
	const struct row *r = &option_rows[id];

	out[0] = '\0';
	if (r->show != NULL)
		r->show(r, (const char *)o + r->at, out, OPTION_TEXT_MAX);
}

enum status
options_bad_value(const struct row *r, const char *arg)
{
	return r->arg == NULL
		   ? options_refuse("Invalid value \"%s\" for --%s: say yes "
				    "or no",
			 arg, r->name)
		   : options_refuse("Invalid value \"%s\" for --%s=%s: %s", arg,
			 r->name, r->arg, r->help);
}

enum status
options_bad_amount(
    const struct row *r, const char *arg, const char *low, const char *high)
{
	return parse_lacks_unit(arg)
		   ? options_refuse("--%s %s: a unit is missing (did you mean "
				    "%s%s or %s%s?)",
			 r->name, arg, arg, low, arg, high)
		   : options_bad_value(r, arg);
}

enum status
options_bad_size(
    const struct row *r, const char *arg, const char *low, const char *high)
{
	/* Many digits: somebody has counted bytes. */
	return strlen(arg) > 5 ? options_bad_amount(r, arg, "B", "k")
			       : options_bad_amount(r, arg, low, high);
}

/* Kinds of settings. */

static enum status
take_flag(const struct row *r, void *to, const char *arg)
{
	if (arg == NULL)
		*(bool *)to = true;
	else if (parse_bool(arg, to) != OK)
		return options_bad_value(r, arg);
	return OK;
}

static void
show_flag(const struct row *r, const void *from, char *out, size_t n)
{
	snprintf(out, n, "%s", *(const bool *)from ? "yes" : "no");
}

static enum status
take_bool(const struct row *r, void *to, const char *arg)
{
	return parse_bool(arg, to) == OK ? OK : options_bad_value(r, arg);
}

static void
show_bool(const struct row *r, const void *from, char *out, size_t n)
{
	snprintf(out, n, "%s", *(const bool *)from ? "on" : "off");
}

static enum status
take_text(const struct row *r, void *to, const char *arg)
{
	if (*arg == '\0' || strlen(arg) >= r->max)
		return options_bad_value(r, arg);
	memcpy(to, arg, strlen(arg) + 1);
	return OK;
}

static void
show_text(const struct row *r, const void *from, char *out, size_t n)
{
	snprintf(out, n, "%s", (const char *)from);
}

static enum status
take_path(const struct row *r, void *to, const char *arg)
{
	return *arg == '\0' ? options_bad_value(r, arg)
			    : environment_path(to, arg);
}

#define show_path show_text

static enum status
take_number(const struct row *r, void *to, const char *arg)
{
	uint64_t n;

	if (parse_u64(arg, r->min, r->max, &n) != OK)
		return options_bad_value(r, arg);
	*(unsigned *)to = (unsigned)n;
	return OK;
}

static void
show_number(const struct row *r, const void *from, char *out, size_t n)
{
	snprintf(out, n, "%u", *(const unsigned *)from);
}

static enum status
take_size(const struct row *r, void *to, const char *arg)
{
	return parse_size(arg, r->min, r->max, to) == OK
		   ? OK
		   : options_bad_size(r, arg, "M", "G");
}

static void
show_size(const struct row *r, const void *from, char *out, size_t n)
{
	options_show_bytes(*(const uint64_t *)from, out, n);
}

static enum status
take_time(const struct row *r, void *to, const char *arg)
{
	return parse_duration(arg, r->max, to) == OK
		   ? OK
		   : options_bad_amount(r, arg, "ms", "s");
}

void
options_show_ns(uint64_t ns, char *out, size_t n)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "d", 24 * 3600 * NS_PER_S }, { "h", 3600 * NS_PER_S },
		{ "m", 60 * NS_PER_S }, { "s", NS_PER_S },
		{ "ms", NS_PER_MS } };
	size_t i = ns == 0 ? ARRAY_LEN(units) - 2 : 0;

	while (i < ARRAY_LEN(units) - 1 && ns % units[i].ns != 0)
		i++;
	snprintf(out, n, "%" PRIu64 "%s", ns / units[i].ns, units[i].unit);
}

static void
show_time(const struct row *r, const void *from, char *out, size_t n)
{
	options_show_ns(*(const uint64_t *)from, out, n);
}

enum status
options_parse_url(struct listen_url *u, const char *arg, const char **why)
{
	const enum status st = listen_url_parse(u, arg, why);

	if (st == OK && busy_with != NULL)
		options_where(busy_with, u->where, sizeof(u->where));
	return st;
}

static enum status
take_url(const struct row *r, void *to, const char *arg)
{
	const char *why;

	if (options_parse_url(to, arg, &why) == OK)
		return OK;
	/* --control-port: "control" */
	return options_refuse("Invalid %.*s URL \"%s\": %s",
	    (int)strcspn(r->name, "-"), r->name, arg, why);
}

static void
show_url(const struct row *r, const void *from, char *out, size_t n)
{
	const struct listen_url *u = from;

	listen_url_show(u, u->port, out, n);
}

/* The offset of FIELD. If it is not of the type TYPE, the compiler warns. */
#define PLACE(field, type)                                 \
	(offsetof(struct options, field) +                 \
	    0 * sizeof(&((struct options *)NULL)->field == \
		       (__typeof__(type) *)NULL))

const struct row option_rows[N_OPTIONS] = {
#define KIND(kind, field, type) \
	.take = take_##kind, .show = show_##kind, .at = PLACE(field, type)
#define FLAG(field) KIND(flag, field, bool)
#define BOOL(field) KIND(bool, field, bool)
#define TEXT(field)                                                       \
	KIND(text, field, char[sizeof(((struct options *)NULL)->field)]), \
	    .max = sizeof(((struct options *)NULL)->field)
#define FILE_PATH(field) KIND(path, field, char[PATH_MAX])
#define NUMBER(field, least, most) \
	KIND(number, field, unsigned), .min = least, .max = most
#define SIZE(field, least, most) \
	KIND(size, field, uint64_t), .min = least, .max = most
#define TIME(field, most) KIND(time, field, uint64_t), .max = most
#define URL(field) KIND(url, field, struct listen_url)
#define OWN(name, field)                                          \
	.take = options_take_##name, .show = options_show_##name, \
	.at = offsetof(struct options, field)
#define ORDER(name) .take = options_take_##name
#define RELOADED(field, ...)                                          \
	__VA_ARGS__, .size = sizeof(((struct options *)NULL)->field), \
		     .can_reload = true
#define OPTION(id, short_name, long_name, argument, trust, kind, text) \
	{ .letter = short_name,                                        \
		.name = long_name,                                     \
		.arg = argument,                                       \
		.needs_trust = trust,                                  \
		.help = text,                                          \
		kind },
#include "relayd/process/options.tbl.h"
#undef OPTION
};
