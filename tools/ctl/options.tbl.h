/* SPDX-License-Identifier: MIT */
/* The options of tracepulse, all commands together; see common/option_rows.h.
 * The check of the manual and the completions reads this table, too. */
/* clang-format off */
OPTION(URL, 'u', "url", "URL", TEXT(url),
    "address of the relay, or unix:PATH [$TRACEPULSE_URL, http://localhost:5340]")
OPTION(JSON, 'j', "json", NULL, FLAG(json),
    "print the answer of the relay as JSON; tail: events as JSON")
OPTION(TIMEOUT, 0, "timeout", "SECONDS", SECONDS(timeout_ms),
    "give up if the relay does not answer within this time [10]")
OPTION(LONG, 'l', "long", NULL, FLAG(is_long),
    "sessions: all columns")
OPTION(ALL, 'a', "all", NULL, FLAG(all),
    "sessions: also those that ended; keep: all traces with this name; tail: all live sessions")
OPTION(HOST, 0, "host", "HOST", TEXT(host),
    "sessions, top, watch, tail, stored: only those of this host")
OPTION(NAMES, 0, "names", NULL, FLAG(names),
    "sessions, stored: print only HOST/NAME of each")
OPTION(SORT, 's', "sort", "KEY", OWN(take_sort),
    "top: sort by rate, received, lost, viewers, held, age or name [rate]")
OPTION(INTERVAL, 'i', "interval", "SECONDS", SECONDS(interval_ms),
    "top: time between two updates [1]")
OPTION(COUNT, 'n', "count", "N", COUNT(count, 1, UINT64_MAX),
    "top, events: exit after N updates or events")
OPTION(RECENT, 0, "recent", "N", COUNT(recent, 0, 1000),
    "events: begin with the last N events [0]")
OPTION(DRY_RUN, 0, "dry-run", NULL, FLAG(dry_run),
    "vacuum, watch: only print what would be done")
OPTION(NO, 0, "no", NULL, FLAG(no),
    "keep: no longer protect the trace")
OPTION(TEXT, 0, "text", NULL, FLAG(text),
    "tail: a line for each event [on a terminal]")
OPTION(PERFETTO, 0, "perfetto", "FILE", TEXT(perfetto),
    "tail: write FILE for Perfetto")
OPTION(SINCE, 0, "since", "TIME", OWN(take_since),
    "tail: only events since then: 10m (ago), 13:40, @SECONDS")
OPTION(EVENT, 'e', "event", "GLOB", OWN(take_event),
    "tail: only events with such a name; may be repeated")
OPTION(FILTER, 0, "filter", "FIELD=VALUE", OWN(take_filter),
    "tail: only events whose field has this value; all filters count")
OPTION(WAIT, 0, "wait", NULL, FLAG(wait),
    "tail: wait for sessions that do not exist yet")
OPTION(FOLLOW_NAME, 0, "follow-name", NULL, FLAG(follow_name),
    "tail: go on with the next session of the same name")
OPTION(STATE, 0, "state", "FILE", TEXT(state),
    "check: count losses since the last check; FILE stores its state")
OPTION(LOST_WARNING, 0, "lost-warning", "N", COUNT(lost_warning, 1, UINT64_MAX),
    "check: warn at N or more lost packets [1]")
OPTION(LOST_CRITICAL, 0, "lost-critical", "N", COUNT(lost_critical, 1, UINT64_MAX),
    "check: critical at N or more lost packets [never]")
OPTION(DISK_WARNING, 0, "disk-warning", "PERCENT", PERCENT(disk_warning),
    "check: warn if less than PERCENT of the disk is free [4]")
OPTION(DISK_CRITICAL, 0, "disk-critical", "PERCENT", PERCENT(disk_critical),
    "check: critical if less than PERCENT of the disk is free [2]")
OPTION(HELP, 'h', "help", NULL, FLAG(is_done),
    "print this help and exit")
OPTION(VERSION, 'V', "version", NULL, PRINT,
    "print the version and exit")
