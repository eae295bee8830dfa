/* SPDX-License-Identifier: MIT */
#include "tools/ctl/check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/ctl/ctl.h"
#include "tools/ctl/text.h"

static void PRINTF_LIKE(3, 4)
    add_verdict(struct check *k, enum verdict v, const char *fmt, ...)
{
	const size_t at = strlen(k->reasons), left = sizeof(k->reasons) - at;
	va_list ap;

	k->verdict = v > k->verdict ? v : k->verdict;
	snprintf(k->reasons + at, left, "%s", at == 0 ? "" : "; ");
	va_start(ap, fmt);
	if (left > 2)
		vsnprintf(k->reasons + at + (at == 0 ? 0 : 2),
		    left - (at == 0 ? 0 : 2), fmt, ap);
	va_end(ap);
}

void
check_judge(struct check *k, const struct ctl_options *o,
    const struct relay_status *s, uint64_t lost)
{
	const double free = status_disk_percent(s);
	char text[TEXT_UNIT_MAX];

	*k = (struct check){ .verdict = CHECK_OK };
	if (!s->is_healthy)
		add_verdict(k, CHECK_CRITICAL, "a thread does not answer");
	if (!s->is_ready)
		add_verdict(k,
		    strcmp(s->reasons, "starting") == 0 ? CHECK_WARNING
							: CHECK_CRITICAL,
		    "not ready: %s", s->reasons);
	if (s->is_healthy && s->busy_threads > 0)
		add_verdict(k, CHECK_WARNING, "%u of %u threads busy",
		    s->busy_threads, s->threads);
	if (lost >= o->lost_warning || lost >= o->lost_critical)
		add_verdict(k,
		    lost >= o->lost_critical ? CHECK_CRITICAL : CHECK_WARNING,
		    "%s lost since the %s", text_count(text, lost, "packet"),
		    o->state == NULL ? "relay's start" : "last check");
	if (free >= 0 && (free < o->disk_warning || free < o->disk_critical))
		add_verdict(k,
		    free < o->disk_critical ? CHECK_CRITICAL : CHECK_WARNING,
		    "%.1f %% of the disk is free", free);
}

static enum status
read_note(const char *file, uint64_t *started, uint64_t *lost)
{
	FILE *f = fopen(file, "re");
	char line[128];
	enum status st = E_MALFORMED;

	if (f == NULL)
		return errno == ENOENT ? E_NOENT : E_IO;
	if (fgets(line, sizeof(line), f) != NULL &&
	    sscanf(line, "tracepulse-check %" SCNu64 " %" SCNu64, started,
		lost) == 2)
		st = OK;
	fclose(f);
	return st;
}

static enum status
write_note(const char *file, const struct relay_status *s)
{
	char temporary[PATH_MAX], line[128];
	bool is_written;
	int fd, n;

	if (snprintf(temporary, sizeof(temporary), "%s.new", file) >=
	    (int)sizeof(temporary)) {
		errno = ENAMETOOLONG;
		return E_IO;
	}
	fd = open(temporary,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return E_IO;
	n = snprintf(line, sizeof(line),
	    "tracepulse-check %" PRIu64 " %" PRIu64 "\n", s->started,
	    s->lost_packets);
	is_written = write(fd, line, (size_t)n) == n;
	is_written &= close(fd) == 0;
	return is_written && rename(temporary, file) == 0 ? OK : E_IO;
}

enum status
check_lost_since(const char *file, const struct relay_status *s, uint64_t *lost)
{
	uint64_t started = 0, before = 0;
	enum status st = read_note(file, &started, &before);

	if (st == E_NOENT)
		*lost = 0;
	else if (st != OK)
		return st;
	else if (started != s->started || before > s->lost_packets)
		*lost = s->lost_packets;
	else
		*lost = s->lost_packets - before;
	return write_note(file, s);
}

/* Print the line: reasons, state, and performance data for the monitoring
 * system. */
static int
print_verdict(const struct ctl *c, const struct check *k,
    const struct relay_status *s, uint64_t lost)
{
	static const char *const words[] = { "OK", "WARNING", "CRITICAL",
		"UNKNOWN" };
	const struct ctl_options *o = &c->options;
	char reasons[sizeof(k->reasons)], rate[TEXT_UNIT_MAX];
	char count[TEXT_UNIT_MAX];
	const double free = status_disk_percent(s);

	text_escape(reasons, sizeof(reasons), k->reasons);
	/* A bar begins the performance data. */
	for (char *p = reasons; (p = strchr(p, '|')) != NULL;)
		*p = '/';
	printf("TRACEPULSE %s - %s%s", words[k->verdict], reasons,
	    reasons[0] == '\0' ? "" : "; ");
	printf("%s, %s", text_count(count, s->sessions, "session"),
	    text_rate(rate, s->received_rate));
	printf(" | sessions=%" PRIu64 " viewers=%" PRIu64 " received=%" PRIu64
	       "B lost=%" PRIu64 ";%" PRIu64 ";",
	    s->sessions, s->viewers, s->received_bytes, lost,
	    o->lost_warning - 1);
	if (o->lost_critical != UINT64_MAX)
		printf("%" PRIu64, o->lost_critical - 1);
	if (free >= 0)
		printf(" disk_free=%.2f%%;%g:;%g:;0;100", free, o->disk_warning,
		    o->disk_critical);
	putchar('\n');
	return (int)k->verdict;
}

int
command_check(struct ctl *c)
{
	const char *file = c->options.state;
	struct relay_status s;
	struct check k;
	uint64_t lost;
	enum status st;
	int status;

	if (status_load(c, &s) != OK) {
		printf("TRACEPULSE CRITICAL - %s\n", fetch_error(c->fetch));
		return CHECK_CRITICAL;
	}
	lost = s.lost_packets;
	st = file == NULL ? OK : check_lost_since(file, &s, &lost);
	if (st == OK) {
		check_judge(&k, &c->options, &s, lost);
		status = print_verdict(c, &k, &s, lost);
	} else {
		printf("TRACEPULSE UNKNOWN - %s: %s\n", file,
		    st == E_MALFORMED
			? "not a state file of \"tracepulse check\""
			: strerror(errno));
		status = CHECK_UNKNOWN;
	}
	status_free(&s);
	return status;
}
