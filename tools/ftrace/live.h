/* SPDX-License-Identifier: MIT */
/*
 * Shows recorders live on a relay, each as a session (trace-cmd 4.5), by
 * tools/client on a libevent loop; nothing blocks. What the relay does not take
 * yet waits in a queue; what does not fit there is lost live. If the relay is
 * not there, or no longer, that is logged once, and a session is tried again
 * after growing pauses (tools/client/retry.h); another failure is final: then
 * all is lost live. A stream is announced with the first page of its CPU. Pages
 * become packets as they come. For a silent CPU, beacons state that nothing
 * older than the sender's time less the hold time will follow (live_time.h). A
 * page that arrives later loses the events before that time; they are counted,
 * reported in the packets, and logged. The loop's thread.
 */
#ifndef TOOLS_FTRACE_LIVE_H
#define TOOLS_FTRACE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/option.h"
#include "common/status.h"
#include "tools/client/url.h"
#include "tools/ftrace/kernel_trace.h"
#include "tools/ftrace/live_time.h"

/* Wait this long for first pages of all CPUs: a later stream must not begin
 * before what viewers have seen. */
#define LIVE_BEGIN_MS 300
/* How long live_is_done() may be false after live_end(). */
#define LIVE_END_MS 120000
/* --hold: a longer wait is not live; the file is available then. */
#define LIVE_HOLD_MAX_NS (3600 * UINT64_C(1000000000))
/* At the end, a relay that reacts to nothing for this time has failed. */
#define LIVE_SILENCE_MS 10000
/* The live timer that the relay is given, and the interval of beacons. */
#define LIVE_TIMER_MS 100
/* The queues of all sessions. One may take this part of what all leave free:
 * 102 MiB alone, enough for a relay that stops for a second at 100 MB/s; 7 MiB
 * if 64 take their part. So there is always space for another one. */
#define LIVE_QUEUE_BYTES (UINT64_C(512) << 20)
#define LIVE_QUEUE_PART 4
/* Descriptors: two connections to the relay. */
#define LIVE_FDS 2

struct event_base;
struct live;

struct live_options {
	bool is_on; /* --relay */
	struct url url;
	struct url_address addresses[URL_ADDRESSES]; /* of the relay's host */
	unsigned n_addresses;
	bool udp;
	enum kernel_names names;
	uint64_t hold_ns; /* or LIVE_HOLD_AUTO */
	uint64_t queued;  /* bytes waiting for the relay, of all recorders */
};

/* A kind of option: the URL of a relay (struct live_options). */
enum status live_take_relay(
    const struct option_row *r, void *to, const char *arg) MUST_CHECK;
#define RELAY_URL(field) \
	.take = live_take_relay, .at = OPTION_PLACE(field, struct live_options)

/* If C is on, resolves the relay's host, once, and warns if this build cannot
 * show what trace-cmd sends by default. Failures are logged. */
enum status live_resolve(struct live_options *c) MUST_CHECK;

struct live_about {
	const char *name; /* HOST:PORT; borrowed until live_destroy() */
	uint32_t cpus;
	uint32_t page_size;
	const uint8_t *metadata; /* a trace.dat up to its pages; borrowed */
	size_t metadata_size;	 /* during the call */
	bool is_local;	       /* it connects from an address of this machine */
	uint64_t connected_ns; /* Unix time; 0: not known */
};

/* Call it once the metadata is whole. On failure WHY is the reason. */
enum status live_create(struct live **out, struct live_options *config,
    struct event_base *base, const struct live_about *about,
    char why[DAT_WHY_MAX]) MUST_CHECK;
/* Whole pages of one CPU, in the order in which they were sent. SIZE is a
 * multiple of the page size. Never blocks; what the relay does not take is
 * counted and logged. */
void live_pages(
    struct live *l, uint32_t cpu, const uint8_t *pages, size_t size);
/* Nothing more comes. */
void live_end(struct live *l);
/* After live_end(): is everything delivered or lost? Call it repeatedly. */
bool live_is_done(struct live *l);
/* Memory in use, without packets, which have a limit of their own. */
uint64_t live_memory(const struct live *l);
/* At any time, also without live_end(); what is not delivered is counted and
 * logged. NULL is fine. */
void live_destroy(struct live *l);

#endif
