/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "relayd/process/options.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/parse.h"
#include "relayd/process/machine.h"
#include "tests/lib/unit.h"

#define ARGS_MAX 12

static struct options got;
static char line[1024];

/* LINE is split at blanks; '' is an empty argument. */
static enum status
parse_args(const char *args)
{
	static char program[] = "relayd", empty[] = "";
	char *argv[ARGS_MAX + 2] = { program };
	int argc = 1;

	snprintf(line, sizeof(line), "%s", args);
	for (char *p = strtok(line, " "); p != NULL; p = strtok(NULL, " ")) {
		ck_assert_int_le(argc, ARGS_MAX);
		argv[argc++] = strcmp(p, "''") == 0 ? empty : p;
	}
	return options_parse(&got, argc, argv);
}

/* Every test runs in its own process; none sees the caller's variables. */
static void
clean_environment(void)
{
	ck_assert_int_eq(clearenv(), 0);
	ck_assert_int_eq(setenv("HOME", "/home/of", 1), 0);
	options_set_config_dir("/nonexistent");
}

/* A few fields as text, so that a table can say what it wants. */
static const char *
show(const char *what)
{
	static char text[2 * PATH_MAX];

#define SHOW(name, ...)              \
	if (strcmp(what, name) == 0) \
	snprintf(text, sizeof(text), __VA_ARGS__)
	text[0] = '\0';
	SHOW("control", "%d %s %u %d", got.control.family == AF_INET6 ? 6 : 4,
	    got.control.host, got.control.port, got.control.is_explicit);
	SHOW("data", "%s %u %d", got.data.host, got.data.port,
	    got.data.is_explicit);
	SHOW("live", "%s %u %d", got.live.host, got.live.port,
	    got.live.is_explicit);
	SHOW("output", "%s", got.output);
	SHOW("run_dir", "%s", got.run_dir);
	SHOW("health", "%s", got.health_path);
	SHOW("cwd", "%s", got.working_dir);
	SHOW("pid", "%s", got.pid_file);
	SHOW("group", "%s", got.group);
	SHOW("flags", "%s%s%s%s%s%s%s", got.group_by_session ? "s" : "",
	    got.disallow_clear ? "x" : "", got.daemonize ? "d" : "",
	    got.background ? "b" : "", got.sig_parent ? "S" : "",
	    got.dynamic_ports ? "y" : "", got.is_done ? "!" : "");
	SHOW("verbose", "%u %d", got.verbose, (int)options_log_level(&got));
	SHOW("log", "%s %d", got.log_file, got.log_format);
	SHOW("fds", "%u", got.fd_pool_size);
	SHOW("workers", "%u", got.workers);
	SHOW("viewers", "%u %d %u", got.live_workers, got.live_hold,
	    got.max_viewers);
	SHOW("memory", "%llu", (unsigned long long)got.max_memory);
	SHOW("packet", "%llu", (unsigned long long)got.max_packet_size);
	SHOW("lock", "%llu", (unsigned long long)got.index_lock_timeout_ns);
	SHOW("linger", "%llu", (unsigned long long)got.live_linger_ns);
	SHOW("resume", "%llu", (unsigned long long)got.resume_timeout_ns);
	SHOW("at least", "%llu", (unsigned long long)got.keep_at_least_ns);
	SHOW("kept", "%llu %llu %llu %llu", (unsigned long long)got.max_use,
	    (unsigned long long)got.keep_free.bytes,
	    (unsigned long long)got.keep_free.percent,
	    (unsigned long long)got.max_age_ns);
	SHOW("admin", "%d %d %s", got.admin_socket.is_off,
	    got.admin_socket.is_explicit, got.admin_socket.path);
	SHOW("udp", "%d %d %u", got.has_udp, got.has_udp_port, got.udp_port);
	SHOW("http", "%d %s %u %d %s", got.has_http, got.http.host,
	    got.http.port, got.http.is_explicit, got.http_path);
	SHOW("hosts", "%u %s %d", got.http_hosts.n,
	    got.http_hosts.n > 0 ? got.http_hosts.names[got.http_hosts.n - 1]
				 : "-",
	    got.metrics_per_session);
	SHOW("sync", "%d", (int)got.sync.mode);
	SHOW("sync_time_ns", "%" PRIu64, got.sync.time_ns);
	SHOW("sandbox", "%u", got.sandbox);
	SHOW("timeout", "%u", got.socket_timeout_ms);
	SHOW("keepalive", "%d %d %d %d", got.keepalive.on, got.keepalive.idle,
	    got.keepalive.interval, got.keepalive.count);
	SHOW("abort", "%d", got.abort_on_error);
#undef SHOW
	return text;
}

static const struct {
	const char *args, *field, *want;
} accepted[] = {
	{ "", "control", "4 0.0.0.0 5342 0" },
	{ "", "data", "0.0.0.0 5343 0" },
	{ "", "live", "localhost 5344 0" },
	{ "", "output", "/home/of/lttng-traces" },
	{ "", "health", "" },
	{ "", "cwd", "" },
	{ "", "pid", "" },
	{ "", "group", "tracing" },
	{ "", "flags", "" },
	{ "", "verbose", "0 1" },
	{ "", "packet", "268435456" },
	{ "", "lock", "1000000000" },
	{ "", "sync", "0" },
	{ "", "http", "1 localhost 5340 0 " },
	{ "--dynamic-port-allocation", "http", "1 localhost 0 0 " },
	{ "--http=none", "http", "0 localhost 5340 0 " },
	{ "--http=tcp://0.0.0.0", "http", "1 0.0.0.0 5340 1 " },
	{ "--http tcp6://[::1]:80", "http", "1 ::1 80 1 " },
	{ "--http=unix:/run/x", "http", "1 localhost 5340 0 /run/x" },
	{ "--http=unix:/run/x --http=tcp://h:1", "http", "1 h 1 1 " },
	{ "", "hosts", "0 - 0" },
	{ "--http-host=a --http-host b --metrics-per-session", "hosts",
	    "2 b 1" },
	{ "", "udp", "0 0 0" },
	{ "--udp-port=data", "udp", "1 0 0" },
	{ "--udp-port 9 --udp-port data", "udp", "1 0 9" },
	{ "--udp-port=none", "udp", "0 0 0" },
	{ "--udp-port 9", "udp", "1 1 9" },
	{ "", "timeout", "0" },
	{ "", "keepalive", "0 0 0 0" },
	{ "", "abort", "0" },
	{ "-C tcp://h:1", "control", "4 h 1 1" },
	{ "-C tcp://h:1 -C tcp6://[::1]:2", "control", "6 ::1 2 1" },
	{ "--control-port=tcp://h", "control", "4 h 5342 1" },
	{ "-D tcp://h", "data", "h 5343 1" },
	{ "--data-port tcp://h:9", "data", "h 9 1" },
	{ "-L tcp://0.0.0.0", "live", "0.0.0.0 5344 1" },
	{ "--live-port=tcp://h:7", "live", "h 7 1" },
	{ "--dynamic-port-allocation", "control", "4 0.0.0.0 0 0" },
	{ "--dynamic-port-allocation -D tcp://h", "data", "h 0 1" },
	{ "-L tcp://h:0 --dynamic-port-allocation", "live", "h 0 1" },
	{ "-L tcp://h:8 --dynamic-port-allocation", "live", "h 8 1" },
	{ "-o /x", "output", "/x" },
	{ "--output=/x/y", "output", "/x/y" },
	{ "-w /a", "cwd", "/a" },
	{ "--working-dir /a", "cwd", "/a" },
	{ "--working /a", "cwd", "/a" },
	{ "--live-p=tcp://h:7", "live", "h 7 1" },
	{ "-P /p", "pid", "/p" },
	{ "--pid-file=/p", "pid", "/p" },
	{ "-g wheel", "group", "wheel" },
	{ "--group wheel", "group", "wheel" },
	{ "-s", "flags", "s" },
	{ "-p", "flags", "" },
	{ "--group-output-by-session -x -d -b -S", "flags", "sxdbS" },
	{ "--disallow-clear --daemonize", "flags", "xd" },
	{ "--background --sig-parent", "flags", "bS" },
	{ "--back --sig --dyn", "flags", "bSy" },
	{ "-v", "verbose", "1 3" },
	{ "--log-level error", "verbose", "0 0" },
	{ "--log-level=notice", "verbose", "0 2" },
	{ "--log-level debug -v", "verbose", "1 4" },
	{ "--log-file /l", "verbose", "0 2" },
	{ "--log-file /l --log-format json", "log", "/l 1" },
	{ "--log-format json --log-format=text", "log", " 0" },
	{ "-vv", "verbose", "2 4" },
	{ "-v -v --verbose -v", "verbose", "3 4" },
	{ "stray -x words", "flags", "x" },
	{ "--fd-pool-size 100", "fds", "100" },
	{ "--workers=64", "workers", "64" },
	{ "", "viewers", "1 1 0" },
	{ "--live-workers=4 --live-hold=off", "viewers", "4 0 0" },
	{ "--max-viewers-per-session 1", "viewers", "1 1 1" },
	{ "--max-memory=1M", "memory", "1048576" },
	{ "--max-memory=3g", "memory", "3221225472" },
	{ "--max-packet-size=64k", "packet", "65536" },
	{ "--max-packet-size=4096B", "packet", "4096" },
	{ "--max-packet-size=2MiB", "packet", "2097152" },
	{ "--index-lock-timeout=250ms", "lock", "250000000" },
	{ "", "kept", "0 0 0 0" },
	{ "--max-use=2T", "kept", "2199023255552 0 0 0" },
	{ "--max-use=1k --max-use=none", "kept", "0 0 0 0" },
	{ "--keep-free=10%", "kept", "0 0 10 0" },
	{ "--keep-free=4G", "kept", "0 4294967296 0 0" },
	{ "--keep-free=none", "kept", "0 0 0 0" },
	{ "--keep-free=0", "kept", "0 0 0 0" },
	{ "--max-age=7d", "kept", "0 0 0 604800000000000" },
	{ "--max-age=7d --max-age=none", "kept", "0 0 0 0" },
	{ "", "at least", "3600000000000" },
	{ "--keep-at-least=0s", "at least", "0" },
	{ "--keep-at-least=36500d", "at least", "3153600000000000000" },
	{ "--keep-at-least=2h --max-age=2h", "at least", "7200000000000" },
	{ "--max-age=1s --keep-at-least=1s", "at least", "1000000000" },
	{ "", "admin", "0 0 " },
	{ "--admin-socket=none", "admin", "1 1 " },
	{ "--admin-socket=/a/b", "admin", "0 1 /a/b" },
	{ "--index-lock-timeout=2s", "lock", "2000000000" },
	{ "--index-lock-timeout=1m", "lock", "60000000000" },
	{ "--index-lock-timeout=30ms", "lock", "30000000" },
	{ "--index-lock-timeout=0", "lock", "0" },
	{ "--live-linger=2h", "linger", "7200000000000" },
	{ "", "linger", "0" },
	{ "--resume-timeout=2m", "resume", "120000000000" },
	{ "--resume-timeout=0", "resume", "0" },
	{ "", "resume", "60000000000" },
	{ "--sync=none", "sync", "0" },
	{ "--sync=close", "sync", "1" },
	{ "--sync packet", "sync", "2" },
	{ "--sync=250ms", "sync", "3" },
	{ "--sync=250ms", "sync_time_ns", "250000000" },
	{ "--sync=5s", "sync_time_ns", "5000000000" },
	{ "", "sandbox", "0" },
	{ "--sandbox=on", "sandbox", "0" },
	{ "--sandbox=strict", "sandbox", "1" },
	{ "--sandbox landlock", "sandbox", "2" },
	{ "--sandbox=seccomp", "sandbox", "3" },
	{ "--sand=off", "sandbox", "4" },
	{ "-V --bogus", "flags", "!" },
	{ "--daem --vers", "flags", "d!" },
	{ "-h", "flags", "!" },
	{ "--help", "flags", "!" },
};

EACH_TEST(clean_environment, NULL)

TEST_ROWS(a_field_follows_its_option, ARRAY_LEN(accepted))
{
	ck_assert_int_eq(parse_args(accepted[_i].args), OK);
	ck_assert_str_eq(show(accepted[_i].field), accepted[_i].want);
}

static const char *const refused[] = {
	"--bogus",
	"-Z",
	"-C",
	"--group-output",
	"--live tcp://h:7", /* not ambiguous in lttng-relayd */
	"--work /a",
	"--verbose=2",
	"-s -p",
	"-s -s",
	"-p --group-output-by-host",
	"--http=",
	"--http=5340",
	"--http=http://localhost",
	"--http=unix:run/x",
	"--http=unix:",
	"--http=tcp://localhost:0",
	"--http-host=",
	"--udp-port=0",
	"--udp-port=65536",
	"--udp-port=some",
	"-o relative",
	"-o ''",
	"-P ''",
	"-w ''",
	"-g ''",
	"-f /etc/lttng.conf",
	"--config=/nonexistent",
	"-C tcp://h:0",
	"-D tcp://h:0",
	"-L tcp://h:0",
	"-L h:5344",
	"--fd-pool-size 99",
	"--fd-pool-size 0",
	"--fd-pool-size -1",
	"--fd-pool-size abc",
	"--fd-pool-size 99999999999999999999",
	"--fd-pool-size 2147483648",
	"--log-level loud",
	"--log-format xml",
	"--log-file ''",
	"--workers 0",
	"--workers 65",
	"--workers 2x",
	"--live-workers 0",
	"--live-workers 5",
	"--live-hold maybe",
	"--max-viewers-per-session -1",
	"--max-memory 1023k",
	"--max-memory ''",
	"--max-memory -1",
	"--max-memory 268435456",
	"--max-memory 1P",
	"--max-memory 99999999999G",
	"--max-packet-size 0",
	"--max-packet-size 4096",
	"--max-packet-size 9G",
	"--index-lock-timeout 250",
	"--index-lock-timeout 61m",
	"--resume-timeout 61m",
	"--live-linger 169h",
	"--live-linger 60",
	"--index-lock-timeout 2h",
	"--index-lock-timeout 1w",
	"--max-use 0",
	"--max-use=-1",
	"--max-use 500",
	"--max-use 5%",
	"--keep-free 100%",
	"--keep-free 5",
	"--keep-free %",
	"--keep-free 5.5%",
	"--keep-free x",
	"--max-age 0",
	"--max-age 30",
	"--max-age 7x",
	"--max-age 36501d",
	"--max-age 59m",
	"--max-age 1h --keep-at-least 3601s",
	"--keep-at-least none",
	"--keep-at-least 30",
	"--keep-at-least 36501d",
	"--admin-socket relative",
	"--admin-socket=",
	"--index-lock-timeout ''",
	"--sync",
	"--sync=",
	"--sync=yes",
	"--sync=0",
	"--sync=250",
	"--live-window=64",
	"--live-window=67108864",
	"--sync=99ms",
	"--sync=61m",
	"--sandbox",
	"--sandbox=",
	"--sandbox=yes",
};

TEST_ROWS(nonsense_is_refused, ARRAY_LEN(refused))
{
	ck_assert_int_eq(parse_args(refused[_i]), E_REFUSED);
}

/* What the URL parser makes of it: "family host port", "" if refused. */
static const struct {
	const char *url, *want;
} urls[] = {
	{ "tcp://127.0.0.1:5342", "4 127.0.0.1 5342" },
	{ "TCP://Host", "4 Host -" },
	{ "tcp4://host:1/", "4 host 1" },
	{ "tcp://host/path:9", "4 host -" },
	{ "tcp://host:7/path", "4 host 7" },
	{ "tcp://host:", "4 host -" },
	{ "tcp://host:0", "4 host 0" },
	{ "tcp://host:65535", "4 host 65535" },
	{ "Tcp6://[::1]:5342", "6 ::1 5342" },
	{ "tcp6://[::]", "6 :: -" },
	{ "tcp6://[::1]/x", "6 ::1 -" },
	{ "tcp6://localhost:1", "6 localhost 1" },
	{ "tcp://[127.0.0.1]:1", "4 127.0.0.1 1" },
	{ "", "" },
	{ "127.0.0.1:1", "" },
	{ "tcp:/h", "" },
	{ "udp://h:1", "" },
	{ "file:///tmp", "" },
	{ "tcp5://h:1", "" },
	{ "tcp://", "" },
	{ "tcp://:1", "" },
	{ "tcp:///x", "" },
	{ "tcp://::1:5342", "" },
	{ "tcp6://::1", "" },
	{ "tcp6://[::1", "" },
	{ "tcp6://[]:1", "" },
	{ "tcp6://[::g]:1", "" },
	{ "tcp6://[::1]5342", "" },
	{ "tcp6://[127.0.0.1]:1", "" },
	{ "tcp6://127.0.0.1:1", "" },
	{ "tcp://[::1]:1", "" },
	{ "tcp://h:65536", "" },
	{ "tcp://h:4294967297", "" },
	{ "tcp://h:-5", "" },
	{ "tcp://h:+5", "" },
	{ "tcp://h:5x", "" },
	{ "tcp://h:1:2", "" },
	{ "tcp://h:0x10", "" },
};

TEST_ROWS(urls_follow_the_grammar, ARRAY_LEN(urls))
{
	struct listen_url u;
	char text[300] = "", port[8] = "-";
	const char *why = NULL;
	enum status st = listen_url_parse(&u, urls[_i].url, &why);

	if (st == OK) {
		if (u.has_port)
			snprintf(port, sizeof(port), "%u", u.port);
		snprintf(text, sizeof(text), "%d %s %s",
		    u.family == AF_INET6 ? 6 : 4, u.host, port);
		ck_assert(u.is_explicit);
	} else {
		ck_assert_int_eq(st, E_MALFORMED);
		ck_assert_ptr_nonnull(why);
	}
	ck_assert_str_eq(text, urls[_i].want);
}

TEST(a_host_may_have_255_characters)
{
	char url[300] = "tcp://";
	struct listen_url u;
	const char *why;

	memset(url + 6, 'a', 255);
	ck_assert_int_eq(listen_url_parse(&u, url, &why), OK);
	ck_assert_uint_eq(strlen(u.host), 255);
	memset(url + 6, 'a', 256);
	ck_assert_int_eq(listen_url_parse(&u, url, &why), E_MALFORMED);
}

#define KEEP "LTTNG_RELAYD_TCP_KEEP_ALIVE"

/* Field NULL: refused. Variables as NAME=VALUE, up to two. */
static const struct {
	const char *args;
	const char *vars[2];
	const char *field, *want;
} environments[] = {
	{ "", { "LTTNG_HOME=/lh" }, "output", "/lh/lttng-traces" },
	{ "", { "LTTNG_HOME=" }, "output", "/home/of/lttng-traces" },
	{ "-o /o", { "LTTNG_HOME=/lh" }, "output", "/o" },
	{ "", { "LTTNG_HOME=relative" }, NULL, NULL },
	{ "", { "LTTNG_RUNDIR=/r" }, "run_dir", "/r" },
	{ "", { "LTTNG_RELAYD_HEALTH=/h" }, "health", "/h" },
	{ "", { "LTTNG_RELAYD_WORKING_DIRECTORY=/e" }, "cwd", "/e" },
	{ "-w /a", { "LTTNG_RELAYD_WORKING_DIRECTORY=/e" }, "cwd", "/a" },
	{ "", { "LTTNG_RELAYD_DISALLOW_CLEAR=1" }, "flags", "x" },
	{ "", { "LTTNG_RELAYD_DISALLOW_CLEAR=2" }, "flags", "x" },
	{ "", { "LTTNG_RELAYD_DISALLOW_CLEAR=Yes" }, "flags", "x" },
	{ "", { "LTTNG_RELAYD_DISALLOW_CLEAR=oN" }, "flags", "x" },
	{ "", { "LTTNG_RELAYD_DISALLOW_CLEAR=TRUE" }, "flags", "x" },
	{ "", { "LTTNG_RELAYD_DISALLOW_CLEAR=0" }, "flags", "" },
	{ "", { "LTTNG_RELAYD_DISALLOW_CLEAR=no" }, "flags", "" },
	{ "", { "LTTNG_RELAYD_DISALLOW_CLEAR=False" }, "flags", "" },
	{ "", { "LTTNG_RELAYD_DISALLOW_CLEAR=off" }, "flags", "" },
	{ "", { "LTTNG_RELAYD_DISALLOW_CLEAR=maybe" }, NULL, NULL },
	{ "", { "LTTNG_RELAYD_DISALLOW_CLEAR=" }, NULL, NULL },
	{ "", { "LTTNG_RELAYD_DISALLOW_CLEAR=-1" }, NULL, NULL },
	{ "-x", { "LTTNG_RELAYD_DISALLOW_CLEAR=maybe" }, "flags", "x" },
	{ "-x", { "LTTNG_RELAYD_DISALLOW_CLEAR=no" }, "flags", "x" },
	{ "", { "LTTNG_NETWORK_SOCKET_TIMEOUT=1500" }, "timeout", "1500" },
	{ "", { "LTTNG_NETWORK_SOCKET_TIMEOUT=-1" }, "timeout", "0" },
	{ "", { "LTTNG_NETWORK_SOCKET_TIMEOUT=-5" }, "timeout", "0" },
	{ "", { "LTTNG_NETWORK_SOCKET_TIMEOUT=abc" }, "timeout", "0" },
	{ "", { KEEP "=1" }, "keepalive", "1 0 0 0" },
	{ "", { KEEP "=maybe" }, "keepalive", "0 0 0 0" },
	{ "", { KEEP "=1", KEEP "_IDLE_TIME=7" }, "keepalive", "1 7 0 0" },
	{ "", { KEEP "=1", KEEP "_IDLE_TIME=-1" }, "keepalive", "1 0 0 0" },
	{ "", { KEEP "=1", KEEP "_IDLE_TIME=-7" }, "keepalive", "1 0 0 0" },
	{ "", { KEEP "_PROBE_INTERVAL=8" }, "keepalive", "0 0 8 0" },
	{ "", { KEEP "_MAX_PROBE_COUNT=9" }, "keepalive", "0 0 0 9" },
	{ "", { KEEP "_MAX_PROBE_COUNT=2147483648" }, "keepalive", "0 0 0 0" },
	{ "", { KEEP "_ABORT_THRESHOLD=5" }, "keepalive", "0 0 0 0" },
	{ "", { "LTTNG_ABORT_ON_ERROR=1" }, "abort", "1" },
	{ "", { "LTTNG_ABORT_ON_ERROR=0" }, "abort", "0" },
};

TEST_ROWS(the_environment_fills_what_is_open, ARRAY_LEN(environments))
{
	for (int i = 0; i < 2 && environments[_i].vars[i] != NULL; i++) {
		char *var = strdup(environments[_i].vars[i]);

		ck_assert_ptr_nonnull(var);
		ck_assert_int_eq(putenv(var), 0);
	}
	if (environments[_i].field == NULL) {
		ck_assert_int_eq(parse_args(environments[_i].args), E_REFUSED);
		return;
	}
	ck_assert_int_eq(parse_args(environments[_i].args), OK);
	ck_assert_str_eq(show(environments[_i].field), environments[_i].want);
}

static const char *
default_state_dir(void)
{
	return geteuid() == 0 ? "/var/lib/tracepulse-relayd"
			      : "/home/of/.local/state/tracepulse";
}

TEST_ROWS(the_state_directory_is_the_services_own, 3)
{
	char pid[32];

	/* The process that starts tests has a child for each. */
	ck_assert_int_eq(setenv("STATE_DIRECTORY", "/var/lib/x:/y", 1), 0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	ck_assert_int_eq(setenv("SYSTEMD_EXEC_PID", _i == 0 ? pid : "1", 1), 0);
	ck_assert_int_eq(parse_args(_i == 2 ? "-o /o" : ""), OK);
	ck_assert_str_eq(got.output, _i == 0   ? "/var/lib/x"
				     : _i == 1 ? "/home/of/lttng-traces"
					       : "/o");
	ck_assert_str_eq(got.state_dir, _i == 0 ? "/y" : default_state_dir());
	/* At a reload it is the same, whoever we are then. */
	ck_assert_int_eq(setenv("SYSTEMD_EXEC_PID", "1", 1), 0);
	ck_assert_int_eq(parse_args(""), OK);
	ck_assert_str_eq(
	    got.output, _i == 0 ? "/var/lib/x" : "/home/of/lttng-traces");
}

static const struct {
	const char *variable, *value, *args;
	const char *want; /* NULL: the default */
} state_dirs[] = {
	/* It is the output directory: no notes there. */
	{ "STATE_DIRECTORY", "/s", "", NULL },
	{ "STATE_DIRECTORY", "/s", "-o /o", "/s" },
	{ "STATE_DIRECTORY", "/s", "-o /o --state-dir /t", "/t" },
	{ "TRACEPULSE_STATE_DIR", "/u", "", "/u" },
	{ "XDG_STATE_HOME", "/x", "", "/x/tracepulse" },
	{ "XDG_STATE_HOME", "x", "", NULL },
};

TEST_ROWS(the_state_directory_has_several_sources, ARRAY_LEN(state_dirs))
{
	const char *want = state_dirs[_i].want;
	char pid[32];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	ck_assert_int_eq(setenv("SYSTEMD_EXEC_PID", pid, 1), 0);
	ck_assert_int_eq(
	    setenv(state_dirs[_i].variable, state_dirs[_i].value, 1), 0);
	if (strcmp(state_dirs[_i].variable, "XDG_STATE_HOME") == 0 &&
	    geteuid() == 0)
		want = NULL;
	ck_assert_int_eq(parse_args(state_dirs[_i].args), OK);
	ck_assert_str_eq(
	    got.state_dir, want == NULL ? default_state_dir() : want);
}

TEST(without_variables_the_user_database_knows_home)
{
	ck_assert_int_eq(unsetenv("HOME"), 0);
	ck_assert_int_eq(parse_args(""), OK);
	ck_assert_int_eq(got.output[0], '/');
	ck_assert_ptr_nonnull(strstr(got.output, "/lttng-traces"));
}

TEST(root_and_users_have_different_run_directories)
{
	ck_assert_int_eq(parse_args(""), OK);
	ck_assert_str_eq(
	    got.run_dir, geteuid() == 0 ? "/var/run/lttng" : "/home/of/.lttng");
	if (geteuid() != 0)
		return;
	ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	ck_assert_int_eq(parse_args(""), OK);
	ck_assert_str_eq(got.run_dir, "/home/of/.lttng");
}

TEST(a_relative_pid_file_starts_where_we_are)
{
	ck_assert_int_eq(chdir("/tmp"), 0);
	ck_assert_int_eq(parse_args("-P p"), OK);
	ck_assert_str_eq(got.pid_file, "/tmp/p");
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(parse_args("-P p"), OK);
	ck_assert_str_eq(got.pid_file, "/p");
}

TEST(paths_that_are_too_long_are_refused)
{
	static char arg[PATH_MAX + 2], program[] = "relayd", option[] = "-o";
	char *argv[] = { program, option, arg, NULL };

	memset(arg, '/', PATH_MAX);
	ck_assert_int_eq(options_parse(&got, 3, argv), E_REFUSED);
	arg[PATH_MAX - 1] = '\0';
	ck_assert_int_eq(options_parse(&got, 3, argv), OK);
}

TEST(the_pool_may_reach_the_hard_limit)
{
	struct rlimit limit = { .rlim_cur = 200, .rlim_max = 300 };

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(parse_args(""), OK);
	ck_assert_uint_eq(got.fd_pool_size, 300);
	ck_assert_int_eq(parse_args("--fd-pool-size 300"), OK);
	ck_assert_int_eq(parse_args("--fd-pool-size 301"), E_REFUSED);
}

TEST(set_uid_ignores_what_names_files)
{
	if (geteuid() != 0)
		return;
	ck_assert_int_eq(setenv("LTTNG_RUNDIR", "/evil", 1), 0);
	ck_assert_int_eq(setenv("LTTNG_RELAYD_HEALTH", "/evil", 1), 0);
	ck_assert_int_eq(setresuid(65534, 0, 0), 0);
	ck_assert_int_eq(parse_args("-C tcp://evil -D tcp://evil -L tcp://evil "
				    "-g evil -f /evil -x"),
	    OK);
	ck_assert_str_eq(show("control"), "4 0.0.0.0 5342 0");
	ck_assert_str_eq(show("data"), "0.0.0.0 5343 0");
	ck_assert_str_eq(show("live"), "localhost 5344 0");
	ck_assert_str_eq(show("group"), "tracing");
	ck_assert_str_eq(show("flags"), "x");
	ck_assert_int_eq(parse_args("-o /evil -w /evil -P /evil"), OK);
	ck_assert_ptr_null(strstr(got.output, "evil"));
	ck_assert_str_eq(show("cwd"), "");
	ck_assert_str_eq(show("pid"), "");
	ck_assert_str_eq(show("run_dir"), "/var/run/lttng");
	ck_assert_str_eq(show("health"), "");
}

TEST(defaults_fit_the_machine)
{
	ck_assert_int_eq(parse_args(""), OK);
	ck_assert_uint_ge(got.workers, 1);
	ck_assert_uint_le(got.workers, 8);
	ck_assert_uint_le(got.workers, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	ck_assert_uint_eq(got.max_memory, machine_memory("") / 4);
}

/* Standard output of a run with ARGS. */
static const char *
printed(const char *args)
{
	static char text[8192];
	int fds[2];
	pid_t pid;
	size_t len = 0;
	ssize_t n;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		exit(parse_args(args) == OK && got.is_done ? 0 : 1);
	}
	close(fds[1]);
	while ((n = read(fds[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(fds[0]);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return text;
}

TEST(the_version_stands_alone)
{
	ck_assert_str_eq(printed("-V"), PACKAGE_VERSION "\n");
}

TEST(help_names_every_option)
{
	static const char *const names[] = {
#define OPTION(id, letter, name, arg, kind, help) "--" name,
#include "relayd/process/options.tbl.h"
#undef OPTION
	};
	const char *text;

	text = printed("--help");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		ck_assert_ptr_nonnull(strstr(text, names[i]));
}
