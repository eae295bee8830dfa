/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/recorder.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/client/tcp_options.h"
#include "tools/ftrace/recorder_internal.h"

/* Bytes of a control connection that are taken in a turn of the loop. */
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
		r->dialog.why = "its host has half of all descriptors";
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

	/* The only one of a host may have them all. */
	if (of_others > 0 && of_others + n > half) {
		r->dialog.why = "its host has half of all ports for pages";
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

/* Nothing more is asked of it or answered. */
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

/* Until its pages come, a recorder has to hurry. */
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
		r->dialog.why = "it says nothing";
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

/* Send what the dialog answers. False: the connection is gone. */
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
	/* V1 ends so; V3 says CLOSE before. */
	if (!r->dialog.begin.is_v1 || r->state != RECORDER_RUNNING)
		log_peer(LOG_WARN, "peer=%s: the connection is lost", r->name);
	end_control(r);
}

/* Is there room for another one of its host? If not, *REST is the oldest whose
 * file is there, and whose sink only has not taken all. */
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
		return "there are too many recorders of its host";
	return all->n >= RECORDERS_MAX ? "there are too many recorders" : NULL;
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
		log_peer(LOG_WARN, "peer=%s: %s; its rest is not live",
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
		log_peer(LOG_ERROR, "peer=%s: no room; refused", r->name);
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
	log_notice(
	    "peer=%s: a listener before has left it; it is finished", r->name);
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
