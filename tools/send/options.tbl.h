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
OPTION(UDP, "udp", NULL,
    "send packets as datagrams; the relay must be tracepulse-relayd")
OPTION(RESEND, "resend", NULL,
    "send again what was lost; implies --udp")
OPTION(FRAGMENT, "fragment", "BYTES",
    "bytes of a packet in one datagram, 512 to 65000 [1392]")
OPTION(GAP_TIMEOUT, "gap-timeout", "MICROSECONDS",
    "how long the relay waits for what is missing [its default]")
OPTION(SEED, "seed", "N",
    "of the bad channel that the next four make of UDP [1]")
OPTION(DROP, "drop", "P",
    "lose a datagram with probability P, 0 to 1 [0]")
OPTION(DUPLICATE, "duplicate", "P",
    "send a datagram twice with probability P [0]")
OPTION(REORDER, "reorder", "DEPTH",
    "let datagrams overtake each other, up to DEPTH of them [0]")
OPTION(CORRUPT, "corrupt", "P",
    "turn one bit of a datagram with probability P [0]")
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
