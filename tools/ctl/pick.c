/* SPDX-License-Identifier: MIT */
#include "tools/ctl/pick.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/stored.h"
#include "tools/ctl/text.h"

static bool
is_live(const struct relay_session *s)
{
	return s->is_active && s->live_timer_us > 0;
}

static bool
is_like(const struct relay_session *s, const char *pattern)
{
	char *whole = ctl_text("%s/%s", s->host, s->name);
	const bool is = fnmatch(pattern, s->name, 0) == 0 ||
			fnmatch(pattern, whole, 0) == 0;

	free(whole);
	return is;
}

/* babeltrace2 shows all sessions of one host and name together. */
static bool
are_alike(const struct relay_session *a, const struct relay_session *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->host, b->host) == 0;
}

static void
add(struct picked *p, const struct relay_session *s, bool is_named)
{
	for (size_t i = 0; i < p->n; i++)
		if (are_alike(p->all[i].session, s)) {
			p->all[i].is_named |= is_named;
			return;
		}
	p->all[p->n++] = (struct pick){ s, is_named };
}

/* An operand names ONE and no live session. */
static int
refuse(const struct ctl *c, const struct relay_session *one)
{
	char name[1024], path[1024];

	text_escape(name, sizeof(name), one->name);
	text_escape(path, sizeof(path), one->path);
	if (one->is_active)
		return ctl_fail("%s is not live (lttng create --live)", name);
	if (stored_is_gone(c, one->path))
		return ctl_fail("%s has ended, and its trace is no longer on "
				"the relay's disk",
		    name);
	return ctl_fail("%s has ended; babeltrace2 reads it from %s below the "
			"relay's output directory",
	    name, path);
}

/* Is there another session that babeltrace2 would show with ONE, but that TEXT,
 * a number, does not name? */
static bool
has_other(
    const struct sessions *s, const struct relay_session *one, const char *text)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->all[i].is_active && are_alike(&s->all[i], one) &&
		    !session_is_called(&s->all[i], text))
			return true;
	return false;
}

/* Add all live sessions that match PATTERN. False: there is none. */
static bool
pick_like(const struct sessions *s, const char *pattern, struct picked *p)
{
	bool has_any = false;

	for (size_t i = 0; i < s->n; i++)
		if (is_live(&s->all[i]) && is_like(&s->all[i], pattern)) {
			has_any = true;
			add(p, &s->all[i], false);
		}
	return has_any;
}

static int
pick_one(const struct ctl *c, const struct sessions *s, const char *text,
    struct picked *p)
{
	const struct relay_session *found = NULL, *one;
	char escaped[1024];

	for (size_t i = 0; i < s->n; i++) {
		one = &s->all[i];
		if (!session_is_called(one, text))
			continue;
		if (is_live(one) && has_other(s, one, text))
			return ctl_fail(
			    "%s: babeltrace2 cannot show it without the other "
			    "session of this host and name; give the name to "
			    "watch both",
			    text);
		if (is_live(one))
			add(p, one, true);
		if (found == NULL || !is_live(found))
			found = one;
	}
	if (found != NULL)
		return is_live(found) ? CTL_OK : refuse(c, found);
	return pick_like(s, text, p)
		   ? CTL_OK
		   : ctl_fail("%s: no such live session",
			 text_escape(escaped, sizeof(escaped), text));
}

static bool
has_application(const struct sessions *s, const struct relay_session *one)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->all[i].is_active && s->all[i].streams > 0 &&
		    are_alike(&s->all[i], one))
			return true;
	return false;
}

static void
say_waiting(
    const struct picked *p, const struct relay_session *one, bool is_left_out)
{
	char host[512], name[1024];

	fprintf(stderr, "tracepulse: %s/%s has no application yet: %s\n",
	    text_escape(host, sizeof(host), one->host),
	    text_escape(name, sizeof(name), one->name),
	    is_left_out ? "left out"
	    : p->n > 1
		? "waiting; the other sessions are shown after it has one"
		: "waiting");
}

/* Report sessions without an application, and leave them out. */
static void
look_for_applications(const struct sessions *s, struct picked *p)
{
	bool has_any = false, is_left_out;
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		has_any |= has_application(s, p->all[i].session);
	for (size_t i = 0; i < p->n; i++) {
		const struct pick one = p->all[i];

		is_left_out = false;
		if (!has_application(s, one.session)) {
			is_left_out = has_any && !one.is_named;
			say_waiting(p, one.session, is_left_out);
		}
		if (!is_left_out)
			p->all[n++] = one;
	}
	p->n = n;
}

static bool
is_there(const struct sessions *s, const char *text)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_live(&s->all[i]) &&
		    (session_is_called(&s->all[i], text) ||
			is_like(&s->all[i], text)))
			return true;
	return false;
}

bool
pick_is_complete(const struct ctl *c, const struct sessions *s)
{
	for (size_t i = 0; i < c->options.n_operands; i++)
		if (!is_there(s, c->options.operands[i]))
			return false;
	return c->options.n_operands > 0 || is_there(s, "*");
}

bool
pick_has(const struct picked *p, const struct relay_session *s)
{
	for (size_t i = 0; i < p->n; i++)
		if (are_alike(p->all[i].session, s))
			return true;
	return false;
}

int
pick_sessions(const struct ctl *c, const struct sessions *s, struct picked *out)
{
	char *const *operands = c->options.operands;
	int status = CTL_OK;
	char host[512];

	*out = (struct picked){ .all = ctl_memory(
				    calloc(s->n + 1, sizeof(*out->all))) };
	for (size_t i = 0; i < c->options.n_operands && status == CTL_OK; i++)
		status = pick_one(c, s, operands[i], out);
	/* Without operands: all sessions, of the host that the user named. */
	if (c->options.n_operands == 0 && !pick_like(s, "*", out))
		status = c->options.host == NULL
			     ? ctl_fail("the relay has no live session")
			     : ctl_fail("host %s has no live session",
				   text_escape(
				       host, sizeof(host), c->options.host));
	if (status == CTL_OK)
		look_for_applications(s, out);
	return status;
}
