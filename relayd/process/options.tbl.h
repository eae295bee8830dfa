/* SPDX-License-Identifier: MIT */
/*
 * The settings, one row each (streaming 6.1): the source of the options of the
 * command line, of the keys in files (the long name), of the variables
 * (TRACEPULSE_ and the long name with _ for -), of --help and --print-config,
 * and of the check of the manual.
 *     name  short  long name  argument or NULL  ignored when set-uid
 *     how the argument is handled  help
 * FLAG(FIELD) and similar ones store the argument in that field of struct
 * options, and check its bounds if they are given. OWN(FOO, FIELD) calls
 * options_take_foo() for the argument and options_show_foo() for its text.
 * ORDER(FOO) is no setting, but something to do. RELOADED(FIELD, KIND) is KIND
 * for a setting that SIGHUP changes, see reload.h. See doc/adding.md.
 */
/* clang-format off */
OPTION(CONTROL_PORT, 'C', "control-port", "URL", true,
    URL(control),
    "listen for control connections on URL [tcp://0.0.0.0:5342]")
OPTION(DATA_PORT, 'D', "data-port", "URL", true,
    URL(data),
    "listen for data connections on URL [tcp://0.0.0.0:5343]")
OPTION(LIVE_PORT, 'L', "live-port", "URL", true,
    URL(live),
    "listen for live viewers on URL [tcp://localhost:5344]")
OPTION(UDP_PORT, 0, "udp-port", "PORT", false,
    OWN(udp_port, udp_port),
    "receive packets over UDP on PORT, data (its number) or none [none]")
OPTION(HTTP, 0, "http", "URL", true,
    OWN(http, http),
    "status and metrics on URL, unix:PATH or none [tcp://localhost:5340]")
OPTION(HTTP_HOST, 0, "http-host", "NAME", true,
    RELOADED(http_hosts, OWN(http_host, http_hosts)),
    "also accept NAME as the Host of HTTP requests; up to 16 times")
OPTION(METRICS_PER_SESSION, 0, "metrics-per-session", NULL, false,
    RELOADED(metrics_per_session, FLAG(metrics_per_session)),
    "add metrics of up to 200 sessions, labelled with host and name")
OPTION(DYNAMIC_PORTS, 0, "dynamic-port-allocation", NULL, false,
    FLAG(dynamic_ports),
    "let the system choose the ports that are not given or 0")
OPTION(OUTPUT, 'o', "output", "DIR", true,
    OWN(output, output),
    "write traces below DIR, an absolute path [~/lttng-traces]")
OPTION(STATE_DIR, 0, "state-dir", "DIR", true,
    FILE_PATH(state_dir),
    "keep the list of the relay's traces in DIR [see manual]")
OPTION(BY_HOST, 'p', "group-output-by-host", NULL, false,
    OWN(by_host, group_by_session),
    "group traces by host name (default)")
OPTION(BY_SESSION, 's', "group-output-by-session", NULL, false,
    OWN(by_session, group_by_session),
    "group traces by session name")
OPTION(DISALLOW_CLEAR, 'x', "disallow-clear", NULL, false,
    FLAG(disallow_clear),
    "refuse to clear sessions")
OPTION(BACKGROUND, 'b', "background", NULL, false,
    FLAG(background),
    "run in the background, keep standard output and error")
OPTION(DAEMONIZE, 'd', "daemonize", NULL, false,
    FLAG(daemonize),
    "run in the background, standard streams on /dev/null")
OPTION(PID_FILE, 'P', "pid-file", "PATH", true,
    FILE_PATH(pid_file),
    "write the process id to PATH")
OPTION(SIG_PARENT, 'S', "sig-parent", NULL, false,
    FLAG(sig_parent),
    "send SIGUSR1 to the parent process when ready")
OPTION(WORKING_DIR, 'w', "working-directory", "DIR", true,
    TEXT(working_dir),
    "change the working directory to DIR")
OPTION(GROUP, 'g', "group", "NAME", true,
    TEXT(group),
    "group that may query the health of a root daemon [tracing]")
OPTION(CONFIG, 'f', "config", "PATH", true,
    ORDER(config),
    "also read settings from the [relayd] section of PATH")
OPTION(CHECK_CONFIG, 0, "check-config", NULL, false,
    ORDER(check_config),
    "check the settings and exit")
OPTION(PRINT_CONFIG, 0, "print-config", NULL, false,
    ORDER(print_config),
    "print each setting and its source, and exit")
OPTION(FD_POOL_SIZE, 0, "fd-pool-size", "N", false,
    OWN(fd_pool, fd_pool_size),
    "keep at most N descriptors open, at least 100 [RLIMIT_NOFILE]")
OPTION(WORKERS, 0, "workers", "N", false,
    NUMBER(workers, 1, WORKERS_MAX),
    "ingest with N threads, 1 to 64 [one per core, at most 8]")
OPTION(LIVE_WORKERS, 0, "live-workers", "N", false,
    NUMBER(live_workers, 1, LIVE_WORKERS_MAX),
    "serve viewers with N threads, 1 to 4 [1]")
OPTION(LIVE_HOLD, 0, "live-hold", "BOOL", false,
    BOOL(live_hold),
    "delay replies to viewers until there is something new [on]")
OPTION(LIVE_WINDOW, 0, "live-window", "AMOUNT", false,
    RELOADED(live_window, OWN(live_window, live_window)),
    "keep the last size (k, M, G) or time (s, m) of live sessions [off]")
OPTION(MAX_VIEWERS, 0, "max-viewers-per-session", "N", false,
    RELOADED(max_viewers, NUMBER(max_viewers, 0, UINT32_MAX)),
    "allow at most N viewers per session; 0: any number [0]")
OPTION(MAX_MEMORY, 0, "max-memory", "SIZE", false,
    SIZE(max_memory, MEMORY_MIN, SIZE_MAX),
    "hold at most SIZE (B, k, M, G) of packets [a quarter of RAM]")
OPTION(MAX_PACKET_SIZE, 0, "max-packet-size", "SIZE", false,
    SIZE(max_packet_size, 1, PACKET_SIZE_MAX),
    "refuse larger packets [256M]")
OPTION(INDEX_LOCK_TIMEOUT, 0, "index-lock-timeout", "TIME", false,
    TIME(index_lock_timeout_ns, LOCK_TIMEOUT_MAX),
    "wait at most TIME for readers of an index file (ms, s, m) [1s]")
OPTION(SYNC, 0, "sync", "WHEN", false,
    OWN(sync, sync),
    "sync files: none, close, packet, or every TIME (ms, s, m) [none]")
OPTION(MAX_USE, 0, "max-use", "SIZE", false,
    RELOADED(max_use, OWN(max_use, max_use)),
    "delete the oldest finished traces if all take more than SIZE [none]")
OPTION(KEEP_FREE, 0, "keep-free", "SIZE|PERCENT", false,
    RELOADED(keep_free, OWN(keep_free, keep_free)),
    "delete them too if less is free on the file system [none]")
OPTION(MAX_AGE, 0, "max-age", "TIME", false,
    RELOADED(max_age_ns, OWN(max_age, max_age_ns)),
    "delete traces that finished over TIME ago (s, m, h, d) [none]")
OPTION(KEEP_AT_LEAST, 0, "keep-at-least", "TIME", false,
    RELOADED(keep_at_least_ns, TIME(keep_at_least_ns, AGE_MAX)),
    "keep traces that finished less than TIME ago (s, m, h, d) [1h]")
OPTION(ADMIN_SOCKET, 0, "admin-socket", "PATH", true,
    OWN(admin_socket, admin_socket),
    "accept commands on this Unix socket, or none [RUNDIR/relayd/admin]")
OPTION(ON_FULL, 0, "on-full", "WHAT", false,
    OWN(on_full, on_full),
    "on a full disk, lose packets, or refuse them (ends sessions) [lose]")
OPTION(SANDBOX, 0, "sandbox", "WHAT", true,
    OWN(sandbox, sandbox),
    "restrict the relay: on, strict, landlock, seccomp, off [on]")
OPTION(VERBOSE, 'v', "verbose", NULL, false,
    RELOADED(verbose, OWN(verbose, verbose)),
    "log more; up to three times")
OPTION(LOG_LEVEL, 0, "log-level", "LEVEL", false,
    RELOADED(log_level, OWN(log_level, log_level)),
    "log messages up to this level, error to debug [see manual]")
OPTION(LOG_FILE, 0, "log-file", "FILE", true,
    RELOADED(log_file, FILE_PATH(log_file)),
    "log to FILE rather than to standard error")
OPTION(LOG_FORMAT, 0, "log-format", "FORMAT", false,
    RELOADED(log_json, OWN(log_format, log_json)),
    "lines of the log: text or json [text]")
OPTION(HELP, 'h', "help", NULL, false,
    ORDER(help),
    "print this help and exit")
OPTION(VERSION, 'V', "version", NULL, false,
    ORDER(version),
    "print the version and exit")
/* clang-format on */
