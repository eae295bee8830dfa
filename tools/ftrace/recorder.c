/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/recorder.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "tools/client/tcp_options.h"
#include "tools/ftrace/data_sockets.h"
#include "tools/ftrace/tcp_port.h"
#include "tools/ftrace/command_loop.h"
#include "tools/ftrace/page_feed.h"
#include "tools/ftrace/peer_name.h"
#include "tools/ftrace/recorder_dialog.h"

/* The longest delay of a file by a name server. */
#define NAME_WAIT_MS 2000
/* Sockets and files are made for so long in one cycle of the loop: a recorder
 * of 1,500 CPUs takes some 100 ms, and others wait. */
#define OPEN_SLICE_NS (NS_PER_MS / 5)
/* Bytes read from a control connection in one cycle of the loop. */
#define READ_SIZE (64 << 10)

/* How often states that wait are checked. */
#define CHECK_MS 50
/* V1 metadata may come byte by byte. After a check that takes longer, wait, so
 * that checks take this share of the time. */
#define LONG_CHECK_NS NS_PER_MS
#define CHECK_SHARE 20

enum recorder_state {
	RECORDER_TALKING,   /* until the metadata is whole */
	RECORDER_RUNNING,   /* pages come */
	RECORDER_DRAINING,  /* it has ended; data in flight still comes */
	RECORDER_NAMING,    /* its host name is looked up, for the file */
	RECORDER_FINISHING, /* its files are joined */
	RECORDER_LIVE_END,  /* its live session is not done */
};

/* What a recorder uses, or several of them. */
struct recorder_use {
	uint64_t recorders, fds, ports; /* ports for pages */
	uint64_t memory;		/* see page_feed_memory() */
};

struct recorder {
	struct list node;
	struct recorders *all;
	struct sockaddr_storage peer;
	uint64_t connected_ns;	       /* Unix time */
	char name[RECORDING_NAME_MAX]; /* HOST:PORT */
	enum recorder_state state;
	int fd; /* -1: closed */
	struct event *readable, *writable, *timer;
	struct recorder_dialog dialog;
	uint64_t began_ns, received_ns, ended_ns;
	uint64_t check_ns; /* V1: time of the next check whether the metadata is
			     whole */
	struct recorder_use use;

	struct data_sockets *data;
	struct data_counts counts;
	struct page_feed feed;	  /* has the recording and the live session */
	struct peer_name *naming; /* NULL: no lookup */
};

/* What all recorders use, or those of HOST. */
static struct recorder_use
sum_use(const struct recorders *all, const struct sockaddr *host)
{
	struct recorder_use sum = { 0 };
	const struct recorder *r;

	list_each (r, &all->list, struct recorder, node) {
		if (host != NULL && !address_is_same_host(host,
					(const struct sockaddr *)&r->peer))
			continue;
		sum.recorders++;
		sum.fds += r->use.fds;
		sum.ports += r->use.ports;
		sum.memory += page_feed_memory(&r->feed);
	}
	return sum;
}

/* Why a recorder of PEER may not use MORE, or NULL. */
static const char *
refuse_use(const struct recorders *all, const struct sockaddr *peer,
    struct recorder_use more)
{
	const uint64_t ports = all->port_last - all->port_first + 1u;
	const struct recorder_use sum = sum_use(all, NULL),
				  host = sum_use(all, peer);

	if (more.recorders > 0 && host.recorders >= RECORDERS_OF_HOST_MAX)
		return "too many recorders of its host";
	if (more.recorders > 0 && sum.recorders >= RECORDERS_MAX)
		return "too many recorders";
	if (more.fds > 0 && sum.fds + more.fds > all->fds_max)
		return "no file descriptors are left (ulimit -n)";
	if (more.fds > 0 && host.fds + more.fds > all->fds_max / 2)
		return "its host uses half of all descriptors (ulimit -n)";
	/* The only recorder of a host may have all ports. */
	if (more.ports > 0 && host.ports > 0 &&
	    host.ports + more.ports > ports / 2)
		return "its host uses half of all ports for pages "
		       "(--data-ports)";
	if (more.memory > 0 &&
	    (sum.memory + more.memory > PAGES_MEMORY_BYTES ||
		host.memory + more.memory > PAGES_MEMORY_BYTES / 2))
		return "no memory is left";
	return NULL;
}

static void
on_ended(void *arg, uint32_t cpu)
{
	struct recorder *r = arg;

	log_debug("peer=%s: all pages of CPU %u have arrived", r->name, cpu);
	/* The recorder may have waited for this. */
	if (r->state == RECORDER_DRAINING)
		command_loop_set_timer(r->timer, 0);
}

static uint32_t
page_size_max(const struct recorder_dialog_begin *begin)
{
	return begin->is_tcp ? DAT_PAGE_BYTES_MAX : DATA_DATAGRAM_BYTES;
}

static enum status
on_begin(void *arg, const struct recorder_dialog_begin *begin)
{
	struct recorder *r = arg;
	const struct data_config config = { .base = r->all->loop->base,
		.cpus = begin->cpus,
		.is_tcp = begin->is_tcp,
		.peer = (const struct sockaddr *)&r->peer,
		.peer_name = r->name,
		.bind_host = r->all->bind_host,
		.port_first = r->all->port_first,
		.port_last = r->all->port_last,
		.feed = &r->feed,
		.ended = on_ended,
		.arg = r };
	const struct recorder_use more = { .fds = recording_fds(begin->cpus) +
						  begin->cpus,
		.ports = begin->cpus };

	assert(begin->cpus <= MESSAGE_CPUS_MAX);
	if (begin->unknown > 0)
		log_peer(LOG_INFO, "peer=%s: %u unknown options", r->name,
		    begin->unknown);
	if (begin->is_vsock != (r->peer.ss_family == AF_VSOCK)) {
		r->dialog.why = "either its connection or its pages are not "
				"over vsock";
		return E_PROTOCOL;
	}
	/* Its pages' size is checked now, since a refusal is shown to its user
	 * now, and again when the metadata states it. */
	if (begin->page_size > page_size_max(begin)) {
		r->dialog.why = PAGE_FEED_TOO_LARGE;
		return E_LIMIT;
	}
	r->dialog.why = refuse_use(
	    r->all, (const struct sockaddr *)&r->peer, more);
	if (r->dialog.why != NULL)
		return E_LIMIT;
	r->use.fds += more.fds;
	r->use.ports = more.ports;
	r->data = data_sockets_create(&config);
	return r->data != NULL ? OK : E_NOMEM;
}

/* Makes the sockets and files of a recorder for a while, and replies when all
 * are there. Its bytes wait, in the kernel. E_MORE: call it again. */
static enum status
open_some(struct recorder *r)
{
	const struct recorder_dialog_begin *begin = &r->dialog.begin;
	const uint64_t until = clock_now_ns() + OPEN_SLICE_NS;
	enum status st = data_sockets_bind(r->data, until);

	if (st == OK && r->feed.recording == NULL)
		st = recording_create(&r->feed.recording, &r->all->recordings,
		    r->name, begin->cpus);
	if (st == OK)
		st = recording_create_files(r->feed.recording, until);
	command_loop_set_timer(
	    r->timer, st == E_MORE ? 0 : CHECK_MS * 5 * NS_PER_MS);
	if (st != OK)
		return st;
	log_peer(LOG_NOTICE, "peer=%s: %u CPUs, %s, version %u", r->name,
	    begin->cpus,
	    begin->is_vsock ? "vsock"
	    : begin->is_tcp ? "TCP"
			    : "UDP",
	    begin->is_v1 ? 1 : 3);
	r->received_ns = clock_now_ns();
	(void)event_add(r->readable, NULL);
	return recorder_dialog_ports(&r->dialog, data_sockets_ports(r->data));
}

static bool
recorder_may_use(void *arg, uint64_t bytes)
{
	const struct recorder *r = arg;
	const struct recorder_use more = { .memory = bytes };

	return refuse_use(r->all, (const struct sockaddr *)&r->peer, more) ==
	       NULL;
}

/* Begins the pages if the metadata is whole; E_MORE: it is not. */
static enum status
begin_pages(struct recorder *r, bool is_end)
{
	const struct page_feed_config config = {
		.is_datagrams = !r->dialog.begin.is_tcp,
		.is_end = is_end,
		.is_local = address_is_own(
		    r->fd, (const struct sockaddr *)&r->peer),
		.connected_ns = r->connected_ns,
		.page_size_max = page_size_max(&r->dialog.begin),
		.live = r->all->live,
		.base = r->all->loop->base,
		.may_use = recorder_may_use,
		.arg = r,
	};
	const enum status st = page_feed_begin(
	    &r->feed, &config, &r->dialog.why);

	assert(r->state == RECORDER_TALKING);
	if (st != OK)
		return st;
	r->state = RECORDER_RUNNING;
	return data_sockets_start(r->data, r->feed.layout.size);
}

/* V1: checks whether the metadata is whole. Checks that take long are made
 * rarely, unless IS_LAST: no more bytes come. */
static enum status
check_metadata(struct recorder *r, bool is_last)
{
	const uint64_t now = clock_now_ns();
	enum status st = OK;
	uint64_t took;

	if (r->dialog.begin.is_v1 && r->state == RECORDER_TALKING &&
	    r->dialog.state == DIALOG_METADATA &&
	    r->feed.recording->metadata_size > 0 &&
	    (is_last || now >= r->check_ns)) {
		st = begin_pages(r, false);
		took = clock_now_ns() - now;
		if (took > LONG_CHECK_NS)
			r->check_ns = now + took * CHECK_SHARE;
	}
	return st == E_MORE ? OK : st;
}

/* Metadata in memory, of all recorders. */
static uint64_t
metadata_memory(const struct recorders *all)
{
	const struct recorder *r;
	uint64_t sum = 0;

	list_each (r, &all->list, struct recorder, node)
		if (r->feed.recording != NULL && !r->feed.recording->is_kept)
			sum += r->feed.recording->metadata_size;
	return sum;
}

static enum status
on_metadata(void *arg, const uint8_t *p, size_t n)
{
	struct recorder *r = arg;

	/* V1: unexpected bytes after the metadata. */
	if (r->state != RECORDER_TALKING) {
		r->dialog.why = "unexpected bytes after the metadata";
		return E_PROTOCOL;
	}
	if (!r->feed.recording->is_kept &&
	    metadata_memory(r->all) + n > METADATA_MEMORY_BYTES) {
		r->dialog.why = "the metadata of all recorders is too large";
		return E_LIMIT;
	}
	return recording_metadata(r->feed.recording, p, n);
}

static enum status
on_metadata_end(void *arg)
{
	return begin_pages(arg, true);
}

static const struct recorder_dialog_ops dialog_ops = {
	.begin = on_begin,
	.metadata = on_metadata,
	.metadata_end = on_metadata_end,
};

/* Closes the data sockets. */
static void
free_data(struct recorder *r)
{
	if (r->data != NULL)
		r->counts = data_sockets_counts(r->data);
	data_sockets_destroy(r->data);
	r->data = NULL;
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

static void
destroy_recorder(struct recorder *r)
{
	struct recorders *all = r->all;

	assert(all->n > 0 && r->state != RECORDER_FINISHING);
	close_control(r);
	peer_name_cancel(r->naming);
	r->naming = NULL;
	free_data(r);
	page_feed_free(&r->feed);
	if (r->timer != NULL)
		event_free(r->timer);
	recorder_dialog_free(&r->dialog);
	all->n--;
	list_del(&r->node);
	free(r);
	if (all->gone != NULL)
		all->gone(all->arg);
}

/* Logs which datagrams are missing. */
static void
log_datagrams(const struct recorder *r)
{
	if (r->counts.dropped > 0)
		log_peer(LOG_WARN,
		    "peer=%s: %" PRIu64 " pages lost: the kernel had no space "
		    "for them (see net.core.rmem_max)",
		    r->name, r->counts.dropped);
	if (r->counts.malformed > 0 || r->counts.from_others > 0)
		log_peer(LOG_WARN,
		    "peer=%s: ignored %" PRIu64
		    " datagrams that are not pages, and %" PRIu64
		    " from other hosts",
		    r->name, r->counts.malformed, r->counts.from_others);
}

static void advance(struct recorder *r);

/* The file is done: release what only the file used. */
static void
on_finished(void *arg)
{
	struct recorder *r = arg;

	log_datagrams(r);
	recording_destroy(r->feed.recording);
	r->feed.recording = NULL;
	r->use.fds = r->feed.live != NULL ? LIVE_FDS : 0;
	r->state = RECORDER_LIVE_END;
	advance(r);
}

static void
finish_file(struct recorder *r)
{
	peer_name_cancel(r->naming);
	r->naming = NULL;
	r->state = RECORDER_FINISHING;
	page_feed_finish(&r->feed, r->all->finishing, on_finished, r);
}

/* Is more data in flight? */
static bool
is_draining(const struct recorder *r, uint64_t now)
{
	return r->data != NULL && r->feed.layout.size > 0 &&
	       !r->all->is_ending &&
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
is_live_ending(const struct recorder *r, uint64_t now)
{
	return page_feed_is_live(&r->feed, r->ended_ns) &&
	       (!r->all->is_ending ||
		   now - r->all->ending_ns < LIVE_STOP_MS * NS_PER_MS);
}

/* Ends the pages: no more come. */
static void
end_pages(struct recorder *r, uint64_t now)
{
	assert(r->state == RECORDER_DRAINING);
	if (r->data != NULL && r->all->is_ending)
		data_sockets_drain(r->data);
	free_data(r);
	r->use.ports = 0;
	page_feed_end(&r->feed);
	r->ended_ns = now;
	r->state = RECORDER_NAMING;
}

static void
advance(struct recorder *r)
{
	const uint64_t now = clock_now_ns();

	if (r->state == RECORDER_DRAINING && !is_draining(r, now))
		end_pages(r, now);
	if (r->state == RECORDER_NAMING && !is_naming(r, now)) {
		if (r->feed.recording != NULL) {
			finish_file(r);
			return;
		}
		r->state = RECORDER_LIVE_END;
	}
	if (r->state == RECORDER_LIVE_END && !is_live_ending(r, now))
		destroy_recorder(r);
	else if (r->state >= RECORDER_DRAINING &&
		 r->state != RECORDER_FINISHING)
		command_loop_set_timer(r->timer, CHECK_MS * NS_PER_MS);
}

static void
on_name(void *arg, const char *name)
{
	struct recorder *r = arg;

	r->naming = NULL;
	if (*name != '\0' && strcmp(r->name, name) != 0) {
		log_peer(LOG_INFO, "peer=%s: named %s", r->name, name);
		snprintf(r->name, sizeof(r->name), "%s", name);
		if (r->feed.recording != NULL)
			recording_rename(r->feed.recording, r->name);
	}
	advance(r);
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
	command_loop_set_timer(r->timer, 0);
}

static void
refuse_recorder(struct recorder *r, enum status st)
{
	log_peer(log_level_of(st), "peer=%s: %s; closed", r->name,
	    r->dialog.why != NULL ? r->dialog.why : status_text(st));
	end_control(r);
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
	       now - r->received_ns >= METADATA_SILENCE_MS * NS_PER_MS;
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

/* After bytes of the recorder were handled, with the result ST. */
static void
go_on(struct recorder *r, enum status st)
{
	if (st == OK)
		st = check_metadata(r, false);
	if (st != OK) {
		refuse_recorder(r, st);
	} else if (!send_replies(r) || r->dialog.state == DIALOG_CLOSED) {
		end_control(r);
	} else if (r->dialog.state == DIALOG_PORTS) {
		(void)event_del(r->readable);
		command_loop_set_timer(r->timer, 0);
	}
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct recorder *r = arg;
	enum status st;

	(void)fd;
	(void)what;
	if (r->state == RECORDER_TALKING && r->dialog.state == DIALOG_PORTS) {
		st = open_some(r);
		if (st != E_MORE)
			go_on(r, st);
		return;
	}
	st = check_metadata(r, false);
	if (st == OK && is_late(r, clock_now_ns())) {
		r->dialog.why = "its metadata does not arrive in time";
		st = E_LIMIT;
	}
	if (st != OK) {
		refuse_recorder(r, st);
		return;
	}
	if (r->state == RECORDER_TALKING)
		command_loop_set_timer(r->timer, CHECK_MS * 5 * NS_PER_MS);
	advance(r);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct recorder *r = arg;
	uint8_t bytes[READ_SIZE];
	const ssize_t n = read(fd, bytes, sizeof(bytes));

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		r->received_ns = clock_now_ns();
		go_on(r, recorder_dialog_input(&r->dialog, bytes, (size_t)n));
		return;
	}
	(void)!check_metadata(r, true);
	/* V1 ends like this; V3 sends CLOSE first. */
	if (!r->dialog.begin.is_v1 || r->state != RECORDER_RUNNING)
		log_peer(LOG_WARN, "peer=%s: connection lost", r->name);
	end_control(r);
}

/* A connection that has not stated its CPUs. */
static bool
is_idle(const struct recorder *r)
{
	return r->state == RECORDER_TALKING &&
	       !recorder_dialog_has_begun(&r->dialog);
}

/* The oldest recorder that may be closed for another one: one that has not
 * stated its CPUs, otherwise one whose file is done, and whose live session is
 * not. Of the host of PEER if that has its share of recorders, otherwise of any
 * host. NULL also if it is not recorders that are too many: no session ends
 * because descriptors are used up. */
static struct recorder *
find_expendable(const struct recorders *all, const struct sockaddr *peer)
{
	const bool is_of_host = sum_use(all, peer).recorders >=
				RECORDERS_OF_HOST_MAX;
	struct recorder *r, *live = NULL;

	if (!is_of_host && all->n < RECORDERS_MAX)
		return NULL;
	list_each (r, &all->list, struct recorder, node) {
		if (is_of_host && !address_is_same_host(
				      peer, (const struct sockaddr *)&r->peer))
			continue;
		if (is_idle(r))
			return r;
		if (live == NULL && r->state == RECORDER_LIVE_END)
			live = r;
	}
	return live;
}

/* May a recorder of PEER be added? If necessary, closes another one. */
static bool
admit(struct recorders *all, const struct sockaddr *peer,
    struct recorder_use use, const char *name)
{
	const char *why = refuse_use(all, peer, use);
	struct recorder *old = why == NULL ? NULL : find_expendable(all, peer);

	if (old != NULL) {
		log_peer(LOG_WARN, "peer=%s: %s; %s", old->name, why,
		    is_idle(old) ? "this one has not stated its CPUs; closed"
				 : "the rest of this one is not live");
		destroy_recorder(old);
		why = refuse_use(all, peer, use);
	}
	if (why != NULL)
		log_peer(LOG_WARN, "peer=%s: %s; refused", name, why);
	return why == NULL;
}

static struct recorder *
make(struct recorders *all)
{
	struct recorder *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->all = all;
	r->feed.name = r->name;
	r->fd = -1;
	r->began_ns = r->received_ns = clock_now_ns();
	list_append(&all->list, &r->node);
	all->n++;
	return r;
}

void
recorder_accept(void *arg, int take_fd, const struct sockaddr *peer)
{
	struct recorders *all = arg;
	const struct recorder_use use = { .recorders = 1,
		.fds = all->live == NULL ? 1 : 1 + LIVE_FDS };
	char name[ADDRESS_TEXT];
	struct recorder *r;

	address_text(name, peer);
	r = admit(all, peer, use, name) ? make(all) : NULL;
	if (r == NULL) {
		close(take_fd);
		return;
	}
	r->fd = take_fd;
	r->use = use;
	r->connected_ns = clock_wall_ns();
	address_copy(&r->peer, peer);
	memcpy(r->name, name, sizeof(name));
	if (address_is_internet((const struct sockaddr *)&r->peer) &&
	    !tcp_options_set(take_fd, &tcp_keepalive_two_minutes))
		log_errno(LOG_INFO, "peer=%s: cannot set keep-alive", r->name);
	recorder_dialog_init(&r->dialog, &dialog_ops, r);
	r->timer = evtimer_new(all->loop->base, on_timer, r);
	r->readable = command_loop_watch(
	    all->loop->base, take_fd, EV_READ | EV_PERSIST, on_readable, r);
	r->writable = event_new(
	    all->loop->base, take_fd, EV_WRITE, on_writable, r);
	if (r->timer == NULL || r->readable == NULL || r->writable == NULL ||
	    r->dialog.out.bad) {
		log_peer(LOG_ERROR, "peer=%s: out of memory; refused", r->name);
		destroy_recorder(r);
		return;
	}
	command_loop_set_timer(r->timer, CHECK_MS * 5 * NS_PER_MS);
	r->naming = peer_name_ask(
	    r->all->loop->names, (const struct sockaddr *)&r->peer, on_name, r);
	if (!send_replies(r))
		end_control(r);
}

void
recorder_finish_left(void *arg, struct recording *take)
{
	struct recorder *r = make(arg);

	if (r == NULL) {
		recording_destroy(take);
		return;
	}
	snprintf(r->name, sizeof(r->name), "%s", take->name);
	r->feed.recording = take;
	log_notice("peer=%s: completing an interrupted recording", r->name);
	finish_file(r);
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
