/* SPDX-License-Identifier: MIT */
/* tracepulse-ftrace record: several guests of a broker at a time. */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/parse.h"
#include "tools/ftrace/background.h"
#include "tools/ftrace/command.h"
#include "tools/ftrace/convert.h"
#include "tools/ftrace/dial.h"
#include "tools/ftrace/guest.h"
#include "tools/ftrace/link.h"
#include "tools/ftrace/live.h"
#include "tools/ftrace/stops.h"
#include "tools/ftrace/token.h"

#define PROGRAM "tracepulse-ftrace record"
#define OPTIONS_TABLE "tools/ftrace/record_options.tbl.h"
#include "tools/ftrace/command_options.h"

/* Guests of one recording, and words for their agents. */
#define RECORD_GUESTS_MAX 64
#define RECORD_WORDS_MAX 256
/* Files that are put together at a time. */
#define FINISH_THREADS 2
#define DURATION_MAX_NS (100000 * NS_PER_S)
#define HOLD_MAX_NS (3600 * NS_PER_S)

struct record {
	struct guest_config config;
	struct live_config live;
	struct recorder_sink_maker maker;
	const char *directory, *token_file;
	char token[TOKEN_BYTES];
	char *words[RECORD_WORDS_MAX];
	bool is_live;
	uint64_t duration_ns;
	struct guest *guests[RECORD_GUESTS_MAX];
	unsigned n, n_ended;
	bool is_good;
};

static void
on_guest_ended(void *arg, struct guest *g)
{
	struct record *r = arg;

	r->is_good &= guest_is_good(g);
	if (++r->n_ended == r->n)
		(void)event_base_loopbreak(r->config.base);
}

/* All of them; a second signal ends it at once. */
static void
on_stop(evutil_socket_t number, short what, void *arg)
{
	struct record *r = arg;

	(void)what;
	if (number >= 0)
		signal((int)number, SIG_DFL);
	for (unsigned i = 0; i < r->n; i++)
		guest_stop(r->guests[i]);
}

static bool
add_word(struct record *r, char *word)
{
	if (r->config.n_arguments == RECORD_WORDS_MAX)
		return false;
	r->words[r->config.n_arguments++] = word;
	return *word != '\0';
}

static bool
set_output(struct record *r, enum option_id id, const char *value)
{
	const char *why;

	switch (id) {
	case OPT_DIRECTORY:
		r->directory = value;
		return *value != '\0';
	case OPT_PREFIX:
		r->config.recordings.prefix = value;
		return token_is_name(value);
	case OPT_NO_FILE:
		r->config.is_kept = false;
		return true;
	case OPT_RELAY:
		r->is_live = true;
		return url_parse(&r->live.url, value, &why) == OK;
	case OPT_HOLD:
		return parse_duration(value, HOLD_MAX_NS, &r->live.hold_ns) ==
		       OK;
	case OPT_NAMES:
		return convert_options_names(value, &r->live.names);
	default:
		return false;
	}
}

static bool
set_option(void *arg, size_t i, const char *value)
{
	static char event[] = "-e";
	struct record *r = arg;

	switch ((enum option_id)i) {
	case OPT_EVENT:
		return add_word(r, event) &&
		       add_word(r, (char *)(uintptr_t)value);
	case OPT_CLOCK:
		r->words[1] = (char *)(uintptr_t)value;
		return *value != '\0';
	case OPT_BROKER:
		r->config.broker = value;
		return dial_is_address(value);
	case OPT_TOKEN_FILE:
		r->token_file = value;
		return *value != '\0';
	case OPT_DURATION:
		return parse_duration(
			   value, DURATION_MAX_NS, &r->duration_ns) == OK;
	default:
		return set_output(r, (enum option_id)i, value);
	}
}

static void
print_usage(void)
{
	printf("Usage: " PROGRAM " NAME... -e EVENT --broker HOST:PORT "
	       "--token-file FILE [OPTION]...\n"
	       "Records guests that a broker knows, until it is stopped.\n\n");
	usage_print_rows(rows, N_OPTIONS, 24);
}

/* What a recording that was killed has left. */
static void
on_left(void *arg, struct recording *take)
{
	(void)arg;
	if (recording_finish(take) == OK && *recording_file(take) != '\0')
		log_notice(
		    "%s: was left, and is finished", recording_file(take));
	recording_destroy(take);
}

/* What must be there before anything begins. */
static enum status
prepare(struct record *r)
{
	const char *why;
	enum status st = token_read(r->token, r->token_file);

	if (st == OK && r->is_live) {
		st = live_resolve(&r->live, &why);
		if (st != OK)
			log_error("the relay %s: %s", r->live.url.host, why);
		r->maker = (struct recorder_sink_maker){ live_make, &r->live };
		r->config.maker = &r->maker;
	}
	if (st != OK || !r->config.is_kept)
		return st;
	r->config.recordings.dir_fd = open(
	    r->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->config.recordings.dir_fd < 0) {
		log_errno(LOG_ERROR, "%s: cannot be opened", r->directory);
		return E_IO;
	}
	recordings_find_left(&r->config.recordings, on_left, NULL);
	return OK;
}

static int
run(struct record *r, char **names, unsigned n)
{
	struct stops stops = { 0 };
	const struct timeval tv = { .tv_sec = (time_t)(r->duration_ns /
						       NS_PER_S),
		.tv_usec = (suseconds_t)(r->duration_ns % NS_PER_S / 1000) };
	enum status st = stops_add(&stops, r->config.base, on_stop, r);

	for (unsigned i = 0; i < n && st == OK; i++) {
		st = guest_create(&r->guests[i], &r->config, names[i]);
		r->n += st == OK;
	}
	if (st != OK)
		on_stop(-1, 0, r);
	else if (r->duration_ns > 0)
		(void)event_base_once(
		    r->config.base, -1, EV_TIMEOUT, on_stop, r, &tv);
	if (r->n_ended < r->n)
		(void)event_base_dispatch(r->config.base);
	for (unsigned i = 0; i < r->n; i++)
		guest_destroy(r->guests[i]);
	stops_remove(&stops);
	return st == OK && r->is_good ? 0 : 1;
}

static int
record(struct record *r, char **names, unsigned n)
{
	int status = 1;

	r->config.base = event_base_new();
	if (r->config.base == NULL)
		return 1;
	r->config.token = r->token;
	if (prepare(r) == OK &&
	    background_create(&r->config.names, r->config.base, DIAL_THREADS) ==
		OK &&
	    background_create(
		&r->config.finishing, r->config.base, FINISH_THREADS) == OK)
		status = run(r, names, n);
	background_destroy(r->config.names);
	background_destroy(r->config.finishing);
	if (r->config.recordings.dir_fd >= 0)
		close(r->config.recordings.dir_fd);
	event_base_free(r->config.base);
	return status;
}

static bool
are_names(char **names, int n)
{
	bool is_ok = n > 0 && n <= RECORD_GUESTS_MAX;

	for (int i = 0; i < n && is_ok; i++)
		is_ok = token_is_name(names[i]);
	return is_ok;
}

int
command_record(int argc, char **argv)
{
	static char option[] = "-C", clock[] = "mono";
	static struct record r;
	int first, status;

	r = (struct record){ .directory = ".",
		.words = { option, clock },
		.live.hold_ns = LIVE_HOLD_AUTO,
		.is_good = true,
		.config = { .is_kept = true,
		    .recordings = { .dir_fd = -1, .prefix = "trace" },
		    .arguments = r.words,
		    .n_arguments = 2,
		    .ended = on_guest_ended,
		    .arg = &r } };
	log_set_level(LOG_NOTICE);
	if (!read_options(&r, argc, argv, &first, &status))
		return status;
	(void)command_raise_descriptors();
	if (!are_names(argv + first, argc - first) || r.config.broker == NULL ||
	    r.token_file == NULL || r.config.n_arguments == 2) {
		fprintf(stderr, PROGRAM ": names of guests, --event, --broker "
					"and --token-file are needed\n");
		return EXIT_USAGE;
	}
	return record(&r, argv + first, (unsigned)(argc - first));
}
