/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/recorder.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/client/tcp_options.h"
#include "tools/ftrace/recorder_internal.h"

/* The longest delay of a file by a name server. */
#define NAME_WAIT_MS 2000

void
recorder_free_recording(struct recorder *r)
{
	if (r->recording != NULL && !r->all->is_kept)
		r->all->memory -= recording_metadata_size(r->recording);
	recording_destroy(r->recording);
	r->recording = NULL;
}

static void
tell_pages(const struct recorder *r)
{
	const struct recording *g = r->recording;
	const bool has_file = *recording_file(g) != '\0';
	uint64_t pages = 0;

	if (has_file && !recording_knows_pages(g)) {
		log_peer(LOG_NOTICE, "peer=%s: %s was already complete",
		    r->name, recording_file(g));
		return;
	}
	for (uint32_t i = 0; i < recording_cpus(g); i++) {
		log_debug("peer=%s: %" PRIu64 " pages of CPU %u", r->name,
		    recording_pages_received(g, i), i);
		pages += recording_pages_received(g, i);
	}
	log_peer(LOG_NOTICE, "peer=%s: %" PRIu64 " pages%s%s", r->name, pages,
	    has_file		? " in "
	    : r->finished == OK ? "; no file"
				: "; no file yet",
	    recording_file(g));
}

/* Logs what was recorded, and what is missing. */
static void
tell_end(const struct recorder *r)
{
	const uint64_t lost = recording_lost(r->recording);
	const uint64_t cuts = page_feed_cuts(&r->feed);

	/* If a file could not be made, the reason was logged. */
	if (r->finished == OK || recording_knows_pages(r->recording))
		tell_pages(r);
	if (cuts > 0)
		log_peer(LOG_WARN,
		    "peer=%s: %" PRIu64
		    " incomplete pages: the recorder has not sent the rest; "
		    "its events are missing",
		    r->name, cuts);
	if (r->counts.dropped > 0)
		log_peer(LOG_WARN,
		    "peer=%s: %" PRIu64 " pages lost: the kernel had no space "
					"for them (see net.core.rmem_max)",
		    r->name, r->counts.dropped);
	if (r->counts.malformed > 0 || r->counts.strangers > 0)
		log_peer(LOG_WARN,
		    "peer=%s: ignored %" PRIu64
		    " datagrams that are not pages, and %" PRIu64
		    " from other hosts",
		    r->name, r->counts.malformed, r->counts.strangers);
	if (lost > 0)
		log_peer(LOG_WARN,
		    "peer=%s: %" PRIu64 " bytes could not be written", r->name,
		    lost);
}

/* The file is done: release what only the file used. */
static void
on_finished(struct background_job *job)
{
	struct recorder *r = container_of(job, struct recorder, finish_job);
	const uint64_t keep = r->feed.sink != NULL ? SINK_FDS : 0;

	tell_end(r);
	recorder_free_recording(r);
	if (r->fds > keep) {
		r->all->fds -= r->fds - keep;
		r->fds = keep;
	}
	r->state = RECORDER_SINKING;
	recorder_advance(r);
}

/* In a thread, which alone uses the files now. */
static void
finish_work(struct background_job *job)
{
	struct recorder *r = container_of(job, struct recorder, finish_job);

	r->finished = recording_finish(r->recording);
}

/* Is more data in flight? */
static bool
is_draining(const struct recorder *r, uint64_t now)
{
	return r->data != NULL && r->page_size > 0 && !r->all->is_ending &&
	       !data_sockets_are_done(r->data, r->ended_ns) &&
	       now - r->ended_ns < DRAIN_MS * NS_PER_MS;
}

static bool
is_naming(const struct recorder *r, uint64_t now)
{
	return r->naming != NULL && !r->all->is_ending &&
	       now - r->ended_ns < NAME_WAIT_MS * NS_PER_MS;
}

static bool
is_sinking(const struct recorder *r, uint64_t now)
{
	struct recorder_sink *sink = r->feed.sink;

	return sink != NULL && !sink->ops->is_done(sink) &&
	       now - r->ended_ns < SINK_END_MS * NS_PER_MS &&
	       (!r->all->is_ending ||
		   now - r->all->ending_ns < SINK_STOP_MS * NS_PER_MS);
}

/* Ends the pages: no more come. */
static void
end_pages(struct recorder *r, uint64_t now)
{
	if (r->data != NULL && r->all->is_ending)
		data_sockets_drain(r->data);
	recorder_data_free(r);
	r->ports = 0;
	page_feed_end(&r->feed);
	r->ended_ns = now;
	r->state = RECORDER_NAMING;
}

void
recorder_finish_file(struct recorder *r)
{
	recorder_name_forget(r);
	r->state = RECORDER_FINISHING;
	r->finish_job = (struct background_job){ .work = finish_work,
		.done = on_finished };
	background_add(r->all->finishing, &r->finish_job);
}

void
recorder_advance(struct recorder *r)
{
	const uint64_t now = clock_now_ns();

	if (r->state == RECORDER_DRAINING && !is_draining(r, now))
		end_pages(r, now);
	if (r->state == RECORDER_NAMING && !is_naming(r, now)) {
		if (r->recording != NULL) {
			recorder_finish_file(r);
			return;
		}
		r->state = RECORDER_SINKING;
	}
	if (r->state == RECORDER_SINKING && !is_sinking(r, now))
		recorder_destroy(r);
	else if (r->state >= RECORDER_DRAINING &&
		 r->state != RECORDER_FINISHING)
		recorder_set_timer(r, LOOK_MS);
}

/* The host name of a recorder, which its file is named by, as stock names it. A
 * thread looks it up, since name servers may be slow. */

/* The longest host name; the port follows it. */
#define HOST_BYTES 128

/* A name server is not trusted: letters, digits, '.', '-' and '_'. */
static bool
is_host(const char *s)
{
	return *s != '\0' && *s != '.' && *s != '-' &&
	       strspn(s,
		   "abcdefghijklmnopqrstuvwxyz"
		   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == strlen(s);
}

/* A lookup, which may outlive its recorder. */
struct name_query {
	struct background_job job;
	struct recorder *recorder; /* NULL: gone */
	struct sockaddr_storage peer;
	char found[RECORDING_NAME_MAX];
};

/* In a thread. */
static void
ask_name(struct background_job *job)
{
	struct name_query *q = container_of(job, struct name_query, job);
	const struct sockaddr_in6 *in6 = (const void *)&q->peer;
	struct sockaddr_storage a = q->peer;
	struct sockaddr_in in = { .sin_family = AF_INET };
	char host[NI_MAXHOST] = "";
	int err;

	/* Mapped IPv4: look up the IPv4 address. */
	if (a.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		memcpy(&in.sin_addr, &in6->sin6_addr.s6_addr[12], 4);
		memcpy(&a, &in, sizeof(in));
	}
	err = getnameinfo((const struct sockaddr *)&a,
	    a.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(in),
	    host, sizeof(host), NULL, 0, NI_NAMEREQD);
	if (err == 0 && is_host(host) && strlen(host) <= HOST_BYTES)
		snprintf(q->found, sizeof(q->found), "%.*s:%u", HOST_BYTES,
		    host, address_port((const struct sockaddr *)&q->peer));
}

static void
on_name_found(struct background_job *job)
{
	struct name_query *q = container_of(job, struct name_query, job);

	if (q->recorder != NULL) {
		q->recorder->naming = NULL;
		recorder_named(q->recorder, q->found);
	}
	free(q);
}

void
recorder_name_find(struct recorder *r)
{
	struct name_query *q = calloc(1, sizeof(*q));

	if (q == NULL)
		return; /* the name stays the address */
	q->recorder = r;
	q->peer = r->peer;
	q->job = (struct background_job){ .work = ask_name,
		.done = on_name_found };
	r->naming = q;
	background_add(r->all->names, &q->job);
}

void
recorder_name_forget(struct recorder *r)
{
	struct name_query *q = r->naming;

	if (q == NULL)
		return;
	r->naming = NULL;
	/* A lookup that still waits is removed: otherwise recorders that come
	 * and go could queue any number of slow lookups. */
	if (background_cancel(&q->job))
		free(q);
	else
		q->recorder = NULL;
}

/* Bytes read from a control connection in one cycle of the loop. */
#define READ_SIZE (64 << 10)

void
recorder_set_timer(struct recorder *r, uint64_t ms)
{
	const struct timeval tv = { .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000 * 1000) };

	(void)event_add(r->timer, &tv);
}

uint64_t
recorder_memory(const struct recorder *r)
{
	const struct recorder_sink *sink = r->feed.sink;

	return r->pages_memory + (sink == NULL ? 0 : sink->ops->memory(sink));
}

struct recorder_share
recorder_of_host(const struct recorder *r)
{
	struct recorder_share sum = { 0 };
	const struct recorder *other;

	list_each (other, &r->all->list, struct recorder, node) {
		if (!address_is_neighbour((const struct sockaddr *)&r->peer,
			(const struct sockaddr *)&other->peer))
			continue;
		sum.fds += other->fds;
		sum.ports += other->ports;
		sum.memory += recorder_memory(other);
	}
	return sum;
}

enum status
recorder_take_fds(struct recorder *r, uint64_t n)
{
	struct recorders *all = r->all;

	if (n > all->fds_max - all->fds) {
		r->dialog.why = "no descriptors are left";
		return E_LIMIT;
	}
	if (recorder_of_host(r).fds + n > all->fds_max / 2) {
		r->dialog.why = "its host uses half of all descriptors";
		return E_LIMIT;
	}
	all->fds += n;
	r->fds += n;
	return OK;
}

enum status
recorder_take_ports(struct recorder *r, uint32_t n)
{
	struct recorders *all = r->all;
	const uint32_t half = (all->port_last - all->port_first + 1u) / 2;
	const uint32_t of_others = recorder_of_host(r).ports;

	/* The only recorder of a host may have all ports. */
	if (of_others > 0 && of_others + n > half) {
		r->dialog.why = "its host uses half of all ports for pages";
		return E_LIMIT;
	}
	r->ports = n;
	return OK;
}

static void
close_control(struct recorder *r)
{
	if (r->readable != NULL)
		event_free(r->readable);
	if (r->writable != NULL)
		event_free(r->writable);
	r->readable = r->writable = NULL;
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

void
recorder_destroy(struct recorder *r)
{
	struct recorders *all = r->all;

	close_control(r);
	recorder_name_forget(r);
	recorder_data_free(r);
	page_feed_free(&r->feed);
	if (r->timer != NULL)
		event_free(r->timer);
	recorder_free_recording(r);
	recorder_dialog_free(&r->dialog);
	all->fds -= r->fds;
	all->n--;
	list_del(&r->node);
	free(r);
	if (all->gone != NULL)
		all->gone(all->arg);
}

/* Ends the dialog; data in flight is still read. */
static void
end_control(struct recorder *r)
{
	close_control(r);
	if (r->state > RECORDER_RUNNING)
		return;
	r->ended_ns = clock_now_ns();
	r->state = RECORDER_DRAINING;
	recorder_set_timer(r, 0);
}

static void
refuse(struct recorder *r, enum status st)
{
	log_peer(log_level_of(st), "peer=%s: %s; closed", r->name,
	    r->dialog.why != NULL ? r->dialog.why : status_text(st));
	end_control(r);
}

void
recorder_named(struct recorder *r, const char *name)
{
	if (*name != '\0' && strcmp(r->name, name) != 0) {
		log_peer(LOG_INFO, "peer=%s: is %s", r->name, name);
		snprintf(r->name, sizeof(r->name), "%s", name);
		if (r->recording != NULL)
			recording_rename(r->recording, r->name);
	}
	recorder_advance(r);
}

/* Until its pages come, a recorder must meet time limits. */
static bool
is_late(const struct recorder *r, uint64_t now)
{
	if (r->state != RECORDER_TALKING)
		return false;
	if (!recorder_dialog_has_begun(&r->dialog))
		return now - r->began_ns >= GREETING_MS * NS_PER_MS;
	return now - r->began_ns >= METADATA_MS * NS_PER_MS ||
	       now - r->heard_ns >= METADATA_SILENCE_MS * NS_PER_MS;
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct recorder *r = arg;
	enum status st = recorder_look_at_metadata(r, false);

	(void)fd;
	(void)what;
	if (st == OK && is_late(r, clock_now_ns())) {
		r->dialog.why = "it sends nothing";
		st = E_LIMIT;
	}
	if (st != OK) {
		refuse(r, st);
		return;
	}
	if (r->state == RECORDER_TALKING)
		recorder_set_timer(r, LOOK_MS * 5);
	recorder_advance(r);
}

/* Sends pending replies. False: the connection is gone. */
static bool
send_replies(struct recorder *r)
{
	struct buf *out = &r->dialog.out;

	while (buf_len(out) > 0) {
		const ssize_t n = send(
		    r->fd, buf_data(out), buf_len(out), MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			(void)event_add(r->writable, NULL);
			return true;
		}
		if (n < 0)
			return false;
		buf_consume(out, (size_t)n);
	}
	buf_trim(out);
	return true;
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct recorder *r = arg;

	(void)fd;
	(void)what;
	if (!send_replies(r))
		end_control(r);
}

static void
on_input(struct recorder *r, const uint8_t *p, size_t n)
{
	enum status st;

	r->heard_ns = clock_now_ns();
	st = recorder_dialog_input(&r->dialog, p, n);
	if (st == OK)
		st = recorder_look_at_metadata(r, false);
	if (st != OK)
		refuse(r, st);
	else if (!send_replies(r) || r->dialog.state == DIALOG_CLOSED)
		end_control(r);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct recorder *r = arg;
	uint8_t room[READ_SIZE];
	const ssize_t n = read(fd, room, sizeof(room));

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		on_input(r, room, (size_t)n);
		return;
	}
	(void)!recorder_look_at_metadata(r, true);
	/* V1 ends like this; V3 sends CLOSE first. */
	if (!r->dialog.begin.is_v1 || r->state != RECORDER_RUNNING)
		log_peer(LOG_WARN, "peer=%s: connection lost", r->name);
	end_control(r);
}

/* Returns why a recorder of PEER may not be added, or NULL. *REST is the oldest
 * recorder that could be closed for it: one whose file is done, and only the
 * sink is not. */
static const char *
why_not(const struct recorders *all, const struct sockaddr *peer,
    struct recorder **rest)
{
	struct recorder *r, *own = NULL, *any = NULL;
	unsigned of_host = 0;

	list_each (r, &all->list, struct recorder, node) {
		const bool is_of_host = address_is_neighbour(
		    peer, (const struct sockaddr *)&r->peer);

		of_host += is_of_host;
		if (r->state == RECORDER_SINKING && is_of_host && own == NULL)
			own = r;
		if (r->state == RECORDER_SINKING && any == NULL)
			any = r;
	}
	*rest = of_host >= RECORDERS_OF_HOST_MAX ? own : any;
	if (of_host >= RECORDERS_OF_HOST_MAX)
		return "too many recorders of its host";
	return all->n >= RECORDERS_MAX ? "too many recorders" : NULL;
}

static struct recorder *
make(struct recorders *all)
{
	struct recorder *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->all = all;
	r->fd = -1;
	r->began_ns = r->heard_ns = clock_now_ns();
	list_append(&all->list, &r->node);
	all->n++;
	return r;
}

void
recorder_accept(struct recorders *all, int take_fd, const struct sockaddr *peer)
{
	struct recorder *r, *rest;
	const char *why = why_not(all, peer, &rest);
	char host[ADDRESS_TEXT];

	address_host(host, peer);
	if (why != NULL && rest != NULL) {
		log_peer(LOG_WARN, "peer=%s: %s; the rest of it is not live",
		    rest->name, why);
		recorder_destroy(rest);
		why = NULL;
	}
	if (why != NULL)
		log_peer(LOG_WARN, "peer=%s:%u: %s; refused", host,
		    address_port(peer), why);
	r = why == NULL ? make(all) : NULL;
	if (r == NULL) {
		close(take_fd);
		return;
	}
	r->fd = take_fd;
	memcpy(&r->peer, peer,
	    peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					: sizeof(struct sockaddr_in));
	snprintf(r->name, sizeof(r->name), "%s:%u", host, address_port(peer));
	if (!tcp_options_set(take_fd, &tcp_keepalive_two_minutes))
		log_errno(LOG_INFO, "a socket's option");
	recorder_dialog_init(&r->dialog, &recorder_dialog_ops, r);
	r->timer = evtimer_new(all->base, on_timer, r);
	r->readable = event_new(
	    all->base, take_fd, EV_READ | EV_PERSIST, on_readable, r);
	r->writable = event_new(all->base, take_fd, EV_WRITE, on_writable, r);
	if (r->timer == NULL || r->readable == NULL || r->writable == NULL ||
	    r->dialog.out.bad ||
	    recorder_take_fds(r, all->maker == NULL ? 1 : 1 + SINK_FDS) != OK) {
		log_peer(LOG_ERROR,
		    "peer=%s: refused: no memory or descriptors are left",
		    r->name);
		recorder_destroy(r);
		return;
	}
	(void)event_add(r->readable, NULL);
	recorder_set_timer(r, LOOK_MS * 5);
	recorder_name_find(r);
	if (!send_replies(r))
		end_control(r);
}

void
recorder_finish_left(struct recorders *all, struct recording *take)
{
	struct recorder *r = make(all);

	if (r == NULL) {
		recording_destroy(take);
		return;
	}
	snprintf(r->name, sizeof(r->name), "%s", recording_name(take));
	r->recording = take;
	log_notice("peer=%s: completing an interrupted recording", r->name);
	recorder_finish_file(r);
}

void
recorders_end(struct recorders *all)
{
	struct list *at, *next;

	all->is_ending = true;
	all->ending_ns = clock_now_ns();
	list_for_each (at, next, &all->list)
		end_control(list_entry(at, struct recorder, node));
}
