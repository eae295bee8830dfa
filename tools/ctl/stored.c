/* SPDX-License-Identifier: MIT */
/* tracepulse stored, vacuum and keep: finished traces on the relay's disk. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/ctl.h"
#include "tools/ctl/pages.h"
#include "tools/ctl/status.h"
#include "tools/ctl/stored.h"
#include "tools/ctl/text_table.h"
#include "tools/ctl/text.h"

/* A vacuum may delete thousands of files before the answer. */
#define VACUUM_MS (10u * 60 * 1000)

static void
cell_kept(struct text_table *t, struct json_answer *a, const json_t *j,
    const char *member)
{
	text_table_add(t, TONE_PLAIN, answer_bool(a, j, member) ? "kept" : "");
}

static void
cell_readable(struct text_table *t, struct json_answer *a, const json_t *j,
    const char *member)
{
	/* Older relays do not report it. */
	if (json_is_true(json_object_get(j, "unreadable")))
		text_table_add(t, TONE_BAD, "unreadable");
	else
		text_table_add(t, TONE_PLAIN, answer_text(a, j, member));
}

static const struct column stored_columns[] = {
	{ "SIZE", COLUMN_NUMBER, 0, "bytes", table_cell_bytes },
	{ "ENDED", COLUMN_WORD, 2, "end_ns", table_cell_time_ns },
	{ "KEPT", COLUMN_WORD, 1, "kept", cell_kept },
	{ "KIND", COLUMN_WORD, 4, "kind", table_cell_text },
	{ "STATE", COLUMN_WORD, 3, "state", cell_readable },
	{ "PATH", COLUMN_TEXT, 0, "path", table_cell_text },
};

/* CTL_FAILED: a member was invalid, which is printed. */
static int
check_answer(const struct ctl *c, const struct json_answer *a)
{
	if (a->wrong == NULL)
		return CTL_OK;
	(void)fetch_refuse(c->fetch, a->wrong);
	return ctl_fail_fetch(c);
}

static int
print_stored(struct ctl *c, const json_t *all)
{
	struct json_answer a = { 0 };
	const json_t *list = answer_array(&a, all, "stored"), *j;
	uint64_t bytes = 0;
	char text[TEXT_UNIT_MAX], count[TEXT_UNIT_MAX];
	struct text_table t;
	size_t i;

	text_table_begin(&t, stored_columns, ARRAY_LEN(stored_columns));
	text_table_add_list(&t, &a, list);
	json_array_foreach(list, i, j) bytes += answer_number(&a, j, "bytes");
	if (a.wrong == NULL && i > 0) {
		text_table_print(&t, &c->terminal, 0, SIZE_MAX);
		fprintf(c->terminal.out, "%s, %s\n",
		    text_count(count, i, "trace"), text_bytes(text, bytes));
	} else if (a.wrong == NULL) {
		fprintf(stderr, "tracepulse: no traces are stored\n");
	}
	text_table_free(&t);
	return check_answer(c, &a);
}

/* Fetch the stored traces; NAME and TEXT: "host" or "path", and its value. */
static enum status
load_stored(
    const struct ctl *c, const char *name, const char *text, json_t **out)
{
	char *query = pages_query(name, text);
	enum status st = pages_fetch(
	    c->fetch, "/api/v1/stored", "stored", query, out);

	free(query);
	return st;
}

bool
stored_is_gone(const struct ctl *c, const char *path)
{
	struct json_answer a = { 0 };
	const json_t *list;
	json_t *all;
	bool is_gone;

	if (load_stored(c, "path", path, &all) != OK)
		return false;
	list = answer_array(&a, all, "stored");
	is_gone = list != NULL && json_array_size(list) == 0;
	json_decref(all);
	return is_gone;
}

int
command_stored(struct ctl *c)
{
	struct json_answer a = { 0 };
	int status = CTL_OK;
	const json_t *j;
	json_t *all;
	size_t i;

	if (load_stored(c, "host", c->options.host, &all) != OK)
		return ctl_fail_fetch(c);
	if (c->options.json)
		status = ctl_print_json(c, all);
	else if (!c->options.names)
		status = print_stored(c, all);
	else
		json_array_foreach(answer_array(&a, all, "stored"), i, j)
		    ctl_print_name(answer_text(&a, j, "host"),
			answer_text(&a, j, "session"));
	json_decref(all);
	return status;
}

/* Send further requests to the admin socket. */
static int
go_to_admin(struct ctl *c, unsigned timeout_ms)
{
	struct relay_status s;
	enum status st;

	if (!c->options.address.is_local)
		return ctl_fail(
		    "run this on the relay's own machine, as a user "
		    "with access to its admin socket");
	if (status_load(c, &s) != OK)
		return ctl_fail_fetch(c);
	st = address_unix(&c->admin, s.admin_socket);
	status_free(&s);
	if (st != OK)
		return ctl_fail("this relay has no admin socket");
	fetch_destroy(c->fetch);
	c->fetch = fetch_create(&c->admin, timeout_ms);
	return CTL_OK;
}

static int
print_deleted(struct ctl *c, const json_t *j)
{
	static const struct column columns[] = {
		{ "SIZE", COLUMN_NUMBER, 0, "bytes", table_cell_bytes },
		{ "ENDED", COLUMN_WORD, 1, "end_ns", table_cell_time_ns },
		{ "WHY", COLUMN_WORD, 2, "reason", table_cell_text },
		{ "PATH", COLUMN_TEXT, 0, "path", table_cell_text },
	};
	struct json_answer a = { 0 };
	const json_t *list = answer_array(&a, j, "deleted");
	const size_t n = json_array_size(list);
	char text[TEXT_UNIT_MAX], free[TEXT_UNIT_MAX];
	const char *what;
	struct text_table t;

	text_table_begin(&t, columns, ARRAY_LEN(columns));
	text_table_add_list(&t, &a, list);
	status_print_limits(c, answer_object(&a, j, "limits"));
	ctl_line(c, "Disk", TONE_PLAIN, "traces take %s, %s are free",
	    text_bytes(text, answer_number(&a, j, "use_bytes")),
	    text_bytes(free, answer_number(&a, j, "free_bytes")));
	what = answer_bool(&a, j, "dry_run") ? "To delete" : "Deleted";
	if (n == 0)
		ctl_line(c, what, TONE_HEAD, "nothing");
	else
		ctl_line(c, what, TONE_HEAD, "%zu, %s", n,
		    text_bytes(text, answer_number(&a, j, "deleted_bytes")));
	if (n > 0)
		text_table_print(&t, &c->terminal, 0, SIZE_MAX);
	text_table_free(&t);
	if (answer_bool(&a, j, "has_more"))
		fprintf(c->terminal.out, "and more\n");
	if (json_is_false(json_object_get(j, "done")))
		fprintf(stderr,
		    "tracepulse: the relay continues to delete; see "
		    "\"tracepulse events\"\n");
	return check_answer(c, &a);
}

int
command_vacuum(struct ctl *c)
{
	json_t *j;
	int status = go_to_admin(c, VACUUM_MS);

	if (status != CTL_OK)
		return status;
	if (fetch_json(c->fetch,
		c->options.dry_run ? "/api/v1/vacuum?dry_run=1"
				   : "/api/v1/vacuum?dry_run=0",
		true, &j) != OK)
		return ctl_fail_fetch(c);
	status = c->options.json ? ctl_print_json(c, j) : print_deleted(c, j);
	json_decref(j);
	return status;
}

/* The traces that TEXT names, as a new array. */
static json_t *
choose(struct json_answer *a, const json_t *all, const char *text)
{
	const json_t *list = answer_array(a, all, "stored");
	json_t *chosen = json_array(), *j;
	size_t i;

	json_array_foreach(list, i, j)
	{
		const char *id = json_string_value(json_object_get(j, "id"));

		if (strcmp(text, answer_text(a, j, "path")) == 0 ||
		    (id != NULL && strcmp(text, id) == 0) ||
		    ctl_is_called(text, answer_text(a, j, "host"),
			answer_text(a, j, "session")))
			(void)json_array_append(chosen, j);
	}
	return chosen;
}

json_t *
stored_choose(struct ctl *c, const char *text, bool may_be_many)
{
	struct json_answer a = { 0 };
	json_t *all, *chosen;
	char escaped[1024];
	size_t n;

	if (load_stored(c, "host", NULL, &all) != OK) {
		(void)ctl_fail_fetch(c);
		return NULL;
	}
	chosen = choose(&a, all, text);
	n = json_array_size(chosen);
	json_decref(all);
	if (n == 1 || (n > 1 && may_be_many))
		return chosen;
	text_escape(escaped, sizeof(escaped), text);
	if (n == 0)
		(void)ctl_fail("%s: no stored trace has this name or path "
			       "(see tracepulse stored)",
		    escaped);
	else
		(void)ctl_fail("%s: %zu stored traces have this name; "
			       "give the path of one%s",
		    escaped, n,
		    c->options.command == COMMAND_keep ? ", or --all" : "");
	json_array_foreach(chosen, n, all) fprintf(stderr, "  %s\n",
	    text_escape(
		escaped, sizeof(escaped), answer_text(&a, all, "path")));
	json_decref(chosen);
	return NULL;
}

/* Keep one trace. Returns the answer; NULL: a message was printed. */
static json_t *
keep_one(struct ctl *c, const char *path)
{
	char *query = pages_query("path", path);
	char *whole = ctl_text(
	    "/api/v1/keep?keep=%d%s", c->options.no ? 0 : 1, query);
	json_t *j = NULL;

	if (fetch_json(c->fetch, whole, true, &j) != OK)
		(void)ctl_fail_fetch(c);
	free(query);
	free(whole);
	return j;
}

static int
keep_all(struct ctl *c, const json_t *chosen)
{
	struct json_answer a = { 0 };
	json_t *done = json_object(), *list = json_array(), *one;
	const json_t *j;
	int status = CTL_OK;
	size_t i;

	(void)json_object_set_new(done, "stored", list);
	json_array_foreach(chosen, i, j)
	{
		one = keep_one(c, answer_text(&a, j, "path"));
		if (one == NULL) {
			status = CTL_FAILED;
			continue;
		}
		(void)json_array_append_new(list, one);
	}
	if (c->options.json)
		(void)ctl_print_json(c, done);
	else if (json_array_size(list) > 0)
		(void)print_stored(c, done);
	json_decref(done);
	return status;
}

int
command_keep(struct ctl *c)
{
	json_t *chosen;
	int status = go_to_admin(c, c->options.timeout_ms);

	if (status != CTL_OK)
		return status;
	chosen = stored_choose(c, c->options.operands[0], c->options.all);
	if (chosen == NULL)
		return CTL_FAILED;
	status = keep_all(c, chosen);
	json_decref(chosen);
	return status;
}
