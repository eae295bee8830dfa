/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/process/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/parse.h"
#include "relayd/process/unix_socket.h"

#define HEALTH_PREFIX "health-"

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
		return "all users may write there";
	if ((st->st_mode & S_IWGRP) != 0 && st->st_gid != 0 &&
	    st->st_gid != getegid())
		return "its group may write there";
	return NULL;
}

static const char *
why_unsafe(const struct stat *st)
{
	const char *why = why_foreign(st);

	return why != NULL ? why : why_open(st);
}

/* IS_TOP: the run directory itself, which may be open to others if it is ours:
 * what protects is the mode of relayd/ in it, and of the files there. */
static enum status
check_existing(const char *path, bool is_top)
{
	const char *why;
	struct stat st;

	if (lstat(path, &st) != 0) {
		log_errno(LOG_ERROR, "%s", path);
		return E_IO;
	}
	why = why_unsafe(&st);
	if (why == NULL)
		return OK;
	if (is_top && why_foreign(&st) == NULL && st.st_uid == geteuid()) {
		log_warn("run directory %s: %s: they can replace the sockets "
			 "and port files of this relay (chmod 755)",
		    path, why);
		return OK;
	}
	log_error("Unable to use %s as run directory: %s", path, why);
	return E_IO;
}

enum status
rundir_check_place(const char *path)
{
	char dir[PATH_MAX];
	const char *why;
	struct stat st;
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash == NULL)
		return E_IO;
	slash[slash == dir] = '\0';
	if (lstat(dir, &st) != 0) {
		log_errno(LOG_ERROR, "%s", dir);
		return E_IO;
	}
	why = why_unsafe(&st);
	if (why == NULL)
		return OK;
	log_error("%s: no place for this socket: %s", path, why);
	return E_IO;
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
 * the daemon does not listen yet. So its process is looked for. */
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

	if (snprintf(path, sizeof(path), "%s/relayd", run_dir) >=
	    (int)sizeof(path)) {
		log_error("%s: the path is too long", run_dir);
		return E_LIMIT;
	}
	if (create_one(run_dir, group, true) != OK ||
	    create_one(path, group, false) != OK)
		return E_IO;
	remove_stale(path);
	return OK;
}
