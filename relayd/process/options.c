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
	const struct option_row *r = &option_rows[id];
	enum status st;

	busy_with = where;
	st = r->take(r, (char *)o + r->at, arg);
	if (st == E_MALFORMED)
		st = options_bad_value(r, arg);
	busy_with = NULL;
	o->from[id] = *where;
	return st;
}

void
options_show(
    const struct options *o, enum option_id id, char out[OPTION_TEXT_MAX])
{
	const struct option_row *r = &option_rows[id];

	out[0] = '\0';
	if (r->show != NULL)
		r->show(r, (const char *)o + r->at, out, OPTION_TEXT_MAX);
}

enum status
options_bad_value(const struct option_row *r, const char *arg)
{
	char why[OPTION_WHY_LEN];

	option_explain(r, arg, why);
	return options_refuse("%s", why);
}

enum status
options_bad_amount(const struct option_row *r, const char *arg, const char *low,
    const char *high)
{
	return parse_lacks_unit(arg)
		   ? options_refuse("--%s %s: a unit is missing (did you mean "
				    "%s%s or %s%s?)",
			 r->name, arg, arg, low, arg, high)
		   : options_bad_value(r, arg);
}

enum status
options_bad_size(const struct option_row *r, const char *arg, const char *low,
    const char *high)
{
	/* Many digits: somebody has counted bytes. */
	return strlen(arg) > 5 ? options_bad_amount(r, arg, "B", "k")
			       : options_bad_amount(r, arg, low, high);
}

/* Kinds of settings that only the relay has. */

static enum status
take_text(const struct option_row *r, void *to, const char *arg)
{
	if (*arg == '\0' || strlen(arg) >= r->max)
		return E_MALFORMED;
	memcpy(to, arg, strlen(arg) + 1);
	return OK;
}

static void
show_text(const struct option_row *r, const void *from, char *out, size_t n)
{
	snprintf(out, n, "%s", (const char *)from);
}

static enum status
take_path(const struct option_row *r, void *to, const char *arg)
{
	(void)r;
	return *arg == '\0' ? E_MALFORMED : environment_path(to, arg);
}

#define show_path show_text

enum status
options_parse_url(struct listen_url *u, const char *arg, const char **why)
{
	const enum status st = listen_url_parse(u, arg, why);

	if (st == OK && busy_with != NULL)
		options_where(busy_with, u->where, sizeof(u->where));
	return st;
}

static enum status
take_url(const struct option_row *r, void *to, const char *arg)
{
	const char *why;

	if (options_parse_url(to, arg, &why) == OK)
		return OK;
	/* --control-port: "control" */
	return options_refuse("Invalid %.*s URL \"%s\": %s",
	    (int)strcspn(r->name, "-"), r->name, arg, why);
}

static void
show_url(const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct listen_url *u = from;

	listen_url_show(u, u->port, out, n);
}

/* The offset of FIELD. If it is not of the type TYPE, the compiler warns. */
#define PLACE(field, type)                                 \
	(offsetof(struct options, field) +                 \
	    0 * sizeof(&((struct options *)NULL)->field == \
		       (__typeof__(type) *)NULL))

const struct option_row option_rows[N_OPTIONS] = {
#define KIND(kind, field, type)                                 \
	.take = option_take_##kind, .show = option_show_##kind, \
	.at = PLACE(field, type)
#define RELAY_KIND(kind, field, type) \
	.take = take_##kind, .show = show_##kind, .at = PLACE(field, type)
#define FLAG(field) KIND(flag, field, bool)
#define BOOL(field) KIND(bool, field, bool)
#define TEXT(field)                                                      \
	RELAY_KIND(                                                      \
	    text, field, char[sizeof(((struct options *)NULL)->field)]), \
	    .max = sizeof(((struct options *)NULL)->field)
#define FILE_PATH(field) RELAY_KIND(path, field, char[PATH_MAX])
#define NUMBER(field, least, most) \
	KIND(number, field, unsigned), .min = least, .max = most
#define SIZE(field, least, most) \
	KIND(size, field, uint64_t), .min = least, .max = most
#define TIME(field, most) KIND(time, field, uint64_t), .max = most
#define URL(field) RELAY_KIND(url, field, struct listen_url)
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
