/* SPDX-License-Identifier: MIT */
#include "store/notes.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"

#define KILLS 30
#define LONG 2000

static char all_bytes[256], long_name[LONG + 1];

static const struct notes_row rows[] = {
	{ .ino = 7,
	    .born = UINT64_MAX,
	    .kind = STORED_SNAPSHOT,
	    .began_ns = UINT64_MAX,
	    .path = "h/.hidden",
	    .name = "h/a b%20\xc3\xa9\xc3/-/archives/x",
	    .host = "",
	    .session = all_bytes },
	{ .ino = UINT64_MAX,
	    .kind = STORED_CHUNK,
	    .ended_ns = 9,
	    .bytes = UINT64_MAX,
	    .is_kept = true,
	    .path = "h/s",
	    .name = "h/s",
	    .host = long_name,
	    .session = "'\"%" },
};

/* The scratch directory is the state directory, "out" in it the output. */
static struct notes_place place;
static char state[256], name[64], wal[72];
static unsigned n_seen;

static void
begin(void)
{
	int fd;

	for (unsigned i = 1; i < sizeof(all_bytes); i++)
		all_bytes[i - 1] = (char)i;
	memset(long_name, 'x', LONG);
	scratch_open();
	ck_assert_int_eq(mkdir(scratch_path("out"), 0700), 0);
	snprintf(state, sizeof(state), "%s", scratch_path(""));
	place.state_dir = state;
	place.output = "/the 'output'";
	fd = open(scratch_path("out"), O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(dir_identify(&place.id, fd), OK);
	close(fd);
	snprintf(name, sizeof(name), "notes-%" PRIu64 "-%" PRIu64 ".db",
	    place.id.ino, place.id.born);
	snprintf(wal, sizeof(wal), "%s-wal", name);
}

static void
see(void *arg, const struct notes_row *row)
{
	const struct notes_row *want = &rows[row->ino != 7];

	ck_assert_ptr_eq(arg, &n_seen);
	ck_assert_uint_eq(row->ino, want->ino);
	ck_assert_uint_eq(row->born, want->born);
	ck_assert_int_eq(row->kind, want->kind);
	ck_assert_uint_eq(row->began_ns, want->began_ns);
	ck_assert_uint_eq(row->ended_ns, want->ended_ns);
	ck_assert_uint_eq(row->bytes, want->bytes);
	ck_assert_int_eq(row->is_kept, want->is_kept);
	ck_assert_str_eq(row->path, want->path);
	ck_assert_str_eq(row->name, want->name);
	ck_assert_str_eq(row->host, want->host);
	ck_assert_str_eq(row->session, want->session);
	n_seen++;
}

static enum status
try_open(struct notes **out)
{
	n_seen = 0;
	return notes_open(out, &place, see, &n_seen);
}

static struct notes *
open_notes(unsigned n_rows)
{
	struct notes *n;

	ck_assert_int_eq(try_open(&n), OK);
	ck_assert_uint_eq(n_seen, n_rows);
	return n;
}

TEST(rows_come_back)
{
	struct notes_row before = rows[1];
	struct notes *n;
	struct stat sb;

	begin();
	before.path = before.name;
	before.ended_ns = before.bytes = 0;
	before.is_kept = false;
	n = open_notes(0);
	notes_put(n, &rows[0]);
	notes_put(n, &before);
	ck_assert_int_eq(notes_flush(n, false), OK);
	notes_put(n, &rows[1]);
	ck_assert_int_eq(notes_flush(n, true), OK);
	ck_assert_int_eq(stat(scratch_path(name), &sb), 0);
	ck_assert_int_eq(sb.st_mode & 0777, 0600);
	ck_assert_int_eq(stat(scratch_path(wal), &sb), 0);
	ck_assert_int_eq(sb.st_mode & 0777, 0600);
	notes_close(n);
	ck_assert(!scratch_exists(wal));
	n = open_notes(2);
	notes_remove_row(n, rows[0].ino, rows[0].born);
	ck_assert_int_eq(notes_flush(n, false), OK);
	/* This is not flushed. */
	notes_clear(n);
	notes_close(n);
	n = open_notes(1);
	notes_clear(n);
	ck_assert_int_eq(notes_flush(n, false), OK);
	notes_close(n);
	n = open_notes(0);
	notes_remove(n);
	notes_close(n);
	ck_assert(!scratch_exists(name) && !scratch_exists(wal));
	scratch_close();
}

/* In a child: write and tell of each flush, until the kill. */
static void
write_on(int to)
{
	struct notes *n;

	for (;;) {
		if (notes_open(&n, &place, NULL, NULL) != OK)
			_exit(1);
		for (int i = 0; i < 50; i++) {
			notes_clear(n);
			notes_put(n, &rows[0]);
			notes_put(n, &rows[1]);
			if (notes_flush(n, i % 10 == 0) != OK ||
			    write(to, "", 1) != 1)
				_exit(1);
		}
		notes_close(n);
	}
}

TEST(killed_anywhere_it_goes_on)
{
	int pipe_fds[2], status;
	struct notes *n;
	pid_t child;
	char c;

	for (int i = 0; i < KILLS; i++) {
		begin();
		ck_assert_int_eq(pipe(pipe_fds), 0);
		child = fork();
		if (child == 0)
			write_on(pipe_fds[1]);
		close(pipe_fds[1]);
		/* Some are killed before the file is whole. */
		if (i % 3 != 0)
			ck_assert_int_eq(read(pipe_fds[0], &c, 1), 1);
		usleep((useconds_t)(i * 300));
		kill(child, SIGKILL);
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert(WIFSIGNALED(status));
		close(pipe_fds[0]);
		ck_assert_int_eq(try_open(&n), OK);
		ck_assert(n_seen == 2 || (n_seen == 0 && i % 3 == 0));
		notes_close(n);
		ck_assert(!scratch_exists(wal));
		scratch_close();
	}
}

TEST(one_relay_has_the_file)
{
	struct notes *a, *b;
	pid_t child;
	int status;

	begin();
	a = open_notes(0);
	notes_put(a, &rows[0]);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(try_open(&b), E_BUSY);
		child = fork();
		if (child == 0)
			_exit(try_open(&b) == E_BUSY ? 0 : 1);
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_int_eq(status, 0);
		ck_assert_int_eq(notes_flush(a, false), OK);
	}
	notes_close(a);
	notes_close(open_notes(1));
	scratch_close();
}

TEST(a_file_that_was_removed_is_missed)
{
	struct notes *n;

	begin();
	n = open_notes(0);
	ck_assert(!notes_are_lost(n));
	ck_assert_int_eq(unlink(scratch_path(name)), 0);
	ck_assert(notes_are_lost(n));
	/* Another's is not removed. */
	scratch_write(name, "x");
	ck_assert(notes_are_lost(n));
	notes_remove(n);
	notes_close(n);
	ck_assert_str_eq(scratch_read(name), "x");
	scratch_close();
}

/* Another directory at the same path has notes of its own. */
TEST(notes_belong_to_one_directory)
{
	struct notes *n;

	begin();
	n = open_notes(0);
	notes_put(n, &rows[0]);
	ck_assert_int_eq(notes_flush(n, false), OK);
	notes_close(n);
	place.id.born++;
	notes_close(open_notes(0));
	place.id.born--;
	notes_close(open_notes(1));
	scratch_close();
}

static void
refuse(enum status want)
{
	struct notes *n;

	ck_assert_int_eq(try_open(&n), want);
	ck_assert(scratch_exists(name));
	scratch_remove(name);
}

/* The relay uses no file that it did not make, and leaves it alone. */
TEST(foreign_files_stay)
{
	struct notes *n;
	char text[200];

	begin();
	ck_assert_int_eq(mkdir(scratch_path(name), 0700), 0);
	refuse(E_IO);
	scratch_write("other", "");
	ck_assert_int_eq(symlink("other", scratch_path(name)), 0);
	refuse(E_IO);
	ck_assert_int_eq(mkfifo(scratch_path(name), 0600), 0);
	refuse(E_IO);
	ck_assert_int_eq(symlink("other", scratch_path(wal)), 0);
	if (try_open(&n) == OK) {
		notes_put(n, &rows[0]);
		ck_assert_int_eq(notes_flush(n, true), OK);
		notes_close(n);
	}
	ck_assert_str_eq(scratch_read("other"), "");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	scratch_write(name, text);
	ck_assert_int_eq(try_open(&n), E_MALFORMED);
	ck_assert_str_eq(scratch_read(name), text);
	scratch_close();
}
