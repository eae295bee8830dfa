/* SPDX-License-Identifier: MIT */
/*
 * The command line of tracepulse-ftrace listen, one row per option.
 *     name  short name or 0  long name  argument or NULL  help
 */
/* clang-format off */
OPTION(PORT, 'p', "port", "PORT",
    "where recorders connect [5346]; 0: any, which is logged")
OPTION(DIRECTORY, 'd', "directory", "DIR",
    "where files go [.]")
OPTION(PREFIX, 'o', "output", "PREFIX",
    "files are called PREFIX.HOST:PORT.dat [trace]")
OPTION(DAEMON, 'D', "daemon", NULL,
    "in the background")
OPTION(LOG, 'l', "log", "FILE",
    "messages go to a file")
OPTION(BIND, 0, "bind", "ADDRESS",
    "listen at this address only [all]")
OPTION(DATA_PORTS, 0, "data-ports", "FIRST-LAST",
    "ports for pages, one for each CPU [1500-5339]")
OPTION(RELAY, 0, "relay", "URL",
    "live, too, on the relay net://HOST[:CONTROL[:DATA]]")
OPTION(UDP, 0, "udp", NULL,
    "to the relay by datagrams, if it takes them")
OPTION(HOLD, 0, "hold", "TIME",
    "how late pages may be live [10s; as they come, with flushes]")
OPTION(NAMES, 0, "names", "WHICH",
    "names of events there: system:event or lttng [system:event]")
OPTION(NO_FILE, 0, "no-file", NULL,
    "write no files")
OPTION(PID_FILE, 0, "pid-file", "FILE",
    "write the process number there")
OPTION(VERBOSE, 'v', "verbose", NULL,
    "say more; twice: all there is")
OPTION(HELP, 'h', "help", NULL,
    "print this and end")
