/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/process/rundir.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/parse.h"
#include "relayd/process/unix_socket.h"

#define HEALTH_PREFIX "health-"

void
rundir_path(char out[PATH_MAX], const char *run_dir, const char *name)
{
	const int n = snprintf(out, PATH_MAX, "%s/relayd%s%s", run_dir,
	    *name == '\0' ? "" : "/", name);

	assert(n < PATH_MAX);
}

gid_t
rundir_group(const char *name, enum log_level level)
{
	const struct group *g = getgrnam(name);

	if (g != NULL)
		return g->gr_gid;
	log_line(level, "No tracing group detected: \"%s\"", name);
	return 0;
}

/* Why PATH cannot be ours; NULL: it can. */
static const char *
why_foreign(const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		return "it is a symbolic link";
	if (!S_ISDIR(st->st_mode))
		return "it is not a directory";
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return "it belongs to another user";
	return NULL;
}

/* Why others can replace files in the directory; NULL: they cannot. The sticky
 * bit prevents it. */
static const char *
why_open(const struct stat *st)
{
	if ((st->st_mode & S_ISVTX) != 0)
		return NULL;
	if ((st->st_mode & S_IWOTH) != 0)
		return "all users can write there";
	if ((st->st_mode & S_IWGRP) != 0 && st->st_gid != 0 &&
	    st->st_gid != getegid())
		return "members of its group can write there";
	return NULL;
}

/* IS_TOP: the run directory itself, which may be open to others if it is ours:
 * what protects is the mode of relayd/ in it, and of the files there. */
static enum status
check_existing(const char *path, bool is_top)
{
	const char *why, *open;
	struct stat st;

	if (lstat(path, &st) != 0) {
		log_errno(LOG_ERROR, "%s", path);
		return E_IO;
	}
	why = why_foreign(&st);
	open = why_open(&st);
	if (why == NULL && open == NULL)
		return OK;
	if (is_top && why == NULL && st.st_uid == geteuid()) {
		log_warn("run directory %s: %s, and could replace the sockets "
			 "and port files of this relay (chmod 755)",
		    path, open);
		return OK;
	}
	log_error("unsafe directory %s for sockets and port files: %s", path,
	    why != NULL ? why : open);
	return E_IO;
}

enum status
rundir_check_place(const char *path)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	return check_existing(dirname(copy), false);
}

static bool
give_to_group(const char *path, gid_t group)
{
	const int fd = open(
	    path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool is_done;

	if (fd < 0)
		return false;
	is_done = fchown(fd, (uid_t)-1, group) == 0 && fchmod(fd, 0755) == 0;
	close(fd);
	return is_done;
}

static enum status
create_one(const char *path, gid_t group, bool is_top)
{
	if (mkdir(path, 0700) != 0) {
		if (errno == EEXIST)
			return check_existing(path, is_top);
		log_errno(LOG_ERROR, "Unable to create %s", path);
		return E_IO;
	}
	if (geteuid() == 0 && !give_to_group(path, group)) {
		log_errno(LOG_ERROR, "Unable to give %s to its group", path);
		return E_IO;
	}
	return OK;
}

/* The socket of a daemon that is just starting looks stale: it is bound, but
 * the daemon does not listen yet. So check whether its process exists. */
static bool
is_process_gone(const char *pid)
{
	int n;

	return parse_int(pid, 1, INT_MAX, &n) == OK && kill(n, 0) != 0 &&
	       errno == ESRCH;
}

static void
remove_stale(const char *dir_path)
{
	DIR *dir = opendir(dir_path);
	const struct dirent *e;
	char path[PATH_MAX];

	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL) {
		if (strncmp(e->d_name, HEALTH_PREFIX, strlen(HEALTH_PREFIX)) !=
			0 ||
		    !is_process_gone(e->d_name + strlen(HEALTH_PREFIX)))
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", dir_path, e->d_name) <
			(int)sizeof(path) &&
		    unix_socket_remove_stale(path))
			log_info("removed %s of a daemon that is gone", path);
	}
	closedir(dir);
}

enum status
rundir_create(const char *run_dir, gid_t group)
{
	char path[PATH_MAX];

	rundir_path(path, run_dir, "");
	if (create_one(run_dir, group, true) != OK ||
	    create_one(path, group, false) != OK)
		return E_IO;
	remove_stale(path);
	return OK;
}

/* Creates TMP with VALUE; *ST gets its inode and device. */
static enum status
write_new(const char *tmp, uint64_t value, struct stat *st)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	int fd;
	bool is_written;

	/* Remove what a crash has left, or a file that others put there so that
	 * we write into it. */
	(void)unlink(tmp);
	fd = open(
	    tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return E_IO;
	is_written = write(fd, text, (size_t)n) == n && fstat(fd, st) == 0;
	return close(fd) == 0 && is_written ? OK : E_IO;
}

enum status
runfile_write(struct runfile *f, const char *path, uint64_t value)
{
	char tmp[PATH_MAX];
	struct stat st;

	*f = (struct runfile){ 0 };
	if (snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= (int)sizeof(tmp)) {
		log_error("%s: the path is too long", path);
		return E_LIMIT;
	}
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		log_error("%s: exists and is not a regular file", path);
		return E_EXISTS;
	}
	if (write_new(tmp, value, &st) != OK || rename(tmp, path) != 0) {
		log_errno(LOG_ERROR, "Failed to write %s", path);
		(void)unlink(tmp);
		return E_IO;
	}
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return OK;
}

void
runfile_remove(struct runfile *f)
{
	struct stat st;

	if (f->path[0] != '\0' && lstat(f->path, &st) == 0 &&
	    st.st_dev == f->dev && st.st_ino == f->ino)
		(void)unlink(f->path);
	f->path[0] = '\0';
}

static uint64_t
read_number(int fd)
{
	char text[24] = "";
	uint64_t n;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, 0, UINT64_MAX, &n) == OK ? n : 0;
}

uint64_t
open_sessions_take(struct open_sessions *s, const char *run_dir)
{
	s->fd = -1;
	rundir_path(s->path, run_dir, "sessions");
	s->fd = open(s->path,
	    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (s->fd < 0) {
		log_errno(LOG_WARN, "%s", s->path);
		return 0;
	}
	if (flock(s->fd, LOCK_EX | LOCK_NB) != 0) {
		close(s->fd);
		s->fd = -1;
		return 0;
	}
	s->written = read_number(s->fd);
	return s->written;
}

void
open_sessions_set(struct open_sessions *s, uint64_t n)
{
	char text[24];
	int len;

	if (s->fd < 0 || n == s->written)
		return;
	len = snprintf(text, sizeof(text), "%" PRIu64 "\n", n);
	/* A number that is not true for a moment does no harm. */
	if (ftruncate(s->fd, 0) == 0 &&
	    pwrite(s->fd, text, (size_t)len, 0) == len)
		s->written = n;
	else
		log_peer_errno(LOG_WARN, "%s", s->path);
}

void
open_sessions_end(struct open_sessions *s, uint64_t n)
{
	if (s->fd < 0)
		return;
	if (n == 0)
		(void)unlink(s->path);
	else
		open_sessions_set(s, n);
	close(s->fd);
	s->fd = -1;
}
