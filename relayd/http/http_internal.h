/* SPDX-License-Identifier: MIT */
/* What the files of the HTTP thread share: http.c and http_*.c. No other file
 * includes it. */
#ifndef RELAYD_HTTP_HTTP_INTERNAL_H
#define RELAYD_HTTP_HTTP_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>

#include "common/account.h"
#include "common/list.h"
#include "common/publish.h"
#include "relayd/http/recent.h"
#include "relayd/http/http.h"
#include "relayd/http/json.h"
#include "relayd/http/server.h"
#include "relayd/http/view.h"
#include "relayd/net/loop.h"
#include "relayd/process/options.h"
#include "relayd/process/unix_socket.h"
#include "relayd/stats/stored_info.h"

/* Events that the HTTP thread has not taken; more are dropped. */
#define EVENTS_WAITING_MAX 10000
/* How often a listener to events is sent a comment, so that a broken connection
 * is noticed. */
#define EVENTS_BEAT_S 15
/* A thread that has not answered after this time is shown as busy. */
#define ASK_LIMIT_NS (1 * NS_PER_S)
/* The same for the retention thread. A deletion is answered with what was done
 * by then. */
#define STORED_LIMIT_NS (9 * NS_PER_S)
/* Requests for which other threads are asked at a time, and those that wait for
 * that; the same again for lists of the retention thread. An answer may have
 * megabytes, and takes a thread a millisecond. */
#define QUESTIONS_ASKED_MAX 2
#define QUESTIONS_WAITING_MAX 100
/* Downloads at a time. Each has a list of the files of its trace in memory
 * (ARCHIVE_FILES_MAX); a trace is read at the speed of the disk, however many
 * read it. */
#define DOWNLOADS_MAX 4
/* The threads that are asked: those of struct threads, and the retention
 * thread. */
#define QUESTION_RETENTION THREADS_MAX
#define QUESTION_THREADS (THREADS_MAX + 1)

struct download;
struct event;
struct evhttp_request;
struct evkeyvalq;

/* A port of HTTP: TCP or a Unix socket. */
struct http_face {
	struct http *http;
	struct server *server; /* NULL: none */
	bool is_admin;
	struct unix_socket socket; /* unless it is TCP */
};

/* What a reload may change; the HTTP thread has a copy. */
struct http_settings {
	bool metrics_per_session, has_download;
	struct http_hosts hosts;
};

struct question_queue {
	struct list waiting;
	unsigned n_waiting, n_asked;
};

struct http {
	struct http_config config;
	struct http_settings settings;
	struct loop loop;
	pthread_t thread;
	bool has_thread;
	struct http_face port, admin;
	uint16_t tcp_port;
	struct view view;
	struct published phase; /* enum view_phase; DRAINING by a message */
	int drained_fd;
	struct event *tick;
	unsigned ticks;
	/* Events. */
	struct events events;
	struct account events_waiting;
	bool is_memory_short, is_disk_short;
	struct closed closed;
	/* Questions that threads were asked, and those that wait: for workers,
	 * and for the retention thread. */
	struct list questions;
	struct question_queue queues[2];
	struct event *next_question; /* asks those that wait */
	uint64_t last_question;
	/* It has not answered in time, and is not asked until it has. */
	bool is_late[QUESTION_THREADS];
	struct loop *retention; /* NULL: none, or draining */
	unsigned n_downloads;
	bool awaits_summary;
};

/* A request that waits for answers of other threads. */
struct question {
	struct list node;
	struct http *http;
	uint64_t number;
	struct evhttp_request *request;
	struct event *limit;
	unsigned n_waiting;
	bool is_busy[QUESTION_THREADS];
	struct info *answers[THREADS_MAX]; /* NULL: none */
	/* All have answered, or the time is over: answer the request. At most
	 * one of each queue is called in a cycle of the loop. */
	void (*done)(struct http *h, struct question *q);
	/* The request to workers and live workers. */
	struct info asked;
	bool wants_active, wants_closed;
	/* To the retention thread instead: the request, then the answer. A
	 * small one does not wait for others. */
	bool is_stored, is_small;
	struct stored_info *stored;
	struct download *download; /* that asks; borrowed */
};

/* http_questions.c */
#define API_NO_MEMORY "out of memory"
void api_answer_buf(
    struct evhttp_request *r, int code, const char *type, struct buf *take_b);
void api_answer_json(struct evhttp_request *r, struct buf *take_b);
void api_answer_error(struct evhttp_request *r, int code, const char *text);
/* The query of R; free it with evhttp_clear_headers(). False: it is malformed,
 * and there is nothing to free. */
bool query_parse(
    struct evkeyvalq *query, const struct evhttp_request *r) MUST_CHECK;
/* *OUT is unchanged without a NAME. E_MALFORMED. */
enum status query_number(const struct evkeyvalq *query, const char *name,
    uint64_t min, uint64_t max, uint64_t *out) MUST_CHECK;
/* "limit", "after" and "host" of a list, as far as they are given. Returns NULL
 * or an error. */
const char *query_list(const struct evkeyvalq *query, unsigned *limit,
    uint64_t *after, char *host, size_t host_size) MUST_CHECK;
/* For ask(), without a request. NULL: out of memory. */
struct question *question_create(
    struct http *h, void (*done)(struct http *h, struct question *q));
/* The same with R. NULL: R was answered. */
struct question *question_new(struct http *h, struct evhttp_request *r,
    void (*done)(struct http *h, struct question *q));
void question_destroy(struct question *q);
/* Ask the threads soon; none if Q wants only closed sessions. TAKE_Q is a
 * question of question_new(). */
void ask(struct question *take_q);
enum status ask_open(struct http *h) MUST_CHECK; /* E_NOMEM */
void ask_answered(struct http *h, struct info *take_i);
void stored_answered(struct http *h, struct stored_info *take_i);
/* Send a question to the retention thread. False: out of memory. */
bool stored_post(struct http *h, struct stored_info *take_i) MUST_CHECK;
/* Answer all questions with the answers that have arrived. */
void ask_no_more(struct http *h);
void ask_forget(struct http *h);

/* http_stored.c */
void stored_serve(struct http *h, struct evhttp_request *r);
void vacuum_serve(struct http *h, struct evhttp_request *r);
void keep_serve(struct http *h, struct evhttp_request *r);
void stored_take_summary(struct http *h, struct stored_info *take_i);
/* Once a second: ask for what the view shows of it. */
void stored_tick(struct http *h);

/* http_download.c */
void download_serve(
    struct http_face *f, struct evhttp_request *r, const char *path);

/* http_sessions.c */
void sessions_serve(struct http *h, struct evhttp_request *r);
void session_serve(struct http *h, struct evhttp_request *r, const char *id);
void sessions_serve_metrics(struct http *h, struct evhttp_request *r);

/* http_api.c; FACE is a struct http_face. */
void api_serve(struct evhttp_request *r, void *face);
/* Record an event and send it to listeners. TAKE_DATA is a line of JSON; NULL:
 * out of memory. */
void api_send_event(
    struct http *h, const char *kind, uint64_t session, char *take_data);
/* Send listeners a comment. */
void api_send_comment(struct http *h);

#endif
