/* SPDX-License-Identifier: MIT */
#include "tools/capture/capture.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tools/capture/ctf_reader.h"
#include "tools/capture/privileges.h"
#include "tools/capture/report.h"
#include "tools/capture/sink.h"

struct conversion {
	const struct capture_options *options;
	struct sink *sink; /* NULL: no packet yet */
	struct report report;
	char error[SINK_ERROR_MAX]; /* if there is no sink */
};

static enum status
open_output(struct conversion *c)
{
	const struct capture_options *o = c->options;
	const struct sink_config config = { 0 };
	const struct sink_file_config file = { .uri = o->write,
		.compression = o->compression,
		.level = o->level };

	return sink_file_create(&c->sink, &config, &file, c->error);
}

/* The output is created for the first packet: a trace that is refused does not
 * overwrite an existing file. */
static enum status
write_record(void *conversion, const struct record *r, const uint8_t *bytes)
{
	struct conversion *c = conversion;
	enum status st = OK;

	if (c->sink == NULL)
		st = open_output(c);
	return st == OK ? c->sink->ops->record(c->sink, r, bytes) : st;
}

static void
on_signal(int number)
{
	(void)number;
	ctf_reader_interrupt();
}

static void
watch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal,
		.sa_flags = (int)SA_RESETHAND };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Packets written before a failure or a signal stay readable. */
static enum status
end_output(struct conversion *c, enum status st, const char *why)
{
	enum status finished = OK;

	if (st == OK && c->sink == NULL) {
		st = open_output(c); /* an empty one */
		why = "";
	}
	if (st != OK)
		report_error(why[0] != '\0'    ? why
			     : c->sink != NULL ? c->sink->error
					       : c->error);
	if (c->sink != NULL)
		finished = c->sink->ops->finish(c->sink);
	if (st == OK && finished != OK)
		report_error(c->sink->error);
	return st == OK ? finished : st;
}

int
from_ctf_run(const struct capture_options *o)
{
	struct conversion c = { .options = o };
	const struct ctf_reader_config config = {
		.dir = o->from_ctf, .record = write_record, .arg = &c
	};
	struct ctf_reader_counts counts;
	char why[CTF_READER_WHY_MAX];
	enum status st;

	if (privileges_keep_capture() != OK) {
		report_error(strerror(errno));
		return 1;
	}
	watch_signals();
	report_begin(&c.report);
	st = ctf_reader_run(&config, &counts, why);
	st = end_output(&c, st, why);
	if (c.sink != NULL && o->json)
		report_conversion_json(&c.report, &counts, c.sink);
	else if (c.sink != NULL && !o->quiet)
		report_conversion(&c.report, &counts, c.sink);
	sink_destroy(c.sink);
	return fflush(stdout) == 0 && st == OK ? 0 : 1;
}
