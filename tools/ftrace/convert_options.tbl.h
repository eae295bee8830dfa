/* SPDX-License-Identifier: MIT */
/*
 * The options of tracepulse-ftrace convert, one row each, in the order of
 * --help: the letter or 0, the name, the argument or NULL, the help.
 */
/* clang-format off */
OPTION(NAMES, 0, "names", "WHICH", "names of events: system:event or lttng [system:event]")
OPTION(CLOCK_OFFSET, 0, "clock-offset", "NS", "Unix time is the trace's and so many nanoseconds")
OPTION(RELAY, 0, "relay", "URL", "send it to the relay net://HOST[:CONTROL[:DATA]]")
OPTION(SESSION, 0, "session", "NAME", "the session's name with --relay [that of FILE]")
OPTION(QUIET, 'q', "quiet", NULL, "print only what went wrong")
OPTION(HELP, 'h', "help", NULL, "print this and exit")
