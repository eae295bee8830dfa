/* SPDX-License-Identifier: MIT */
/*
 * The settings from files, environment and command line (streaming 6.1, 6.2,
 * 6.3; doc/compat.md, what scripts rely on). Plain values. After main() has
 * started the acceptor, only reloadable settings change, in the main thread
 * (reload.h). The rows are in options.tbl.h. Host names are resolved later,
 * when sockets are bound.
 *
 * Later sources override earlier ones: defaults, CONFIG_DIR/relayd.conf, the
 * files *.conf in CONFIG_DIR/relayd.conf.d by name, the file of --config,
 * variables, command line.
 */
#ifndef RELAYD_PROCESS_OPTIONS_H
#define RELAYD_PROCESS_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compiler.h"
#include "common/log.h"
#include "common/status.h"
#include "common/thread.h"
#include "relayd/process/listen_url.h"
#include "common/sandbox.h"

#define SOCKET_PATH_SIZE 108 /* of struct sockaddr_un */
#define RUN_FILE_MAX 64	     /* of names below the run directory */
#define HTTP_HOSTS_MAX 16
#define HTTP_HOST_LEN 255

/* When data is synced to disk. */
enum sync_mode { SYNC_NONE, SYNC_CLOSE, SYNC_PACKET, SYNC_TIME };
/* A sender restarts, or its machine does, within a minute; a program that waits
 * longer between two tries goes on in its files. */
#define RESUME_TIMEOUT (60 * NS_PER_S)
#define RESUME_TIMEOUT_MAX (3600 * NS_PER_S)
/* Longer than a weekend without the sender that reads the sessions. */
#define LIVE_LINGER_MAX (UINT64_C(7) * 24 * 3600 * NS_PER_S)
/* A shorter time would keep the disk busy with syncs. */
#define SYNC_TIME_MIN (100 * NS_PER_MS)
#define SYNC_TIME_MAX (3600 * NS_PER_S)

struct sync_when {
	enum sync_mode mode;
	uint64_t time_ns; /* with SYNC_TIME */
};

/* The space to keep free on the file system of the traces; both 0: none. */
struct keep_free {
	uint64_t bytes;
	uint64_t percent;
};

/* The socket for commands; without a path, it is in the run directory. */
struct admin_socket {
	bool is_off, is_explicit;
	char path[SOCKET_PATH_SIZE]; /* absolute */
};

/* SO_KEEPALIVE and its three times; 0: leave it to the system. */
struct keepalive {
	bool on;
	int idle;     /* s, TCP_KEEPIDLE */
	int interval; /* s, TCP_KEEPINTVL */
	int count;    /* TCP_KEEPCNT */
};

/* How much of a live session is kept in memory; both 0: all. */
struct live_window {
	uint64_t bytes, ns;
};
/* With less, even a viewer that keeps up would lose packets. */
#define LIVE_WINDOW_MIN (UINT64_C(1) << 20)
#define LIVE_WINDOW_NS_MIN NS_PER_S

/* On a full disk packets are dropped, or refused to the peer. */
enum on_full { ON_FULL_LOSE, ON_FULL_REFUSE };

enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

/* Host names accepted in HTTP requests, in addition to our addresses. */
struct http_hosts {
	char names[HTTP_HOSTS_MAX][HTTP_HOST_LEN + 1];
	unsigned n;
};

enum option_id {
#define OPTION(id, letter, name, arg, kind, help) OPT_##id,
#include "relayd/process/options.tbl.h"
#undef OPTION
	N_OPTIONS
};

/* Where a value is from. */
enum origin_kind {
	ORIGIN_DEFAULT,
	ORIGIN_FILE,
	ORIGIN_VARIABLE,
	ORIGIN_COMMAND_LINE
};

struct origin {
	enum origin_kind kind;
	const char *name; /* file or variable; never freed */
	unsigned line;	  /* of the file */
};

struct options {
	bool is_done; /* help or version was printed: exit with 0 */
	bool check_config, print_config; /* do this, then exit */
	bool take_over;	       /* from the relay that runs: relayd/handover.h */
	char config[PATH_MAX]; /* -f, absolute; empty: none */
	struct origin from[N_OPTIONS];
	struct listen_url control, data, live;
	bool has_http;		/* on one of these: */
	struct listen_url http; /* is_explicit: or fail */
	char
	    http_path[SOCKET_PATH_SIZE]; /* Unix socket, absolute; empty: TCP */
	struct http_hosts http_hosts;
	bool metrics_per_session, http_download;
	bool has_udp, has_udp_port; /* UDP is on; it has its own port */
	uint16_t udp_port;	    /* host order, if has_udp_port */
	char output[PATH_MAX];	    /* absolute */
	char state_dir[PATH_MAX];   /* absolute; empty: none is possible */
	char working_dir[PATH_MAX]; /* empty: unchanged ("/" in background) */
	char pid_file[PATH_MAX];    /* absolute; empty: none */
	char group[256];	    /* the tracing group's name */
	/* Absolute; RUN_FILE_MAX bytes shorter than other paths. */
	char run_dir[PATH_MAX];
	char health_path[PATH_MAX]; /* absolute; empty: the default path */
	bool group_by_session;
	struct origin grouping; /* the source of that */
	bool disallow_clear;
	bool daemonize;	 /* -d */
	bool background; /* -b; -d takes precedence */
	bool sig_parent;
	bool dynamic_ports;
	bool abort_on_error; /* LTTNG_ABORT_ON_ERROR=1 */
	unsigned verbose;    /* 0 to 3 */
	unsigned log_level;  /* enum log_level; if it is set */
	bool is_watched;     /* standard error has a reader, see main() */
	enum log_format log_format;
	char log_file[PATH_MAX]; /* absolute; empty: none */
	unsigned fd_pool_size;	 /* descriptors, >= 100 */
	unsigned workers;	 /* 1 to WORKERS_MAX */
	unsigned live_workers;	 /* 1 to LIVE_WORKERS_MAX */
	bool live_hold;
	uint64_t live_linger_ns; /* 0: what has ended is not shown */
	struct live_window live_window;
	unsigned max_viewers; /* per session; 0: unlimited */
	uint64_t max_memory;  /* bytes */
	uint64_t max_packet_size;
	uint64_t index_lock_timeout_ns; /* 0: do not wait */
	uint64_t resume_timeout_ns;	/* 0: sessions do not wait */
	struct sync_when sync;
	uint64_t max_use; /* bytes; 0: unlimited */
	struct keep_free keep_free;
	uint64_t max_age_ns; /* 0: any */
	uint64_t keep_at_least_ns;
	struct admin_socket admin_socket;
	enum on_full on_full;
	enum sandbox_mode sandbox;
	unsigned socket_timeout_ms; /* 0: none */
	struct keepalive keepalive;
};

/*
 * Fill *O from all sources. If O->is_done is set, the program must exit with 0.
 * Unless OK, messages were written to standard error: exit with 1. If the
 * program is set-uid or set-gid, options and variables that name files, groups
 * or addresses are ignored. Main thread; may be called again.
 */
enum status options_parse(struct options *o, int argc, char **argv) MUST_CHECK;

/* Print each setting, its value and its source to standard output, as a file
 * for --config. */
void options_print(const struct options *o);
/*
 * If root gives only "--check-config" or "--print-config", the command is about
 * the service: replace the process with one that asks systemd to run the same
 * command as the service (relayd/systemd/relayd-config.in). Returns if this is
 * another command, or there is no such service.
 */
void options_report_as_service(int argc, char **argv);
/* Check for what would fail at start: addresses, directories, limits. Creates
 * and starts nothing. E_REFUSED: all errors were logged. */
enum status options_check(const struct options *o) MUST_CHECK;

/*
 * The level in force: -v (info) or -vv (debug), if it comes from a later source
 * than --log-level or --log-level is not given; else --log-level. Without both:
 * notices if standard error is watched or there is a log file, else warnings,
 * because a replacement of lttng-relayd should print nothing.
 */
enum log_level options_log_level(const struct options *o);

/* The directory of configuration files. */
const char *options_config_dir(void);
/* For tests: use DIR, borrowed forever, instead of CONFIG_DIR. */
void options_set_config_dir(const char *dir);

#endif
