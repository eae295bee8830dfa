/* SPDX-License-Identifier: MIT */
/*
 * The command line, one row per option (streaming 6.1): the source of the
 * getopt tables, of --help, and of the check of the manual.
 *     name  short  long name  argument or NULL  ignored when set-uid  help
 */
/* clang-format off */
OPTION(CONTROL_PORT, 'C', "control-port", "URL", true,
    "listen for control connections on URL [tcp://0.0.0.0:5342]")
OPTION(DATA_PORT, 'D', "data-port", "URL", true,
    "listen for data connections on URL [tcp://0.0.0.0:5343]")
OPTION(LIVE_PORT, 'L', "live-port", "URL", true,
    "listen for live viewers on URL [tcp://localhost:5344]")
OPTION(UDP_PORT, 0, "udp-port", "PORT", false,
    "take packets over UDP on PORT, or none [number of the data port]")
OPTION(DYNAMIC_PORTS, 0, "dynamic-port-allocation", NULL, false,
    "let the system choose ports that are missing or 0")
OPTION(OUTPUT, 'o', "output", "DIR", true,
    "write traces below DIR, an absolute path [~/lttng-traces]")
OPTION(BY_HOST, 'p', "group-output-by-host", NULL, false,
    "group traces by host name (default)")
OPTION(BY_SESSION, 's', "group-output-by-session", NULL, false,
    "group traces by session name")
OPTION(DISALLOW_CLEAR, 'x', "disallow-clear", NULL, false,
    "refuse to clear sessions")
OPTION(BACKGROUND, 'b', "background", NULL, false,
    "run in the background, keep standard output and error")
OPTION(DAEMONIZE, 'd', "daemonize", NULL, false,
    "run in the background, standard streams on /dev/null")
OPTION(PID_FILE, 'P', "pid-file", "PATH", true,
    "write the process id to PATH")
OPTION(SIG_PARENT, 'S', "sig-parent", NULL, false,
    "send SIGUSR1 to the parent process when ready")
OPTION(WORKING_DIR, 'w', "working-directory", "DIR", true,
    "change the working directory to DIR")
OPTION(GROUP, 'g', "group", "NAME", true,
    "tracing group: may query the health of a root daemon [tracing]")
OPTION(CONFIG, 'f', "config", "PATH", true,
    "configuration files are not supported yet: an error")
OPTION(FD_POOL_SIZE, 0, "fd-pool-size", "N", false,
    "keep at most N descriptors open, at least 100 [RLIMIT_NOFILE]")
OPTION(WORKERS, 0, "workers", "N", false,
    "ingest with N threads, 1 to 64 [one per core, at most 8]")
OPTION(LIVE_WORKERS, 0, "live-workers", "N", false,
    "serve viewers with N threads, 1 to 4 [1]")
OPTION(LIVE_HOLD, 0, "live-hold", "BOOL", false,
    "hold replies that have nothing new until there is [on]")
OPTION(MAX_VIEWERS, 0, "max-viewers-per-session", "N", false,
    "at most N viewers of one session, 0: any number [0]")
OPTION(MAX_MEMORY, 0, "max-memory", "SIZE", false,
    "hold at most SIZE bytes (k, M, G) of packets [a quarter of RAM]")
OPTION(MAX_PACKET_SIZE, 0, "max-packet-size", "SIZE", false,
    "refuse larger packets [256M]")
OPTION(INDEX_LOCK_TIMEOUT, 0, "index-lock-timeout", "TIME", false,
    "wait that long for readers of an index file (ms, s, m) [1s]")
OPTION(SYNC, 0, "sync", "WHEN", false,
    "sync files to disk: none, close or packet [none]")
OPTION(VERBOSE, 'v', "verbose", NULL, false,
    "say more; up to three times")
OPTION(HELP, 'h', "help", NULL, false,
    "print this help and exit")
OPTION(VERSION, 'V', "version", NULL, false,
    "print the version and exit")
/* clang-format on */
