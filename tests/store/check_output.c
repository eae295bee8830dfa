/* SPDX-License-Identifier: MIT */
#include "store/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "store/journal.h"
#include "store/journal_format.h"
#include "store/syncer.h"
#include "store/store.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"
#include "tests/store/test_store.h"

/* Open it as a user whom file modes bind: the tests may run as root. */
static int
errno_of_opening(const char *name)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (geteuid() == 0 && setuid(65534) != 0)
			_exit(255);
		_exit(output_open(scratch_path(name)) >= 0 ? 0 : errno);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

EACH_TEST(scratch_open, scratch_close)

TEST(the_reason_is_that_of_what_could_not_be_made)
{
	ck_assert_int_eq(chmod(scratch_path(""), 0755), 0);
	ck_assert_int_eq(mkdir(scratch_path("locked"), 0755), 0);
	ck_assert_int_eq(chmod(scratch_path("locked"), 0555), 0);
	ck_assert_int_eq(mkdir(scratch_path("locked-out"), 0), 0);
	scratch_write("file", "x");
	ck_assert_int_eq(errno_of_opening("locked/a"), EACCES);
	ck_assert_int_eq(errno_of_opening("locked/a/b/"), EACCES);
	ck_assert_int_eq(errno_of_opening("locked-out/a/b"), EACCES);
	ck_assert_int_eq(errno_of_opening("file/a"), ENOTDIR);
	ck_assert_int_eq(errno_of_opening("file"), ENOTDIR);
	ck_assert_int_eq(errno_of_opening("locked//"), EACCES);
	ck_assert_int_eq(chmod(scratch_path("locked"), 0777), 0);
	ck_assert_int_eq(errno_of_opening("locked//"), 0);
	ck_assert_int_eq(rmdir(scratch_path("locked")), 0);
}

static void
open_output(struct output **out, const char *name)
{
	int fd = output_open(scratch_path(name));

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(output_create(out, fd, true, NULL), OK);
}

TEST(what_took_its_place_is_noticed)
{
	struct output *o;

	open_output(&o, "a/out");
	ck_assert(output_is_at(o, scratch_path("a/out")));
	ck_assert_int_eq(
	    rename(scratch_path("a/out"), scratch_path("a/moved")), 0);
	ck_assert(!output_is_at(o, scratch_path("a/out")));
	ck_assert(output_is_at(o, scratch_path("a/moved")));
	ck_assert_int_eq(mkdir(scratch_path("a/out"), 0700), 0);
	ck_assert(!output_is_at(o, scratch_path("a/out")));
	/* What is below a file, or cannot be seen, may come back. */
	scratch_write("a/file", "x");
	ck_assert(output_is_at(o, scratch_path("a/file/out")));
	ck_assert_int_eq(rmdir(scratch_path("a/moved")), 0);
	ck_assert(!output_is_at(o, scratch_path("a/file/out")));
	output_put(o);
}

static void
unlink_journals(const char *name)
{
	DIR *d = opendir(scratch_path(name));
	struct dirent *e;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)) != NULL)
		if (strncmp(e->d_name, JOURNAL_PREFIX,
			sizeof(JOURNAL_PREFIX) - 1) == 0)
			ck_assert_int_eq(unlinkat(dirfd(d), e->d_name, 0), 0);
	(void)closedir(d);
}

TEST(a_journal_that_was_removed_is_noticed)
{
	struct relpath *h = path_of("h");
	struct journal_root root = { .path = h };
	const struct dir_id id = { .ino = 1 };
	struct journal_file file;
	struct output *o;

	open_output(&o, "out");
	journal_add_file(o->journal, &file, &root, &id, false);
	ck_assert(output_is_at(o, scratch_path("out")));
	unlink_journals("out");
	ck_assert(!output_is_at(o, scratch_path("out")));
	journal_remove_file(o->journal, &file);
	output_put(o);
	relpath_free(h);
}

/* What a journal of the directory NAME says of syncs. */
static uint32_t
sync_of(const char *name)
{
	struct journal_slot head = { 0 };
	DIR *d = opendir(name);
	struct dirent *e;
	int fd = -1;

	ck_assert_ptr_nonnull(d);
	while (fd < 0 && (e = readdir(d)) != NULL)
		if (strncmp(e->d_name, JOURNAL_PREFIX,
			sizeof(JOURNAL_PREFIX) - 1) == 0)
			fd = openat(dirfd(d), e->d_name, O_RDONLY);
	(void)closedir(d);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(read(fd, &head, sizeof(head)), sizeof(head));
	close(fd);
	return head.head.sync;
}

/* Give an output directory a journal. What it says of syncs. */
static uint32_t
sync_of_output(struct output *o, const char *name)
{
	struct relpath *h = path_of("h");
	struct journal_root root = { .path = h };
	const struct dir_id id = { .ino = 1 };
	struct journal_file file;
	uint32_t sync;

	journal_add_file(o->journal, &file, &root, &id, false);
	sync = sync_of(name);
	journal_remove_file(o->journal, &file);
	relpath_free(h);
	return sync;
}

static void
point_to(const char *to)
{
	(void)unlink(scratch_path("out"));
	ck_assert_int_eq(symlink(to, scratch_path("out")), 0);
}

TEST(another_file_system_is_not_synced)
{
	char other[] = "/dev/shm/check_output.XXXXXX";
	struct published memory = { 0 };
	struct store_config config = {
		.max_files = 8, .sync = STORE_SYNC_TIME, .memory = &memory
	};
	struct stat here, there;
	struct store *s;

	ck_assert_int_eq(mkdir(scratch_path("a"), 0700), 0);
	ck_assert_int_eq(mkdir(scratch_path("b"), 0700), 0);
	point_to("a");
	config.output = scratch_path("out");
	config.base_fd = output_open(config.output);
	ck_assert_int_ge(config.base_fd, 0);
	ck_assert_int_eq(
	    syncer_create(&config.syncer, config.base_fd, NS_PER_S), OK);
	ck_assert_int_eq(syncer_start(config.syncer), OK);
	ck_assert_int_eq(store_create(&s, &config), OK);
	ck_assert_uint_eq(
	    sync_of_output(store_output(s), scratch_path("a")), JOURNAL_SYNCED);
	point_to("b");
	ck_assert_uint_eq(
	    sync_of_output(store_output(s), scratch_path("b")), JOURNAL_SYNCED);
	if (mkdtemp(other) != NULL) {
		point_to(other);
		ck_assert_int_eq(stat(scratch_path("a"), &here), 0);
		ck_assert_int_eq(stat(other, &there), 0);
		ck_assert_uint_eq(sync_of_output(store_output(s), other),
		    here.st_dev == there.st_dev ? JOURNAL_SYNCED
						: JOURNAL_UNSYNCED);
	}
	store_destroy(s);
	syncer_stop(config.syncer);
	close(config.base_fd);
	(void)rmdir(other);
}

/* Sessions come while it is out of reach. */
TEST(a_missing_output_directory_is_not_logged_for_each_session)
{
	struct published memory = { 0 };
	struct store_config config = { .max_files = 8, .memory = &memory };
	struct store *s;

	clock_freeze(NS_PER_S, 0);
	config.output = scratch_path("out");
	config.base_fd = output_open(config.output);
	ck_assert_int_ge(config.base_fd, 0);
	ck_assert_int_eq(store_create(&s, &config), OK);
	ck_assert_int_eq(rename(config.output, scratch_path("moved")), 0);
	scratch_write("out", "in the way");
	unit_capture_stderr();
	for (int i = 0; i < 200; i++)
		ck_assert_ptr_eq(store_output(s), s->output);
	/* Each level has its own limit: a warning and an error. */
	ck_assert_uint_eq(unit_stderr_lines(), 2 * LOG_PEER_LINES);
	store_destroy(s);
	close(config.base_fd);
}
