/* SPDX-License-Identifier: MIT */
/* The rows of options.tbl.h, and the kinds of settings that only the relay
 * has. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/parse.h"
#include "relayd/process/environment.h"
#include "relayd/process/options_internal.h"

/* Both sizes of a packet header are 32 bits wide (streaming 2.2). */
#define PACKET_SIZE_MAX (UINT64_C(2) * UINT32_MAX)
#define AGE_MAX (UINT64_C(36500) * 24 * 3600 * NS_PER_S)
#define FD_POOL_MIN 100
#define NONE "none"

static enum status
take_string(const struct option_row *r, void *to, const char *arg)
{
	if (*arg == '\0' || strlen(arg) >= r->max)
		return E_MALFORMED;
	memcpy(to, arg, strlen(arg) + 1);
	return OK;
}

static void
show_string(const struct option_row *r, const void *from, char *out, size_t n)
{
	(void)r;
	snprintf(out, n, "%s", (const char *)from);
}

static enum status
take_path(const struct option_row *r, void *to, const char *arg)
{
	(void)r;
	return *arg == '\0' ? E_MALFORMED : environment_path(to, arg);
}

static enum status
take_absolute_path(const struct option_row *r, void *to, const char *arg)
{
	if (arg[0] != '/')
		return options_refuse("invalid value \"%s\" for --%s: the path "
				      "must be absolute",
		    arg, r->name);
	return environment_path(to, arg);
}

static enum status
take_url(const struct option_row *r, void *to, const char *arg)
{
	struct listen_url *u = to;
	const char *why;

	/* --control-port: "control" */
	if (listen_url_parse(u, arg, &why) != OK)
		return options_refuse("Invalid %.*s URL \"%s\": %s",
		    (int)strcspn(r->name, "-"), r->name, arg, why);
	options_where(options_origin(), u->where, sizeof(u->where));
	return OK;
}

static void
show_url(const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct listen_url *u = from;

	(void)r;
	listen_url_show(u, u->port, out, n);
}

/* Two options for one setting. Giving it twice in one place is a mistake; a
 * stronger place overrides. */
static enum status
take_grouping(const struct option_row *r, void *to, const char *arg)
{
	const struct origin *here = options_origin();
	struct options *o = to;
	bool is_on = true;

	if (arg != NULL && parse_bool(arg, &is_on) != OK)
		return E_MALFORMED;
	if (!is_on)
		return OK;
	if (o->grouping.kind == here->kind && o->grouping.name == here->name)
		return options_refuse("Cannot set --%s, another "
				      "--group-output-by argument is present",
		    r->name);
	o->grouping = *here;
	o->from[OPT_BY_HOST] = *here;
	o->from[OPT_BY_SESSION] = *here;
	o->group_by_session = r->letter == 's';
	return OK;
}

static void
show_grouping(const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct options *o = from;

	snprintf(out, n, "%s",
	    o->group_by_session == (r->letter == 's') ? "yes" : "no");
}

static const char *const sync_names[] = {
	[SYNC_NONE] = "none",
	[SYNC_CLOSE] = "close",
	[SYNC_PACKET] = "packet",
};

static enum status
take_sync(const struct option_row *r, void *to, const char *arg)
{
	struct options *o = to;
	struct sync_when when = { .mode = SYNC_NONE };

	(void)r;
	while (when.mode < SYNC_TIME && strcmp(arg, sync_names[when.mode]) != 0)
		when.mode++;
	if (when.mode == SYNC_TIME &&
	    (parse_duration(arg, SYNC_TIME_MAX, &when.time_ns) != OK ||
		when.time_ns < SYNC_TIME_MIN))
		return E_MALFORMED;
	o->sync = when;
	return OK;
}

static void
show_sync(const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct sync_when *when = &((const struct options *)from)->sync;

	(void)r;
	if (when->mode == SYNC_TIME)
		option_show_ns(when->time_ns, out, n);
	else
		snprintf(out, n, "%s", sync_names[when->mode]);
}

static enum status
take_live_window(const struct option_row *r, void *to, const char *arg)
{
	const size_t len = strlen(arg);
	struct options *o = to;
	struct live_window w = { 0 };

	(void)r;
	/* 64M is a size, 10m a time: letters of sizes are upper case, except
	 * k. */
	if (len > 0 && (arg[len - 1] == 's' || arg[len - 1] == 'm')) {
		if (parse_duration(arg, AGE_MAX, &w.ns) != OK ||
		    w.ns < LIVE_WINDOW_NS_MIN)
			return E_MALFORMED;
	} else if (strcmp(arg, "off") != 0 &&
		   parse_size(arg, LIVE_WINDOW_MIN, SIZE_MAX, &w.bytes) != OK) {
		return E_MALFORMED;
	}
	o->live_window = w;
	return OK;
}

static void
show_live_window(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct live_window *w =
	    &((const struct options *)from)->live_window;

	(void)r;
	if (w->bytes != 0)
		option_show_bytes(w->bytes, out, n);
	else if (w->ns != 0)
		option_show_ns(w->ns, out, n);
	else
		snprintf(out, n, "off");
}

static enum status
take_keep_free(const struct option_row *r, void *to, const char *arg)
{
	const size_t len = strlen(arg);
	struct options *o = to;
	struct keep_free k = { 0 };
	char number[24];

	(void)r;
	if (len > 0 && arg[len - 1] == '%') {
		snprintf(number, sizeof(number), "%.*s", (int)len - 1, arg);
		if (parse_u64(number, 0, 99, &k.percent) != OK)
			return E_MALFORMED;
	} else if (strcmp(arg, NONE) != 0 &&
		   parse_size(arg, 0, INT64_MAX, &k.bytes) != OK) {
		return E_MALFORMED;
	}
	o->keep_free = k;
	return OK;
}

static void
show_keep_free(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct keep_free *k = &((const struct options *)from)->keep_free;

	(void)r;
	if (k->percent > 0)
		snprintf(out, n, "%" PRIu64 "%%", k->percent);
	else if (k->bytes > 0)
		option_show_bytes(k->bytes, out, n);
	else
		snprintf(out, n, NONE);
}

static enum status
take_udp_port(const struct option_row *r, void *to, const char *arg)
{
	struct options *o = to;
	uint64_t port;

	(void)r;
	o->has_udp = strcmp(arg, NONE) != 0;
	o->has_udp_port = o->has_udp && strcmp(arg, "data") != 0;
	if (!o->has_udp_port)
		return OK;
	if (parse_u64(arg, 1, UINT16_MAX, &port) != OK)
		return E_MALFORMED;
	o->udp_port = (uint16_t)port;
	return OK;
}

static void
show_udp_port(const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct options *o = from;

	(void)r;
	if (o->has_udp_port)
		snprintf(out, n, "%u", o->udp_port);
	else
		snprintf(out, n, "%s", o->has_udp ? "data" : NONE);
}

/* The path of a Unix socket, which is shorter than that of a file. */
static enum status
copy_socket_path(
    char out[SOCKET_PATH_SIZE], const struct option_row *r, const char *path)
{
	if (path[0] != '/' || strlen(path) >= SOCKET_PATH_SIZE)
		return options_refuse("invalid value \"%s\" for --%s: the path "
				      "must be absolute, and at most %d bytes",
		    path, r->name, SOCKET_PATH_SIZE - 1);
	memcpy(out, path, strlen(path) + 1);
	return OK;
}

static enum status
take_http(const struct option_row *r, void *to, const char *arg)
{
	static const char scheme[] = "unix:";
	const size_t n = strlen(scheme);
	struct options *o = to;

	o->has_http = strcmp(arg, NONE) != 0;
	o->http_path[0] = '\0';
	if (!o->has_http)
		return OK;
	if (strncmp(arg, scheme, n) == 0)
		return copy_socket_path(o->http_path, r, arg + n);
	return take_url(r, &o->http, arg);
}

static void
show_http(const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct options *o = from;

	if (!o->has_http)
		snprintf(out, n, NONE);
	else if (o->http_path[0] != '\0')
		snprintf(out, n, "unix:%s", o->http_path);
	else
		show_url(r, &o->http, out, n);
}

/* One name, or several separated by blanks. Those of one source are added to
 * each other. */
static enum status
take_http_host(const struct option_row *r, void *to, const char *arg)
{
	struct options *o = to;
	const struct origin *last = &o->from[OPT_HTTP_HOST];
	const struct origin *here = options_origin();
	struct http_hosts *h = &o->http_hosts;
	const char *word = arg + strspn(arg, " ");

	(void)r;
	if (last->kind != here->kind || last->name != here->name)
		h->n = 0;
	if (*word == '\0')
		return E_MALFORMED;
	while (*word != '\0') {
		const size_t len = strcspn(word, " ");

		if (len > HTTP_HOST_LEN || h->n == HTTP_HOSTS_MAX)
			return E_MALFORMED;
		snprintf(h->names[h->n++], sizeof(h->names[0]), "%.*s",
		    (int)len, word);
		word += len + strspn(word + len, " ");
	}
	return OK;
}

static void
show_http_host(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct http_hosts *h =
	    &((const struct options *)from)->http_hosts;
	size_t len = 0;

	(void)r;
	for (unsigned i = 0; i < h->n; i++)
		len += (size_t)snprintf(
		    out + len, n - len, "%s%s", i > 0 ? " " : "", h->names[i]);
}

/* The number of -v on the command line; a number or a truth value elsewhere. */
static enum status
take_verbose(const struct option_row *r, void *to, const char *arg)
{
	struct options *o = to;
	uint64_t n;
	bool is_on;

	if (o->from[OPT_VERBOSE].kind != options_origin()->kind)
		o->verbose = 0;
	if (arg == NULL)
		o->verbose += o->verbose < 3;
	else if (parse_u64(arg, 0, UINT64_MAX, &n) == OK && n <= 3)
		o->verbose = (unsigned)n;
	else if (!isdigit((unsigned char)*arg) && parse_bool(arg, &is_on) == OK)
		o->verbose = is_on;
	else
		return options_refuse("invalid value \"%s\" for --%s: expected "
				      "a number from 0 to 3, yes or no",
		    arg, r->name);
	return OK;
}

static void
show_verbose(const struct option_row *r, const void *from, char *out, size_t n)
{
	option_show_number(r, &((const struct options *)from)->verbose, out, n);
}

static enum status
take_log_level(const struct option_row *r, void *to, const char *arg)
{
	return option_take_choice(r, &((struct options *)to)->log_level, arg);
}

/* The effective level, from this option, -v or the default. */
static void
show_log_level(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const unsigned level = options_log_level(from);

	option_show_choice(r, &level, out, n);
}

static enum status
take_admin_socket(const struct option_row *r, void *to, const char *arg)
{
	struct admin_socket *a = &((struct options *)to)->admin_socket;

	*a = (struct admin_socket){ .is_off = strcmp(arg, NONE) == 0,
		.is_explicit = true };
	return a->is_off ? OK : copy_socket_path(a->path, r, arg);
}

static void
show_admin_socket(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct admin_socket *a =
	    &((const struct options *)from)->admin_socket;

	(void)r;
	snprintf(out, n, "%s", a->is_off ? NONE : a->path);
}

#define SIZE_OF(field) sizeof(((struct options *)NULL)->field)
#define RELAY_KIND(kind, field, type)             \
	.take = take_##kind, .show = show_##kind, \
	.at = OPTION_PLACE(field, type)
#define STRING(field) \
	RELAY_KIND(string, field, char[SIZE_OF(field)]), .max = SIZE_OF(field)
#define URL(field) RELAY_KIND(url, field, struct listen_url)
#define FILE_PATH(field)                        \
	.take = take_path, .show = show_string, \
	.at = OPTION_PLACE(field, char[PATH_MAX])
#define ABSOLUTE_PATH(field)                             \
	.take = take_absolute_path, .show = show_string, \
	.at = OPTION_PLACE(field, char[PATH_MAX])
#define SETTING(name) .take = take_##name, .show = show_##name
#define ORDER(function, field, type) \
	.take = function, .at = OPTION_PLACE(field, type)
#define TRUSTED(...) __VA_ARGS__, .needs_trust = true
#define OR_NONE(...) __VA_ARGS__, .zero = NONE
#define UNITS(text, ...) __VA_ARGS__, .units = text
#define RELOADED(field, ...)                                       \
	__VA_ARGS__, .reload_at = offsetof(struct options, field), \
		     .reload_size = SIZE_OF(field)

#define OPTIONS_HAS_IDS
#define OPTIONS_TABLE "relayd/process/options.tbl.h"
#define OPTIONS_STRUCT struct options
#include "common/option_rows.h"

const struct option_row *const option_rows = rows;
