/* SPDX-License-Identifier: MIT */
#include "tools/sink/deliveries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/temp_dir.h"
#include "tests/lib/unit.h"

#define KEY "h/s/1/000102030405060708090a0b0c0d0e0f"

static struct span
span(const char *s)
{
	return (struct span){ s, strlen(s) };
}

static void
deliver(struct delivery_stream *t, uint64_t next, const char *error)
{
	delivery_done(&(struct delivery){ .session = t->session,
			  .stream = t,
			  .next = next,
			  .packet_bytes = 100 },
	    error);
}

/* A file in a directory of its own. */
static void
state_path(char *path, size_t size)
{
	char dir[200];

	ck_assert(temp_dir(dir, sizeof(dir), "deliveries"));
	snprintf(path, size, "%s/state", dir);
}

static void
remove_state(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(rmdir(path), 0);
}

TEST(what_was_delivered_counts)
{
	struct deliveries d;
	struct delivery_session *s;
	struct delivery_stream *t;

	deliveries_init(&d);
	s = deliveries_session(&d, span(KEY), NULL);
	t = deliveries_stream(&d, s, span("a/b"));
	ck_assert_ptr_eq(deliveries_session(&d, span(KEY), NULL), s);
	ck_assert_ptr_eq(deliveries_stream(&d, s, span("a/b")), t);
	ck_assert_ptr_ne(deliveries_stream(&d, s, span("a/bc")), t);
	deliver(t, 5, NULL);
	deliver(t, 3, NULL); /* again, as after a crash */
	ck_assert_uint_eq(published(&t->next), 5);
	ck_assert_uint_eq(published(&t->packets), 2);
	ck_assert_uint_eq(published(&s->bytes), 200);
	ck_assert_uint_eq(published(&s->done), 2);
	deliveries_free(&d);
}

TEST(nothing_counts_after_a_record_that_was_refused)
{
	struct deliveries d;
	struct delivery_session *s;
	struct delivery_stream *t;

	deliveries_init(&d);
	s = deliveries_session(&d, span(KEY), NULL);
	t = deliveries_stream(&d, s, span("a/b"));
	deliver(t, 5, NULL);
	deliver(t, 6, "too large");
	deliver(t, 7, NULL);
	deliver(t, 8, "later");
	ck_assert_uint_eq(published(&t->next), 5);
	ck_assert_uint_eq(published(&s->done), 4);
	ck_assert_uint_eq(published(&s->lost), 1);
	ck_assert_str_eq(s->error, "too large");
	deliveries_free(&d);
}

TEST(the_file_has_what_was_delivered)
{
	struct deliveries d;
	struct delivery_session *s, *gone;
	bool had_ended;
	char path[256];

	state_path(path, sizeof(path));
	deliveries_init(&d);
	ck_assert_int_eq(deliveries_read(&d, path), OK);
	s = deliveries_session(&d, span(KEY), NULL);
	deliver(deliveries_stream(&d, s, span("with a blank/b")), 5, NULL);
	deliver(deliveries_stream(&d, s, span("c/d")), UINT64_MAX, NULL);
	(void)deliveries_stream(&d, s, span("nothing/yet"));
	gone = deliveries_session(&d, span("another"), NULL);
	deliver(deliveries_stream(&d, gone, span("a/b")), 1, NULL);
	deliveries_end(&d, gone);
	ck_assert_int_eq(deliveries_write(&d, path), OK);
	deliveries_free(&d);

	deliveries_init(&d);
	ck_assert_int_eq(deliveries_read(&d, path), OK);
	gone = deliveries_session(&d, span("another"), &had_ended);
	ck_assert(had_ended);
	ck_assert_uint_eq(
	    published(&deliveries_stream(&d, gone, span("a/b"))->next), 1);
	(void)deliveries_session(&d, span("another"), &had_ended);
	ck_assert(!had_ended);
	ck_assert_ptr_eq(d.sessions.next->next->next, &d.sessions);
	s = deliveries_session(&d, span(KEY), NULL);
	ck_assert_uint_eq(
	    published(&deliveries_stream(&d, s, span("with a blank/b"))->next),
	    5);
	ck_assert_uint_eq(
	    published(&deliveries_stream(&d, s, span("c/d"))->next),
	    UINT64_MAX);
	deliveries_free(&d);
	remove_state(path);
}

TEST(the_session_that_ended_first_is_forgotten)
{
	struct deliveries d;
	char key[16];
	bool had_ended;

	deliveries_init(&d);
	for (unsigned i = 0; i < DELIVERIES_ENDED_MAX + 2; i++) {
		(void)snprintf(key, sizeof(key), "k%u", i);
		deliveries_end(&d, deliveries_session(&d, span(key), NULL));
	}
	(void)deliveries_session(&d, span("k1"), &had_ended);
	ck_assert(!had_ended);
	(void)deliveries_session(&d, span("k2"), &had_ended);
	ck_assert(had_ended);
	deliveries_free(&d);
}

static const char *const bad[] = {
	"",
	"another file\n",
	"tracepulse-send kafka 2\n",
	"tracepulse-send kafka 1\n5\n",
	"tracepulse-send kafka 1\n5\tkey\n",
	"tracepulse-send kafka 1\nfive\tkey\tstream\n",
	"tracepulse-send kafka 1\n\n",
};

TEST_ROWS(another_file_is_refused, ARRAY_LEN(bad))
{
	struct deliveries d;
	char path[256];
	FILE *file;

	state_path(path, sizeof(path));
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(bad[_i], file), 0);
	fclose(file);
	deliveries_init(&d);
	ck_assert_int_eq(deliveries_read(&d, path), E_MALFORMED);
	deliveries_free(&d);
	remove_state(path);
}
