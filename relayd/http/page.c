/* SPDX-License-Identifier: MIT */
#include "relayd/http/page.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "page_html.h" /* made by embed.sh */
#include "relayd/http/figures.h"
#include "relayd/http/page_rows.h"
#include "relayd/http/text.h"
#include "relayd/http/view.h"

#define NONE "–"
/* The largest name and arguments between the braces. */
#define FILL_ROOM 128
/* The height of a line of rates, and its width: a second each. */
#define SPARK_FLOOR 29.5
#define SPARK_HEIGHT 27.0

const char *
page_csp(void)
{
	return page_policy;
}

/* The member at PATH, "a.b.c"; NULL: it is not there. */
static const json_t *
at(const json_t *j, const char *path)
{
	char name[FILL_ROOM];
	size_t n;

	for (; j != NULL && *path != '\0'; path += n + (path[n] == '.')) {
		n = strcspn(path, ".");
		assert(n < sizeof(name));
		memcpy(name, path, n);
		name[n] = '\0';
		j = json_object_get(j, name);
	}
	return j;
}

/* A number, or the sum of an object's. */
static double
total(const json_t *j)
{
	json_t *copy = (json_t *)(uintptr_t)j, *member;
	const char *name;
	double n = 0;

	if (!json_is_object(j))
		return json_number_value(j);
	json_object_foreach(copy, name, member) n += total(member);
	return n;
}

static void
fill_text(struct buf *b, const struct page *p, const char *path)
{
	const char *text = json_string_value(at(p->status, path));

	text_html(b, text == NULL ? NONE : text);
}

static void
fill_count(struct buf *b, const struct page *p, const char *path)
{
	figures_count(b, (uint64_t)total(at(p->status, path)));
}

static void
fill_number(struct buf *b, const struct page *p, const char *path)
{
	figures_number(b, total(at(p->status, path)));
}

static void
fill_bytes(struct buf *b, const struct page *p, const char *path)
{
	const json_t *j = at(p->status, path);

	if (j == NULL)
		text_add(b, NONE);
	else
		figures_bytes(b, total(j));
}

static void
fill_rate(struct buf *b, const struct page *p, const char *path)
{
	fill_bytes(b, p, path);
	text_add(b, "/s");
}

static void
fill_duration(struct buf *b, const struct page *p, const char *path)
{
	figures_duration(b, (uint64_t)total(at(p->status, path)));
}

/* What is used of PATHS, "FREE TOTAL", in hundredths; less than 0: unknown. */
static double
used(const struct page *p, const char *paths)
{
	const char *second = strchr(paths, ' ');
	char first[FILL_ROOM];
	double all;

	assert(second != NULL);
	snprintf(first, sizeof(first), "%.*s", (int)(second - paths), paths);
	all = total(at(p->status, second + 1));
	return all <= 0 ? -1 : 100 * (1 - total(at(p->status, first)) / all);
}

static void
fill_used(struct buf *b, const struct page *p, const char *paths)
{
	const double part = used(p, paths);

	if (part < 0)
		text_add(b, NONE);
	else
		text_add(b, "%.1f %%", part);
}

static void
fill_bar(struct buf *b, const struct page *p, const char *paths)
{
	const double part = used(p, paths);

	text_add(b, "<rect width=\"%.1f\" height=\"1\"/>", part < 0 ? 0 : part);
}

/* What is used of what is allowed, if there is such a limit. */
static void
fill_use(struct buf *b, const struct page *p, const char *path)
{
	fill_bytes(b, p, path);
	if (total(at(p->status, "disk.limits.max_use")) <= 0)
		return;
	text_add(b, " of ");
	fill_bytes(b, p, "disk.limits.max_use");
}

/* As full() of the script. */
static void
fill_full(struct buf *b, const struct page *p, const char *path)
{
	const json_t *j = at(p->status, path);

	if (j == NULL) {
		text_add(b, NONE);
	} else if (json_is_null(j)) {
		text_add(b, "not filling up");
	} else if (total(j) > 365 * 86400.0) {
		text_add(b, "more than a year");
	} else {
		text_add(b, "about ");
		figures_duration(b, (uint64_t)total(j));
	}
}

static void
fill_causes(struct buf *b, const struct page *p, const char *path)
{
	json_t *all = (json_t *)(uintptr_t)at(p->status, path), *n;
	const char *cause, *between = "";

	json_object_foreach(all, cause, n)
	{
		if (total(n) <= 0)
			continue;
		text_add(b, "%s%s ", between, cause);
		figures_count(b, (uint64_t)total(n));
		between = ", ";
	}
	if (*between == '\0')
		text_add(b, "none");
}

static enum view_rate
rate_of(const char *name)
{
	unsigned i = 0;

	while (i < RATES && strcmp(view_rate_names[i], name) != 0)
		i++;
	assert(i < RATES);
	return (enum view_rate)i;
}

static void
points(struct buf *b, const struct history *h, enum view_rate rate)
{
	const double most = (double)history_most(h, rate);
	double y;

	for (unsigned i = 0; i < h->n; i++) {
		y = most > 0
			? SPARK_HEIGHT * (double)history_at(h, i, rate) / most
			: 0;
		text_add(b, "%u,%.1f ", HISTORY_S - h->n + 1 + i,
		    SPARK_FLOOR - 0.5 - y);
	}
}

static void
fill_spark(struct buf *b, const struct page *p, const char *name)
{
	const enum view_rate rate = rate_of(name);
	const unsigned from = HISTORY_S - p->history->n + 1;

	text_add(b,
	    "<line x1=\"0\" y1=\"%.1f\" x2=\"%u\" y2=\"%.1f\"/>"
	    "<polygon points=\"%u,%.1f ",
	    SPARK_FLOOR, HISTORY_S, SPARK_FLOOR, from, SPARK_FLOOR);
	points(b, p->history, rate);
	text_add(b, "%u,%.1f\"/><polyline points=\"", HISTORY_S, SPARK_FLOOR);
	points(b, p->history, rate);
	text_add(b, "\"/>");
}

static void
most_in(struct buf *b, const struct page *p)
{
	text_add(b, "Most in ");
	figures_duration(b, p->history->n == 0 ? 1 : p->history->n);
	text_add(b, ": ");
}

static void
fill_most_rate(struct buf *b, const struct page *p, const char *name)
{
	most_in(b, p);
	figures_bytes(b, (double)history_most(p->history, rate_of(name)));
	text_add(b, "/s");
}

static void
fill_most_number(struct buf *b, const struct page *p, const char *name)
{
	most_in(b, p);
	figures_count(b, history_most(p->history, rate_of(name)));
	text_add(b, "/s");
}

static void
fill_state(struct buf *b, const struct page *p, const char *nothing)
{
	static const char *const names[][2] = { { "ready", "Ready" },
		{ "losing", "Losing packets" }, { "not_ready", "Not ready" },
		{ "starting", "Starting" }, { "draining", "Stopping" } };
	const char *state = json_string_value(at(p->status, "state"));

	for (size_t i = 0; i < ARRAY_LEN(names) && state != NULL; i++)
		if (strcmp(names[i][0], state) == 0)
			text_add(b, "%s", names[i][1]);
}

static void
fill_now(struct buf *b, const struct page *p, const char *nothing)
{
	const time_t now = (time_t)p->now_s;
	char text[64] = "";
	struct tm tm;

	if (gmtime_r(&now, &tm) != NULL)
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm);
	text_add(b, "%s", text);
}

static void
fill_threads(struct buf *b, const struct page *p, const char *nothing)
{
	const json_t *all = at(p->status, "threads");
	const char *state;
	unsigned busy = 0;

	for (size_t i = 0; i < json_array_size(all); i++) {
		state = json_string_value(at(json_array_get(all, i), "state"));
		busy += state == NULL || strcmp(state, "ok") != 0;
	}
	figures_count(b, json_array_size(all));
	if (busy == 0)
		text_add(b, ", all answer");
	else
		text_add(b, ", %u busy", busy);
}

static void
fill_ports(struct buf *b, const struct page *p, const char *nothing)
{
	static const char *const ports[][2] = { { "control", "Control" },
		{ "data", "Data" }, { "live", "Viewers" }, { "http", "HTTP" } };
	const json_t *open = at(p->status, "totals.connections");
	const json_t *all = at(p->status, "listeners"), *one;
	const char *host;

	for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
		one = at(all, ports[i][0]);
		host = json_string_value(at(one, "host"));
		if (host == NULL || total(at(one, "port")) <= 0)
			continue;
		text_add(b, "<div><dt>%s</dt><dd>", ports[i][1]);
		text_html(b, host);
		text_add(b, ":%.0f, ", total(at(one, "port")));
		figures_count(b, (uint64_t)total(at(open, ports[i][0])));
		text_add(b, " open</dd></div>\n");
	}
}

static const struct {
	const char *name;
	/* ARGS: paths in the status, or names of rates. */
	void (*fill)(struct buf *b, const struct page *p, const char *args);
} fills[] = {
	{ "text", fill_text },
	{ "count", fill_count },
	{ "number", fill_number },
	{ "bytes", fill_bytes },
	{ "rate", fill_rate },
	{ "duration", fill_duration },
	{ "used", fill_used },
	{ "bar", fill_bar },
	{ "use", fill_use },
	{ "full", fill_full },
	{ "causes", fill_causes },
	{ "spark", fill_spark },
	{ "most-rate", fill_most_rate },
	{ "most-number", fill_most_number },
	{ "state", fill_state },
	{ "now", fill_now },
	{ "threads", fill_threads },
	{ "ports", fill_ports },
	{ "sessions", page_rows },
	{ "pages", page_links },
};

static void
fill(struct buf *b, const struct page *p, const char *what, size_t n)
{
	const size_t name = strcspn(what, " }");
	char args[FILL_ROOM] = "";
	size_t i = 0;

	assert(n < sizeof(args));
	if (name < n)
		snprintf(args, sizeof(args), "%.*s", (int)(n - name - 1),
		    what + name + 1);
	while (i < ARRAY_LEN(fills) && (strlen(fills[i].name) != name ||
					   memcmp(fills[i].name, what, name)))
		i++;
	assert(i < ARRAY_LEN(fills));
	fills[i].fill(b, p, args);
}

void
page_write(struct buf *b, const struct page *p)
{
	const char *from = (const char *)page_html, *open, *close;
	const char *const end = from + sizeof(page_html);

	while ((open = memmem(from, (size_t)(end - from), "{{", 2)) != NULL) {
		close = memmem(open, (size_t)(end - open), "}}", 2);
		assert(close != NULL);
		buf_bytes(b, from, (size_t)(open - from));
		fill(b, p, open + 2, (size_t)(close - open - 2));
		from = close + 2;
	}
	buf_bytes(b, from, (size_t)(end - from));
}
