/* SPDX-License-Identifier: MIT */
/*
 * HTTP requests to the relay, and their answers. The server is not trusted:
 * whatever it can make long has a limit here. Main thread.
 */
#ifndef TOOLS_CTL_FETCH_H
#define TOOLS_CTL_FETCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/ctl/address.h"

/* One answer: 1,000 sessions are 1 MiB. */
#define FETCH_BODY_MAX (16u << 20)
/* Memory of jansson: 16 MiB of text like [[[[ would take 100 times as much.
 * 10,000 sessions take 40 MiB. */
#define FETCH_JSON_MAX ((size_t)256 << 20)
/* Bytes before the body. */
#define FETCH_HEADERS_MAX (64u << 10)
/* To connect; the caller limits the whole request. */
#define FETCH_CONNECT_MS 5000
/* A stream of events is dead after this silence: the relay sends a line every
 * 15 s. */
#define FETCH_SILENCE_S 40

struct fetch;

/* Once, before the first request. E_NOMEM. */
enum status fetch_begin(void) MUST_CHECK;

/* For requests to A, which is borrowed. */
struct fetch *fetch_create(const struct address *a, unsigned timeout_ms);
void fetch_destroy(struct fetch *f); /* NULL is fine */

/* While a request waits, IS_OVER is called about once a second; when it returns
 * true, the request ends with E_LATER. */
void fetch_ask(struct fetch *f, bool (*is_over)(void *arg), void *arg);

/*
 * GET of PATH, which begins with a slash: *OUT is an object of the caller's.
 * IS_POST: POST without a body. Not OK: fetch_error() says why. E_IO: no
 * answer; E_REFUSED: the relay answered with an error, E_NOENT: with 404;
 * E_MALFORMED: not an answer of a relay; E_LIMIT: too long; E_LATER: see
 * fetch_ask().
 */
enum status fetch_json(
    struct fetch *f, const char *path, bool is_post, json_t **out) MUST_CHECK;

/*
 * GET of PATH, whose body goes to TAKE in pieces until the other side ends it
 * (OK), or TAKE returns false (E_LATER). LAST_ID: the header Last-Event-ID;
 * empty: none. Other failures as above.
 */
typedef bool fetch_take(const char *p, size_t n, void *arg);
enum status fetch_stream(struct fetch *f, const char *path, const char *last_id,
    fetch_take *take, void *arg) MUST_CHECK;

/* The size of what is at PATH, and its ETag without quotes: letters a to f,
 * digits and "-". Failures as above. */
#define FETCH_TAG_MAX 64
enum status fetch_look(struct fetch *f, const char *path,
    char tag[FETCH_TAG_MAX], uint64_t *size) MUST_CHECK;
/* As fetch_stream(): its bytes FROM on, if it still has that TAG. */
enum status fetch_part(struct fetch *f, const char *path, const char *tag,
    uint64_t from, fetch_take *take, void *arg) MUST_CHECK;

/* Free the result of json_dumps(). */
void fetch_free_text(char *text);

/* MEMBER of the answer has another type or is missing: sets fetch_error().
 * Returns E_MALFORMED. */
enum status fetch_refuse(struct fetch *f, const char *member);

/* The last failure: one line, safe to show on a terminal. */
const char *fetch_error(const struct fetch *f);

#endif
