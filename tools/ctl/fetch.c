/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ctl/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "tools/ctl/ctl.h"

/* 7.85; before, the protocols were bits. */
#if LIBCURL_VERSION_NUM < 0x075500
#define CURLOPT_PROTOCOLS_STR CURLOPT_PROTOCOLS
#define PROTOCOLS (CURLPROTO_HTTP | CURLPROTO_HTTPS)
#else
#define PROTOCOLS "http,https"
#endif

struct fetch {
	const struct address *address;
	unsigned timeout_ms;
	CURL *curl;
	char why[CURL_ERROR_SIZE]; /* curl's message */
	char error[512];
	size_t header_bytes;
	bool is_too_long;
	struct buf body;
	bool (*is_over)(void *arg);
	void *over_arg;
	/* Of fetch_stream(). */
	bool (*take)(const char *p, size_t n, void *arg);
	void *take_arg;
	bool is_taken; /* TAKE returned false */
	long wanted;   /* status of the answer that goes to TAKE */
	/* Of the answer to fetch_look(). */
	char tag[FETCH_TAG_MAX];
	uint64_t size;
};

/* Bytes that jansson holds. */
static size_t held;

static void *
json_allocate(size_t n)
{
	void *p;

	if (n > FETCH_JSON_MAX || held > FETCH_JSON_MAX - n)
		return NULL;
	p = malloc(n);
	held += p == NULL ? 0 : malloc_usable_size(p);
	return p;
}

static void
json_release(void *p)
{
	held -= p == NULL ? 0 : malloc_usable_size(p);
	free(p);
}

void
fetch_free_text(char *text)
{
	json_release(text);
}

enum status
fetch_begin(void)
{
	json_set_alloc_funcs(json_allocate, json_release);
	return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? OK : E_NOMEM;
}

static void PRINTF_LIKE(2, 3) set_error(struct fetch *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->error, sizeof(f->error), fmt, ap);
	va_end(ap);
	/* It may have bytes of the server. */
	for (char *p = f->error; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
}

const char *
fetch_error(const struct fetch *f)
{
	return f->error;
}

/* The value of the header NAME, which ends with a colon, in LINE of N bytes;
 * copied to OUT. */
static bool
is_header(const char *line, size_t n, const char *name, char out[128])
{
	const size_t len = strlen(name);

	if (n <= len || strncasecmp(line, name, len) != 0)
		return false;
	snprintf(out, 128, "%.*s", (int)(n - len), line + len);
	return true;
}

static size_t
on_header(char *p, size_t size, size_t n, void *arg)
{
	struct fetch *f = arg;
	char text[128];

	f->header_bytes += size * n;
	if (is_header(p, size * n, "ETag:", text))
		(void)sscanf(text, " \"%63[0-9a-f-]\"", f->tag);
	if (is_header(p, size * n, "Content-Range:", text))
		(void)sscanf(text, " bytes 0-0/%" SCNu64, &f->size);
	if (f->header_bytes <= FETCH_HEADERS_MAX)
		return size * n;
	f->is_too_long = true;
	return 0;
}

static long
answer_code(const struct fetch *f)
{
	long code = 0;

	(void)curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &code);
	return code;
}

static size_t
on_body(char *p, size_t size, size_t n, void *arg)
{
	struct fetch *f = arg;

	n *= size;
	/* The body of an error is text, even if events were requested. */
	if (f->take != NULL && answer_code(f) == f->wanted) {
		f->is_taken = !f->take(p, n, f->take_arg);
		return f->is_taken ? 0 : n;
	}
	f->is_too_long = buf_len(&f->body) + n > FETCH_BODY_MAX;
	if (f->is_too_long)
		return 0;
	buf_bytes(&f->body, p, n);
	return f->body.bad ? 0 : n;
}

static int
on_progress(void *arg, curl_off_t total, curl_off_t now, curl_off_t up_total,
    curl_off_t up_now)
{
	struct fetch *f = arg;

	return f->is_over != NULL && f->is_over(f->over_arg);
}

static void
set_options(struct fetch *f)
{
	CURL *c = f->curl;

	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, f->why);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, PROTOCOLS);
	curl_easy_setopt(c, CURLOPT_USERAGENT, "tracepulse/" PACKAGE_VERSION);
	/* Ask a relay directly, whatever http_proxy says. */
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)FETCH_CONNECT_MS);
	curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, f);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, f);
	curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(c, CURLOPT_XFERINFODATA, f);
	if (f->address->unix_path[0] != '\0')
		curl_easy_setopt(
		    c, CURLOPT_UNIX_SOCKET_PATH, f->address->unix_path);
}

struct fetch *
fetch_create(const struct address *a, unsigned timeout_ms)
{
	struct fetch *f = ctl_memory(calloc(1, sizeof(*f)));

	f->address = a;
	f->timeout_ms = timeout_ms;
	f->curl = ctl_memory(curl_easy_init());
	set_options(f);
	return f;
}

void
fetch_destroy(struct fetch *f)
{
	if (f == NULL)
		return;
	curl_easy_cleanup(f->curl);
	buf_free(&f->body);
	free(f);
}

void
fetch_ask(struct fetch *f, bool (*is_over)(void *arg), void *arg)
{
	f->is_over = is_over;
	f->over_arg = arg;
}

static const char *
where(const struct fetch *f)
{
	return f->address->unix_path[0] != '\0' ? f->address->unix_path
						: f->address->base;
}

static long
os_error(const struct fetch *f)
{
	long error = 0;

	(void)curl_easy_getinfo(f->curl, CURLINFO_OS_ERRNO, &error);
	return error;
}

/* Did a program answer, but not by HTTP? lttng-sessiond, for instance, resets
 * connections to its agents' port. */
static bool
is_other_protocol(const struct fetch *f, CURLcode code)
{
	return code == CURLE_UNSUPPORTED_PROTOCOL ||
	       code == CURLE_WEIRD_SERVER_REPLY ||
	       (f->header_bytes == 0 &&
		   (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR));
}

/* The request was not completed. */
static enum status
failed(struct fetch *f, CURLcode code)
{
	if (code == CURLE_ABORTED_BY_CALLBACK || f->is_taken)
		return E_LATER;
	if (f->is_too_long) {
		set_error(f, "%s: the answer is too long to be from a relay",
		    where(f));
		return E_LIMIT;
	}
	if (f->body.bad || code == CURLE_OUT_OF_MEMORY) {
		set_error(f, "out of memory");
		return E_NOMEM;
	}
	if (code == CURLE_OPERATION_TIMEDOUT && f->header_bytes == 0)
		set_error(f,
		    "%s: no answer in time; does another program listen "
		    "here? set another address by --url or TRACEPULSE_URL",
		    where(f));
	else if (code == CURLE_COULDNT_CONNECT && os_error(f) == EACCES)
		set_error(f, "%s: no permission to connect", where(f));
	else if (code == CURLE_COULDNT_CONNECT)
		set_error(f,
		    "%s: no relay here (%s); is tracepulse-relayd running, "
		    "with this address as --http? set another address by --url "
		    "or TRACEPULSE_URL",
		    where(f), strerror((int)os_error(f)));
	else if (is_other_protocol(f, code))
		set_error(f,
		    "%s: another program answers here, not by HTTP: %s",
		    where(f), curl_easy_strerror(code));
	else
		set_error(f, "%s: %s", where(f),
		    f->why[0] != '\0' ? f->why : curl_easy_strerror(code));
	return E_IO;
}

static CURLcode
perform(struct fetch *f, const char *path)
{
	char url[2048];

	f->why[0] = f->error[0] = '\0';
	f->header_bytes = 0;
	f->is_too_long = f->is_taken = false;
	buf_truncate(&f->body, 0);
	if (snprintf(url, sizeof(url), "%s%s", f->address->base, path) >=
	    (int)sizeof(url))
		return CURLE_URL_MALFORMAT;
	if (curl_easy_setopt(f->curl, CURLOPT_URL, url) != CURLE_OK)
		return CURLE_OUT_OF_MEMORY;
	return curl_easy_perform(f->curl);
}

/* The body as an object; NULL: it is not one, see WHY. */
static json_t *
parse_body(const struct fetch *f, json_error_t *why)
{
	json_t *j = json_loadb((const char *)buf_data(&f->body),
	    buf_len(&f->body), JSON_REJECT_DUPLICATES, why);

	if (j == NULL || json_is_object(j))
		return j;
	json_decref(j);
	snprintf(why->text, sizeof(why->text), "not an object");
	return NULL;
}

/* An answer that is not 200: its text is in the member "error", or the body. */
static enum status
refused(struct fetch *f, long code)
{
	json_error_t why;
	json_t *j = parse_body(f, &why);
	const char *text = json_string_value(json_object_get(j, "error"));
	const size_t n = buf_len(&f->body);

	if (text != NULL)
		set_error(f, "%s: the relay says: %s", where(f), text);
	else if (n > 0 && n < 200 && buf_data(&f->body)[0] != '<')
		set_error(f, "%s: another program answers here: %ld, %.*s",
		    where(f), code, (int)n, (const char *)buf_data(&f->body));
	else
		set_error(
		    f, "%s: another program answers here: %ld", where(f), code);
	json_decref(j);
	return code == 404 ? E_NOENT : E_REFUSED;
}

enum status
fetch_json(struct fetch *f, const char *path, bool is_post, json_t **out)
{
	json_error_t why = { 0 };
	CURLcode code;

	*out = NULL;
	f->take = NULL;
	curl_easy_setopt(f->curl, CURLOPT_TIMEOUT_MS, (long)f->timeout_ms);
	if (is_post)
		curl_easy_setopt(f->curl, CURLOPT_POSTFIELDS, "");
	else
		curl_easy_setopt(f->curl, CURLOPT_HTTPGET, 1L);
	code = perform(f, path);
	if (code != CURLE_OK)
		return failed(f, code);
	if (answer_code(f) != 200)
		return refused(f, answer_code(f));
	*out = parse_body(f, &why);
	if (*out != NULL)
		return OK;
	set_error(f, "%s: another program answers here, not a relay: %s",
	    where(f), why.text);
	return E_MALFORMED;
}

enum status
fetch_refuse(struct fetch *f, const char *member)
{
	set_error(f,
	    "%s: another program answers here, not a relay: invalid member "
	    "\"%s\"",
	    where(f), member);
	return E_MALFORMED;
}

/* GET of PATH, with the header LINE unless it is NULL, whose body goes to TAKE
 * if its status is CODE. */
static enum status
stream(struct fetch *f, const char *path, const char *line, long wanted,
    fetch_take *take, void *arg)
{
	struct curl_slist *headers = NULL;
	CURLcode code;

	f->take = take;
	f->take_arg = arg;
	f->wanted = wanted;
	if (line != NULL)
		headers = curl_slist_append(NULL, line);
	curl_easy_setopt(f->curl, CURLOPT_HTTPGET, 1L);
	curl_easy_setopt(f->curl, CURLOPT_TIMEOUT_MS, 0L);
	curl_easy_setopt(f->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(
	    f->curl, CURLOPT_LOW_SPEED_TIME, (long)FETCH_SILENCE_S);
	curl_easy_setopt(f->curl, CURLOPT_HTTPHEADER, headers);
	code = perform(f, path);
	curl_easy_setopt(f->curl, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(headers);
	curl_easy_setopt(f->curl, CURLOPT_LOW_SPEED_TIME, 0L);
	if (code != CURLE_OK)
		return failed(f, code);
	return answer_code(f) == wanted ? OK : refused(f, answer_code(f));
}

enum status
fetch_stream(struct fetch *f, const char *path, const char *last_id,
    fetch_take *take, void *arg)
{
	char line[128];

	snprintf(line, sizeof(line), "Last-Event-ID: %s", last_id);
	return stream(
	    f, path, last_id[0] == '\0' ? NULL : line, 200, take, arg);
}

enum status
fetch_part(struct fetch *f, const char *path, const char *tag, uint64_t from,
    fetch_take *take, void *arg)
{
	char line[FETCH_TAG_MAX + 16], range[32];
	enum status st;

	snprintf(line, sizeof(line), "If-Range: \"%s\"", tag);
	snprintf(range, sizeof(range), "%" PRIu64 "-", from);
	if (from > 0)
		curl_easy_setopt(f->curl, CURLOPT_RANGE, range);
	st = stream(f, path, line, from > 0 ? 206 : 200, take, arg);
	curl_easy_setopt(f->curl, CURLOPT_RANGE, NULL);
	return st;
}

/* A byte, because the answer to HEAD would not say what is wrong. */
enum status
fetch_look(
    struct fetch *f, const char *path, char tag[FETCH_TAG_MAX], uint64_t *size)
{
	enum status st;

	f->tag[0] = tag[0] = '\0';
	f->size = 0;
	curl_easy_setopt(f->curl, CURLOPT_RANGE, "0-0");
	st = stream(f, path, NULL, 206, NULL, NULL);
	curl_easy_setopt(f->curl, CURLOPT_RANGE, NULL);
	if (st != OK)
		return st;
	if (f->tag[0] == '\0' || f->size == 0)
		return fetch_refuse(f, "ETag");
	snprintf(tag, FETCH_TAG_MAX, "%s", f->tag);
	*size = f->size;
	return OK;
}
