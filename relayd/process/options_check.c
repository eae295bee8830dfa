/* SPDX-License-Identifier: MIT */
/* --print-config and --check-config. */
#include "relayd/process/options_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

static void
print_origin(const struct origin *from)
{
	switch (from->kind) {
	case ORIGIN_DEFAULT:
		printf("default\n");
		break;
	case ORIGIN_FILE:
		printf("%s:%u\n", from->name, from->line);
		break;
	case ORIGIN_VARIABLE:
		printf("%s\n", from->name);
		break;
	case ORIGIN_COMMAND_LINE:
		printf("command line\n");
		break;
	}
}

void
options_print(const struct options *o)
{
	printf("[relayd]\n");
	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		const struct row *r = &option_rows[id];
		char line[OPTION_TEXT_MAX + 64], text[OPTION_TEXT_MAX];

		if (r->show == NULL)
			continue;
		options_show(o, id, text);
		/* What has no value is a comment. */
		snprintf(line, sizeof(line), "%s%s = %s",
		    text[0] == '\0' ? ";" : "", r->name, text);
		printf("%-48s ; ", line);
		print_origin(&o->from[id]);
	}
}

static bool
check_address(const struct listen_url *u, const char *name)
{
	struct addrinfo *found = NULL;
	int error = listen_url_find(u, SOCK_STREAM, &found);

	if (error == 0) {
		freeaddrinfo(found);
		return true;
	}
	log_error("%s: \"%s\": %s", name, u->host, gai_strerror(error));
	return false;
}

static bool
are_apart(
    const struct listen_url *a, const struct listen_url *b, const char *names)
{
	if (a->port == 0 || a->port != b->port || a->family != b->family ||
	    strcmp(a->host, b->host) != 0)
		return true;
	log_error(
	    "%s have the same address, %s port %u", names, a->host, a->port);
	return false;
}

/* Can files be made in DIR, or DIR be made? */
static bool
check_directory(const char *dir, const char *what)
{
	char path[PATH_MAX];
	struct stat sb;

	snprintf(path, sizeof(path), "%s", dir);
	while (
	    stat(path, &sb) != 0 && errno == ENOENT && strcmp(path, "/") != 0) {
		char *slash = strrchr(path, '/');

		if (slash == NULL)
			break;
		slash[slash == path] = '\0';
	}
	if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0 &&
	    stat(path, &sb) == 0 && S_ISDIR(sb.st_mode))
		return true;
	if (stat(path, &sb) == 0 && !S_ISDIR(sb.st_mode))
		errno = ENOTDIR;
	log_errno(LOG_ERROR, "%s %s: cannot write in %s", what, dir, path);
	return false;
}

/* The directory of a file that is written; an empty path is fine. */
static bool
check_file_path(const char *file, const char *what)
{
	char dir[PATH_MAX];
	struct stat sb;
	char *slash;

	if (file[0] == '\0')
		return true;
	snprintf(dir, sizeof(dir), "%s", file);
	slash = strrchr(dir, '/');
	slash[slash == dir] = '\0';
	if (stat(dir, &sb) == 0)
		return check_directory(dir, what);
	log_errno(LOG_ERROR, "%s %s: %s", what, file, dir);
	return false;
}

static bool
check_working_dir(const char *dir)
{
	struct stat sb;

	if (dir[0] == '\0' || (stat(dir, &sb) == 0 && S_ISDIR(sb.st_mode)))
		return true;
	log_errno(LOG_ERROR, "--working-directory %s", dir);
	return false;
}

/* These start, too, but serve less than was asked for. */
static void
look_at_limits(const struct options *o)
{
	if (o->max_packet_size > o->max_memory)
		log_warn("--max-packet-size is more than --max-memory: a "
			 "packet of that size leaves no room for others");
}

enum status
options_check(const struct options *o)
{
	bool ok = check_address(&o->control, "--control-port");

	ok &= check_address(&o->data, "--data-port");
	ok &= check_address(&o->live, "--live-port");
	ok &= are_apart(
	    &o->control, &o->data, "--control-port and --data-port");
	ok &= are_apart(
	    &o->control, &o->live, "--control-port and --live-port");
	ok &= are_apart(&o->data, &o->live, "--data-port and --live-port");
	if (o->has_http && o->http_path[0] == '\0')
		ok &= check_address(&o->http, "--http");
	ok &= check_file_path(o->http_path, "--http");
	ok &= check_file_path(o->admin_socket.path, "--admin-socket");
	ok &= check_directory(o->output, "--output");
	ok &= check_directory(o->run_dir, "run directory");
	ok &= check_file_path(o->pid_file, "--pid-file");
	ok &= check_file_path(o->log_file, "--log-file");
	ok &= check_working_dir(o->working_dir);
	look_at_limits(o);
	return ok ? OK : E_REFUSED;
}
