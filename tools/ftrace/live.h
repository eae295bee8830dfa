/* SPDX-License-Identifier: MIT */
/*
 * Shows recorders live on a relay, each as a session (trace-cmd 4.5). A stream
 * is announced with the first page of its CPU. Pages become packets as they
 * come. For a silent CPU, beacons state that nothing older than the sender's
 * time less the hold time will follow (live_time.h). A page that arrives later
 * loses the events before that time; they are counted, reported in the packets,
 * and logged. The loop's thread.
 */
#ifndef TOOLS_FTRACE_LIVE_H
#define TOOLS_FTRACE_LIVE_H

#include "tools/client/url.h"
#include "tools/ftrace/ctf_trace.h"
#include "tools/ftrace/live_time.h"
#include "tools/ftrace/page_feed.h"

/* Wait this long for first pages of all CPUs: a later stream must not begin
 * before what viewers have seen. */
#define LIVE_BEGIN_MS 300
struct live_config {
	struct url url;
	struct url_address addresses[URL_ADDRESSES]; /* of the relay's host */
	unsigned n_addresses;
	bool udp;
	enum ctf_names names;
	uint64_t hold_ns; /* or LIVE_HOLD_AUTO */
	uint64_t queued;  /* bytes waiting for the relay, of all recorders */
};

/* Resolves the host of C->url once. On failure *WHY is a constant string. */
enum status live_resolve(struct live_config *c, const char **why) MUST_CHECK;

/* For struct recorder_sink_maker; ARG is a struct live_config. */
enum status live_make(struct recorder_sink **out, void *arg,
    struct event_base *base, const struct recorder_about *about) MUST_CHECK;

#endif
