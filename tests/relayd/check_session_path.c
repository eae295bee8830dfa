/* SPDX-License-Identifier: MIT */
/* Where files go: streaming 5.2, 5.3. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "relayd/record/session.h"
#include "tests/lib/unit.h"

static struct relpath *
path_of(const char *text)
{
	struct relpath *p;

	ck_assert_int_eq(
	    relpath_parse(&p, (struct span){ text, strlen(text) }), OK);
	return p;
}

/* 2020-01-01 00:00:04 */
#define CREATED UINT64_C(1577836804)

static const struct {
	const char *name, *host, *base;
	bool has_time, by_session;
	uint64_t created;
	const char *path; /* NULL: refused */
} wanted[] = {
	{ "s", "h", NULL, false, false, CREATED, "h/s-20200101-000004" },
	{ "s", "h", "b/c", false, false, CREATED, "h/b/c" },
	{ "s-20260101-010101", "h", NULL, true, false, CREATED,
	    "h/s-20260101-010101" },
	{ "s", "h", "b", true, false, CREATED, "h/b" },
	{ "s", "h", NULL, false, true, CREATED, "s/h-20200101-000004" },
	{ "s", "h", "b/c", false, true, CREATED, "s/h-20200101-000004/b/c" },
	{ "auto-20261121-021232", "vm", NULL, true, true, CREATED,
	    "auto-20261121-021232/vm-20200101-000004" },
	{ "s", "h", NULL, false, false, 0, "h/s-19700101-000000" },
	{ "s", "h", NULL, false, false, UINT64_C(253402300800), NULL },
	{ "s", "h", NULL, false, false, UINT64_MAX, NULL },
	{ "s", "h", "b", false, true, UINT64_MAX, NULL },
	{ "s", "h", "b", false, false, UINT64_MAX, "h/b" },
	{ "s", "h", "archives", false, false, CREATED, NULL },
	{ "s", "h", "b/archives/c", false, false, CREATED, NULL },
	{ "s", "h", "b/.c", false, true, CREATED, NULL },
	{ "s", "h", "b/archives-1", false, false, CREATED, "h/b/archives-1" },
	{ "archives", "h", NULL, true, false, CREATED, NULL },
	{ "archives", "h", NULL, false, true, CREATED,
	    "archives/h-20200101-000004" },
};

TEST_ROWS(sessions_go_where_the_options_say, ARRAY_LEN(wanted))
{
	struct relay_create_session wish = {
		.session_name = path_of(wanted[_i].name),
		.hostname = path_of(wanted[_i].host),
		.base_path = wanted[_i].base == NULL ? NULL
						     : path_of(wanted[_i].base),
		.name_has_time = wanted[_i].has_time,
		.creation_time = wanted[_i].created,
	};
	struct relpath *got;
	enum status st = session_wanted_path(
	    &got, &wish, wanted[_i].by_session);

	if (wanted[_i].path == NULL) {
		ck_assert_int_eq(st, E_REFUSED);
		ck_assert_ptr_null(got);
	} else {
		ck_assert_int_eq(st, OK);
		ck_assert_str_eq(got->s, wanted[_i].path);
	}
	relpath_free(got);
	relay_create_session_clear(&wish);
}

/* Local times around both changes of the clock, and an odd zone. */
static const struct {
	const char *zone;
	uint64_t created;
	const char *path;
} zones[] = {
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1774745999, "h/s-20260329-015959" },
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1774746000, "h/s-20260329-030000" },
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1792888200, "h/s-20261025-023000" },
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1792891800, "h/s-20261025-023000" },
	{ "NPT-5:45", CREATED, "h/s-20200101-054504" },
	{ "HST10", CREATED, "h/s-20191231-140004" },
};

TEST_ROWS(times_are_local, ARRAY_LEN(zones))
{
	struct relay_create_session wish = { .session_name = path_of("s"),
		.hostname = path_of("h"),
		.creation_time = zones[_i].created };
	struct relpath *got;

	(void)setenv("TZ", zones[_i].zone, 1);
	tzset();
	ck_assert_int_eq(session_wanted_path(&got, &wish, false), OK);
	ck_assert_str_eq(got->s, zones[_i].path);
	relpath_free(got);
	relay_create_session_clear(&wish);
}

static const struct {
	const char *session, *path, *grouped;
} old[] = {
	{ "oldsess", "oldhost/oldsess-20200101-000004/ust/uid/0/64-bit",
	    "oldsess/oldhost-20200101-000004/ust/uid/0/64-bit" },
	/* a custom path in place of the session's name */
	{ "s", "h/custom/ust/c", "s/h-20200101-000004/custom/ust/c" },
	{ "s-20190203-040506", "h/custom/k",
	    "s-20190203-040506/h-20190203-040506/custom/k" },
	/* the bare name */
	{ "s", "h/s/k", "s/h-20200101-000004/k" },
	{ "s-20190203-040506", "h/s-20190203-040506/k",
	    "s-20190203-040506/h-20190203-040506/k" },
	/* a tail that is no date */
	{ "s", "h/s-other/k", "s/h/s-other/k" },
	{ "s", "h/s-20209901-000004/k", "s/h/s-20209901-000004/k" },
	{ "s", "h/s-20200101-0000040/k", "s/h/s-20200101-0000040/k" },
	{ "s", "alone", NULL },
};

TEST_ROWS(paths_of_old_peers_are_regrouped, ARRAY_LEN(old))
{
	struct relay_create_session wish = {
		.session_name = path_of(old[_i].session),
		.hostname = path_of("h"),
	};
	struct relpath *path = path_of(old[_i].path), *got;
	enum status st = session_old_path(&got, &wish, path, CREATED);

	if (old[_i].grouped == NULL) {
		ck_assert_int_eq(st, E_REFUSED);
	} else {
		ck_assert_int_eq(st, OK);
		ck_assert_str_eq(got->s, old[_i].grouped);
	}
	relpath_free(got);
	relpath_free(path);
	relay_create_session_clear(&wish);
}

TEST(a_path_too_long_is_refused)
{
	static char base[RELPATH_MAX];
	struct relay_create_session wish = { .session_name = path_of("s"),
		.hostname = path_of("h") };
	struct relpath *got;

	for (size_t n = 4092; n <= 4095; n++) {
		memset(base, 'b', n);
		for (size_t i = 200; i + 1 < n; i += 201)
			base[i] = '/';
		base[n] = '\0';
		wish.base_path = path_of(base);
		ck_assert_int_eq(session_wanted_path(&got, &wish, false),
		    n + 2 + 1 < RELPATH_MAX ? OK : E_REFUSED); /* a NUL */
		relpath_free(got);
		relpath_free(wish.base_path);
	}
	wish.base_path = NULL;
	relay_create_session_clear(&wish);
}

int
main(void)
{
	(void)setenv("TZ", "UTC", 1);
	tzset();
	return unit_run();
}
