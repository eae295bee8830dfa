/* SPDX-License-Identifier: MIT */
/* Loop tests run twice: with openat2, and as on a kernel without it. */
#include "store/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/relpath.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"

static int base;

/* out/ with a folder and files, links that lead out of it, and secret beside
 * it. */
static void
begin(int loop)
{
	dir_without_openat2(loop % 2 == 1);
	(void)umask(022);
	scratch_open();
	ck_assert_int_eq(mkdir(scratch_path("out"), 0777), 0);
	ck_assert_int_eq(mkdir(scratch_path("secret"), 0777), 0);
	ck_assert_int_eq(mkdir(scratch_path("out/a"), 0777), 0);
	ck_assert_int_eq(mkdir(scratch_path("out/a/b"), 0777), 0);
	scratch_write("secret/file", "secret");
	scratch_write("out/file", "plain");
	ck_assert_int_eq(symlink("../secret", scratch_path("out/up")), 0);
	ck_assert_int_eq(
	    symlink(scratch_path("secret"), scratch_path("out/abs")), 0);
	ck_assert_int_eq(symlink("a", scratch_path("out/inner")), 0);
	ck_assert_int_eq(
	    symlink("../secret/file", scratch_path("out/link")), 0);
	ck_assert_int_eq(symlink("nowhere", scratch_path("out/hang")), 0);
	base = open(scratch_path("out"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(base, 0);
}

static void
end(void)
{
	ck_assert_str_eq(scratch_read("secret/file"), "secret");
	ck_assert(!scratch_exists("secret/new"));
	ck_assert(!scratch_exists("new"));
	ck_assert(!scratch_exists("out/nowhere"));
	close(base);
	scratch_close();
}

static const char *const escapes[] = { "..", "../secret", "a/../..",
	"a/../../secret", "/", "/tmp", "up", "abs", "up/x", "abs/x", "inner",
	"inner/b" };

EACH_TEST(NULL, end)

TEST_ROWS(no_path_leads_out_or_through_a_link, 2)
{
	begin(_i);
	for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
		const char *path = escapes[i];
		char below[256];
		int fd;

		(void)snprintf(below, sizeof(below), "%s/new", path);
		ck_assert_msg(dir_open(&fd, base, path) != OK, "%s", path);
		ck_assert_msg(
		    dir_open_file(&fd, base, path, O_RDONLY) != OK, "%s", path);
		ck_assert_msg(dir_open_file(&fd, base, below,
				  O_RDWR | O_CREAT | O_EXCL) != OK,
		    "%s", below);
		ck_assert_msg(dir_create(base, below) != OK, "%s", below);
		ck_assert_msg(dir_create_path(base, below) != OK, "%s", below);
		(void)snprintf(below, sizeof(below), "%s/file", path);
		ck_assert_msg(dir_unlink(base, below) != OK, "%s", below);
		ck_assert_msg(
		    dir_rename(base, below, "moved") != OK, "%s", below);
		ck_assert_msg(
		    dir_rename(base, "file", below) != OK, "%s", below);
		ck_assert_msg(dir_remove(base, below) != OK, "%s", below);
	}
}

TEST_ROWS(a_link_at_the_end_is_not_opened, 2)
{
	int fd;

	begin(_i);
	ck_assert(dir_open_file(&fd, base, "link", O_RDWR) != OK);
	ck_assert(dir_open_file(&fd, base, "hang", O_RDWR | O_CREAT) != OK);
	ck_assert_int_eq(
	    dir_open_file(&fd, base, "link", O_RDWR | O_CREAT | O_EXCL),
	    E_EXISTS);
}

TEST_ROWS(names_inside_work, 2)
{
	struct stat sb;
	int fd;

	begin(_i);
	ck_assert_int_eq(dir_create_path(base, "x/y/z"), OK);
	ck_assert_int_eq(dir_create_path(base, "x/y/z"), OK);
	ck_assert_int_eq(dir_create_path(base, "x/y/one/two/three"), OK);
	ck_assert_int_eq(dir_remove(base, "x/y/one/two/three"), OK);
	ck_assert_int_eq(dir_remove(base, "x/y/one/two"), OK);
	ck_assert_int_eq(dir_remove(base, "x/y/one"), OK);
	ck_assert_int_eq(dir_create_path(base, "alone"), OK);
	ck_assert_int_eq(dir_remove(base, "alone"), OK);
	ck_assert_int_eq(dir_create_path(base, ""), OK);
	ck_assert_int_eq(dir_create_path(base, "file"), E_IO);
	ck_assert_int_eq(dir_create_path(base, "file/x"), E_IO);
	ck_assert_int_eq(dir_create(base, "x"), E_EXISTS);
	ck_assert_int_eq(dir_create(base, "no/such"), E_NOENT);
	ck_assert_int_eq(
	    dir_open_file(&fd, base, "x/y/new", O_RDWR | O_CREAT | O_EXCL), OK);
	ck_assert_int_eq(fstat(fd, &sb), 0);
	ck_assert_uint_eq(sb.st_mode & 0777, 0640);
	ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	close(fd);
	ck_assert_int_eq(stat(scratch_path("out/x/y"), &sb), 0);
	ck_assert_uint_eq(sb.st_mode & 0777, 0750);
	ck_assert_int_eq(
	    dir_open_file(&fd, base, "x/y/new", O_RDWR | O_CREAT | O_EXCL),
	    E_EXISTS);
	ck_assert_int_eq(dir_open_file(&fd, base, "no", O_RDONLY), E_NOENT);
	ck_assert_int_eq(dir_open(&fd, base, "file"), E_IO);
	ck_assert_int_eq(errno, ENOTDIR);
	ck_assert_int_eq(dir_open(&fd, base, ""), OK);
	ck_assert(!dir_is_empty(fd));
	close(fd);
	ck_assert_int_eq(dir_open(&fd, base, "x/y/z"), OK);
	ck_assert(dir_is_empty(fd));
	close(fd);
	ck_assert_int_eq(dir_remove(base, "x/y"), E_EXISTS);
	ck_assert_int_eq(dir_remove(base, "x/y/z"), OK);
	ck_assert_int_eq(dir_unlink(base, "x/y/new"), OK);
	ck_assert_int_eq(dir_unlink(base, "x/y/new"), E_NOENT);
}

TEST_ROWS(a_rename_never_replaces, 2)
{
	begin(_i);
	ck_assert_int_eq(dir_create_path(base, "old"), OK);
	ck_assert_int_eq(dir_create_path(base, "taken"), OK);
	scratch_write("out/old/f", "1");
	ck_assert_int_eq(dir_rename(base, "old", "taken"), E_EXISTS);
	ck_assert_int_eq(dir_rename(base, "old", "file"), E_EXISTS);
	ck_assert_int_eq(dir_rename(base, "old", "hang"), E_EXISTS);
	ck_assert_int_eq(dir_rename(base, "none", "free"), E_NOENT);
	ck_assert_int_eq(dir_rename(base, "old", "a/b/new"), OK);
	ck_assert_str_eq(scratch_read("out/a/b/new/f"), "1");
}

TEST_ROWS(a_path_that_is_too_long_is_an_error, 2)
{
	static char path[RELPATH_MAX * 2];
	int fd;

	begin(_i);
	for (size_t i = 0; i + 2 < sizeof(path); i += 2)
		memcpy(path + i, "p/", 3);
	path[sizeof(path) - 3] = '\0';
	ck_assert_int_eq(dir_create_path(base, path), E_IO);
	ck_assert_int_eq(dir_create(base, path), E_IO);
	ck_assert(dir_open(&fd, base, path) != OK);
	memset(path, 'n', 300);
	path[300] = '\0';
	ck_assert(dir_open(&fd, base, path) != OK);
	ck_assert_int_eq(dir_create(base, path), E_IO);
}

/* Of a directory that this process, or no process, may write in; 0: writable.
 */
static int
errno_of_writing(const char *path, bool as_nobody)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), status;
	pid_t pid = fork();

	if (pid == 0) {
		if (as_nobody && geteuid() == 0 && setuid(65534) != 0)
			_exit(255);
		_exit(dir_is_writable(fd) ? 0 : errno);
	}
	close(fd);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST_ROWS(writing_is_tried_and_leaves_nothing, 2)
{
	int fd;

	begin(_i);
	ck_assert_int_eq(dir_create(base, "new"), OK);
	ck_assert_int_eq(chmod(scratch_path("out/new"), 0777), 0);
	ck_assert_int_eq(errno_of_writing(scratch_path("out/new"), true), 0);
	ck_assert_int_eq(chmod(scratch_path("out/new"), 0555), 0);
	ck_assert_int_eq(
	    errno_of_writing(scratch_path("out/new"), true), EACCES);
	ck_assert_int_eq(chmod(scratch_path("out/new"), 0777), 0);
	ck_assert_int_eq(dir_open(&fd, base, "new"), OK);
	ck_assert(dir_is_empty(fd));
	ck_assert_int_eq(dir_remove(base, "new"), OK);
	errno = 0;
	ck_assert_int_eq(dir_is_writable(fd) ? 0 : errno, ENOENT);
	close(fd);
	/* It knows no files without a name, and no new folders; root or not. */
	ck_assert_int_ne(errno_of_writing("/proc", false), 0);
}
