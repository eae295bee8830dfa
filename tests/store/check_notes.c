/* SPDX-License-Identifier: MIT */
#include "store/notes.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"

#define LINES 6

static const struct notes_line lines[LINES] = {
	{ .kind = NOTES_MADE,
	    .what = STORED_CHUNK,
	    .ino = 7,
	    .born = UINT64_MAX,
	    .began_ns = 1,
	    .path = "h/a b%20\xc3\xa9/-/archives/x",
	    .host = "",
	    .session = "-" },
	{ .kind = NOTES_ENDED,
	    .ino = 7,
	    .born = 8,
	    .ended_ns = 9,
	    .bytes = 10 },
	{ .kind = NOTES_KEPT, .ino = 7, .born = 8, .is_kept = true },
	{ .kind = NOTES_MOVED, .ino = 7, .born = 8, .path = "h/.hidden" },
	{ .kind = NOTES_MADE,
	    .what = STORED_SESSION,
	    .ino = 1,
	    .path = "h/s",
	    .host = "\n\t\x7f",
	    .session = "% %%" },
	{ .kind = NOTES_GONE, .ino = 7, .born = 8 },
};

static unsigned n_seen;
static bool seen[LINES];

static bool
is_same_text(const char *a, const char *b)
{
	return (a == NULL && b == NULL) ||
	       (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Each line that comes back is one that was written. */
static void
see(void *arg, const struct notes_line *l)
{
	unsigned i;

	for (i = 0; i < LINES; i++)
		if (lines[i].kind == l->kind && lines[i].what == l->what &&
		    lines[i].ino == l->ino && lines[i].born == l->born &&
		    lines[i].began_ns == l->began_ns &&
		    lines[i].ended_ns == l->ended_ns &&
		    lines[i].bytes == l->bytes &&
		    lines[i].is_kept == l->is_kept &&
		    is_same_text(lines[i].path, l->path) &&
		    is_same_text(lines[i].host, l->host) &&
		    is_same_text(lines[i].session, l->session))
			break;
	ck_assert_uint_lt(i, LINES);
	ck_assert_ptr_eq(arg, seen);
	seen[i] = true;
	n_seen++;
}

static int
open_base(void)
{
	const int fd = open(scratch_path(""), O_RDONLY | O_DIRECTORY);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static struct notes *
open_notes(int base)
{
	struct notes *n;

	n_seen = 0;
	memset(seen, 0, sizeof(seen));
	ck_assert_int_eq(notes_open(&n, base, see, seen), OK);
	return n;
}

static void
write_lines(struct notes *n, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		notes_add(n, &lines[i]);
	ck_assert_int_eq(notes_flush(n, true), OK);
}

START_TEST(lines_come_back)
{
	struct notes *n;
	int base;

	scratch_open();
	base = open_base();
	n = open_notes(base);
	ck_assert(!scratch_exists(NOTES_NAME));
	write_lines(n, 0, 3);
	write_lines(n, 3, LINES);
	notes_close(n);
	n = open_notes(base);
	ck_assert_uint_eq(n_seen, LINES);
	ck_assert_uint_eq(notes_lines(n), LINES + 1);
	notes_close(n);
	close(base);
	scratch_close();
}
END_TEST

/* Whatever part of the file is there, and what is written then is read. */
START_TEST(torn_anywhere_it_goes_on)
{
	struct notes *n;
	struct stat sb;
	char path[256];
	int base;

	scratch_open();
	base = open_base();
	snprintf(path, sizeof(path), "%s", scratch_path(NOTES_NAME));
	n = open_notes(base);
	write_lines(n, 0, 4);
	notes_close(n);
	ck_assert_int_eq(stat(path, &sb), 0);
	for (off_t length = sb.st_size; length >= 19; length--) {
		ck_assert_int_eq(truncate(path, length), 0);
		n = open_notes(base);
		notes_close(n);
		ck_assert_uint_le(n_seen, 4);
	}
	/* Now the last line is torn. */
	n = open_notes(base);
	write_lines(n, 0, 1);
	notes_close(n);
	ck_assert_int_eq(stat(path, &sb), 0);
	ck_assert_int_eq(truncate(path, sb.st_size - 3), 0);
	n = open_notes(base);
	ck_assert_uint_eq(n_seen, 0);
	write_lines(n, 4, 6);
	notes_close(n);
	n = open_notes(base);
	ck_assert(n_seen == 2 && seen[4] && seen[5]);
	notes_close(n);
	close(base);
	scratch_close();
}
END_TEST

START_TEST(a_changed_byte_costs_its_line)
{
	struct notes *n;
	char c, path[256];
	struct stat sb;
	int base, fd;

	scratch_open();
	base = open_base();
	n = open_notes(base);
	write_lines(n, 0, LINES);
	notes_close(n);
	snprintf(path, sizeof(path), "%s", scratch_path(NOTES_NAME));
	fd = open(path, O_RDWR);
	ck_assert_int_eq(fstat(fd, &sb), 0);
	for (off_t at = 19; at < sb.st_size; at++) {
		ck_assert_int_eq(pread(fd, &c, 1, at), 1);
		c ^= 0x15;
		ck_assert_int_eq(pwrite(fd, &c, 1, at), 1);
		n = open_notes(base);
		/* A newline more or less: two lines. */
		ck_assert_uint_ge(n_seen, LINES - 2);
		ck_assert_uint_lt(n_seen, LINES);
		notes_close(n);
		c ^= 0x15;
		ck_assert_int_eq(pwrite(fd, &c, 1, at), 1);
	}
	close(fd);
	close(base);
	scratch_close();
}
END_TEST

START_TEST(written_anew_it_has_what_counts)
{
	struct notes *n;
	int base;

	scratch_open();
	base = open_base();
	n = open_notes(base);
	for (int i = 0; i < 100; i++)
		write_lines(n, 0, LINES);
	ck_assert_uint_eq(notes_lines(n), 100 * LINES);
	notes_begin_anew(n);
	notes_add(n, &lines[4]);
	ck_assert_int_eq(notes_end_anew(n), OK);
	ck_assert_uint_eq(notes_lines(n), 1);
	write_lines(n, 5, 6);
	notes_close(n);
	n = open_notes(base);
	ck_assert(n_seen == 2 && seen[4] && seen[5]);
	notes_close(n);
	/* A relay that was killed leaves this. */
	scratch_write(NOTES_NAME ".new", "x");
	scratch_write(NOTES_NAME ".3.new", "x");
	n = open_notes(base);
	ck_assert(!scratch_exists(NOTES_NAME ".new"));
	ck_assert(!scratch_exists(NOTES_NAME ".3.new"));
	scratch_write(NOTES_NAME ".new", "x");
	notes_begin_anew(n);
	ck_assert_int_eq(notes_end_anew(n), OK);
	ck_assert(!scratch_exists(NOTES_NAME));
	ck_assert(!scratch_exists(NOTES_NAME ".new"));
	write_lines(n, 0, 1);
	notes_close(n);
	n = open_notes(base);
	ck_assert_uint_eq(n_seen, 1);
	notes_close(n);
	close(base);
	scratch_close();
}
END_TEST

START_TEST(each_relay_has_a_file_of_its_own)
{
	struct notes *a, *b;
	int base;

	scratch_open();
	base = open_base();
	a = open_notes(base);
	write_lines(a, 0, 1);
	b = open_notes(base);
	ck_assert_uint_eq(n_seen, 0);
	ck_assert(!notes_has_others(b));
	write_lines(b, 1, 2);
	ck_assert(scratch_exists(NOTES_NAME ".2"));
	notes_close(b);
	notes_close(a);
	/* Who comes alone has both. */
	a = open_notes(base);
	ck_assert(n_seen == 2 && seen[0] && seen[1]);
	ck_assert(notes_has_others(a));
	b = open_notes(base);
	ck_assert_uint_eq(n_seen, 0);
	notes_close(b);
	notes_begin_anew(a);
	notes_add(a, &lines[0]);
	notes_add(a, &lines[1]);
	ck_assert_int_eq(notes_end_anew(a), OK);
	notes_drop_others(a);
	ck_assert(!scratch_exists(NOTES_NAME ".2"));
	notes_close(a);
	a = open_notes(base);
	ck_assert_uint_eq(n_seen, 2);
	notes_close(a);
	close(base);
	scratch_close();
}
END_TEST

/* Two begin at the same time, and none has a file yet. */
START_TEST(a_name_that_is_taken_meanwhile_is_left)
{
	struct notes *a, *b;
	int base;

	scratch_open();
	base = open_base();
	a = open_notes(base);
	b = open_notes(base);
	write_lines(a, 0, 1);
	write_lines(b, 1, 2);
	ck_assert(scratch_exists(NOTES_NAME));
	ck_assert(scratch_exists(NOTES_NAME ".2"));
	ck_assert(!notes_is_gone(a));
	ck_assert_int_eq(unlink(scratch_path(NOTES_NAME)), 0);
	ck_assert(notes_is_gone(a));
	ck_assert(!notes_is_gone(b));
	notes_close(a);
	notes_close(b);
	close(base);
	scratch_close();
}
END_TEST

/* What is no file of ours is left alone. */
START_TEST(what_is_none_of_ours_stays)
{
	struct notes *n;
	int base;

	scratch_open();
	base = open_base();
	ck_assert_int_eq(mkdir(scratch_path(NOTES_NAME), 0700), 0);
	ck_assert_int_eq(
	    symlink("/etc/passwd", scratch_path(NOTES_NAME ".2")), 0);
	scratch_write(NOTES_NAME ".3", "tracepulse-notes 2\nx\n");
	scratch_write("twice", "tracepulse-notes 1\n");
	ck_assert_int_eq(
	    link(scratch_path("twice"), scratch_path(NOTES_NAME ".4")), 0);
	ck_assert_int_eq(mkfifo(scratch_path(NOTES_NAME ".5"), 0600), 0);
	n = open_notes(base);
	ck_assert_uint_eq(n_seen, 0);
	write_lines(n, 0, 1);
	ck_assert(scratch_exists(NOTES_NAME ".6"));
	notes_begin_anew(n);
	ck_assert_int_eq(notes_end_anew(n), OK);
	notes_close(n);
	ck_assert_str_eq(
	    scratch_read(NOTES_NAME ".3"), "tracepulse-notes 2\nx\n");
	ck_assert_str_eq(scratch_read("twice"), "tracepulse-notes 1\n");
	close(base);
	scratch_close();
}
END_TEST

int
main(void)
{
	const struct unit units[] = {
		{ lines_come_back, 0, 0 },
		{ torn_anywhere_it_goes_on, 0, 0 },
		{ a_changed_byte_costs_its_line, 0, 0 },
		{ written_anew_it_has_what_counts, 0, 0 },
		{ each_relay_has_a_file_of_its_own, 0, 0 },
		{ a_name_that_is_taken_meanwhile_is_left, 0, 0 },
		{ what_is_none_of_ours_stays, 0, 0 },
	};

	return unit_run("notes", units, ARRAY_LEN(units));
}
