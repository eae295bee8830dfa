/* SPDX-License-Identifier: MIT */
#include "relayd/http/page_rows.h"

#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "relayd/http/figures.h"
#include "relayd/http/page.h"
#include "relayd/http/text.h"
#include "relayd/stats/info.h"

/* Each session is a link to its JSON: with the script, to a page of its own. */
static void
who(struct buf *b, const struct session_info *s)
{
	text_add(b,
	    "<td role=\"cell\" class=\"name\">"
	    "<a href=\"/api/v1/sessions/%" PRIu64 "\">",
	    s->id);
	text_html(b, s->name[0] == '\0' ? "(no name)" : s->name);
	text_add(b, "</a></td><td role=\"cell\" class=\"host\">");
	text_html(b, s->host);
	text_add(b, "</td>");
}

static void
state(struct buf *b, const struct session_info *s)
{
	static const char *const names[][2] = {
		[SESSION_ACTIVE] = { "active", "Active" },
		[SESSION_ENDING] = { "ending", "Ending" },
		[SESSION_CLOSED] = { "closed", "Closed" },
	};

	text_add(b, "<td role=\"cell\" class=\"what %s\">%s",
	    names[s->state][0], names[s->state][1]);
	if (s->state == SESSION_CLOSED && s->why != WHY_closed)
		text_add(b, " (%s)", why_names[s->why]);
	text_add(b, "</td>");
}

static void
cell(struct buf *b, const char *label)
{
	text_add(b, "</td><td role=\"cell\" class=\"num\" data-label=\"%s\">",
	    label);
}

static void
row(struct buf *b, const struct session_info *s)
{
	text_add(b, "<tr role=\"row\">");
	state(b, s);
	who(b, s);
	text_add(b, "<td role=\"cell\" class=\"num needs-script\">");
	cell(b, "Written");
	figures_bytes(b, (double)s->sums.written_bytes);
	cell(b, "Lost");
	figures_count(b, sums_lost(&s->sums));
	cell(b, "Viewers");
	figures_count(b, s->viewers);
	cell(b, "Duration");
	figures_duration(b, s->duration_ns / NS_PER_S);
	text_add(b, "</td></tr>\n");
}

void
page_rows(struct buf *b, const struct page *p, const char *args)
{
	for (unsigned i = 0; i < p->n; i++)
		row(b, p->sessions[i]);
	if (p->n == 0)
		text_add(b, "<tr role=\"row\"><td role=\"cell\" colspan=\"8\">"
			    "No session</td></tr>\n");
}

void
page_links(struct buf *b, const struct page *p, const char *args)
{
	static const char *const states[] = { "active", "closed", "all" };

	text_add(b, "<span>Sessions: ");
	figures_count(b, p->n);
	text_add(b, ", %s%s</span>", p->state,
	    p->has_busy ? "; those of a busy worker are not here" : "");
	for (unsigned i = 0; i < ARRAY_LEN(states); i++)
		if (strcmp(states[i], p->state) != 0)
			text_add(b, " <a href=\"/?state=%s\">%s</a>", states[i],
			    states[i]);
	if (p->next != 0)
		text_add(b,
		    " <a href=\"/?state=%s&amp;after=%" PRIu64
		    "\">next page</a>",
		    p->state, p->next);
}
