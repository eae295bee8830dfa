/* SPDX-License-Identifier: MIT */
#include "store/session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/relpath.h"
#include "common/state.h"
#include "ctf/beacons.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/test_store.h"

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

static bool has_no_locks;

int
__wrap_flock(int fd, int operation)
{
	if (!has_no_locks)
		return __real_flock(fd, operation);
	errno = EBADF; /* as NFS says of directories */
	return -1;
}

/* Snapshot sessions of one peer, host and name, and of another one. */
#define SNAPSHOT 1
#define OTHER_SNAPSHOT 2

static struct session_dir *
claim(const char *text, uint64_t sharers)
{
	struct relpath *wanted = path_of(text);
	struct session_dir *d;
	enum status st = session_dir_claim(
	    &d, test_store.store, wanted, sharers, NULL);

	relpath_free(wanted);
	ck_assert_msg(st == (d != NULL ? OK : E_LATER), "%s", status_text(st));
	return d;
}

static void
expect(const char *text, uint64_t sharers, const char *path)
{
	struct session_dir *d = claim(text, sharers);

	ck_assert_ptr_nonnull(d);
	ck_assert_str_eq(d->path->s, path);
	ck_assert_str_eq(d->wanted->s, text);
	session_dir_put(d);
}

static void
begin(void)
{
	test_store_open(10);
}

EACH_TEST(begin, test_store_close)

TEST(a_new_or_empty_directory_is_taken)
{
	expect("h/new", 0, "h/new");
	expect("h/new", 0, "h/new"); /* empty, and free again */
	ck_assert_int_eq(mkdir(scratch_path("h/empty"), 0700), 0);
	expect("h/empty", 0, "h/empty");
	expect("a/b/c/d", 0, "a/b/c/d");
}

/* Whoever reads does not claim. */
TEST(a_reader_is_seen_and_has_no_lock)
{
	struct flock wish = {
		.l_type = F_RDLCK, .l_start = BEACONS_LOCK, .l_len = 1
	};
	struct session_dir *d = claim("h/live", 0);
	int fd = open(scratch_path("h/live"), O_RDONLY | O_DIRECTORY);

	ck_assert_ptr_nonnull(d);
	ck_assert_int_ge(fd, 0);
	ck_assert(!session_dir_has_reader(d));
	ck_assert(session_dir_has_lock(fd));
	ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &wish), 0);
	ck_assert(session_dir_has_reader(d));
	ck_assert_int_eq(session_dir_write_beacons(d, "x", 1), OK);
	ck_assert_str_eq(scratch_read("h/live/.beacons"), "x");
	session_dir_put(d);
	expect("h/live", 0, "h/live"); /* empty, and free */
	close(fd);
}

TEST(one_with_content_is_not)
{
	expect("h/s", 0, "h/s");
	scratch_write("h/s/file", "x");
	expect("h/s", 0, "h/s-1");
	scratch_write("h/s-1/file", "x");
	expect("h/s", 0, "h/s-2");
	expect("h/s", SNAPSHOT, "h/s-2");
	ck_assert_str_eq(scratch_read("h/s/file"), "x");
}

TEST_ROWS(names_that_are_not_directories_are_skipped, 2)
{
	expect("h/x", 0, "h/x");
	scratch_write("h/s", "a file");
	ck_assert_int_eq(symlink("x", scratch_path("h/s-1")), 0);
	ck_assert_int_eq(symlink("nowhere", scratch_path("h/s-2")), 0);
	expect("h/s", _i == 1, "h/s-3");
	/* a parent that is none */
	expect("h/s/below", 0, "h/s-3/below");
	expect("h/s-1/below", 0, "h/s-1-1/below");
}

TEST(two_claims_do_not_meet)
{
	struct session_dir *a, *b, *c;

	a = claim("h/s", 0);
	b = claim("h/s", 0);
	ck_assert_str_eq(a->path->s, "h/s");
	ck_assert_str_eq(b->path->s, "h/s-1");
	c = claim("h/s", SNAPSHOT);
	ck_assert_str_eq(c->path->s, "h/s-2");
	session_dir_put(a);
	expect("h/s", 0, "h/s");
	session_dir_put(b);
	session_dir_put(c);
	a = claim("h/snap", SNAPSHOT);
	b = claim("h/snap", SNAPSHOT);
	ck_assert_str_eq(b->path->s, "h/snap");
	expect("h/snap", 0, "h/snap-1");
	expect("h/snap", OTHER_SNAPSHOT, "h/snap-1");
	session_dir_put(session_dir_get(a));
	expect("h/snap", 0, "h/snap-2");
	session_dir_put(a);
	session_dir_put(b);
	expect("h/snap", 0, "h/snap");
	session_dir_put(NULL);
}

TEST_ROWS(two_processes_do_not_claim_the_same_directory, 2)
{
	const uint64_t sharers = _i == 1 ? SNAPSHOT : 0;
	int ready[2], done[2], status;
	pid_t pid;
	char c;

	ck_assert_int_eq(pipe(ready) | pipe(done), 0);
	pid = fork();
	if (pid == 0) {
		struct session_dir *d = claim("h/s", sharers);

		c = strcmp(d->path->s, "h/s") == 0 ? 'y' : 'n';
		(void)!write(ready[1], &c, 1);
		close(done[1]);
		(void)!read(done[0], &c, 1);
		_exit(0); /* without a word */
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_int_eq(c, 'y');
	expect("h/s", sharers, "h/s-1");
	close(done[0]);
	close(done[1]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	expect("h/s", sharers, "h/s");
}

/* PATH, and what it is in. */
static void
make_folders(const char *path)
{
	char text[64];

	for (const char *s = path; s != NULL && *s != '\0';) {
		s += strcspn(s, "/");
		(void)snprintf(
		    text, sizeof(text), "%.*s", (int)(s - path), path);
		ck_assert(
		    mkdir(scratch_path(text), 0700) == 0 || errno == EEXIST);
		s += *s == '/';
	}
}

/* The snapshots of one session continue where they have begun, and no other
 * session's do; a name that others want is not lost to them. */
TEST(only_its_own_snapshots_are_added)
{
	expect("h/s", SNAPSHOT, "h/s");
	make_folders("h/s/snapshot-1");
	expect("h/s", SNAPSHOT, "h/s");
	expect("h/s", OTHER_SNAPSHOT, "h/s-1");
	make_folders("h/s-1/snapshot-1");
	expect("h/s", OTHER_SNAPSHOT, "h/s-1");
	expect("h/s", 0, "h/s-2");
	expect("h/s", SNAPSHOT, "h/s");
	make_folders("h/finished/ust");
	expect("h/finished", SNAPSHOT, "h/finished-1");
	scratch_remove("h/s");
	/* Another relay has made it again, and has finished. */
	make_folders("h/s/theirs");
	expect("h/s", SNAPSHOT, "h/s-2");
	scratch_remove("h/s");
	expect("h/s", 0, "h/s");
}

#define NAMES 2000

/* Every claim takes the same number of system calls. */
TEST_ROWS(names_never_end, 2)
{
	static struct session_dir *all[NAMES];
	const bool have_all = _i == 0; /* at the same time */
	struct session_dir *d;
	char path[32];

	test_store_close();
	test_store_open(have_all ? NAMES + 10 : 10);
	for (int i = 0; i < NAMES; i++) {
		d = claim("h/s", 0);
		ck_assert_ptr_nonnull(d);
		ck_assert_int_eq(strncmp(d->path->s, "h/s", 3), 0);
		snprintf(path, sizeof(path), "%s/x", d->path->s);
		scratch_write(path, "x");
		if (have_all)
			all[i] = d;
		else
			session_dir_put(d);
	}
	for (int i = 0; i < NAMES && have_all; i++)
		session_dir_put(all[i]);
}

/* No session is in another one's directory, whichever came first. */
TEST_ROWS(directories_never_nest, 2)
{
	struct session_dir *in, *out;

	in = claim("h/a/b", 0);
	out = claim("h/a", _i == 1 ? SNAPSHOT : 0);
	ck_assert_str_eq(out->path->s, "h/a-1");
	expect("h/a-1/b", 0, "h/a-1-1/b");
	expect("h/a/b/c", 0, "h/a/b-1/c");
	expect("h/a/c", 0, "h/a/c");
	session_dir_put(in);
	session_dir_put(out);
}

/* A slow disk does not delay others for long. */
TEST(deep_paths_take_several_turns)
{
	const char *path = "h/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r";
	struct session_dir *d;
	unsigned n = 0;

	while ((d = claim(path, 0)) == NULL)
		ck_assert_uint_lt(++n, 10);
	ck_assert_uint_eq(n, 4);
	ck_assert_str_eq(d->path->s, path);
	scratch_remove("h"); /* packets need it again at once */
	ck_assert_int_eq(session_dir_renew(&d), OK);
	ck_assert_str_eq(d->path->s, path);
	session_dir_put(d);
}

/* A name that is chosen at random is another one in the next cycle: the folders
 * are created at once. */
TEST(deep_paths_below_a_random_name_take_one_turn)
{
	struct session_dir *taken[5], *d;

	for (unsigned i = 0; i < ARRAY_LEN(taken); i++)
		ck_assert_ptr_nonnull(taken[i] = claim("h/x", 0));
	d = claim("h/x/a/b/c/d/e/f/g/h/i", 0);
	ck_assert_ptr_nonnull(d);
	for (unsigned i = 0; i < ARRAY_LEN(taken); i++)
		session_dir_put(taken[i]);
	session_dir_put(d);
}

/* All sessions that share the removed one get the same new one. */
TEST_ROWS(a_removed_one_is_made_again_once, 2)
{
	const bool is_snapshot = _i == 1;
	struct session_dir *a, *b, *c;

	a = claim("h/s", is_snapshot);
	b = session_dir_get(a);
	ck_assert_int_eq(session_dir_renew(&a), OK);
	ck_assert_ptr_eq(a, b); /* it is there */
	for (int round = 0; round < 3; round++) {
		scratch_remove(round == 1 ? "h" : "h/s");
		ck_assert_int_eq(session_dir_renew(&a), OK);
		ck_assert_ptr_ne(a, b);
		ck_assert_str_eq(a->path->s, "h/s");
		ck_assert_str_eq(a->wanted->s, "h/s");
		ck_assert(a->sharers == is_snapshot);
		c = session_dir_get(b);
		ck_assert_int_eq(session_dir_renew(&c), OK);
		ck_assert_ptr_eq(c, a);
		session_dir_put(c);
		if (round < 2) /* the last one is found from the first */
			continue;
		session_dir_put(b);
		b = session_dir_get(a);
	}
	expect("h/s", is_snapshot, is_snapshot ? "h/s" : "h/s-1");
	session_dir_put(a);
	session_dir_put(b);
}

/* A directory of another session is not entered: each of them on the way gets a
 * suffix, and no folder is left out. */
TEST(ancestors_that_are_taken_get_suffixes)
{
	make_folders("h/a/ust");
	expect("h/a/b/c", 0, "h/a-1/b/c");
	make_folders("h/a-1/b/ust");
	expect("h/a/b/c", 0, "h/a-1/b-1/c");
	make_folders("h/a-1/kernel");
	expect("h/a/b/c", 0, "h/a-2/b/c");
	make_folders("h/a-2/b/kernel");
	make_folders("h/a-2/b-1/kernel");
	expect("h/a/b/c/d", 0, "h/a-2/b-2/c/d");
}

TEST(a_removed_one_that_is_taken_gets_a_suffix)
{
	struct session_dir *d;

	d = claim("h/s", 0);
	scratch_remove("h/s");
	ck_assert_int_eq(mkdir(scratch_path("h/s"), 0700), 0);
	scratch_write("h/s/file", "x");
	ck_assert_int_eq(session_dir_renew(&d), OK);
	ck_assert_str_eq(d->path->s, "h/s-1");
	ck_assert_str_eq(d->wanted->s, "h/s");
	scratch_remove("h");
	scratch_write("h", "no folder");
	ck_assert_int_eq(session_dir_renew(&d), OK);
	ck_assert_str_eq(d->path->s, "h-1/s");
	session_dir_put(d);
	ck_assert_int_eq(session_dir_base(&d, test_store.store), OK);
	ck_assert_int_eq(session_dir_renew(&d), OK); /* nothing to be done */
	session_dir_put(d);
}

TEST(the_base_is_shared_and_has_no_path)
{
	struct session_dir *a, *b;

	ck_assert_int_eq(session_dir_base(&a, test_store.store), OK);
	ck_assert_int_eq(session_dir_base(&b, test_store.store), OK);
	ck_assert_ptr_null(a->path);
	ck_assert_ptr_null(a->journal_root.path);
	session_dir_put(a);
	session_dir_put(b);
}

#define CLAIMS 3000

/* How many of CLAIMS directories below one host did not get their name? */
static int
count_suffixes(char who)
{
	struct session_dir *d;
	int count = 0;
	char text[32];

	for (int i = 0; i < CLAIMS; i++) {
		snprintf(text, sizeof(text), "h/%c-%d", who, i);
		d = claim(text, false);
		if (strcmp(d->path->s, text) != 0)
			count++;
		session_dir_put(d);
	}
	return count;
}

/* Each looks at the folder of the host while the other one does. */
TEST(claims_side_by_side_do_not_meet)
{
	int status, count;
	pid_t pid;

	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(count_suffixes('a') != 0);
	count = count_suffixes('b');
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(count, 0);
}

TEST(without_locks_a_session_gets_a_new_directory)
{
	struct session_dir *first;

	has_no_locks = true;
	first = claim("h/s", 0);
	ck_assert_str_eq(first->path->s, "h/s");
	expect("h/s", 0, "h/s-1"); /* empty, but perhaps somebody's */
	expect("h/snapshot", SNAPSHOT, "h/snapshot");
	expect("h/snapshot", SNAPSHOT, "h/snapshot");
	session_dir_put(first);
	has_no_locks = false;
}

/* The directory that the first LENGTH bytes of O have. NULL: *ST says why. */
static struct session_dir *
move_to(struct store *next, const struct state_out *o, size_t length,
    enum status *st)
{
	struct session_dir *d = NULL;
	struct state_in in;

	*st = test_store_read_state(&in, o, buf_data(&o->buf), length);
	if (*st != OK)
		return NULL;
	*st = session_dir_get_state(&d, &in, next);
	if (*st == OK && reader_done(&in.r) != OK)
		*st = E_MALFORMED;
	state_in_free(&in);
	return d;
}

/* Rows: of one session, or shared by snapshots; viewers have a folder in it or
 * not. */
TEST_ROWS(the_next_process_has_the_claim, 4)
{
	const uint64_t sharers = _i % 2 == 1 ? SNAPSHOT : 0;
	struct session_dir *old = claim("h/s", sharers), *d;
	struct store *store = test_store.store, *next;
	struct folder_base *base;
	struct state_out o = { 0 };
	enum status st;

	make_folders("h/s/snapshot-1");
	if (_i >= 2)
		ck_assert_int_eq(session_dir_share(old, &base), OK);
	session_dir_put_state(&o, old);
	next = test_store_next();
	d = move_to(next, &o, buf_len(&o.buf), &st);
	ck_assert_int_eq(st, OK);
	state_out_free(&o);
	ck_assert_str_eq(d->path->s, "h/s");
	ck_assert_str_eq(d->wanted->s, "h/s");
	ck_assert_uint_eq(d->sharers, sharers);
	ck_assert_int_eq(d->base != NULL, _i >= 2);
	/* The process before ends, without a word if it shares the lock. */
	if (_i < 2)
		session_dir_put(old);
	test_store.store = next;
	ck_assert(session_dir_is_foreign(test_store.base, "h/s"));
	expect("h/s", 0, "h/s-1");
	expect("h/s", SNAPSHOT, sharers != 0 ? "h/s" : "h/s-1");
	session_dir_put(d);
	test_store.store = store;
	test_store_end_next(next);
	if (_i >= 2)
		session_dir_put(old);
	ck_assert(!session_dir_is_foreign(test_store.base, "h/s"));
}

TEST(what_was_made_again_moves_with_the_removed_one)
{
	struct session_dir *again = claim("h/s", 0), *old, *d, *renewed;
	struct state_out o = { 0 };
	struct store *next = test_store_next();
	enum status st;

	old = session_dir_get(again);
	scratch_remove("h/s");
	ck_assert_int_eq(session_dir_renew(&again), OK);
	session_dir_put_state(&o, old);
	d = move_to(next, &o, buf_len(&o.buf), &st);
	ck_assert_int_eq(st, OK);
	state_out_free(&o);
	session_dir_put(old);
	session_dir_put(again);
	renewed = session_dir_get(d);
	ck_assert_int_eq(session_dir_renew(&renewed), OK);
	ck_assert_ptr_eq(renewed, d->next);
	ck_assert_str_eq(renewed->path->s, "h/s");
	session_dir_put(renewed);
	session_dir_put(d);
	test_store_end_next(next);
}

/* Each byte is changed once, and the state ends before each. */
TEST(damaged_states_are_refused_or_harmless)
{
	static const uint8_t masks[] = { 0x01, 0x80, 0xff };
	struct session_dir *old = claim("h/s", SNAPSHOT), *d;
	struct state_out o = { 0 };
	unsigned n_read = 0;
	struct store *next;
	uint8_t *bytes;
	enum status st;
	size_t n;

	unit_capture_stderr();
	session_dir_put_state(&o, old);
	n = buf_len(&o.buf);
	bytes = o.buf.mem + o.buf.start;
	for (size_t i = 0; i < n; i++) {
		next = test_store_next();
		ck_assert_ptr_null(move_to(next, &o, i, &st));
		ck_assert_int_eq(st, E_MALFORMED);
		for (size_t k = 0; k < ARRAY_LEN(masks); k++) {
			bytes[i] ^= masks[k];
			d = move_to(next, &o, n, &st);
			bytes[i] ^= masks[k];
			n_read += d != NULL;
			session_dir_put(d);
		}
		test_store_end_next(next);
	}
	ck_assert_uint_gt(n_read, 10);
	ck_assert_uint_lt(n_read, 3 * (unsigned)n);
	state_out_free(&o);
	session_dir_put(old);
}
