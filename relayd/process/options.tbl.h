/* SPDX-License-Identifier: MIT */
/*
 * The settings, one row each (streaming 6.1): the source of the options of the
 * command line, of the keys in files (the long name), of the variables
 * (TRACEPULSE_ and the long name with _ for -), of --help and --print-config,
 * and of the check of the manual.
 *     name  short  long name  argument or NULL  how it is handled  help
 * FLAG(FIELD) and similar ones (common/option_rows.h, options_rows.c) store the
 * argument in that field of struct options, and check its bounds. SETTING(FOO)
 * calls take_foo() for the argument and show_foo() for its text, both with the
 * whole struct. ORDER and PRINT are no settings, but something to do.
 * TRUSTED(KIND) is ignored when set-uid. RELOADED(FIELD, KIND) is for a setting
 * that SIGHUP changes, see reload.h. OR_NONE(KIND) takes "none" for 0.
 * UNITS(TEXT, KIND) says what an argument lacks that is only a number. See
 * doc/adding.md.
 */
/* clang-format off */
OPTION(CONTROL_PORT, 'C', "control-port", "URL",
    TRUSTED(URL(control)),
    "listen for control connections on URL [tcp://0.0.0.0:5342]")
OPTION(DATA_PORT, 'D', "data-port", "URL",
    TRUSTED(URL(data)),
    "listen for data connections on URL [tcp://0.0.0.0:5343]")
OPTION(LIVE_PORT, 'L', "live-port", "URL",
    TRUSTED(URL(live)),
    "listen for live viewers on URL [tcp://localhost:5344]")
OPTION(UDP_PORT, 0, "udp-port", "PORT",
    SETTING(udp_port),
    "receive packets over UDP on PORT, none, or data (same port) [none]")
OPTION(HTTP, 0, "http", "URL",
    TRUSTED(SETTING(http)),
    "status and metrics on URL, unix:PATH or none [tcp://localhost:5340]")
OPTION(HTTP_HOST, 0, "http-host", "NAME",
    TRUSTED(RELOADED(http_hosts, SETTING(http_host))),
    "also accept NAME as the Host of HTTP requests; up to 16 times")
OPTION(HTTP_DOWNLOAD, 0, "http-download", "BOOL",
    TRUSTED(RELOADED(http_download, FLAG(http_download))),
    "let HTTP clients download finished traces [no]")
OPTION(METRICS_PER_SESSION, 0, "metrics-per-session", NULL,
    RELOADED(metrics_per_session, FLAG(metrics_per_session)),
    "add metrics of up to 200 sessions, labelled with host and name")
OPTION(DYNAMIC_PORTS, 0, "dynamic-port-allocation", NULL,
    FLAG(dynamic_ports),
    "let the system choose ports that are 0 or not given")
OPTION(OUTPUT, 'o', "output", "DIR",
    TRUSTED(ABSOLUTE_PATH(output)),
    "write traces below DIR, an absolute path [~/lttng-traces]")
OPTION(STATE_DIR, 0, "state-dir", "DIR",
    TRUSTED(FILE_PATH(state_dir)),
    "keep the list of the relay's traces in DIR [see manual]")
OPTION(BY_HOST, 'p', "group-output-by-host", NULL,
    SETTING(grouping),
    "group traces by host name (default)")
OPTION(BY_SESSION, 's', "group-output-by-session", NULL,
    SETTING(grouping),
    "group traces by session name")
OPTION(DISALLOW_CLEAR, 'x', "disallow-clear", NULL,
    FLAG(disallow_clear),
    "refuse to clear sessions")
OPTION(BACKGROUND, 'b', "background", NULL,
    FLAG(background),
    "run in the background, keep standard output and error")
OPTION(DAEMONIZE, 'd', "daemonize", NULL,
    FLAG(daemonize),
    "run in the background, standard streams to /dev/null")
OPTION(PID_FILE, 'P', "pid-file", "PATH",
    TRUSTED(FILE_PATH(pid_file)),
    "write the process id to PATH")
OPTION(SIG_PARENT, 'S', "sig-parent", NULL,
    FLAG(sig_parent),
    "send SIGUSR1 to the parent process when ready")
OPTION(WORKING_DIR, 'w', "working-directory", "DIR",
    TRUSTED(STRING(working_dir)),
    "change the working directory to DIR")
OPTION(GROUP, 'g', "group", "NAME",
    TRUSTED(STRING(group)),
    "group that may query the health of a root daemon [tracing]")
OPTION(CONFIG, 'f', "config", "PATH",
    TRUSTED(ORDER(take_path, config, char[PATH_MAX])),
    "also read settings from the [relayd] section of PATH")
OPTION(CHECK_CONFIG, 0, "check-config", NULL,
    ORDER(option_take_flag, check_config, bool),
    "check the settings and exit")
OPTION(PRINT_CONFIG, 0, "print-config", NULL,
    ORDER(option_take_flag, print_config, bool),
    "print each setting and its source, and exit")
OPTION(TAKE_OVER, 0, "take-over", NULL,
    ORDER(option_take_flag, take_over, bool),
    "go on where the running relay is, with its sessions; it ends")
OPTION(FD_POOL_SIZE, 0, "fd-pool-size", "N",
    NUMBER(fd_pool_size, FD_POOL_MIN, INT_MAX),
    "keep at most N (100 or more) descriptors open [RLIMIT_NOFILE]")
OPTION(WORKERS, 0, "workers", "N",
    NUMBER(workers, 1, WORKERS_MAX),
    "record with N threads, 1 to 64 [one per core, at most 8]")
OPTION(LIVE_WORKERS, 0, "live-workers", "N",
    NUMBER(live_workers, 1, LIVE_WORKERS_MAX),
    "serve viewers with N threads, 1 to 4 [1]")
OPTION(LIVE_HOLD, 0, "live-hold", "BOOL",
    FLAG(live_hold),
    "delay replies to viewers until there is something new [yes]")
OPTION(LIVE_LINGER, 0, "live-linger", "TIME",
    TIME(live_linger_ns, 0, LIVE_LINGER_MAX),
    "show ended sessions and streams to viewers for TIME (s, m, h) [0]")
OPTION(LIVE_WINDOW, 0, "live-window", "AMOUNT",
    RELOADED(live_window, UNITS("M, k, G, T, s, m", SETTING(live_window))),
    "keep the last size (k, M, G) or time (s, m) of live sessions [off]")
OPTION(MAX_VIEWERS, 0, "max-viewers-per-session", "N",
    RELOADED(max_viewers, NUMBER(max_viewers, 0, UINT32_MAX)),
    "allow at most N viewers per session; 0: no limit [0]")
OPTION(MAX_MEMORY, 0, "max-memory", "SIZE",
    SIZE(max_memory, MEMORY_MIN, SIZE_MAX),
    "hold at most SIZE (B, k, M, G) of packets [a quarter of RAM]")
OPTION(MAX_PACKET_SIZE, 0, "max-packet-size", "SIZE",
    SIZE(max_packet_size, 1, PACKET_SIZE_MAX),
    "refuse larger packets [256M]")
OPTION(INDEX_LOCK_TIMEOUT, 0, "index-lock-timeout", "TIME",
    TIME(index_lock_timeout_ns, 0, SYNC_TIME_MAX),
    "wait at most TIME for readers of an index file (ms, s, m) [1s]")
OPTION(RESUME_TIMEOUT, 0, "resume-timeout", "TIME",
    TIME(resume_timeout_ns, 0, RESUME_TIMEOUT_MAX),
    "keep a session whose sender may come back for TIME (ms, s, m) [60s]")
OPTION(SYNC, 0, "sync", "WHEN",
    UNITS(OPTION_TIME_UNITS, SETTING(sync)),
    "sync files: none, close, packet, or every TIME (ms, s, m) [none]")
OPTION(MAX_USE, 0, "max-use", "SIZE",
    RELOADED(max_use, OR_NONE(SIZE(max_use, 1, INT64_MAX))),
    "delete oldest finished traces if all use more than SIZE [none]")
OPTION(KEEP_FREE, 0, "keep-free", "SIZE|PERCENT",
    RELOADED(keep_free, UNITS("G, %, k, M, T", SETTING(keep_free))),
    "delete them if less is free on the file system [none]")
OPTION(MAX_AGE, 0, "max-age", "TIME",
    RELOADED(max_age_ns, OR_NONE(TIME(max_age_ns, 1, AGE_MAX))),
    "delete traces that finished over TIME ago (s, m, h, d) [none]")
OPTION(KEEP_AT_LEAST, 0, "keep-at-least", "TIME",
    RELOADED(keep_at_least_ns, TIME(keep_at_least_ns, 0, AGE_MAX)),
    "keep traces that finished less than TIME ago (s, m, h, d) [1h]")
OPTION(ADMIN_SOCKET, 0, "admin-socket", "PATH",
    TRUSTED(SETTING(admin_socket)),
    "accept commands on this Unix socket, or none [RUNDIR/relayd/admin]")
OPTION(ON_FULL, 0, "on-full", "lose|refuse",
    CHOICE(on_full),
    "on a full disk, lose packets, or refuse them (ends sessions) [lose]")
OPTION(SANDBOX, 0, "sandbox", "on|strict|landlock|seccomp|off",
    TRUSTED(CHOICE(sandbox)),
    "limit which files and system calls can be used [on]")
OPTION(VERBOSE, 'v', "verbose", NULL,
    RELOADED(verbose, SETTING(verbose)),
    "log more; up to three times")
OPTION(LOG_LEVEL, 0, "log-level", "error|warning|notice|info|debug",
    RELOADED(log_level, SETTING(log_level)),
    "log messages up to this level [see manual]")
OPTION(LOG_FILE, 0, "log-file", "FILE",
    TRUSTED(RELOADED(log_file, FILE_PATH(log_file))),
    "log to FILE rather than to standard error")
OPTION(LOG_FORMAT, 0, "log-format", "text|json",
    RELOADED(log_format, CHOICE(log_format)),
    "format of log lines [text]")
OPTION(HELP, 'h', "help", NULL,
    PRINT,
    "print this help and exit")
OPTION(VERSION, 'V', "version", NULL,
    PRINT,
    "print the version and exit")
/* clang-format on */
