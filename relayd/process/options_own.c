/* SPDX-License-Identifier: MIT */
/* The settings that are of no kind, but have functions of their own. */
/* The settings of what is deleted: sizes and times that may also be none. */
#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/log_text.h"
#include "common/parse.h"
#include "relayd/process/environment.h"
#include "relayd/process/options_internal.h"
#include "relayd/process/sandbox.h"

#define FD_POOL_MIN 100
/* TO and FROM are the field that the row names; these have the whole of it. */
#define OPTIONS_OF(r, to) ((struct options *)(void *)((char *)(to) - (r)->at))
#define OPTIONS_SHOWN(r, from) \
	((const struct options *)(const void *)((const char *)(from) - (r)->at))
#define NONE "none"
#define PERCENT_MAX 99

/* What is said twice in one place is a mistake; what is said in a stronger
 * place counts. */
static enum status
set_grouping(struct options *o, const char *arg, bool by_session)
{
	const struct origin *last = &o->grouping, *here = options_origin();
	bool is_on = true;

	if (arg != NULL && parse_bool(arg, &is_on) != OK)
		return options_refuse(
		    "invalid value \"%s\" for --group-output-by-%s", arg,
		    by_session ? "session" : "host");
	if (!is_on)
		return OK;
	if (last->kind == here->kind && last->name == here->name &&
	    last->kind != ORIGIN_DEFAULT)
		return options_refuse(
		    "Cannot set --group-output-by-%s, another "
		    "--group-output-by argument is present",
		    by_session ? "session" : "host");
	o->grouping = *here;
	o->from[OPT_BY_HOST] = *here;
	o->from[OPT_BY_SESSION] = *here;
	o->group_by_session = by_session;
	return OK;
}

enum status
options_take_by_host(const struct option_row *r, void *to, const char *arg)
{
	return set_grouping(OPTIONS_OF(r, to), arg, false);
}

enum status
options_take_by_session(const struct option_row *r, void *to, const char *arg)
{
	return set_grouping(OPTIONS_OF(r, to), arg, true);
}

void
options_show_by_host(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	snprintf(out, n, "%s", *(const bool *)from ? "no" : "yes");
}

void
options_show_by_session(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	snprintf(out, n, "%s", *(const bool *)from ? "yes" : "no");
}

enum status
options_take_fd_pool(const struct option_row *r, void *to, const char *arg)
{
	uint64_t n;

	if (parse_u64(arg, 0, UINT64_MAX, &n) != OK)
		return E_MALFORMED;
	if (n < FD_POOL_MIN)
		return options_refuse("File descriptor pool size must be set "
				      "to at least %d",
		    FD_POOL_MIN);
	if (n > options_descriptor_limit())
		return options_refuse("File descriptor pool size argument (%s) "
				      "exceeds the limit of the process (%u)",
		    arg, options_descriptor_limit());
	*(unsigned *)to = (unsigned)n;
	return OK;
}

void
options_show_fd_pool(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	snprintf(out, n, "%u", *(const unsigned *)from);
}

static const char *const sync_names[] = {
	[SYNC_NONE] = "none",
	[SYNC_CLOSE] = "close",
	[SYNC_PACKET] = "packet",
};

enum status
options_take_sync(const struct option_row *r, void *to, const char *arg)
{
	struct sync_when *when = to;

	for (size_t i = 0; i < ARRAY_LEN(sync_names); i++)
		if (strcmp(arg, sync_names[i]) == 0) {
			*when = (struct sync_when){ .mode = (enum sync_mode)i };
			return OK;
		}
	if (parse_duration(arg, SYNC_TIME_MAX, &when->time_ns) != OK ||
	    when->time_ns < SYNC_TIME_MIN)
		return options_bad_amount(r, arg, "ms", "s");
	when->mode = SYNC_TIME;
	return OK;
}

void
options_show_sync(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct sync_when *when = from;

	if (when->mode == SYNC_TIME)
		option_show_ns(when->time_ns, out, n);
	else
		snprintf(out, n, "%s", sync_names[when->mode]);
}

/* 64M is a size, 10m a time: letters of sizes are upper case, except k. */
static bool
is_time(const char *arg)
{
	const size_t n = strlen(arg);

	return n > 0 && (arg[n - 1] == 's' || arg[n - 1] == 'm');
}

enum status
options_take_live_window(const struct option_row *r, void *to, const char *arg)
{
	struct live_window w = { 0 };

	if (strcmp(arg, "off") == 0) {
		*(struct live_window *)to = w;
		return OK;
	}
	if (is_time(arg)
		? parse_duration(arg, LIVE_WINDOW_NS_MAX, &w.ns) != OK ||
		      w.ns < LIVE_WINDOW_NS_MIN
		: parse_size(arg, LIVE_WINDOW_MIN, SIZE_MAX, &w.bytes) != OK)
		return options_bad_size(r, arg, "M", "s");
	*(struct live_window *)to = w;
	return OK;
}

void
options_show_live_window(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct live_window *w = from;

	if (w->bytes != 0)
		option_show_bytes(w->bytes, out, n);
	else if (w->ns != 0)
		option_show_ns(w->ns, out, n);
	else
		snprintf(out, n, "off");
}

static const char *const on_full_names[] = {
	[ON_FULL_LOSE] = "lose",
	[ON_FULL_REFUSE] = "refuse",
};

enum status
options_take_on_full(const struct option_row *r, void *to, const char *arg)
{
	for (size_t i = 0; i < ARRAY_LEN(on_full_names); i++)
		if (strcmp(arg, on_full_names[i]) == 0) {
			*(enum on_full *)to = (enum on_full)i;
			return OK;
		}
	return E_MALFORMED;
}

void
options_show_on_full(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	snprintf(out, n, "%s", on_full_names[*(const enum on_full *)from]);
}

static const struct {
	const char *name;
	unsigned parts;
} sandboxes[] = {
	{ "on", SANDBOX_LANDLOCK | SANDBOX_SECCOMP },
	{ "strict", SANDBOX_LANDLOCK | SANDBOX_SECCOMP | SANDBOX_STRICT },
	{ "landlock", SANDBOX_LANDLOCK },
	{ "seccomp", SANDBOX_SECCOMP },
	{ "off", 0 },
};

enum status
options_take_sandbox(const struct option_row *r, void *to, const char *arg)
{
	for (size_t i = 0; i < ARRAY_LEN(sandboxes); i++)
		if (strcmp(arg, sandboxes[i].name) == 0) {
			*(unsigned *)to = sandboxes[i].parts;
			return OK;
		}
	return E_MALFORMED;
}

void
options_show_sandbox(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(sandboxes); i++)
		if (*(const unsigned *)from == sandboxes[i].parts)
			snprintf(out, n, "%s", sandboxes[i].name);
}

enum status
options_take_udp_port(const struct option_row *r, void *to, const char *arg)
{
	struct options *o = OPTIONS_OF(r, to);
	uint64_t port;

	o->has_udp = strcmp(arg, "none") != 0;
	o->has_udp_port = o->has_udp && strcmp(arg, "data") != 0;
	if (!o->has_udp_port)
		return OK;
	if (parse_u64(arg, 1, UINT16_MAX, &port) != OK)
		return E_MALFORMED;
	o->udp_port = (uint16_t)port;
	return OK;
}

void
options_show_udp_port(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct options *o = OPTIONS_SHOWN(r, from);

	if (!o->has_udp)
		snprintf(out, n, "none");
	else if (o->has_udp_port)
		snprintf(out, n, "%u", o->udp_port);
	else
		snprintf(out, n, "data");
}

enum status
options_take_http(const struct option_row *r, void *to, const char *arg)
{
	static const char unix_scheme[] = "unix:";
	const size_t n = strlen(unix_scheme);
	struct options *o = OPTIONS_OF(r, to);
	const char *why;

	o->has_http = strcmp(arg, "none") != 0;
	o->http_path[0] = '\0';
	if (!o->has_http)
		return OK;
	if (strncmp(arg, unix_scheme, n) != 0) {
		if (options_parse_url(to, arg, &why) == OK)
			return OK;
		return options_refuse("Invalid http URL \"%s\": %s", arg, why);
	}
	if (arg[n] != '/' || strlen(arg + n) >= sizeof(o->http_path))
		return options_refuse(
		    "Invalid http URL \"%s\": the path must be absolute, and "
		    "at most %zu bytes",
		    arg, sizeof(o->http_path) - 1);
	memcpy(o->http_path, arg + n, strlen(arg + n) + 1);
	return OK;
}

void
options_show_http(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct options *o = OPTIONS_SHOWN(r, from);

	if (!o->has_http)
		snprintf(out, n, "none");
	else if (o->http_path[0] != '\0')
		snprintf(out, n, "unix:%s", o->http_path);
	else
		listen_url_show(&o->http, o->http.port, out, n);
}

static enum status
add_http_host(struct http_hosts *h, const char *name, size_t len)
{
	if (len > HTTP_HOST_LEN || h->n == HTTP_HOSTS_MAX)
		return E_LIMIT;
	memcpy(h->names[h->n], name, len);
	h->names[h->n++][len] = '\0';
	return OK;
}

/* One, or several with blanks between them; more of the same place are added.
 */
enum status
options_take_http_host(const struct option_row *r, void *to, const char *arg)
{
	const struct options *o = OPTIONS_OF(r, to);
	const struct origin *last = &o->from[OPT_HTTP_HOST];
	const struct origin *here = options_origin();
	struct http_hosts *h = to;
	const char *word = arg + strspn(arg, " ");

	if (last->kind != here->kind || last->name != here->name)
		h->n = 0;
	if (*word == '\0')
		return E_MALFORMED;
	while (*word != '\0') {
		if (add_http_host(h, word, strcspn(word, " ")) != OK)
			return E_MALFORMED;
		word += strcspn(word, " ");
		word += strspn(word, " ");
	}
	return OK;
}

void
options_show_http_host(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	const struct http_hosts *h = from;
	size_t len = 0;

	for (unsigned i = 0; i < h->n; i++)
		len += (size_t)snprintf(
		    out + len, n - len, "%s%s", i > 0 ? " " : "", h->names[i]);
}

enum status
options_take_output(const struct option_row *r, void *to, const char *arg)
{
	if (arg[0] != '/')
		return options_refuse("Please specify an absolute path for -o, "
				      "--output PATH");
	return environment_path(to, arg);
}

void
options_show_output(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	snprintf(out, n, "%s", (const char *)from);
}

/* The number of -v on the command line; a number or a truth value elsewhere. */
enum status
options_take_verbose(const struct option_row *r, void *to, const char *arg)
{
	struct options *o = OPTIONS_OF(r, to);
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

void
options_show_verbose(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	snprintf(out, n, "%u", *(const unsigned *)from);
}

enum status
options_take_log_level(const struct option_row *r, void *to, const char *arg)
{
	for (enum log_level i = LOG_ERROR; i <= LOG_DEBUG; i++)
		if (strcmp(arg, log_level_name(i)) == 0) {
			*(int *)to = (int)i;
			return OK;
		}
	return E_MALFORMED;
}

/* The effective level, from this option, -v or the default. */
void
options_show_log_level(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	snprintf(out, n, "%s",
	    log_level_name(options_log_level(OPTIONS_SHOWN(r, from))));
}

enum status
options_take_log_format(const struct option_row *r, void *to, const char *arg)
{
	*(bool *)to = strcmp(arg, "json") == 0;
	return *(bool *)to || strcmp(arg, "text") == 0 ? OK : E_MALFORMED;
}

void
options_show_log_format(
    const struct option_row *r, const void *from, char *out, size_t n)
{
	snprintf(out, n, "%s", *(const bool *)from ? "json" : "text");
}

/* Orders; OPTIONS is struct options. */

enum status
options_take_config(const struct option_row *r, void *options, const char *arg)
{
	struct options *o = options;

	return *arg == '\0' ? E_MALFORMED : environment_path(o->config, arg);
}

enum status
options_take_check_config(
    const struct option_row *r, void *options, const char *arg)
{
	((struct options *)options)->check_config = true;
	return OK;
}

enum status
options_take_print_config(
    const struct option_row *r, void *options, const char *arg)
{
	((struct options *)options)->print_config = true;
	return OK;
}

enum status
options_take_help(const struct option_row *r, void *options, const char *arg)
{
	options_usage();
	((struct options *)options)->is_done = true;
	return OK;
}

enum status
options_take_version(const struct option_row *r, void *options, const char *arg)
{
	puts(PACKAGE_VERSION);
	((struct options *)options)->is_done = true;
	return OK;
}

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
