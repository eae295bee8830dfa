/* SPDX-License-Identifier: MIT */
/* --print-config and --check-config. */
#include "relayd/process/options_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

void
options_print(const struct options *o)
{
	printf("[relayd]\n");
	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		const struct option_row *r = &option_rows[id];
		char line[OPTION_TEXT_MAX + 64], text[OPTION_TEXT_MAX];

		if (r->show == NULL)
			continue;
		options_show(o, id, text);
		/* What has no value is a comment. */
		snprintf(line, sizeof(line), "%s%s = %s",
		    text[0] == '\0' ? ";" : "", r->name, text);
		options_origin_text(&o->from[id], text);
		printf("%-48s ; %s\n", line, text);
	}
}

static bool
has_only_reports(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--check-config") != 0 &&
		    strcmp(argv[i], "--print-config") != 0)
			return false;
	return argc > 1;
}

void
options_report_as_service(int argc, char **argv)
{
	if (geteuid() == 0 && access("/run/systemd/system", F_OK) == 0 &&
	    has_only_reports(argc, argv))
		(void)execv(LIBEXEC_DIR "/relayd-config", argv);
}

/* A setting as messages name it, with the place that it is from. */

static const char *
name_of(const struct options *o, enum option_id id, char out[OPTION_TEXT_MAX])
{
	size_t len;

	options_where(&o->from[id], out, PATH_MAX + 16);
	len = strlen(out);
	snprintf(
	    out + len, OPTION_TEXT_MAX - len, "--%s", option_rows[id].name);
	return out;
}

/* An address that is listened on: its option, and a socket that is bound to
 * it. */
struct listen_address {
	const struct listen_url *url;
	enum option_id id;
	char name[OPTION_TEXT_MAX];
	int fd; /* -1: none */
};

/* Bind a socket to an address of U. Returns it, or -1; then it is logged unless
 * the address is in use. */
static int
bind_to(const struct listen_url *u, const char *name)
{
	struct addrinfo *found = NULL;
	const int error = listen_url_find(u, SOCK_STREAM, &found);
	int fd = -1, saved = ENOENT;

	if (error != 0) {
		log_error("%s: \"%s\": %s", name, u->host, gai_strerror(error));
		errno = ENOENT;
		return -1;
	}
	for (struct addrinfo *a = found; a != NULL && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && bind(fd, a->ai_addr, a->ai_addrlen) == 0)
			break;
		saved = errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	errno = saved;
	if (fd < 0 && errno != EADDRINUSE)
		log_errno(
		    LOG_ERROR, "%s: cannot listen on \"%s\"", name, u->host);
	return fd;
}

/* Bind P to a port that is free, as a relay that runs may have its own; but to
 * that of those of the N OTHERS with the same number. If that fails until one
 * of them is closed, both are the same address. */
static bool
check_address(struct listen_address *p, struct listen_address *others, size_t n)
{
	struct listen_url url = *p->url;

	url.port = 0;
	for (size_t i = 0; i < n; i++)
		if (others[i].fd >= 0 && others[i].url->port == p->url->port &&
		    p->url->port != 0)
			url.port = listen_url_port(others[i].fd);
	p->fd = bind_to(&url, p->name);
	if (p->fd >= 0 || errno != EADDRINUSE || url.port == 0)
		return p->fd >= 0;
	for (size_t i = 0; i < n; i++) {
		if (others[i].fd < 0 || others[i].url->port != p->url->port)
			continue;
		close(others[i].fd);
		others[i].fd = -1;
		p->fd = bind_to(&url, p->name);
		if (p->fd < 0)
			continue;
		log_error("%s and %s have the same address, %s and %s port %u",
		    others[i].name, p->name, others[i].url->host, p->url->host,
		    p->url->port);
		return false;
	}
	/* Another program has that port. */
	return true;
}

static bool
check_addresses(const struct options *o)
{
	struct listen_address places[] = {
		{ .url = &o->control, .id = OPT_CONTROL_PORT },
		{ .url = &o->data, .id = OPT_DATA_PORT },
		{ .url = &o->live, .id = OPT_LIVE_PORT },
		{ .url = &o->http, .id = OPT_HTTP },
	};
	/* Without the default of HTTP it starts all the same. */
	const bool has_http = o->has_http && o->http_path[0] == '\0' &&
			      o->from[OPT_HTTP].kind != ORIGIN_DEFAULT;
	const size_t n = ARRAY_LEN(places) - !has_http;
	bool ok = true;

	for (size_t i = 0; i < n; i++) {
		name_of(o, places[i].id, places[i].name);
		ok &= check_address(&places[i], places, i);
	}
	for (size_t i = 0; i < n; i++)
		if (places[i].fd >= 0)
			close(places[i].fd);
	return ok;
}

/* Can files be created in DIR, or can DIR be created? */
static bool
check_directory(const char *dir, const char *what)
{
	char copy[PATH_MAX], *path = copy;
	struct stat sb;

	snprintf(copy, sizeof(copy), "%s", dir);
	while (
	    stat(path, &sb) != 0 && errno == ENOENT && strcmp(path, "/") != 0)
		path = dirname(path);
	if (stat(path, &sb) == 0 && !S_ISDIR(sb.st_mode))
		errno = ENOTDIR;
	else if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0)
		return true;
	log_errno(LOG_ERROR, "%s %s: cannot write in %s", what, dir, path);
	return false;
}

/* The directory of a file that is written; an empty path is fine. */
static bool
check_file_path(const char *file, const char *what)
{
	char copy[PATH_MAX], *dir;
	struct stat sb;

	if (file[0] == '\0')
		return true;
	snprintf(copy, sizeof(copy), "%s", file);
	dir = dirname(copy);
	if (stat(dir, &sb) == 0)
		return check_directory(dir, what);
	log_errno(LOG_ERROR, "%s %s: %s", what, file, dir);
	return false;
}

static bool
check_working_dir(const char *dir, const char *what)
{
	struct stat sb;

	if (dir[0] == '\0' || (stat(dir, &sb) == 0 && S_ISDIR(sb.st_mode)))
		return true;
	log_errno(LOG_ERROR, "%s %s", what, dir);
	return false;
}

enum status
options_check(const struct options *o)
{
	bool ok = check_addresses(o);
	char name[OPTION_TEXT_MAX];

	ok &= check_file_path(o->http_path, name_of(o, OPT_HTTP, name));
	ok &= check_file_path(
	    o->admin_socket.path, name_of(o, OPT_ADMIN_SOCKET, name));
	ok &= check_directory(o->output, name_of(o, OPT_OUTPUT, name));
	ok &= check_directory(o->run_dir, "run directory");
	ok &= check_file_path(o->pid_file, name_of(o, OPT_PID_FILE, name));
	ok &= check_file_path(o->log_file, name_of(o, OPT_LOG_FILE, name));
	ok &= check_working_dir(
	    o->working_dir, name_of(o, OPT_WORKING_DIR, name));
	if (o->max_packet_size > o->max_memory)
		log_warn("--max-packet-size is more than --max-memory: a "
			 "packet of that size leaves no memory for others");
	return ok ? OK : E_REFUSED;
}
