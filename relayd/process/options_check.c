/* SPDX-License-Identifier: MIT */
/* --print-config and --check-config. */
#include "relayd/process/options_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
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
		const struct option_row *r = &option_rows[id];
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
#define NAME_SIZE (PATH_MAX + 64)

static const char *
name_of(const struct options *o, enum option_id id, char out[NAME_SIZE])
{
	size_t len;

	options_where(&o->from[id], out, PATH_MAX + 16);
	len = strlen(out);
	snprintf(out + len, NAME_SIZE - len, "--%s", option_rows[id].name);
	return out;
}

/* An address that is listened on: its option, and the first one of the host
 * that is this machine's. */
struct place {
	const struct listen_url *url;
	enum option_id id;
	char name[NAME_SIZE];
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} at;
	bool is_known;
};

/* With another port, as a relay that runs may have this one. */
static bool
is_of_this_machine(const struct addrinfo *a, struct place *p)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error;
	bool ok;

	if (fd < 0)
		return false;
	memcpy(&p->at, a->ai_addr, a->ai_addrlen);
	*(p->at.any.sa_family == AF_INET6 ? &p->at.in6.sin6_port
					  : &p->at.in.sin_port) = 0;
	ok = bind(fd, &p->at.any, a->ai_addrlen) == 0;
	error = errno;
	close(fd);
	errno = error;
	return ok;
}

static bool
check_address(struct place *p)
{
	struct addrinfo *found = NULL;
	int error = listen_url_find(p->url, SOCK_STREAM, &found);

	if (error != 0) {
		log_error("%s: \"%s\": %s", p->name, p->url->host,
		    gai_strerror(error));
		return false;
	}
	for (struct addrinfo *a = found; a != NULL && !p->is_known;
	     a = a->ai_next)
		p->is_known = is_of_this_machine(a, p);
	if (!p->is_known)
		log_errno(LOG_ERROR, "%s: cannot listen on \"%s\"", p->name,
		    p->url->host);
	freeaddrinfo(found);
	return p->is_known;
}

/* Does A take what B wants? */
static bool
covers(const struct place *a, const struct place *b)
{
	/* [::] takes IPv4, too. */
	if (a->at.any.sa_family == AF_INET6 &&
	    IN6_IS_ADDR_UNSPECIFIED(&a->at.in6.sin6_addr))
		return true;
	if (a->at.any.sa_family != b->at.any.sa_family)
		return false;
	if (a->at.any.sa_family == AF_INET6)
		return IN6_ARE_ADDR_EQUAL(
		    &a->at.in6.sin6_addr, &b->at.in6.sin6_addr);
	return a->at.in.sin_addr.s_addr == htonl(INADDR_ANY) ||
	       a->at.in.sin_addr.s_addr == b->at.in.sin_addr.s_addr;
}

static bool
are_apart(const struct place *a, const struct place *b)
{
	if (a->url->port == 0 || a->url->port != b->url->port || !a->is_known ||
	    !b->is_known || (!covers(a, b) && !covers(b, a)))
		return true;
	log_error("%s and %s have the same address, %s and %s port %u", a->name,
	    b->name, a->url->host, b->url->host, a->url->port);
	return false;
}

static bool
check_addresses(const struct options *o)
{
	struct place places[] = {
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
		ok &= check_address(&places[i]);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			ok &= are_apart(&places[i], &places[k]);
	return ok;
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
	char name[NAME_SIZE];

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
