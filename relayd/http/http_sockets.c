/* SPDX-License-Identifier: MIT */
/* Where requests come in: the port, and the admin socket. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "relayd/http/http_internal.h"
#include "relayd/net/listener.h"
#include "relayd/process/options.h"
#include "relayd/process/unix_socket.h"

/* Only root, and the user of the daemon, give orders. */
#define ADMIN_MODE 0600

/* A Unix socket at PATH. IS_ADMIN: others cannot connect. -1: errno says
 * why. */
static int
open_unix(struct http_face *f, const char *path)
{
	int fd;

	if (unix_socket_address(&f->address, path) != OK) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)unix_socket_remove_stale(path);
	/* Until it listens, nobody connects. */
	if (fd >= 0 &&
	    bind(fd, (struct sockaddr *)&f->address, sizeof(f->address)) == 0 &&
	    lstat(path, &f->file) == 0 &&
	    (!f->is_admin || fchmodat(AT_FDCWD, path, ADMIN_MODE,
				 AT_SYMLINK_NOFOLLOW) == 0) &&
	    listen(fd, LISTENER_BACKLOG) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int
open_tcp(struct http *h)
{
	const struct listen_url *url = &h->config.options->http;
	const int one = 1;
	int fd;

	fd = url->has_socket ? url->socket_fd
			     : listener_open(url, "http",
				   url->is_explicit ? LOG_ERROR : LOG_WARN);
	if (fd < 0)
		return -1;
	/* Accepted sockets inherit it. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	h->tcp_port = listen_url_port(fd);
	return fd;
}

static enum status
make_server(
    struct http *h, struct http_face *f, int take_fd, unsigned max_clients)
{
	const struct server_config config = {
		.fd = take_fd,
		.is_unix = f->address.sun_path[0] != '\0',
		.takes_post = f->is_admin,
		.hosts = h->settings->names,
		.n_hosts = h->settings->hosts.n,
		.max_clients = max_clients < SERVER_CLIENTS_MAX
				   ? max_clients
				   : SERVER_CLIENTS_MAX,
		.serve = api_serve,
		.left = api_left,
		.arg = f,
	};

	return server_create(&f->server, h->loop.base, &config);
}

static enum status
open_port(struct http *h)
{
	const struct options *o = h->config.options;
	const bool is_unix = o->http_path[0] != '\0';
	int fd = is_unix ? open_unix(&h->port, o->http_path) : open_tcp(h);

	if (fd >= 0)
		return make_server(h, &h->port, fd, h->config.max_clients);
	if (is_unix)
		log_errno(LOG_ERROR, "http: %s", o->http_path);
	if (is_unix || o->http.is_explicit)
		return E_IO;
	log_warn("no HTTP: the relay records all the same (--http)");
	return OK;
}

static enum status
open_admin(struct http *h)
{
	const char *path = h->config.admin_path;
	const bool is_explicit = h->config.options->admin_socket.is_explicit;
	int fd = open_unix(&h->admin, path);

	if (fd >= 0)
		return make_server(h, &h->admin, fd, h->config.max_admins);
	h->admin.address.sun_path[0] = '\0';
	log_errno(is_explicit ? LOG_ERROR : LOG_WARN,
	    "no admin socket: %s (--admin-socket)", path);
	return is_explicit ? E_IO : OK;
}

enum status
sockets_open(struct http *h)
{
	enum status st = OK;

	h->port.http = h->admin.http = h;
	h->admin.is_admin = true;
	if (h->config.options->has_http)
		st = open_port(h);
	if (st == OK && h->config.admin_path[0] != '\0')
		st = open_admin(h);
	return st;
}

static void
close_face(struct http_face *f)
{
	struct stat now;

	server_destroy(f->server);
	f->server = NULL;
	/* Another relay may have put its own socket where ours was. */
	if (f->file.st_ino != 0 && lstat(f->address.sun_path, &now) == 0 &&
	    now.st_ino == f->file.st_ino && now.st_dev == f->file.st_dev)
		(void)unlink(f->address.sun_path);
}

void
sockets_close(struct http *h)
{
	close_face(&h->port);
	close_face(&h->admin);
}
