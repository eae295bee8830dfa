/* SPDX-License-Identifier: MIT */
/*
 * The command line of tracepulse-send, one row per option: the source of the
 * getopt tables and of --help.
 *     name  long name  argument or NULL  help
 */
/* clang-format off */
OPTION(SESSION, "session", "NAME",
    "name of the session [name of the first TRACE-DIR]")
OPTION(HOSTNAME, "hostname", "NAME",
    "host name of the session [this host's]")
OPTION(LIVE, "live", NULL,
    "as a live session: with beacons, and viewers may attach")
OPTION(LIVE_TIMER, "live-timer", "MICROSECONDS",
    "time between two beacons; implies --live [1000000]")
OPTION(REALTIME, "realtime", NULL,
    "at the pace of the trace's time stamps")
OPTION(LINGER, "linger", "SECONDS",
    "keep the session open so long after the last packet [0]")
OPTION(LOOP, "loop", "N",
    "send everything N times, each time as a new session; 0: for ever [1]")
OPTION(RATE, "rate", "BYTES",
    "at most so many bytes per second; k, M and G multiply [no limit]")
OPTION(OUTSTANDING, "outstanding", "N",
    "at most N indexes without an answer [256]")
OPTION(JSON, "json", NULL,
    "print the summary as one JSON object")
OPTION(QUIET, "quiet", NULL,
    "neither progress nor summary")
OPTION(HELP, "help", NULL,
    "print this and end")
OPTION(VERSION, "version", NULL,
    "print the version and end")
