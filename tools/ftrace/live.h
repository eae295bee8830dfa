/* SPDX-License-Identifier: MIT */
/*
 * What recorders send, live on a relay: a session for each (trace-cmd 4.5). A
 * stream is announced with its CPU's first page. Pages become packets as they
 * come. Where nothing comes, a beacon says that nothing older than the
 * sender's time less the hold time (live_hold) will; a page that comes later
 * than that loses the events before it, which are counted, told in the packets,
 * and logged. The loop's thread.
 */
#ifndef TOOLS_FTRACE_LIVE_H
#define TOOLS_FTRACE_LIVE_H

#include "tools/client/url.h"
#include "tools/ftrace/ctf_trace.h"
#include "tools/ftrace/live_time.h"
#include "tools/ftrace/page_feed.h"

/* Pages of all CPUs are waited for so long after the first: whichever stream
 * comes later must not begin before what viewers have seen. */
#define LIVE_BEGIN_MS 300
struct live_config {
	struct url url;
	struct url_address addresses[URL_ADDRESSES]; /* of its host */
	unsigned n_addresses;
	bool udp;
	enum ctf_names names;
	uint64_t hold_ns; /* or LIVE_HOLD_AUTO */
	uint64_t queued;  /* bytes that wait for the relay, of all recorders */
};

/* Resolves the host of C->url once, so that nothing waits for a name server
 * later. Not OK: *WHY is a constant string. */
enum status live_resolve(struct live_config *c, const char **why) MUST_CHECK;

/* A maker of recorder_sink.h; ARG is a struct live_config. */
enum status live_make(struct recorder_sink **out, void *arg,
    struct event_base *base, const struct recorder_about *about) MUST_CHECK;

#endif
