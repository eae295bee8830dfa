/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/process/rundir.h"

#include <dirent.h>
#include <errno.h>
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
rundir_group(const char *name)
{
	const struct group *g = getgrnam(name);

	if (g != NULL)
		return g->gr_gid;
	log_warn("No tracing group detected: \"%s\"", name);
	return 0;
}

static enum status
create_one(const char *path, gid_t group)
{
	const bool is_root = geteuid() == 0;
	struct stat st;

	if (mkdir(path, 0700) != 0) {
		if (errno == EEXIST && stat(path, &st) == 0 &&
		    S_ISDIR(st.st_mode))
			return OK;
		log_errno(LOG_ERROR, "Unable to create %s", path);
		return E_IO;
	}
	if (is_root &&
	    (chown(path, (uid_t)-1, group) != 0 || chmod(path, 0755) != 0)) {
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
	if (create_one(run_dir, group) != OK || create_one(path, group) != OK)
		return E_IO;
	remove_stale(path);
	return OK;
}
