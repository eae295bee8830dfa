/* SPDX-License-Identifier: MIT */
/*
 * The commands of tracepulse, one row each: the source of --help and of what is
 * called, and of the check of the manual and the completions.
 *     name  operand, or NULL  options beside those of all commands  help
 * An operand in brackets may be left out. command_NAME() does it. Those options
 * that all have are URL, TIMEOUT, HELP and VERSION.
 */
/* clang-format off */
#define HAS(id) (UINT32_C(1) << OPT_##id)
COMMAND(status, NULL, HAS(JSON),
    "state, rates, losses, disk and limits of the relay")
COMMAND(sessions, NULL,
    HAS(JSON) | HAS(LONG) | HAS(ALL) | HAS(HOST) | HAS(NAMES),
    "the open sessions; also called ls")
COMMAND(show, "SESSION", HAS(JSON),
    "one session: its streams, viewers, losses and messages")
COMMAND(top, NULL, HAS(SORT) | HAS(INTERVAL) | HAS(COUNT) | HAS(HOST),
    "the busiest sessions, refreshed; q quits")
COMMAND(watch, "SESSION...", HAS(DRY_RUN) | HAS(HOST),
    "view live sessions with babeltrace2; arguments after -- are passed to it")
COMMAND(tail, "SESSION...",
    HAS(JSON) | HAS(TEXT) | HAS(PERFETTO) | HAS(SINCE) | HAS(EVENT) | HAS(FILTER) | HAS(WAIT) | HAS(FOLLOW_NAME) | HAS(ALL) | HAS(HOST),
    "events of live sessions, as JSON, text or for Perfetto, by babeltrace2")
COMMAND(export, "TRACE... FILE", 0,
    "convert finished traces: FILE ends in .ndjson, .txt or .perfetto")
COMMAND(events, NULL, HAS(JSON) | HAS(RECENT) | HAS(COUNT),
    "events of the relay, as they happen")
COMMAND(stored, NULL, HAS(JSON) | HAS(HOST) | HAS(NAMES),
    "the traces on the relay's disk")
COMMAND(vacuum, NULL, HAS(JSON) | HAS(DRY_RUN),
    "delete old traces now, if the limits require it")
COMMAND(keep, "SESSION", HAS(JSON) | HAS(ALL) | HAS(NO),
    "protect a trace from deletion")
COMMAND(get, "SESSION [DIR]", 0,
    "download a finished trace as a tar file")
COMMAND(check, NULL,
    HAS(STATE) | HAS(LOST_WARNING) | HAS(LOST_CRITICAL) | HAS(DISK_WARNING) | HAS(DISK_CRITICAL),
    "one line for a monitoring system; exit status 0, 1, 2 or 3")
#undef HAS
