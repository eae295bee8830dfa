/* SPDX-License-Identifier: MIT */
#include "relayd/process/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/log.h"
#include "common/parse.h"
#include "relayd/process/environment.h"
#include "relayd/process/handoff.h"
#include "relayd/process/options.h"
#include "relayd/process/unix_socket.h"

/* The first descriptor: SD_LISTEN_FDS_START. */
#define FIRST_FD 3

static struct listen_url *
url_of(struct options *o, const char *name)
{
	if (strcmp(name, "control") == 0)
		return &o->control;
	if (strcmp(name, "data") == 0)
		return &o->data;
	if (strcmp(name, "live") == 0)
		return &o->live;
	return strcmp(name, "http") == 0 ? &o->http : NULL;
}

static int
socket_option(int fd, int option)
{
	socklen_t len = sizeof(int);
	int value = -1;

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value
								     : -1;
}

static bool
listens(int fd)
{
	const int domain = socket_option(fd, SO_DOMAIN);

	return (domain == AF_INET || domain == AF_INET6) &&
	       socket_option(fd, SO_TYPE) == SOCK_STREAM &&
	       socket_option(fd, SO_ACCEPTCONN) == 1;
}

static bool
set_flags(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
	       fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

/* Report the address of the socket instead of that of the URL. */
static void
show_address(struct listen_url *u)
{
	struct sockaddr_storage local = { 0 };
	socklen_t len = sizeof(local);

	if (getsockname(u->socket_fd, (struct sockaddr *)&local, &len) != 0 ||
	    getnameinfo((struct sockaddr *)&local, len, u->host,
		sizeof(u->host), NULL, 0, NI_NUMERICHOST) != 0)
		return;
	u->family = local.ss_family;
	u->port = listen_url_port(u->socket_fd);
}

/* Is FD from the process before? */
static bool
take_stored(struct handoff *h, int fd, const char *name)
{
	if (strcmp(name, "state") == 0 && h->state < 0)
		h->state = fd;
	else if (strcmp(name, "pack") == 0 && h->pack < 0)
		h->pack = fd;
	else if (strcmp(name, "listen") == 0 &&
		 h->n_listeners < HANDOFF_LISTENERS_MAX && listens(fd))
		h->listeners[h->n_listeners++] = fd;
	else
		return false;
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return true;
}

static enum status
take_socket(struct options *o, struct handoff *h, int fd, const char *name)
{
	struct listen_url *u = url_of(o, name);
	const char *why = NULL;

	if (take_stored(h, fd, name))
		return OK;
	if (u == NULL)
		why =
		    "no port has this name (FileDescriptorName=control, data, "
		    "live or http)";
	else if (u->has_socket)
		why = "another socket has this name";
	else if (!listens(fd))
		why = "it does not listen for TCP connections";
	else if (!set_flags(fd))
		why = "its flags cannot be set";
	if (why != NULL) {
		log_error("socket %d (\"%s\") of the service manager: %s", fd,
		    name, why);
		return E_REFUSED;
	}
	if (u == &o->http ? o->from[OPT_HTTP].kind != ORIGIN_DEFAULT
			  : u->is_explicit)
		log_warn("%s port: the URL is ignored, the service manager has "
			 "opened port %u",
		    name, listen_url_port(fd));
	u->has_socket = true;
	u->socket_fd = fd;
	show_address(u);
	/* The socket overrides --http. */
	if (u == &o->http) {
		o->has_http = true;
		o->http_path[0] = '\0';
	}
	return OK;
}

static enum status
take_all(struct options *o, struct handoff *h, unsigned n, const char *names)
{
	enum status st = OK;

	for (unsigned i = 0; i < n && st == OK; i++) {
		const size_t len = strcspn(names, ":");
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)len, names);
		names += len + (names[len] == ':');
		st = take_socket(o, h, FIRST_FD + (int)i, name);
	}
	return st;
}

enum status
systemd_take_sockets(struct options *o, struct handoff *h)
{
	const char *count = getenv("LISTEN_FDS");
	const char *names = getenv("LISTEN_FDNAMES");
	enum status st = OK;
	uint64_t n;

	if (environment_is_secure() || count == NULL ||
	    !environment_names_us("LISTEN_PID"))
		return OK;
	if (parse_u64(count, 0, INT_MAX, &n) == OK)
		st = take_all(o, h, (unsigned)n, names != NULL ? names : "");
	else {
		log_error("LISTEN_FDS=%s: not a number", count);
		st = E_REFUSED;
	}
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	return st;
}

bool
systemd_has_manager(void)
{
	const char *address = secure_getenv("NOTIFY_SOCKET");

	return address != NULL && *address != '\0';
}

bool
systemd_notify(const char *state)
{
	return systemd_notify_fds(state, NULL, 0);
}

bool
systemd_notify_fds(const char *state, const int *fds, unsigned n)
{
	const char *address = secure_getenv("NOTIFY_SOCKET");
	const struct timeval patience = { .tv_sec = 1 };
	struct sockaddr_un addr;
	socklen_t len = sizeof(addr);
	bool is_sent;
	int fd;

	if (!systemd_has_manager())
		return true;
	if (strchr("/@", address[0]) == NULL || address[1] == '\0' ||
	    unix_socket_address(&addr, address) != OK) {
		log_warn("NOTIFY_SOCKET=%s: not an address", address);
		return false;
	}
	/* An abstract name has no NUL at its end: a NUL would be part of the
	 * name. */
	if (address[0] == '@') {
		addr.sun_path[0] = '\0';
		len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				  strlen(address));
	}
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		log_errno(LOG_WARN, "NOTIFY_SOCKET: cannot create a socket");
		return false;
	}
	(void)setsockopt(
	    fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	is_sent = unix_socket_send(
	    fd, state, strlen(state), &addr, len, fds, n, 0);
	if (!is_sent)
		log_errno(LOG_WARN, "NOTIFY_SOCKET=%s", address);
	close(fd);
	return is_sent;
}
