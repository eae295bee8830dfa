/* SPDX-License-Identifier: MIT */
/*
 * The command line of tracepulse-send, one row per option: the source of the
 * getopt tables and of --help.
 *     name  short name or 0  long name  argument or NULL  help
 */
/* clang-format off */
OPTION(SESSION, 0, "session", "NAME",
    "name of the session [name of the first TRACE-DIR]")
OPTION(HOSTNAME, 0, "hostname", "NAME",
    "host name of the session [this host's]")
OPTION(LIVE, 0, "live", NULL,
    "as a live session: with beacons, and viewers may attach")
OPTION(LIVE_TIMER, 0, "live-timer", "MICROSECONDS",
    "time between two beacons; implies --live [1000000]")
OPTION(REALTIME, 0, "realtime", NULL,
    "at the pace of the trace's time stamps")
OPTION(LINGER, 0, "linger", "SECONDS",
    "keep the session open so long after the last packet [0]")
OPTION(LOOP, 0, "loop", "N",
    "send everything N times, each time as a new session; 0: for ever [1]")
OPTION(RATE, 0, "rate", "SIZE",
    "at most so many bytes (B, k, M, G) per second [no limit]")
OPTION(UDP, 0, "udp", NULL,
    "send packets as datagrams; the relay must be tracepulse-relayd")
OPTION(RESEND, 0, "resend", NULL,
    "send again what was lost; implies --udp")
OPTION(FRAGMENT, 0, "fragment", "BYTES",
    "bytes of a packet in one datagram, 512 to 65000 [1392]")
OPTION(GAP_TIMEOUT, 0, "gap-timeout", "MICROSECONDS",
    "how long the relay waits for what is missing [its default]")
OPTION(SEED, 0, "seed", "N",
    "of the bad channel that the next four make of UDP [1]")
OPTION(DROP, 0, "drop", "P",
    "lose a datagram with probability P, 0 to 1 [0]")
OPTION(DUPLICATE, 0, "duplicate", "P",
    "send a datagram twice with probability P [0]")
OPTION(REORDER, 0, "reorder", "DEPTH",
    "let datagrams overtake each other, up to DEPTH of them [0]")
OPTION(CORRUPT, 0, "corrupt", "P",
    "turn one bit of a datagram with probability P [0]")
OPTION(OUTSTANDING, 0, "outstanding", "N",
    "at most N indexes without an answer [256]")
OPTION(JSON, 0, "json", NULL,
    "print the summary as one JSON object")
OPTION(QUIET, 0, "quiet", NULL,
    "neither progress nor summary")
OPTION(HELP, 0, "help", NULL,
    "print this and end")
OPTION(VERSION, 0, "version", NULL,
    "print the version and end")
