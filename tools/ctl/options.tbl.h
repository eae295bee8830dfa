/* SPDX-License-Identifier: MIT */
/*
 * The options of tracepulse, one row each: the source of the getopt tables and
 * of --help, and of the check of the manual and the completions.
 *     name  letter  long name  argument or NULL  help
 */
/* clang-format off */
OPTION(URL, 'u', "url", "URL",
    "the relay, or unix:PATH [$TRACEPULSE_URL, http://localhost:5340]")
OPTION(JSON, 'j', "json", NULL,
    "print the answer of the relay as JSON")
OPTION(TIMEOUT, 0, "timeout", "SECONDS",
    "give up without an answer after that time [10]")
OPTION(LONG, 'l', "long", NULL,
    "sessions: all columns")
OPTION(ALL, 'a', "all", NULL,
    "sessions: also those that ended; keep: all traces of this name")
OPTION(HOST, 0, "host", "HOST",
    "sessions, top, watch, stored: only those of this host")
OPTION(NAMES, 0, "names", NULL,
    "sessions, stored: print only HOST/NAME of each")
OPTION(SORT, 's', "sort", "KEY",
    "top: sort by rate, received, lost, viewers, held, age or name [rate]")
OPTION(INTERVAL, 'i', "interval", "SECONDS",
    "top: time between two screens [1]")
OPTION(COUNT, 'n', "count", "N",
    "top, events: end after N screens or events")
OPTION(RECENT, 0, "recent", "N",
    "events: begin with the last N events [0]")
OPTION(DRY_RUN, 0, "dry-run", NULL,
    "vacuum, watch: print what would be done")
OPTION(NO, 0, "no", NULL,
    "keep: allow the deletion again")
OPTION(STATE, 0, "state", "FILE",
    "check: count losses since the last check; FILE stores its state")
OPTION(LOST_WARNING, 0, "lost-warning", "N",
    "check: warn from N lost packets on [1]")
OPTION(LOST_CRITICAL, 0, "lost-critical", "N",
    "check: critical from N lost packets on [never]")
OPTION(DISK_WARNING, 0, "disk-warning", "PERCENT",
    "check: warn when less of the disk is free [4]")
OPTION(DISK_CRITICAL, 0, "disk-critical", "PERCENT",
    "check: critical when less of the disk is free [2]")
OPTION(HELP, 'h', "help", NULL,
    "print this and end")
OPTION(VERSION, 'V', "version", NULL,
    "print the version and end")
