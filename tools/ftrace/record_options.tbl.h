/* SPDX-License-Identifier: MIT */
/*
 * The command line of tracepulse-ftrace record, one row per option.
 *     name  short name or 0  long name  argument or NULL  help
 */
/* clang-format off */
OPTION(EVENT, 'e', "event", "EVENT",
    "what to record, as for trace-cmd record -e; may be given several times")
OPTION(CLOCK, 'C', "clock", "CLOCK",
    "the clock of the guests' traces [mono]")
OPTION(BROKER, 0, "broker", "HOST:PORT",
    "where the broker is")
OPTION(TOKEN_FILE, 0, "token-file", "FILE",
    "has the word that the broker knows")
OPTION(DIRECTORY, 'd', "directory", "DIR",
    "where files go [.]")
OPTION(PREFIX, 'o', "output", "PREFIX",
    "files are called PREFIX.NAME.dat [trace]")
OPTION(NO_FILE, 0, "no-file", NULL,
    "write no files")
OPTION(RELAY, 0, "relay", "URL",
    "live, too, on the relay net://HOST[:CONTROL[:DATA]]")
OPTION(HOLD, 0, "hold", "TIME",
    "how late pages may be live [10s; as they come, with flushes]")
OPTION(NAMES, 0, "names", "WHICH",
    "names of events there: system:event or lttng [system:event]")
OPTION(DURATION, 0, "duration", "TIME",
    "end after so long [when it is stopped]")
OPTION(HELP, 'h', "help", NULL,
    "print this and end")
