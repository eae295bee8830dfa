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
    "print what the relay answers, for scripts")
OPTION(TIMEOUT, 0, "timeout", "SECONDS",
    "wait so long for an answer [10]")
OPTION(LONG, 'l', "long", NULL,
    "sessions: all columns")
OPTION(ALL, 'a', "all", NULL,
    "sessions: those that ended, too; keep: all that have this name")
OPTION(HOST, 0, "host", "HOST",
    "sessions, top, watch, stored: of this host only")
OPTION(NAMES, 0, "names", NULL,
    "sessions, stored: HOST/NAME of each, and nothing else")
OPTION(SORT, 's', "sort", "KEY",
    "top: by rate, received, lost, viewers, held, age or name [rate]")
OPTION(INTERVAL, 'i', "interval", "SECONDS",
    "top: between two pictures [1]")
OPTION(COUNT, 'n', "count", "N",
    "top, events: end after N pictures or events")
OPTION(RECENT, 0, "recent", "N",
    "events: begin with the last N that there were [0]")
OPTION(DRY_RUN, 0, "dry-run", NULL,
    "vacuum, watch: say what would be done")
OPTION(NO, 0, "no", NULL,
    "keep: do not keep it any longer")
OPTION(STATE, 0, "state", "FILE",
    "check: losses since the last check, which is noted in FILE")
OPTION(LOST_WARNING, 0, "lost-warning", "N",
    "check: so many lost packets are a warning [1]")
OPTION(LOST_CRITICAL, 0, "lost-critical", "N",
    "check: so many are critical [never]")
OPTION(DISK_WARNING, 0, "disk-warning", "PERCENT",
    "check: less free disk is a warning [4]")
OPTION(DISK_CRITICAL, 0, "disk-critical", "PERCENT",
    "check: less free disk is critical [2]")
OPTION(HELP, 'h', "help", NULL,
    "print this and end")
OPTION(VERSION, 'V', "version", NULL,
    "print the version and end")
