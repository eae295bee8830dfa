/* SPDX-License-Identifier: MIT */
/* The options of tracepulse-ftrace listen; see common/option_rows.h. */
/* clang-format off */
OPTION(PORT, 'p', "port", "PORT", NUMBER(bind.port, 0, UINT16_MAX),
    "port for recorders; 0: any, which is logged [5366]")
OPTION(DIRECTORY, 'd', "directory", "DIR", TEXT(directory),
    "directory for the files [.]")
OPTION(PREFIX, 'o', "output", "PREFIX", OWN(take_prefix),
    "name the files PREFIX.HOST:PORT.dat [trace]")
OPTION(DAEMON, 'D', "daemon", NULL, FLAG(is_daemon),
    "run in the background")
OPTION(LOG, 'l', "log", "FILE", TEXT(log),
    "write messages to FILE")
OPTION(BIND, 0, "bind", "ADDRESS", BIND_TO(bind),
    "listen only at this address, at vsock:CID:PORT or at unix:PATH [all]")
OPTION(VSOCK, 'V', "vsock", NULL, FLAG(is_vsock),
    "listen on vsock, at --port, as --bind=vsock:any:PORT")
OPTION(DATA_PORTS, 0, "data-ports", "FIRST-LAST", OWN(take_ports),
    "ports for pages, one for each CPU [1500-5339]")
OPTION(RELAY, 0, "relay", "URL", RELAY_URL(live),
    "also send the traces live to the relay net://HOST[:CONTROL[:DATA]]")
OPTION(UDP, 0, "udp", NULL, FLAG(live.udp),
    "send datagrams to the relay, if it supports them")
OPTION(HOLD, 0, "hold", "TIME", TIME(live.hold_ns, 0, LIVE_HOLD_MAX_NS),
    "how long live events wait for pages of silent CPUs [10s; less if the recorder is flushed]")
OPTION(NAMES, 0, "names", "system:event|lttng", CHOICE(live.names),
    "names of events on the relay [system:event]")
OPTION(NO_FILE, 0, "no-file", NULL, FLAG(has_no_file),
    "write no files")
OPTION(PID_FILE, 0, "pid-file", "FILE", TEXT(pid_file),
    "write the process id to FILE")
OPTION(VERBOSE, 'v', "verbose", NULL, OWN(take_verbose),
    "log more; twice: everything")
OPTION(DEBUG, 0, "debug", NULL, FLAG(is_debug),
    "log everything")
OPTION(HELP, 'h', "help", NULL, PRINT,
    "print this help and exit")
