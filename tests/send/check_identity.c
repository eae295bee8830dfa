/* SPDX-License-Identifier: MIT */
#include "tools/send/identity.h"

#include <string.h>

#include "tests/lib/unit.h"

static struct send_session
identify(const char *hostname, const char *name, const char *text)
{
	struct send_session s = { .hostname = hostname, .name = name };

	identity_complete(&s, text, strlen(text));
	return s;
}

static const struct {
	const char *text;
	uint64_t time;
} times[] = {
	{ "env { trace_creation_datetime = \"20270115T080000+0000\"; };",
	    1800000000 },
	{ "env { trace_creation_datetime = \"20270115T093000+0130\"; };",
	    1800000000 },
	{ "env { trace_creation_datetime=\"20270115T040000-0400\"; };",
	    1800000000 },
	{ "env { trace_creation_datetime = \"yesterday\"; };", 0 },
	{ "env { trace_creation_datetime = \"20270115T080000+0000x\"; };", 0 },
	{ "env { trace_creation_datetime = 7; };", 0 },
	{ "env { trace_creation_datetime = \"2027", 0 },
	{ "env { trace_creation_datetime", 0 },
	{ "", 0 },
};

TEST_ROWS(the_metadata_has_the_time, ARRAY_LEN(times))
{
	struct send_session s = identify("h", "s", times[_i].text);

	ck_assert_uint_eq(s.creation_time, times[_i].time);
}

static const struct {
	const char *name;
	bool has_time;
} names[] = {
	{ "auto-20270115-080000", true },
	{ "-20270115-080000", true },
	{ "20270115-080000", false },
	{ "auto-20270115-08000", false },
	{ "auto-20270115_080000", false },
	{ "auto", false },
	{ "", false },
};

TEST_ROWS(a_name_may_end_with_the_time, ARRAY_LEN(names))
{
	struct send_session s = identify("h", names[_i].name, times[0].text);

	ck_assert_int_eq(s.name_has_time, names[_i].has_time);
	s = identify("h", names[_i].name, "");
	ck_assert(s.name_has_time);
}

#define DATED(time)                                                        \
	"trace { uuid = \"1\"; }; env { trace_creation_datetime = \"" time \
	"\"; };"

/* The first is the one that the others are compared with. */
static const struct {
	const char *hostname, *name, *text;
	bool is_same;
} sessions[] = {
	{ "h", "s", DATED("20270115T080000+0000"), true },
	/* another trace of the session, and more of its metadata */
	{ "h", "s",
	    "trace { uuid = \"2\"; }; env { x = 1; trace_creation_datetime = "
	    "\"20270115T080000+0000\"; }; event {",
	    true },
	{ "h", "s", DATED("20270115T080001+0000"), false },
	{ "h", "t", DATED("20270115T080000+0000"), false },
	{ "g", "s", DATED("20270115T080000+0000"), false },
	{ "hs", "", DATED("20270115T080000+0000"), false },
	{ "h", "s", "trace { uuid = \"1\"; };", false },
};

TEST_ROWS(a_session_is_its_names_and_its_time, ARRAY_LEN(sessions))
{
	struct send_session a = identify(
	    sessions[0].hostname, sessions[0].name, sessions[0].text);
	struct send_session b = identify(
	    sessions[_i].hostname, sessions[_i].name, sessions[_i].text);

	ck_assert_int_eq(
	    memcmp(&a.identity, &b.identity, sizeof(a.identity)) == 0,
	    sessions[_i].is_same);
}

TEST(without_a_time_it_is_the_trace)
{
	struct send_session a = identify("h", "s", "uuid = \"1\"");
	struct send_session b = identify("h", "s", "x uuid = \"1\" y");
	struct send_session c = identify("h", "s", "uuid = \"2\"");

	ck_assert_mem_eq(&a.identity, &b.identity, sizeof(a.identity));
	ck_assert_mem_ne(&a.identity, &c.identity, sizeof(a.identity));
}
