/* SPDX-License-Identifier: MIT */
#include "relayd/net/take_over.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/net/listener.h"
#include "relayd/process/unix_socket.h"

#define MAGIC UINT64_C(0x747074616b656f76) /* "tptakeov" */

enum word { WORD_GIVE = 1, WORD_READY, WORD_TAKEN, WORD_YOURS, WORD_REFUSED };

struct take_over {
	struct event_base *base;
	struct take_over_config config;
	struct unix_socket socket;
	struct listener *listener;
	int fd; /* of the new process; -1: none */
	struct event *event;
	struct handoff handoff;
	bool has_asked;
};

static bool
is_same_user(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       peer.uid == geteuid();
}

static bool
say(int fd, enum word word, const int *fds, unsigned n)
{
	const uint32_t w = word;

	return unix_socket_send(
	    fd, &w, sizeof(w), NULL, 0, fds, n, MSG_DONTWAIT);
}

/* Wait until something came, but no longer than TAKE_OVER_S. */
static bool
wait_for(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const uint64_t end = clock_now_ns() + TAKE_OVER_S * NS_PER_S;
	uint64_t now;
	int n;

	while ((now = clock_now_ns()) < end) {
		n = poll(&p, 1, (int)((end - now) / NS_PER_MS) + 1);
		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
	}
	errno = ETIMEDOUT;
	return false;
}

/* The next word, with at most *N descriptors; 0: none came. */
static enum word
hear(int fd, int *fds, unsigned *n)
{
	uint32_t w = 0;

	errno = 0;
	if (!wait_for(fd) ||
	    !unix_socket_receive(fd, &w, sizeof(w), fds, n, MSG_DONTWAIT))
		return 0;
	return (enum word)w;
}

/* The same without descriptors. */
static enum word
hear_word(int fd)
{
	unsigned none = 0;

	return hear(fd, NULL, &none);
}

static void
drop_client(struct take_over *t)
{
	if (t->event != NULL)
		event_free(t->event);
	t->event = NULL;
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	handoff_close(&t->handoff);
	t->has_asked = false;
}

static void
on_client(evutil_socket_t fd, short what, void *arg)
{
	struct take_over *t = arg;
	int fds[2] = { -1, -1 };
	unsigned n = 2;
	uint32_t w = 0;

	if ((what & EV_READ) == 0 ||
	    !unix_socket_receive(fd, &w, sizeof(w), fds, &n, MSG_DONTWAIT) ||
	    w != WORD_GIVE || n != 2) {
		for (unsigned i = 0; i < n; i++)
			close(fds[i]);
		drop_client(t);
		return;
	}
	t->handoff.state = fds[0];
	t->handoff.fill = fds[1];
	t->has_asked = true;
	t->config.asked(t->config.arg);
}

static void
on_accepted(int take_fd, const struct sockaddr *peer, void *arg)
{
	const struct timeval limit = { .tv_sec = TAKE_OVER_S };
	struct take_over *t = arg;
	struct take_over_hello hello = t->config.hello;
	struct stat output;

	if (t->fd >= 0 || !is_same_user(take_fd)) {
		log_warn("take-over refused: %s",
		    t->fd >= 0 ? "another process asks already"
			       : "the process belongs to another user");
		close(take_fd);
		return;
	}
	t->fd = take_fd;
	t->event = event_new(t->base, take_fd, EV_READ, on_client, t);
	/* Somebody may have removed the directory, or made it again. */
	if (stat(t->config.output, &output) == 0) {
		hello.device = output.st_dev;
		hello.ino = output.st_ino;
	}
	if (t->event == NULL || event_add(t->event, &limit) != 0 ||
	    !unix_socket_send(
		take_fd, &hello, sizeof(hello), NULL, 0, NULL, 0, MSG_DONTWAIT))
		drop_client(t);
}

enum status
take_over_create(struct take_over **out, struct event_base *base,
    const struct take_over_config *config)
{
	struct take_over *t = calloc(1, sizeof(*t));
	enum status st = E_IO;
	int fd;

	*out = NULL;
	if (t == NULL)
		return E_NOMEM;
	t->base = base;
	t->config = *config;
	t->config.hello.magic = MAGIC;
	t->fd = -1;
	handoff_init(&t->handoff);
	fd = unix_socket_listen(&t->socket, config->path, 0600, (gid_t)-1);
	if (fd < 0)
		log_errno(LOG_WARN, "take-over socket %s", config->path);
	else
		st = listener_create(
		    &t->listener, base, fd, "take-over", NULL, on_accepted, t);
	if (st != OK) {
		take_over_destroy(t);
		return st;
	}
	*out = t;
	return OK;
}

void
take_over_destroy(struct take_over *t)
{
	if (t == NULL)
		return;
	listener_destroy(t->listener);
	unix_socket_remove(&t->socket);
	/* The process that took over waits for this. */
	drop_client(t);
	free(t);
}

struct handoff *
take_over_handoff(struct take_over *t)
{
	return t != NULL && t->has_asked ? &t->handoff : NULL;
}

bool
take_over_ready(struct take_over *t)
{
	return say(t->fd, WORD_READY, t->handoff.listeners,
		   t->handoff.n_listeners) &&
	       hear_word(t->fd) == WORD_TAKEN;
}

bool
take_over_yours(struct take_over *t)
{
	return say(t->fd, WORD_YOURS, NULL, 0);
}

void
take_over_refuse(struct take_over *t)
{
	(void)say(t->fd, WORD_REFUSED, NULL, 0);
	/* They are this process's own. */
	t->handoff.n_listeners = 0;
	drop_client(t);
}

int
take_over_connect(const char *path, struct take_over_hello *hello)
{
	struct sockaddr_un address;
	unsigned none = 0;
	int fd;

	if (unix_socket_address(&address, path) != OK) {
		log_error("%s: the path is too long for a socket", path);
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		log_errno(LOG_ERROR,
		    "%s: cannot reach the relay that runs (is it one, of the "
		    "same user, with the same run directory?)",
		    path);
	} else if (!is_same_user(fd)) {
		log_error("%s: the relay belongs to another user", path);
	} else if (!wait_for(fd) ||
		   !unix_socket_receive(
		       fd, hello, sizeof(*hello), NULL, &none, 0) ||
		   hello->magic != MAGIC) {
		log_error("%s: the relay does not answer", path);
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

enum status
take_over_ask(int fd, struct handoff *h)
{
	enum status st = handoff_prepare(h);
	enum word word;
	int fds[2];

	if (st != OK)
		return st;
	fds[0] = h->state;
	fds[1] = h->fill;
	word = 0;
	h->n_listeners = HANDOFF_LISTENERS_MAX;
	if (say(fd, WORD_GIVE, fds, 2)) {
		close(h->fill);
		h->fill = -1;
		word = hear(fd, h->listeners, &h->n_listeners);
	} else {
		h->n_listeners = 0;
	}
	if (word == WORD_READY)
		return OK;
	log_error("the running relay %s",
	    word == WORD_REFUSED ? "cannot hand over; its log says why"
				 : "did not hand over in time");
	handoff_close(h);
	return E_IO;
}

enum status
take_over_taken(int fd)
{
	enum word word;

	/* Also if it has closed its end: it may have refused before. */
	(void)say(fd, WORD_TAKEN, NULL, 0);
	word = hear_word(fd);
	if (word == WORD_REFUSED || errno == ETIMEDOUT) {
		log_error("the running relay goes on");
		return E_IO;
	}
	/* It closes its end when it has ended. */
	while (wait_for(fd) && hear_word(fd) != 0)
		;
	return OK;
}
