/* SPDX-License-Identifier: MIT */
#include "relayd/net/loop.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"

static void
take_messages(struct loop *l)
{
	struct cds_wfcq_node *node;
	struct message *m;

	while ((node = __cds_wfcq_dequeue_blocking(
		    &l->inbox_head, &l->inbox_tail)) != NULL) {
		m = container_of(node, struct message, node);
		assert(published(&m->is_ready) == 1);
		l->on_message(m, l->arg);
		free(m);
	}
}

static struct timeval
timeval_of(uint64_t ns)
{
	return (struct timeval){
		.tv_sec = (time_t)(ns / NS_PER_S),
		.tv_usec = (suseconds_t)(ns % NS_PER_S / 1000),
	};
}

/* The inbox may become readable during the pause. */
static void
begin_rest(struct loop *l)
{
	const struct timeval tv = timeval_of(LOOP_REST_NS);

	l->wants_rest = false;
	if (event_add(&l->rest, &tv) == 0)
		event_del(&l->inbox_event);
}

static void
on_rested(evutil_socket_t fd, short what, void *arg)
{
	struct loop *l = arg;

	loop_mark_busy(l);
	if (event_add(&l->inbox_event, NULL) == 0)
		return;
	log_error(
	    "event loop: out of memory; messages from other threads wait");
	begin_rest(l);
}

static void
on_inbox(evutil_socket_t fd, short what, void *arg)
{
	struct loop *l = arg;
	uint64_t n;

	loop_mark_busy(l);
	if (read((int)fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		log_errno(LOG_ERROR, "inbox");
	if (l->on_wake != NULL)
		l->on_wake(l->arg);
	take_messages(l);
	if (l->wants_rest)
		begin_rest(l);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct loop *l = arg;

	loop_mark_busy(l);
	l->timer_at = UINT64_MAX;
}

enum status
loop_init(
    struct loop *l, void (*on_message)(struct message *m, void *arg), void *arg)
{
	struct event_config *config = event_config_new();

	*l = (struct loop){
		.on_message = on_message, .arg = arg, .timer_at = UINT64_MAX
	};
	cds_wfcq_init(&l->inbox_head, &l->inbox_tail);
	l->inbox_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (config != NULL &&
	    event_config_set_flag(config,
		EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_NO_CACHE_TIME) == 0)
		l->base = event_base_new_with_config(config);
	if (config != NULL)
		event_config_free(config);
	if (l->base == NULL || l->inbox_fd < 0 ||
	    event_assign(&l->inbox_event, l->base, l->inbox_fd,
		EV_READ | EV_PERSIST, on_inbox, l) != 0 ||
	    event_add(&l->inbox_event, NULL) != 0 ||
	    event_assign(&l->rest, l->base, -1, 0, on_rested, l) != 0 ||
	    event_assign(&l->timer, l->base, -1, 0, on_timer, l) != 0) {
		log_errno(LOG_ERROR, "event loop");
		loop_destroy(l);
		return E_IO;
	}
	return OK;
}

void
loop_destroy(struct loop *l)
{
	if (l->on_message == NULL)
		return; /* never initialised */
	take_messages(l);
	if (l->base != NULL) {
		if (event_initialized(&l->inbox_event))
			event_del(&l->inbox_event);
		if (event_initialized(&l->rest))
			event_del(&l->rest);
		if (event_initialized(&l->timer))
			event_del(&l->timer);
		event_base_free(l->base);
	}
	l->base = NULL;
	if (l->inbox_fd >= 0)
		close(l->inbox_fd);
	l->inbox_fd = -1;
}

void
loop_run_cycle(struct loop *l)
{
	if (event_base_loop(l->base, EVLOOP_ONCE) < 0)
		log_errno(LOG_ERROR, "event loop");
	publish(&l->cycles, published(&l->cycles) + 1);
}

bool
loop_is_alive(struct loop *l)
{
	const uint64_t cycles = published(&l->cycles);
	const bool has = cycles != l->cycles_seen;

	l->cycles_seen = cycles;
	loop_wake(l);
	return has;
}

void
loop_set_timer(struct loop *l, uint64_t at, uint64_t now)
{
	const struct timeval tv = timeval_of(at > now ? at - now : 0);

	/* Setting the timer again after an early wake-up is cheaper than moving
	 * it at each cycle. */
	if (at >= l->timer_at)
		return;
	l->timer_at = at;
	event_add(&l->timer, &tv);
}

void
loop_rest(struct loop *l)
{
	l->wants_rest = true;
}

void
loop_cancel_rest(struct loop *l)
{
	l->wants_rest = false;
}

void
loop_mark_busy(struct loop *l)
{
	if (published(&l->busy_since) == 0)
		publish(&l->busy_since, clock_now_ns());
}

enum status
message_create(struct message **out, enum message_kind kind)
{
	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return E_NOMEM;
	(*out)->kind = kind;
	return OK;
}

void
loop_wake(struct loop *l)
{
	const uint64_t one = 1;

	if (write(l->inbox_fd, &one, sizeof(one)) < 0)
		log_errno(LOG_ERROR, "event loop: cannot wake its thread");
}

void
loop_post(struct loop *l, struct message *take_m)
{
	cds_wfcq_node_init(&take_m->node);
	/* liburcu's queue orders memory, but ThreadSanitizer cannot see it. */
	publish(&take_m->is_ready, 1);
	/* If the inbox was not empty, a wake-up was already sent. */
	if (cds_wfcq_enqueue(&l->inbox_head, &l->inbox_tail, &take_m->node))
		return;
	loop_wake(l);
}
