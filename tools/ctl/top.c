/* SPDX-License-Identifier: MIT */
/* tracepulse top */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/ctl/ctl.h"
#include "tools/ctl/screen.h"
#include "tools/ctl/session.h"
#include "tools/ctl/status.h"
#include "tools/ctl/text_table.h"
#include "tools/ctl/text.h"
#include "tools/ctl/top.h"

/* Lines above the table, and below it. */
#define LINES_ABOVE 6
#define LINES_BELOW 1

struct top {
	struct ctl *c;
	bool is_screen, is_over;
	enum sort_key key;
	size_t first; /* first row that is shown */
	struct relay_status status;
	struct sessions now;
	uint64_t asked_ns; /* when NOW was; 0: never */
	uint64_t took_ns;
	bool is_lost; /* the relay did not answer; fetch_error() says why */
};

static void
cell_rate(struct text_table *t, struct json_answer *a, const json_t *j,
    const char *member)
{
	const double rate = answer_real(a, j, member);
	char text[TEXT_UNIT_MAX];

	text_table_add(t, TONE_PLAIN, rate < 0 ? "-" : text_rate(text, rate));
}

static const struct column top_columns[] = {
	{ "NUMBER", COLUMN_NUMBER, 6, "id", table_cell_number },
	{ "HOST", COLUMN_TEXT, 3, "host", table_cell_text },
	{ "NAME", COLUMN_TEXT, 0, "name", table_cell_text },
	{ "RATE", COLUMN_NUMBER, 0, "rate", cell_rate },
	{ "RECEIVED", COLUMN_NUMBER, 2, "received_bytes", table_cell_bytes },
	{ "HELD", COLUMN_NUMBER, 5, "held_bytes", table_cell_bytes },
	{ "VIEWERS", COLUMN_NUMBER, 4, "open_viewers", table_cell_number },
	{ "LOST", COLUMN_NUMBER, 0, "lost_packets", table_cell_lost },
	{ "AGE", COLUMN_NUMBER, 1, "duration_seconds", table_cell_duration },
};

void
top_rates(struct sessions *now, const struct sessions *before, uint64_t ns)
{
	size_t k = 0;

	for (size_t i = 0; i < now->n && ns > 0; i++) {
		struct relay_session *s = &now->all[i];

		while (k < before->n && before->all[k].id < s->id)
			k++;
		/* A new session received everything since then. */
		if (k == before->n || before->all[k].id != s->id)
			s->rate = (double)s->received_bytes * NS_PER_S /
				  (double)ns;
		else if (s->received_bytes >= before->all[k].received_bytes)
			s->rate = (double)(s->received_bytes -
					   before->all[k].received_bytes) *
				  NS_PER_S / (double)ns;
	}
}

/* The value to sort by. */
static double
value_of(const struct relay_session *s, enum sort_key key)
{
	switch (key) {
	case SORT_RATE:
		return s->rate;
	case SORT_RECEIVED:
		return (double)s->received_bytes;
	case SORT_LOST:
		return (double)s->lost_packets;
	case SORT_VIEWERS:
		return (double)s->viewers;
	case SORT_HELD:
		return (double)s->held_bytes;
	case SORT_AGE:
		return s->duration;
	default:
		return 0;
	}
}

static int
compare(const void *a, const void *b, void *key)
{
	const struct relay_session *const *x = a, *const *y = b;
	const enum sort_key k = *(const enum sort_key *)key;
	const double u = value_of(*x, k), v = value_of(*y, k);
	int n = strcmp((*x)->name, (*y)->name);

	if (u != v)
		return u > v ? -1 : 1;
	n = n != 0 ? n : strcmp((*x)->host, (*y)->host);
	return n != 0 ? n : ((*x)->id < (*y)->id ? -1 : 1);
}

const struct relay_session **
top_order(const struct sessions *s, enum sort_key key)
{
	const struct relay_session **order = ctl_memory(
	    calloc(s->n + 1, sizeof(*order)));

	for (size_t i = 0; i < s->n; i++)
		order[i] = &s->all[i];
	qsort_r(order, s->n, sizeof(*order), compare, &key);
	return order;
}

static void
act_on_key(struct top *t, int key)
{
	static const char letters[N_SORT_KEYS + 1] = "rblvhan";
	const char *at = key > 0 && key < 128 ? strchr(letters, key) : NULL;
	const size_t page = t->c->terminal.rows > LINES_ABOVE + LINES_BELOW + 2
				? t->c->terminal.rows - LINES_ABOVE -
				      LINES_BELOW - 1
				: 1;

	if (key == 'q' || key == 'Q' || key == '\003')
		t->is_over = true;
	else if (key == KEY_DOWN || key == 'j')
		t->first++;
	else if (key == KEY_UP || key == 'k')
		t->first -= t->first > 0;
	else if (key == KEY_PAGE_DOWN || key == ' ')
		t->first += page;
	else if (key == KEY_PAGE_UP)
		t->first -= t->first < page ? t->first : page;
	else if (key == KEY_HOME)
		t->first = 0;
	else if (at != NULL)
		t->key = (enum sort_key)(at - letters);
}

static bool
is_ending(const struct top *t)
{
	return t->is_over || (t->is_screen && screen_is_over());
}

/* Keys also work while the relay is waited for. */
static bool
is_top_over(void *arg)
{
	struct top *t = arg;
	int key;

	if (!t->is_screen)
		return false;
	while ((key = screen_key(0)) != 0)
		act_on_key(t, key);
	return is_ending(t);
}

static void
ask(struct top *t)
{
	const uint64_t begin = clock_now_ns();
	struct relay_status status;
	struct sessions now;

	t->is_lost = status_load(t->c, &status) != OK;
	if (t->is_lost)
		return;
	if (sessions_load(t->c, "active", t->c->options.host, &now) != OK) {
		t->is_lost = true;
		status_free(&status);
		return;
	}
	t->took_ns = clock_now_ns() - begin;
	top_rates(&now, &t->now, t->asked_ns == 0 ? 0 : begin - t->asked_ns);
	t->asked_ns = begin;
	status_free(&t->status);
	sessions_free(&t->now);
	t->status = status;
	t->now = now;
}

/* Print one line, cut at the edge of the terminal. */
static void PRINTF_LIKE(3, 4)
    put_line(const struct terminal *to, enum tone tone, const char *fmt, ...)
{
	char text[512], escaped[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_escape(escaped, sizeof(escaped), text);
	if (to->columns > 0)
		escaped[text_fit(escaped, to->columns)] = '\0';
	terminal_put(to, tone, escaped);
	putc('\n', to->out);
}

static void
put_state(const struct top *t, const struct terminal *to)
{
	const struct relay_status *s = &t->status;
	char text[TEXT_UNIT_MAX], now[TEXT_UNIT_MAX];

	text_time(now, clock_wall_s());
	if (t->is_lost)
		put_line(to, TONE_BAD, "%s", fetch_error(t->c->fetch));
	else if (!s->is_ready || !s->is_healthy)
		put_line(to, TONE_BAD, "%s  not %s: %s", now,
		    s->is_healthy ? "ready" : "healthy", s->reasons);
	else
		put_line(to, TONE_GOOD, "%s  ready, up %s", now,
		    text_duration(text, (double)s->uptime));
}

static void
put_summary(const struct top *t, const struct terminal *to)
{
	const struct relay_status *s = &t->status;
	char a[TEXT_UNIT_MAX], b[TEXT_UNIT_MAX];

	put_state(t, to);
	put_line(to, TONE_PLAIN,
	    "sessions %" PRIu64 ", streams %" PRIu64 ", viewers %" PRIu64,
	    s->sessions, s->streams, s->viewers);
	put_line(to, TONE_PLAIN, "received %s, to viewers %s",
	    text_rate(a, s->received_rate), text_rate(b, s->sent_rate));
	put_line(to, s->lost_rate > 0 ? TONE_BAD : TONE_PLAIN, "lost %s, %s/s",
	    text_count(b, s->lost_packets, "packet"),
	    text_per_second(a, s->lost_rate));
	put_line(to, TONE_PLAIN, "disk %s free (%.0f %%), memory %s of packets",
	    text_bytes(a, s->disk_free),
	    s->disk_total == 0 ? 100.0 : status_disk_percent(s),
	    text_bytes(b, s->memory));
	putc('\n', to->out);
}

/* Print the part of the table that fits. */
static void
put_sessions(struct top *t, const struct terminal *to)
{
	const unsigned taken = LINES_ABOVE + LINES_BELOW + 1;
	const size_t rows = !t->is_screen	   ? t->now.n
			    : to->rows > taken + 1 ? to->rows - taken
						   : 1;
	const struct relay_session **order = top_order(&t->now, t->key);
	struct json_answer a = { 0 };
	struct text_table table;

	if (t->first + rows > t->now.n)
		t->first = t->now.n > rows ? t->now.n - rows : 0;
	text_table_begin(&table, top_columns, ARRAY_LEN(top_columns));
	for (size_t i = t->first; i < t->now.n && i < t->first + rows; i++) {
		json_t *j = order[i]->json;

		(void)json_object_set_new(j, "rate", json_real(order[i]->rate));
		text_table_add_object(&table, &a, j);
	}
	text_table_print(&table, to, 0, SIZE_MAX);
	for (size_t i = text_table_rows(&table); t->is_screen && i < rows; i++)
		putc('\n', to->out);
	text_table_free(&table);
	free(order);
}

static void
draw(struct top *t)
{
	struct terminal to = t->c->terminal;
	char *text = NULL;
	size_t n = 0;

	if (t->is_screen)
		to.out = open_memstream(&text, &n);
	if (to.out == NULL)
		return;
	put_summary(t, &to);
	put_sessions(t, &to);
	if (t->is_screen) {
		put_line(&to, TONE_HEAD,
		    "by %s; r rate, b received, l lost, v viewers, h held, "
		    "a age, n name; q quit",
		    sort_key_names[t->key]);
		fclose(to.out);
		/* No newline after the last line: it would scroll. */
		screen_draw(text, n > 0 ? n - 1 : 0);
		free(text);
	} else {
		fflush(to.out);
	}
}

/* Wait until the next update is due; a key redraws at once. */
static void
wait_for_next(struct top *t, uint64_t until)
{
	unsigned columns, rows;
	int key;

	if (!t->is_screen) {
		(void)usleep((useconds_t)clock_ms_until(until) * 1000);
		return;
	}
	while (!is_ending(t) && clock_ms_until(until) > 0) {
		columns = t->c->terminal.columns;
		rows = t->c->terminal.rows;
		key = screen_key(clock_ms_until(until));
		terminal_measure(&t->c->terminal);
		if (key == 0 && columns == t->c->terminal.columns &&
		    rows == t->c->terminal.rows)
			continue;
		act_on_key(t, key);
		if (!t->is_over)
			draw(t);
	}
}

static int
run(struct top *t)
{
	const struct ctl_options *o = &t->c->options;
	/* Without a screen a script wants one table, after a time in which
	 * rates are measured. */
	const uint64_t count = t->is_screen || o->count > 0 ? o->count : 1;
	bool is_second = false;
	uint64_t begin, n = 0;

	ask(t);
	if (t->is_lost)
		return is_ending(t) ? CTL_OK : CTL_FAILED;
	while (!is_ending(t)) {
		begin = clock_now_ns();
		if (t->is_screen || is_second) {
			draw(t);
			n++;
		}
		if (count > 0 && n == count)
			break;
		is_second = true;
		wait_for_next(t, begin + o->interval_ms * NS_PER_MS +
				     t->took_ns * (CTL_ASK_PART - 1));
		if (!is_ending(t))
			ask(t);
	}
	return CTL_OK;
}

int
command_top(struct ctl *c)
{
	struct top t = { .c = c, .key = c->options.sort };
	int status;

	t.is_screen = c->terminal.is_terminal && screen_open() == OK;
	fetch_ask(c->fetch, is_top_over, &t);
	status = run(&t);
	if (t.is_screen)
		screen_close();
	if (status != CTL_OK)
		status = ctl_fail_fetch(c);
	status_free(&t.status);
	sessions_free(&t.now);
	return status;
}
