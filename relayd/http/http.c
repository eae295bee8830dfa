/* SPDX-License-Identifier: MIT */
/* The HTTP thread, its sockets and its settings. */
#include "relayd/http/http.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/state.h"
#include "common/thread.h"
#include "relayd/http/http_internal.h"
#include "relayd/net/listener.h"
#include "relayd/process/options.h"
#include "relayd/process/unix_socket.h"
#include "relayd/stats/relay_event.h"

/* Only root and the user of the daemon may give orders. */
#define ADMIN_MODE 0600

static int
open_tcp(struct http *h)
{
	const struct listen_url *url = &h->config.options->http;
	const int one = 1;
	int fd = listener_open(
	    url, "http", url->is_explicit ? LOG_ERROR : LOG_WARN);

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
		.is_unix = f->socket.address.sun_path[0] != '\0',
		.takes_post = f->is_admin,
		.hosts = &h->settings.hosts,
		.max_clients = max_clients < SERVER_CLIENTS_MAX
				   ? max_clients
				   : SERVER_CLIENTS_MAX,
		.serve = api_serve,
		.arg = f,
	};

	return server_create(&f->server, h->loop.base, &config);
}

static enum status
open_port(struct http *h)
{
	const struct options *o = h->config.options;
	const bool is_unix = o->http_path[0] != '\0';
	int fd = is_unix ? unix_socket_listen(
			       &h->port.socket, o->http_path, 0, (gid_t)-1)
			 : open_tcp(h);

	if (fd >= 0)
		return make_server(h, &h->port, fd, h->config.max_clients);
	if (is_unix)
		log_errno(LOG_ERROR, "http: %s", o->http_path);
	if (is_unix || o->http.is_explicit)
		return E_IO;
	log_warn("HTTP is disabled; recording is not affected (--http)");
	return OK;
}

static enum status
open_admin(struct http *h)
{
	const char *path = h->config.admin_path;
	const bool is_explicit = h->config.options->admin_socket.is_explicit;
	int fd = unix_socket_listen(
	    &h->admin.socket, path, ADMIN_MODE, (gid_t)-1);

	if (fd >= 0)
		return make_server(h, &h->admin, fd, h->config.max_admins);
	h->admin.socket.address.sun_path[0] = '\0';
	log_errno(is_explicit ? LOG_ERROR : LOG_WARN,
	    "cannot listen on the admin socket %s (--admin-socket)", path);
	return is_explicit ? E_IO : OK;
}

/* E_IO: logged. */
static enum status
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
sockets_close(struct http *h)
{
	server_destroy(h->port.server);
	server_destroy(h->admin.server);
	/* Events that were not taken are, when the loop ends. */
	h->port.server = h->admin.server = NULL;
	unix_socket_remove(&h->port.socket);
	unix_socket_remove(&h->admin.socket);
}

/* Settings that change while HTTP is served. The main thread changes its
 * options at a reload, so that the HTTP thread has a copy of these. */

static void
copy_settings(struct http_settings *to, const struct options *o)
{
	to->metrics_per_session = o->metrics_per_session;
	to->has_download = o->http_download;
	to->hosts = o->http_hosts;
}

void
http_reload(const struct options *o, void *http)
{
	struct http_settings *s;
	struct message *m = NULL;
	struct http *h = http;

	if (h == NULL)
		return;
	s = malloc(sizeof(*s));
	if (s == NULL || message_create(&m, MESSAGE_SETTINGS) != OK) {
		free(s);
		log_warn(
		    "reload: HTTP keeps its previous settings: out of memory");
		return;
	}
	copy_settings(s, o);
	m->object = s;
	loop_post(&h->loop, m);
}

/* An event on its way to the HTTP thread. */
struct event_copy {
	enum relay_event_kind kind;
	char *data;		     /* a line of JSON */
	struct session_info session; /* only its id, unless it has ended */
};

static void
free_copy(struct event_copy *p)
{
	session_info_clear(&p->session);
	free(p->data);
	free(p);
}

/* What was written to B, as a string; B is freed. NULL: no memory. */
static char *
take_text(struct buf *take_b)
{
	char *text = NULL;

	if (!take_b->bad)
		text = strndup((const char *)buf_data(take_b), buf_len(take_b));
	buf_free(take_b);
	return text;
}

static struct event_copy *
copy_event(const struct relay_event *e)
{
	struct event_copy *p = calloc(1, sizeof(*p));
	struct buf b = { 0 };

	if (p == NULL)
		return NULL;
	p->kind = e->kind;
	p->session.id = e->session->id;
	json_write_event(&b, e);
	p->data = take_text(&b);
	if (p->data != NULL &&
	    (e->kind != RELAY_EVENT_SESSION_ENDED ||
		session_info_copy(&p->session, e->session) == OK))
		return p;
	free(p->data);
	free(p);
	return NULL;
}

/* On the thread that reports. */
static void
on_event(const struct relay_event *e, void *arg)
{
	struct message *m = NULL;
	struct event_copy *p = NULL;
	struct http *h = arg;

	if (!account_take(&h->events_waiting, 1))
		return;
	if (message_create(&m, MESSAGE_EVENT) == OK)
		p = copy_event(e);
	if (p == NULL) {
		free(m);
		account_sub(&h->events_waiting, 1);
		return;
	}
	m->object = p;
	loop_post(&h->loop, m);
}

static void
take_event(struct http *h, struct event_copy *take_p)
{
	account_sub(&h->events_waiting, 1);
	api_send_event(h, relay_event_name(take_p->kind), take_p->session.id,
	    take_p->data);
	take_p->data = NULL;
	if (take_p->kind == RELAY_EVENT_SESSION_ENDED) {
		take_p->session.viewers = take_p->session.streams = 0;
		closed_add(&h->closed, &take_p->session);
		take_p->session = (struct session_info){ 0 };
	}
	free_copy(take_p);
	/* A wake-up costs more than an event. */
	loop_rest(&h->loop);
}

static void
drain(struct http *h)
{
	const uint64_t one = 1;

	h->view.phase = VIEW_DRAINING;
	ask_no_more(h);
	h->view.threads.n = 0;
	h->view.memory = NULL;
	if (write(h->drained_fd, &one, sizeof(one)) < 0)
		log_errno(LOG_ERROR, "http: drain");
}

static void
take_settings(struct http *h, struct http_settings *take_s)
{
	h->settings = *take_s;
	free(take_s);
}

static void
on_http_message(struct message *m, void *arg)
{
	struct http *h = arg;

	if (m->kind == MESSAGE_STOP)
		h->loop.is_stopping = true;
	else if (m->kind == MESSAGE_EVENT)
		take_event(h, m->object);
	else if (m->kind == MESSAGE_INFO)
		ask_answered(h, m->object);
	else if (m->kind == MESSAGE_SETTINGS)
		take_settings(h, m->object);
	else if (m->kind == MESSAGE_STORED_INFO)
		stored_answered(h, m->object);
	else if (m->kind == MESSAGE_DRAIN)
		drain(h);
}

/* A state of the whole relay has changed. */
static void
send_state(struct http *h, const char *kind, bool is_short, const char *figure,
    uint64_t value)
{
	struct buf b = { 0 };

	json_open(&b, NULL, '{');
	json_add_number(&b, "time", clock_wall_s());
	json_add_string(&b, "state", is_short ? "short" : "ok");
	json_add_number(&b, figure, value);
	json_close(&b, '}');
	api_send_event(h, kind, 0, take_text(&b));
}

static void
send_states(struct http *h)
{
	const uint64_t held = view_memory(&h->view);
	const bool memory = held > h->config.options->max_memory;
	const bool disk = view_is_disk_full(&h->view);

	if (memory != h->is_memory_short)
		send_state(h, "memory", memory, "held_bytes", held);
	if (disk != h->is_disk_short)
		send_state(h, "disk", disk, "free_bytes", h->view.disk_free);
	h->is_memory_short = memory;
	h->is_disk_short = disk;
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;

	view_tick(&h->view);
	stored_tick(h);
	send_states(h);
	if (++h->ticks % EVENTS_BEAT_S == 0)
		api_send_comment(h);
}

static void *
serve_http(void *arg)
{
	struct http *h = arg;

	while (!h->loop.is_stopping) {
		loop_run_cycle(&h->loop);
		if (h->view.phase == VIEW_STARTING)
			h->view.phase = (enum view_phase)published(&h->phase);
		publish(&h->loop.busy_since, 0);
	}
	return NULL;
}

static enum status
make_parts(struct http *h)
{
	enum status st;

	copy_settings(&h->settings, h->config.options);
	st = loop_init(&h->loop, on_http_message, h);

	if (st == OK)
		st = ask_open(h);
	if (st == OK)
		st = events_init(&h->events, clock_wall_ns());
	if (st == OK)
		st = closed_init(&h->closed);
	if (st != OK)
		return st;
	h->drained_fd = eventfd(0, EFD_CLOEXEC);
	h->tick = event_new(h->loop.base, -1, EV_PERSIST, on_tick, h);
	return h->drained_fd < 0 || h->tick == NULL ? E_NOMEM : OK;
}

static void
fill_view(struct http *h)
{
	const struct http_config *c = &h->config;

	view_open(&h->view, c->options);
	h->view.memory = c->memory;
	h->view.control = c->control;
	h->view.data = c->data;
	h->view.live = c->live;
	h->view.http = h->tcp_port;
	h->view.admin_path = h->admin.socket.address.sun_path;
	h->view.own_descriptors = c->own_descriptors;
	h->view.session_descriptors = c->session_descriptors;
}

enum status
http_create(struct http **out, const struct http_config *config)
{
	const struct options *o = config->options;
	struct http *h;
	enum status st;

	*out = NULL;
	if (!o->has_http && config->admin_path[0] == '\0')
		return OK;
	h = calloc(1, sizeof(*h));
	if (h == NULL)
		return E_NOMEM;
	h->config = *config;
	h->events_waiting.hard = EVENTS_WAITING_MAX;
	h->drained_fd = h->view.statm_fd = -1;
	list_init(&h->questions);
	for (unsigned i = 0; i < ARRAY_LEN(h->queues); i++)
		list_init(&h->queues[i].waiting);
	st = make_parts(h);
	if (st == OK)
		st = sockets_open(h);
	if (st == E_NOMEM)
		log_error("http: %s", status_text(st));
	if (st != OK || (h->port.server == NULL && h->admin.server == NULL)) {
		http_destroy(h);
		return st;
	}
	fill_view(h);
	relay_event_listen(on_event, h);
	*out = h;
	return OK;
}

uint16_t
http_port(const struct http *h)
{
	return h == NULL ? 0 : h->tcp_port;
}

enum status
http_start(
    struct http *h, const struct threads *threads, struct loop *retention)
{
	const struct timeval second = { .tv_sec = 1 };

	if (h == NULL)
		return OK;
	h->view.threads = *threads;
	h->retention = retention;
	view_tick(&h->view);
	if (event_add(h->tick, &second) != 0)
		return E_NOMEM;
	h->has_thread = thread_start(&h->thread, serve_http, h) == 0;
	return h->has_thread ? OK : E_NOMEM;
}

void
http_serving(struct http *h)
{
	if (h == NULL)
		return;
	publish(&h->phase, VIEW_SERVING);
	loop_wake(&h->loop);
}

/* Send KIND; it must arrive. */
static void
command(struct http *h, enum message_kind kind)
{
	struct message *m;

	while (message_create(&m, kind) != OK)
		(void)poll(NULL, 0, 10);
	loop_post(&h->loop, m);
}

void
http_drain(struct http *h)
{
	uint64_t n;

	if (h == NULL || !h->has_thread)
		return;
	command(h, MESSAGE_DRAIN);
	while (read(h->drained_fd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
}

static void
end_thread(struct http *h)
{
	if (!h->has_thread)
		return;
	command(h, MESSAGE_STOP);
	pthread_join(h->thread, NULL);
	h->has_thread = h->loop.is_stopping = false;
}

void
http_put_state(struct state_out *o, struct http *h)
{
	state_put_bool(o, h != NULL);
	if (h == NULL)
		return;
	end_thread(h);
	recent_put_state(o, &h->events, &h->closed);
}

enum status
http_get_state(struct http *h, struct state_in *in)
{
	if (!state_get_bool(in) || h == NULL)
		return OK;
	return recent_get_state(&h->events, &h->closed, in);
}

void
http_destroy(struct http *h)
{
	if (h == NULL)
		return;
	end_thread(h);
	relay_event_listen(NULL, NULL);
	ask_forget(h);
	sockets_close(h);
	if (h->tick != NULL)
		event_free(h->tick);
	loop_destroy(&h->loop);
	events_free(&h->events);
	closed_free(&h->closed);
	view_close(&h->view);
	if (h->drained_fd >= 0)
		close(h->drained_fd);
	free(h);
}
