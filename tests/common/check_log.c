/* SPDX-License-Identifier: MIT */
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/unit.h"

static int capture[2];
static char line[4 * LOG_LINE_MAX];

/* A datagram socket in place of stderr: one write(2), one datagram. */
static void
capture_stderr(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, capture), 0);
	ck_assert_int_ge(dup2(capture[1], STDERR_FILENO), 0);
}

/* What one write gave, as a string; empty: nothing was written. */
static const char *
captured(void)
{
	ssize_t n = recv(capture[0], line, sizeof(line) - 1, MSG_DONTWAIT);

	line[n < 0 ? 0 : n] = '\0';
	return line;
}

static const struct {
	const char *detail, *want;
} cases[] = {
	{ "", "info \n" },
	{ "peer=1 hello", "info peer=1 hello\n" },
	{ "a\nerror forged", "info a\\x0aerror forged\n" },
	{ "tab\t cr\r esc\x1b[0m del\x7f",
	    "info tab\\x09 cr\\x0d esc\\x1b[0m del\\x7f\n" },
	{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
	    "info caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n" },
	{ "bare \x80 \xc3", "info bare \\x80 \\xc3\n" },
	{ "overlong \xc0\xaf \xe0\x80\xaf",
	    "info overlong \\xc0\\xaf \\xe0\\x80\\xaf\n" },
	{ "surrogate \xed\xa0\x80", "info surrogate \\xed\\xa0\\x80\n" },
	{ "beyond \xf4\x90\x80\x80 \xff",
	    "info beyond \\xf4\\x90\\x80\\x80 \\xff\n" },
	{ "c1 control \xc2\x9b", "info c1 control \\u009b\n" },
	{ "hidden \xe2\x80\xae \xe2\x80\x8b \xef\xbb\xbf \xe2\x80\xa8",
	    "info hidden \\u202e \\u200b \\ufeff \\u2028\n" },
	{ "tag \xf3\xa0\x80\x81", "info tag \\U000e0001\n" },
	{ "cut \xe2\x82", "info cut \\xe2\\x82\n" },
};

EACH_TEST(capture_stderr, NULL)

TEST_ROWS(one_event_is_one_clean_line_in_one_write, ARRAY_LEN(cases))
{
	log_set_level(LOG_INFO);
	log_info("%s", cases[_i].detail);
	ck_assert_str_eq(captured(), cases[_i].want);
	ck_assert_str_eq(captured(), "");
}

/* What follows {"time":"1970-01-01T00:00:01.000Z","level":"info" */
static const struct {
	const char *detail, *want;
} objects[] = {
	{ "", ",\"message\":\"\"}\n" },
	{ "peer=1.2.3.4:5 session=7/x stream=a/b gone",
	    ",\"peer\":\"1.2.3.4:5\",\"session\":\"7/x\",\"stream\":\"a/b\","
	    "\"message\":\"gone\"}\n" },
	{ "peer=1", ",\"peer\":\"1\",\"message\":\"\"}\n" },
	{ "peer=1 host=web1 session=7/x gone",
	    ",\"peer\":\"1\",\"host\":\"web1\",\"session\":\"7/x\","
	    "\"message\":\"gone\"}\n" },
	{ "session=7/x y=z", ",\"session\":\"7/x\",\"message\":\"y=z\"}\n" },
	{ "peers=1", ",\"message\":\"peers=1\"}\n" },
	{ "session=\",\"level\":\"error\n x",
	    ",\"session\":\"\\\",\\\"level\\\":\\\"error\\u000a\","
	    "\"message\":\"x\"}\n" },
	{ "a \\ \x1b \x7f \xc2\x9b \xff \xc3\xa9",
	    ",\"message\":\"a \\\\ \\u001b \\u007f \\u009b \\\\xff "
	    "\xc3\xa9\"}\n" },
	{ "a \xe2\x80\xae \xf3\xa0\x80\x81",
	    ",\"message\":\"a \\u202e \\udb40\\udc01\"}\n" },
};

TEST_ROWS(json_is_one_object_a_line, ARRAY_LEN(objects))
{
	static const char start[] = "{\"time\":\"1970-01-01T00:00:01.000Z\","
				    "\"level\":\"info\"";

	log_set_level(LOG_INFO);
	log_set_json(true);
	clock_freeze(NS_PER_S, 1);
	log_info("%s", objects[_i].detail);
	ck_assert_int_eq(strncmp(captured(), start, strlen(start)), 0);
	ck_assert_str_eq(line + strlen(start), objects[_i].want);
}

TEST(long_json_is_closed)
{
	char detail[2 * LOG_LINE_MAX];
	size_t n;

	log_set_json(true);
	memset(detail, '\n', sizeof(detail));
	memcpy(detail, "peer=", 5);
	detail[sizeof(detail) - 1] = '\0';
	for (size_t i = 5; i < 900; i += 7) {
		memcpy(detail + i, " stream= session= ", 18);
		log_warn("%s", detail);
		n = strlen(captured());
		ck_assert_uint_le(n, 2 * LOG_LINE_MAX);
		ck_assert_str_eq(line + n - 3, "\"}\n");
	}
}

static const char *
file_text(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, line, sizeof(line) - 1);

	line[n < 0 ? 0 : n] = '\0';
	close(fd);
	return line;
}

TEST(a_file_may_take_the_place_of_stderr)
{
	static const char then[] = "1970-01-01T00:00:01.000Z ";
	char path[] = "/tmp/check_log.XXXXXX", text[256];

	close(mkstemp(path));
	unlink(path);
	umask(022);
	clock_freeze(NS_PER_S, 1);
	ck_assert_int_eq(log_open("/nonexistent/log"), E_IO);
	ck_assert_ptr_nonnull(strstr(captured(), "log file /nonexistent/log"));
	log_set_level(LOG_NOTICE);
	ck_assert_int_eq(log_open(path), OK);
	log_warn("one");
	ck_assert_str_eq(captured(), "warning one\n");
	log_notice("two");
	log_leave_stderr();
	log_error("three");
	ck_assert_str_eq(captured(), "");
	snprintf(text, sizeof(text),
	    "%swarning one\n%snotice two\n%serror three\n", then, then, then);
	ck_assert_str_eq(file_text(path), text);
	unlink(path);
	ck_assert_int_eq(log_open(path), OK);
	ck_assert_int_eq(log_open("/nonexistent/log"), E_IO);
	log_warn("four");
	ck_assert_ptr_nonnull(strstr(file_text(path), "warning four\n"));
	ck_assert_ptr_null(strstr(line, "three"));
	unlink(path);
}

TEST(a_full_disk_loses_lines_and_says_so)
{
	log_set_level(LOG_NOTICE);
	ck_assert_int_eq(log_open("/dev/full"), OK);
	log_leave_stderr();
	log_notice("one");
	log_notice("two");
	ck_assert_int_eq(log_open("/dev/null"), OK);
}

TEST(the_journal_gets_priorities)
{
	struct stat sb;
	char name[64];

	log_set_level(LOG_DEBUG);
	ck_assert_int_eq(setenv("JOURNAL_STREAM", "1:1", 1), 0);
	ck_assert(!log_look_at_stderr(true));
	log_warn("x");
	ck_assert_str_eq(captured(), "warning x\n");
	ck_assert_int_eq(fstat(STDERR_FILENO, &sb), 0);
	snprintf(name, sizeof(name), "%llu:%llu", (unsigned long long)sb.st_dev,
	    (unsigned long long)sb.st_ino);
	ck_assert_int_eq(setenv("JOURNAL_STREAM", name, 1), 0);
	ck_assert(log_look_at_stderr(true));
	log_error("x");
	ck_assert_str_eq(captured(), "<3>error x\n");
	log_notice("x");
	ck_assert_str_eq(captured(), "<5>notice x\n");
	log_debug("x");
	ck_assert_str_eq(captured(), "<7>debug x\n");
}

TEST(lines_above_the_level_are_dropped)
{
	static const char *const names[] = { "error x\n", "warning x\n",
		"notice x\n", "info x\n", "debug x\n" };

	for (int max = LOG_ERROR; max <= LOG_DEBUG; max++) {
		log_set_level((enum log_level)max);
		for (int l = LOG_ERROR; l <= LOG_DEBUG; l++) {
			ck_assert_int_eq(
			    log_wants((enum log_level)l), l <= max);
			log_line((enum log_level)l, "x");
			ck_assert_str_eq(captured(), l <= max ? names[l] : "");
		}
	}
}

TEST(default_level_is_warning)
{
	ck_assert(log_wants(LOG_WARN));
	ck_assert(!log_wants(LOG_NOTICE));
}

/* A filler of one, two and four bytes a character, and one to escape. */
static const char *const fillers[] = { "x", "\xc3\xa9", "\xf0\x9f\x98\x80",
	"\n" };

TEST_ROWS(long_lines_are_cut_between_characters, ARRAY_LEN(fillers))
{
	const size_t k = strlen(fillers[_i]);
	const size_t out = k == 1 && fillers[_i][0] == '\n' ? 4 : k;
	char detail[2 * LOG_LINE_MAX + 8] = "";
	size_t n;

	for (size_t i = 0; i + k < sizeof(detail); i += k)
		memcpy(detail + i, fillers[_i], k);
	log_warn("%s", detail);
	n = strlen(captured());
	ck_assert_uint_le(n, LOG_LINE_MAX);
	ck_assert_uint_gt(n, LOG_LINE_MAX - 8);
	ck_assert_int_eq(line[n - 1], '\n');
	ck_assert_uint_eq((n - strlen("warning \n")) % out, 0);
	ck_assert_ptr_null(memchr(line, '\n', n - 1));
}

TEST(errno_is_logged_and_kept)
{
	errno = ENOSPC;
	log_errno(LOG_WARN, "append at %d", 5);
	ck_assert_int_eq(errno, ENOSPC);
	ck_assert_str_eq(
	    captured(), "warning append at 5: No space left on device\n");
	close(STDERR_FILENO);
	errno = ENOENT;
	log_warn("nobody reads this");
	ck_assert_int_eq(errno, ENOENT);
}

TEST_SIGNAL(first_error_aborts_when_asked_to, SIGABRT)
{
	log_set_abort_on_error(true);
	log_warn("not yet");
	ck_assert_str_eq(captured(), "warning not yet\n");
	log_error("now");
}

TEST(errors_do_not_abort_unasked)
{
	log_error("x");
	ck_assert_str_eq(captured(), "error x\n");
}

TEST(ratelimit_lets_one_through_per_interval)
{
	static const struct {
		uint64_t now;
		bool pass;
	} steps[] = { { 0, true }, { 5, false }, { 10, false }, { 11, true },
		{ 20, false }, { 21, true }, { 100, true } };
	uint64_t last = 0;

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		clock_freeze(steps[i].now, 0);
		ck_assert_int_eq(log_ratelimit(&last, 10), steps[i].pass);
	}
}

/* Returns how many bytes a pipe in place of stderr has taken. */
static size_t
fill_pipe_in_place_of_stderr(void)
{
	static const char block[PIPE_BUF];
	struct pollfd p = { .events = POLLOUT };
	size_t n = 0;

	ck_assert_int_eq(pipe(capture), 0);
	p.fd = capture[1];
	while (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0)
		n += (size_t)write(capture[1], block, sizeof(block));
	ck_assert_int_ge(dup2(capture[1], STDERR_FILENO), 0);
	return n;
}

static void
drain(size_t n)
{
	char block[PIPE_BUF];

	for (ssize_t got; n > 0; n -= (size_t)got) {
		got = read(capture[0], block, n < PIPE_BUF ? n : PIPE_BUF);
		ck_assert_int_gt(got, 0);
	}
}

TEST(a_reader_that_does_not_read_delays_little)
{
	size_t n = fill_pipe_in_place_of_stderr();
	uint64_t began;
	ssize_t got;

	/* If it blocks, this ends the test. */
	alarm(50);
	began = clock_now_ns();
	for (int i = 0; i < 1000; i++)
		log_warn("line %d", i);
	ck_assert_uint_lt(clock_now_ns() - began, 15 * NS_PER_S);
	drain(n);
	log_warn("after");
	log_warn("and on");
	got = read(capture[0], line, sizeof(line) - 1);
	ck_assert_int_gt(got, 0);
	line[got] = '\0';
	ck_assert_str_eq(line,
	    "warning 1000 log lines lost: standard error did not accept "
	    "them in time\nwarning after\nwarning and on\n");
}

/* The first that a reader sees after a full pipe, which it begins to read
 * soon. */
static const char *
read_slowly(void)
{
	const size_t n = fill_pipe_in_place_of_stderr();
	pid_t child = fork();
	ssize_t got;

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		poll(NULL, 0, LOG_WAIT_MS / 10);
		drain(n);
		_exit(0);
	}
	log_warn("x");
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	log_warn("y");
	got = read(capture[0], line, sizeof(line) - 1);
	ck_assert_int_gt(got, 0);
	line[got] = '\0';
	close(capture[0]);
	close(capture[1]);
	return line;
}

/* On a busy machine the reader may come later than anybody waits for it, but
 * not each time. */
TEST(a_slow_reader_loses_nothing)
{
	static const char want[] = "warning x\nwarning y\n";
	const char *got = read_slowly();

	for (int tries = 1; tries < 10 && strcmp(got, want) != 0; tries++) {
		/* That was all that is waited for in this second. */
		poll(NULL, 0, 1100);
		got = read_slowly();
	}
	ck_assert_str_eq(got, want);
}

/* Logs N lines of LEVEL about peers; returns how many were written. */
static unsigned
flood(enum log_level level, unsigned n)
{
	unsigned lines = 0;

	for (unsigned i = 0; i < n; i++) {
		log_peer(level, "peer %u", i);
		lines += *captured() != '\0';
	}
	return lines;
}

TEST(each_level_has_a_limit_of_lines_about_peers)
{
	log_set_level(LOG_INFO);
	clock_freeze(NS_PER_S, 0);
	ck_assert_uint_eq(flood(LOG_INFO, 1000), LOG_PEER_LINES);
	ck_assert_uint_eq(flood(LOG_WARN, 1000), LOG_PEER_LINES);
	log_peer(LOG_DEBUG, "not wanted");
	ck_assert_str_eq(captured(), "");
	log_warn("ours");
	ck_assert_str_eq(captured(), "warning ours\n");
	clock_freeze(2 * NS_PER_S, 0);
	log_peer(LOG_WARN, "another");
	ck_assert_str_eq(captured(),
	    "warning lines about peers suppressed: 950 (more than 50 in a "
	    "second)\n");
	ck_assert_str_eq(captured(), "warning another\n");
	clock_freeze(3 * NS_PER_S, 0);
	log_peer(LOG_WARN, "and one");
	ck_assert_str_eq(captured(), "warning and one\n");
}

TEST(suppressed_lines_are_reported_once)
{
	log_set_level(LOG_INFO);
	clock_freeze(NS_PER_S, 0);
	log_report_suppressed();
	ck_assert_str_eq(captured(), "");
	ck_assert_uint_eq(flood(LOG_INFO, 51), LOG_PEER_LINES);
	ck_assert_uint_eq(flood(LOG_WARN, 52), LOG_PEER_LINES);
	log_report_suppressed();
	ck_assert_str_eq(captured(),
	    "warning lines about peers suppressed: 2 (more than 50 in a "
	    "second)\n");
	ck_assert_str_eq(captured(),
	    "info lines about peers suppressed: 1 (more than 50 in a "
	    "second)\n");
	log_report_suppressed();
	ck_assert_str_eq(captured(), "");
	/* The limit of the second still holds. */
	log_peer(LOG_WARN, "one more");
	ck_assert_str_eq(captured(), "");
}

/* The value of NAME in the entry TEXT; "" if there is none. */
static const char *
field(const char *text, const char *name)
{
	static char value[LOG_LINE_MAX];
	const size_t k = strlen(name);

	value[0] = '\0';
	while (text != NULL && *text != '\0') {
		if (strncmp(text, name, k) == 0 && text[k] == '=')
			snprintf(value, sizeof(value), "%.*s",
			    (int)strcspn(text + k + 1, "\n"), text + k + 1);
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return value;
}

/* Standard error is the journal, as systemd says it; returns the socket of the
 * native protocol, bound to PATH. */
static int
be_a_journal(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	struct stat sb;
	char name[64];

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	ck_assert_int_eq(
	    bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	capture_stderr();
	ck_assert_int_eq(fstat(STDERR_FILENO, &sb), 0);
	snprintf(name, sizeof(name), "%llu:%llu", (unsigned long long)sb.st_dev,
	    (unsigned long long)sb.st_ino);
	ck_assert_int_eq(setenv("JOURNAL_STREAM", name, 1), 0);
	log_set_journal(path);
	return fd;
}

/* The entry that came, or "". */
static const char *
entry(int fd)
{
	ssize_t n = recv(fd, line, sizeof(line) - 1, 0);

	line[n < 0 ? 0 : n] = '\0';
	return line;
}

TEST(the_journal_gets_fields)
{
	char path[] = "/tmp/check_log.XXXXXX/journal", number[16];
	int fd;

	*strrchr(path, '/') = '\0';
	ck_assert_ptr_nonnull(mkdtemp(path));
	path[strlen(path)] = '/';
	fd = be_a_journal(path);
	ck_assert(log_look_at_stderr(true));
	/* Perhaps it ends at once. */
	log_error("start");
	ck_assert_str_eq(captured(), "<3>error start\n");
	log_open_journal();
	errno = ENOSPC;
	log_errno(LOG_WARN,
	    "peer=1.2.3.4:5 host=web1 session=7/a\nPRIORITY=0 stream=x/y "
	    "append");
	ck_assert_str_eq(captured(), "");
	entry(fd);
	ck_assert_str_eq(field(line, "MESSAGE"),
	    "warning peer=1.2.3.4:5 host=web1 session=7/a\\x0aPRIORITY=0 "
	    "stream=x/y append: No space left on device");
	ck_assert_str_eq(field(line, "PRIORITY"), "4");
	ck_assert_str_eq(field(line, "SYSLOG_IDENTIFIER"), "check_log");
	ck_assert_str_eq(field(line, "TRACEPULSE_PEER"), "1.2.3.4:5");
	ck_assert_str_eq(field(line, "TRACEPULSE_HOST"), "web1");
	ck_assert_str_eq(field(line, "TRACEPULSE_SESSION_ID"), "7");
	ck_assert_str_eq(field(line, "TRACEPULSE_SESSION"), "a\\x0aPRIORITY=0");
	ck_assert_str_eq(field(line, "TRACEPULSE_STREAM"), "x/y");
	ck_assert_str_eq(field(line, "CODE_FILE"), "tests/common/check_log.c");
	snprintf(number, sizeof(number), "%d", ENOSPC);
	ck_assert_str_eq(field(line, "ERRNO"), number);
	log_error("ours");
	ck_assert_str_eq(field(entry(fd), "MESSAGE"), "error ours");
	ck_assert_str_eq(field(line, "TRACEPULSE_PEER"), "");
	ck_assert_str_eq(field(line, "ERRNO"), "");
	/* A journal that cannot be reached: as if there was no socket. */
	close(fd);
	log_error("gone");
	ck_assert_str_eq(captured(), "<3>error gone\n");
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

TEST(a_busy_journal_delays_little_and_loses_some)
{
	char path[] = "/tmp/check_log.XXXXXX/journal";
	const uint64_t began = clock_now_ns();
	unsigned got = 0;
	int fd;

	*strrchr(path, '/') = '\0';
	ck_assert_ptr_nonnull(mkdtemp(path));
	path[strlen(path)] = '/';
	fd = be_a_journal(path);
	ck_assert(log_look_at_stderr(true));
	log_open_journal();
	for (int i = 0; i < 2000; i++)
		log_warn("line %d", i);
	ck_assert_uint_lt(clock_now_ns() - began, 15 * NS_PER_S);
	ck_assert_str_eq(captured(), "");
	while (*entry(fd) != '\0')
		got++;
	ck_assert_uint_gt(got, 0);
	ck_assert_uint_lt(got, 2000);
	log_warn("after");
	snprintf(line, sizeof(line), "%s", field(entry(fd), "MESSAGE"));
	ck_assert_ptr_nonnull(strstr(line, " log lines lost: "));
	ck_assert_str_eq(field(entry(fd), "MESSAGE"), "warning after");
	close(fd);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

TEST(the_blame_decides_how_loud_a_failure_is)
{
	ck_assert_int_eq(log_level_of(E_REFUSED), LOG_INFO);
	ck_assert_int_eq(log_level_of(E_MALFORMED), LOG_WARN);
	ck_assert_int_eq(log_level_of(E_REFUSED_CLOSE), LOG_WARN);
	ck_assert_int_eq(log_level_of(E_IO), LOG_ERROR);
}
