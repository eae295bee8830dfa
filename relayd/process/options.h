/* SPDX-License-Identifier: MIT */
/*
 * What files, environment and command line ask for (streaming 6.1, 6.2, 6.3;
 * doc/compat.md, what scripts rely on). Plain values. After main() has started
 * the acceptor only those change that can be reloaded, and only in the main
 * thread (reload.h). The rows are in options.tbl.h. No sockets here: host names
 * are resolved when sockets are bound.
 *
 * In this order, what comes later counts: defaults, CONFIG_DIR/relayd.conf,
 * the files *.conf in CONFIG_DIR/relayd.conf.d by name, the file of --config,
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
#include "relayd/process/listen_url.h"

#define WORKERS_MAX 64
#define HTTP_HOSTS_MAX 16
#define HTTP_HOST_LEN 255
#define LIVE_WORKERS_MAX 4 /* each serves hundreds of viewers */

/* When data is synced to disk. */
enum sync_mode { SYNC_NONE, SYNC_CLOSE, SYNC_PACKET, SYNC_TIME };
/* Below it the disk would do nothing else. */
#define SYNC_TIME_MIN (100 * NS_PER_MS)
#define SYNC_TIME_MAX (3600 * NS_PER_S)

struct sync_when {
	enum sync_mode mode;
	uint64_t time_ns; /* with SYNC_TIME */
};

/* What stays free on the file system of the traces; both 0: nothing. */
struct keep_free {
	uint64_t bytes;
	uint64_t percent;
};

/* Where orders are taken; no path: in the run directory. */
struct admin_socket {
	bool is_off, is_explicit;
	char path[108]; /* absolute */
};

/* SO_KEEPALIVE and its three times; 0: leave it to the system. */
struct keepalive {
	bool on;
	int idle;     /* s, TCP_KEEPIDLE */
	int interval; /* s, TCP_KEEPINTVL */
	int count;    /* TCP_KEEPCNT */
};

/* How much of a live session is kept; both 0: all. */
struct live_window {
	uint64_t bytes, ns;
};
/* Below these, a viewer that keeps up would lose packets. */
#define LIVE_WINDOW_MIN (UINT64_C(1) << 20)
#define LIVE_WINDOW_NS_MIN NS_PER_S
#define LIVE_WINDOW_NS_MAX (UINT64_C(365) * 24 * 3600 * NS_PER_S)

/* What a full disk does to packets: they are lost, or the peer is told. */
enum on_full { ON_FULL_LOSE, ON_FULL_REFUSE };

/* What we are called by those who ask by HTTP, beside our addresses. */
struct http_hosts {
	char names[HTTP_HOSTS_MAX][HTTP_HOST_LEN + 1];
	unsigned n;
};

enum option_id {
#define OPTION(id, short_name, name, arg, needs_trust, kind, help) OPT_##id,
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
	const char *name; /* of the file or variable; lives for ever */
	unsigned line;	  /* of the file */
};

struct options {
	bool is_done; /* help or version is printed: exit with 0 */
	bool check_config, print_config; /* do this, then exit */
	char config[PATH_MAX];		 /* -f, absolute; empty: none */
	struct origin from[N_OPTIONS];
	struct listen_url control, data, live;
	bool has_http;		/* by one of these: */
	struct listen_url http; /* is_explicit: or fail */
	char http_path[108];	/* of a Unix socket, absolute; empty: TCP */
	struct http_hosts http_hosts;
	bool metrics_per_session;
	bool has_udp, has_udp_port; /* UDP is used; on a port of its own */
	uint16_t udp_port;	    /* host order, if has_udp_port */
	char output[PATH_MAX];	    /* absolute */
	char state_dir[PATH_MAX];   /* absolute; empty: there is no place */
	char working_dir[PATH_MAX]; /* empty: stay (in background: "/") */
	char pid_file[PATH_MAX];    /* absolute; empty: none */
	char group[256];	    /* the tracing group's name */
	char run_dir[PATH_MAX];	    /* absolute; holds relayd/ */
	char health_path[PATH_MAX]; /* absolute; empty: the default place */
	bool group_by_session;
	struct origin grouping; /* who chose that */
	bool disallow_clear;
	bool daemonize;	 /* -d */
	bool background; /* -b; with -d too, -d decides */
	bool sig_parent;
	bool dynamic_ports;
	bool abort_on_error;	 /* LTTNG_ABORT_ON_ERROR=1 */
	unsigned verbose;	 /* 0 to 3 */
	int log_level;		 /* of enum log_level; -1: nobody chose it */
	bool is_watched;	 /* standard error has a reader, see main() */
	bool log_json;		 /* --log-format */
	char log_file[PATH_MAX]; /* absolute; empty: none */
	unsigned fd_pool_size;	 /* descriptors, >= 100 */
	unsigned workers;	 /* 1 to WORKERS_MAX */
	unsigned live_workers;	 /* 1 to LIVE_WORKERS_MAX */
	bool live_hold;
	struct live_window live_window;
	unsigned max_viewers; /* per session; 0: any number */
	uint64_t max_memory;  /* bytes */
	uint64_t max_packet_size;
	uint64_t index_lock_timeout_ns; /* 0: do not wait */
	struct sync_when sync;
	uint64_t max_use; /* bytes; 0: any */
	struct keep_free keep_free;
	uint64_t max_age_ns; /* 0: any */
	uint64_t keep_at_least_ns;
	struct admin_socket admin_socket;
	enum on_full on_full;
	unsigned sandbox;	    /* enum sandbox_part, or'ed */
	unsigned socket_timeout_ms; /* 0: none */
	struct keepalive keepalive;
};

/*
 * Fills *O from all sources. If O->is_done is set, the program must only exit
 * with 0. Not OK: messages are on stderr; exit with 1. When set-uid or set-gid,
 * options and variables that name files, groups or addresses are ignored. Main
 * thread; may be called again.
 */
enum status options_parse(struct options *o, int argc, char **argv) MUST_CHECK;

/* Each setting, its value and where that is from, to standard output, as a file
 * that --config would take. */
void options_print(const struct options *o);
/*
 * "--check-config" and "--print-config" of root, without other options, are
 * about the service: replaces the process with the one that asks systemd to run
 * the same command as the service (relayd/systemd/relayd-config.in). Returns if
 * the command is another one, or there is no such service.
 */
void options_report_as_service(int argc, char **argv);
/* Look for what would fail at the start: addresses, directories, limits. Starts
 * and makes nothing. E_REFUSED: all that is wrong was logged. */
enum status options_check(const struct options *o) MUST_CHECK;

/*
 * --log-level; if -v is said in a stronger place, or alone: -v info, -vv and
 * above debug. By default notices, where standard error is watched or there is
 * a log file; else warnings, as whoever put us in the place of lttng-relayd
 * expects no output.
 */
enum log_level options_log_level(const struct options *o);

/* Where configuration files are, unless --config says. */
const char *options_config_dir(void);
/* For tests: another directory than CONFIG_DIR. DIR is borrowed for ever. */
void options_set_config_dir(const char *dir);

#endif
