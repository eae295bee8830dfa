/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace record: records several guests of a broker at a time. A
 * guest is the agent's controller: its metadata and pages become a file
 * PREFIX.NAME.dat, and go to a sink, as those of a recorder do. */
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/parse.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/link.h"
#include "tools/ftrace/live.h"
#include "tools/ftrace/command_loop.h"
#include "tools/ftrace/message.h"
#include "tools/ftrace/page_feed.h"
#include "tools/ftrace/recording.h"
#include "tools/ftrace/token.h"

/* The longest silence of an agent that was told to end. */
#define GUEST_END_MS 10000
/* The most time for data in flight when a recording is stopped. */
#define GUEST_DRAIN_MS 300000
/* The memory of one guest, for dividing its pages and for its live session.
 * Pages of 4 KiB take 12 KiB for each CPU. */
#define GUEST_MEMORY_BYTES (128 << 20)
/* The most guests of one recording, and arguments for their agents. */
#define RECORD_GUESTS_MAX 64
#define RECORD_WORDS_MAX 256
#define FINISH_THREADS 2 /* files joined at a time */
#define DURATION_MAX_NS (100000 * NS_PER_S)
/* How often states that wait are checked. */
#define CHECK_MS 50

enum guest_state {
	GUEST_ASKING,	/* until the agent has answered */
	GUEST_METADATA, /* until it is whole */
	GUEST_RUNNING,
	GUEST_STOPPING,	 /* the agent was told to end */
	GUEST_ENDING,	 /* nothing more comes */
	GUEST_FINISHING, /* its files are joined */
	GUEST_LIVE_END,	 /* its live session is not done */
	GUEST_ENDED,
};

struct record_command;

struct guest {
	struct record_command *all;
	const char *name;
	enum guest_state state;
	struct link *link;
	struct event *timer;
	struct buf in; /* of stream 0 */
	struct message_resp resp;
	struct page_feed feed;
	uint32_t open; /* data streams that have not ended */
	/* For each stream: bytes not reported as taken. */
	uint32_t unreported[LINK_STREAMS_MAX];
	bool has_answered; /* with CLOSE_RESP */
	const char *why;   /* the reason of a failure; NULL: not known */
	uint64_t stopped_ns, received_ns;
};

struct record_command {
	/* options */
	const char *broker, *directory, *token_file, *clock;
	const char *words[RECORD_WORDS_MAX]; /* of the agent's "record" */
	unsigned n_words;
	bool has_no_file;
	struct live_options live;
	uint64_t duration_ns;

	struct command_loop loop;
	struct background *finishing; /* joins files */
	struct recordings recordings;
	char token[TOKEN_BYTES];
	struct guest *guests[RECORD_GUESTS_MAX];
	unsigned n, n_ended;
	bool has_failed; /* one of them */
};

static void
end_live(struct guest *g)
{
	g->state = GUEST_LIVE_END;
	command_loop_set_timer(g->timer, CHECK_MS * NS_PER_MS);
}

static void
on_joined(void *arg)
{
	struct guest *g = arg;

	if (g->feed.finished != OK)
		g->all->has_failed = true;
	end_live(g);
}

static void
join_files(struct guest *g)
{
	if (g->feed.recording == NULL) {
		end_live(g);
		return;
	}
	g->state = GUEST_FINISHING;
	page_feed_finish(&g->feed, g->all->finishing, on_joined, g);
}

/* Nothing more comes. */
static void
drain(struct guest *g)
{
	link_destroy(g->link);
	g->link = NULL;
	page_feed_end(&g->feed);
	g->stopped_ns = clock_now_ns();
	g->state = GUEST_ENDING;
	command_loop_set_timer(g->timer, CHECK_MS * NS_PER_MS);
}

static void
fail(struct guest *g, const char *why)
{
	log_error("guest=%s: %s", g->name, why);
	g->all->has_failed = true;
	drain(g);
}

static void
end_guest(struct guest *g)
{
	struct record_command *r = g->all;

	assert(g->state != GUEST_ENDED && r->n_ended < r->n);
	g->state = GUEST_ENDED;
	page_feed_free(&g->feed);
	if (++r->n_ended == r->n)
		(void)event_base_loopbreak(r->loop.base);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct guest *g = arg;
	const uint64_t now = clock_now_ns();

	(void)fd;
	(void)what;
	if (g->state == GUEST_STOPPING &&
	    (now - g->received_ns >= GUEST_END_MS * NS_PER_MS ||
		now - g->stopped_ns >= GUEST_DRAIN_MS * NS_PER_MS))
		fail(g, "its agent does not end the recording; pages may be "
			"missing");
	else if (g->state == GUEST_ENDING)
		join_files(g);
	else if (g->state == GUEST_LIVE_END &&
		 !page_feed_is_live(&g->feed, g->stopped_ns))
		end_guest(g);
	else if (g->state != GUEST_FINISHING)
		command_loop_set_timer(g->timer, CHECK_MS * NS_PER_MS);
}

/* Ends if the agent has ended, and all pages have come. */
static void
check_end(struct guest *g)
{
	if (g->has_answered && g->open == 0)
		drain(g);
}

static enum status
on_resp(struct guest *g, const struct tracecmd_message *m)
{
	enum status st = message_resp_decode(&g->resp, m);

	if (st == OK && (g->resp.flags & MESSAGE_FLAG_FIFO) != 0)
		return E_REFUSED; /* it was not requested */
	if (st != OK)
		return st;
	st = recording_create(
	    &g->feed.recording, &g->all->recordings, g->name, g->resp.cpus);
	if (st == OK)
		st = recording_create_files(g->feed.recording, UINT64_MAX);
	if (st != OK)
		g->why = "cannot create its files";
	g->state = GUEST_METADATA;
	return st;
}

static bool
guest_may_use(void *arg, uint64_t bytes)
{
	const struct guest *g = arg;

	return page_feed_memory(&g->feed) + bytes <= GUEST_MEMORY_BYTES;
}

/* Begins the pages, and opens their streams; the metadata is whole. */
static enum status
begin_pages(struct guest *g)
{
	struct record_command *r = g->all;
	const struct page_feed_config config = { .is_end = true,
		.page_size_max = DAT_PAGE_BYTES_MAX,
		.live = r->live.is_on ? &r->live : NULL,
		.base = r->loop.base,
		.may_use = guest_may_use,
		.arg = g };
	const enum status st = page_feed_begin(&g->feed, &config, &g->why);

	assert(g->state == GUEST_METADATA);
	if (st != OK)
		return st;
	for (uint32_t i = 0; i < g->resp.cpus; i++) {
		const uint8_t port[2] = { (uint8_t)(g->resp.ports[i] >> 8),
			(uint8_t)g->resp.ports[i] };

		link_frame(g->link, FRAME_OPEN, i + 1, port, sizeof(port));
	}
	g->open = g->resp.cpus;
	g->state = GUEST_RUNNING;
	log_notice("guest=%s: %u CPUs", g->name, g->resp.cpus);
	return OK;
}

static enum status
take_metadata(struct guest *g, const struct tracecmd_message *m)
{
	enum status st = OK;

	if (m->data.n > 0)
		st = recording_metadata(
		    g->feed.recording, m->data.p, m->data.n);
	if (st == E_LIMIT)
		g->why = "its metadata is too large";
	return st;
}

static enum status
on_message(struct guest *g, const struct tracecmd_message *m)
{
	if (g->state == GUEST_ASKING && m->number == MESSAGE_TRACE_RESP)
		return on_resp(g, m);
	if (g->state == GUEST_METADATA && m->number == MESSAGE_SEND_DATA)
		return take_metadata(g, m);
	if (g->state == GUEST_METADATA && m->number == MESSAGE_FIN_DATA)
		return begin_pages(g);
	if (g->state == GUEST_STOPPING && m->number == MESSAGE_CLOSE_RESP) {
		g->has_answered = true;
		return OK;
	}
	return E_PROTOCOL;
}

/* Handles bytes of the agent's control connection. */
static void
on_control(struct guest *g, const uint8_t *p, size_t n)
{
	enum status st = OK;
	struct tracecmd_message m;
	size_t used;

	buf_bytes(&g->in, p, n);
	while (st == OK && !g->in.bad) {
		st = message_parse(
		    &m, buf_data(&g->in), buf_len(&g->in), &used);
		if (st != OK)
			break;
		st = on_message(g, &m);
		buf_consume(&g->in, used);
	}
	if (g->in.bad)
		st = E_NOMEM;
	if (st == OK || st == E_MORE)
		check_end(g);
	else if (g->why != NULL)
		fail(g, g->why);
	else
		fail(g, status_blame(st) == BLAME_US
			    ? status_text(st)
			    : "invalid message from its agent");
}

static void
on_line(void *arg, char *line)
{
	const uint8_t port[2] = { 0, 0 };
	struct buf out = { 0 };
	struct guest *g = arg;

	if (strcmp(line, "ok") != 0) {
		fail(g, link_why(line));
		return;
	}
	link_frame(g->link, FRAME_OPEN, 0, port, sizeof(port));
	if (message_put_req(
		&out, clock_wall_ns(), g->all->words, g->all->n_words) != OK)
		fail(g, "too many arguments for its agent");
	else
		link_frame(
		    g->link, FRAME_DATA, 0, buf_data(&out), buf_len(&out));
	buf_free(&out);
}

/* Reports received bytes as taken, since they are used at once. */
static void
report_taken(struct guest *g, uint32_t stream, size_t n)
{
	g->unreported[stream] += (uint32_t)n;
	if (g->unreported[stream] < LINK_WINDOW / 4)
		return;
	link_taken(g->link, stream, g->unreported[stream]);
	g->unreported[stream] = 0;
}

/* A stock agent does not report the reason, but prints it. */
static const char *
ended_why(enum guest_state state)
{
	switch (state) {
	case GUEST_ASKING:
		return "its agent cannot be reached, or is busy";
	case GUEST_METADATA:
		return "its agent refused to record, and printed why on its "
		       "machine (an unknown event?)";
	default:
		return "its agent ended the recording by itself";
	}
}

static void
on_frame(void *arg, enum frame_kind kind, uint32_t stream, const uint8_t *p,
    size_t n)
{
	struct guest *g = arg;

	g->received_ns = clock_now_ns();
	if (kind == FRAME_TAKEN)
		return; /* little is sent */
	if (kind == FRAME_DATA) {
		report_taken(g, stream, n);
		if (stream == 0)
			on_control(g, p, n);
		else if ((g->state == GUEST_RUNNING ||
			     g->state == GUEST_STOPPING) &&
			 stream <= g->resp.cpus)
			page_feed_bytes(&g->feed, stream - 1, p, n);
	} else if (kind == FRAME_CLOSE && stream > 0) {
		g->open -= g->open > 0;
		check_end(g);
	} else if (kind != FRAME_CLOSE || !g->has_answered) {
		fail(g, ended_why(g->state));
	}
}

static void
on_ended(void *arg)
{
	const struct guest *g = arg;

	fail(arg, link_is_connected(g->link)
		      ? "the broker has ended the session or does not answer"
		      : "cannot reach the broker");
}

static const struct link_ops broker_ops = {
	.line = on_line, .frame = on_frame, .ended = on_ended
};

static void
guest_destroy(struct guest *g)
{
	if (g == NULL)
		return;
	link_destroy(g->link);
	page_feed_free(&g->feed);
	buf_free(&g->in);
	if (g->timer != NULL)
		event_free(g->timer);
	free(g);
}

/* Failures of the broker's connection end the guest later. */
static enum status
guest_create(struct guest **out, struct record_command *r, const char *name)
{
	struct guest *g = calloc(1, sizeof(*g));
	enum status st = E_NOMEM;

	*out = NULL;
	if (g == NULL)
		return E_NOMEM;
	g->all = r;
	g->name = g->feed.name = name;
	g->timer = evtimer_new(r->loop.base, on_timer, g);
	if (g->timer != NULL)
		st = link_dial(&g->link, &r->loop, r->broker, &broker_ops, g);
	if (st != OK) {
		guest_destroy(g);
		return st;
	}
	link_line(g->link, "reach %s %s\n", r->token, name);
	*out = g;
	return OK;
}

/* Tells the agent to end; the guest ends when all data in flight has come. */
static void
guest_stop(struct guest *g)
{
	struct buf out = { 0 };

	if (g->state > GUEST_RUNNING)
		return;
	if (g->state != GUEST_RUNNING) {
		fail(g, "stopped before it began");
		return;
	}
	message_put(&out, MESSAGE_CLOSE);
	link_frame(g->link, FRAME_DATA, 0, buf_data(&out), buf_len(&out));
	buf_free(&out);
	g->stopped_ns = g->received_ns = clock_now_ns();
	g->state = GUEST_STOPPING;
	command_loop_set_timer(g->timer, CHECK_MS * NS_PER_MS);
}

/* Stops all guests; a second signal ends the program. */
static void
on_stop(evutil_socket_t number, short what, void *arg)
{
	struct record_command *r = arg;

	(void)what;
	if (number >= 0)
		signal((int)number, SIG_DFL);
	for (unsigned i = 0; i < r->n; i++)
		guest_stop(r->guests[i]);
}

static enum status
take_event_name(const struct option_row *row, void *to, const char *arg)
{
	struct record_command *r = to;

	(void)row;
	if (*arg == '\0' || r->n_words + 2 > RECORD_WORDS_MAX)
		return E_MALFORMED;
	r->words[r->n_words++] = "-e";
	r->words[r->n_words++] = arg;
	return OK;
}

static enum status
take_prefix(const struct option_row *row, void *to, const char *arg)
{
	struct record_command *r = to;

	(void)row;
	r->recordings.prefix = arg;
	return token_is_name(arg) ? OK : E_MALFORMED;
}

#define OPTIONS_TABLE "tools/ftrace/record_options.tbl.h"
#define OPTIONS_STRUCT struct record_command
#include "common/option_rows.h"

static const struct option_table table = { COMMAND_TABLE("record",
    "NAME... -e EVENT --broker HOST:PORT --token-file FILE [OPTION]...\n"
    "Records guests that a broker knows, until it is stopped.\n") };

/* Joins the files of a recording that was killed. */
static void
on_left(void *arg, struct recording *take)
{
	(void)arg;
	if (recording_finish(take) == OK && *take->file != '\0')
		log_notice(
		    "%s: completed after an interrupted recording", take->file);
	recording_destroy(take);
}

/* Does what may fail before anything begins. */
static enum status
prepare(struct record_command *r)
{
	enum status st = command_start(
	    &r->loop, r->token, r->token_file, on_stop, r);

	if (st == OK)
		st = live_resolve(&r->live);
	if (st == OK && !r->has_no_file) {
		r->recordings.dir_fd = open(
		    r->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (r->recordings.dir_fd < 0) {
			log_errno(LOG_ERROR, "cannot open %s", r->directory);
			return E_IO;
		}
		recordings_find_left(&r->recordings, on_left, NULL);
	}
	if (st == OK)
		st = background_create(
		    &r->finishing, r->loop.base, FINISH_THREADS);
	return st;
}

static enum status
run(struct record_command *r, char **names, unsigned n)
{
	const struct timeval tv = command_loop_timeval(r->duration_ns);
	enum status st = OK;

	for (unsigned i = 0; i < n && st == OK; i++) {
		st = guest_create(&r->guests[i], r, names[i]);
		r->n += st == OK;
	}
	if (st != OK)
		on_stop(-1, 0, r);
	else if (r->duration_ns > 0)
		(void)event_base_once(
		    r->loop.base, -1, EV_TIMEOUT, on_stop, r, &tv);
	if (r->n_ended < r->n)
		(void)event_base_dispatch(r->loop.base);
	for (unsigned i = 0; i < r->n; i++)
		guest_destroy(r->guests[i]);
	return st;
}

int
command_record(int argc, char **argv)
{
	static struct record_command r = { .directory = ".",
		.clock = "mono",
		.words = { "-C" },
		.n_words = 2,
		.live.hold_ns = LIVE_HOLD_AUTO,
		.recordings = { .dir_fd = -1, .prefix = "trace" } };
	struct option_words words;
	enum status st;
	int status;

	status = command_parse_names(&table, &r, argc, argv,
	    COMMAND_NEEDS(EVENT) | COMMAND_NEEDS(BROKER) |
		COMMAND_NEEDS(TOKEN_FILE),
	    RECORD_GUESTS_MAX, &words);
	if (status != COMMAND_RUNS)
		return status;
	r.words[1] = r.clock;
	st = prepare(&r);
	if (st == OK)
		st = run(
		    &r, argv + words.first, (unsigned)(argc - words.first));
	background_destroy(r.finishing);
	command_loop_destroy(&r.loop);
	if (r.recordings.dir_fd >= 0)
		close(r.recordings.dir_fd);
	return st == OK && !r.has_failed ? 0 : 1;
}
