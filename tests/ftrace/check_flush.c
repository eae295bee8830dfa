/* SPDX-License-Identifier: MIT */
/* What flush reads of the kernel, and tells it. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tools/ftrace/flush.h"
#include "tools/ftrace/flush_percent.h"

static const char stats[] = "entries: 12\n"
			    "overrun: 3\n"
			    "commit overrun: 99\n"
			    "bytes: 640\n"
			    "oldest event ts: 14218.696992\n"
			    "now ts: 14276.712896\n"
			    "dropped events: 77\n"
			    "read events: 40\n";

TEST(what_waits_and_what_is_gone)
{
	struct flush_stats s;

	ck_assert(flush_stats_parse(stats, &s));
	ck_assert_uint_eq(s.waiting, 12);
	ck_assert_uint_eq(s.gone, 43);
}

TEST_ROWS(other_text_is_refused, 6)
{
	static const char *const texts[] = { "", "entries: 12\n", "\n\n",
		"entries: 1\noverrun: 2\nread events:\n",
		"entries: 1\ncommit overrun: 2\nread events: 3\n",
		"entries: x\noverrun: 2\nread events: 3\n" };
	struct flush_stats s;

	ck_assert(!flush_stats_parse(texts[_i], &s));
}

/* As the kernel has it: a recorder is woken when full pages, and one, are this
 * part of the buffer. */
TEST(a_recorder_is_woken_by_some_full_pages)
{
	for (uint64_t pages = 8; pages < 100000; pages++) {
		const uint64_t percent = flush_percent_of(pages);
		uint64_t full = (percent * pages + 99) / 100 - 1;

		ck_assert_uint_ge(full, FLUSH_PAGES);
		ck_assert_uint_le(full, FLUSH_PAGES + 1 + pages / 100);
	}
}

TEST(a_buffer_that_is_small_or_unknown_is_as_ever)
{
	ck_assert_uint_eq(flush_percent_of(0), 50);
	ck_assert_uint_eq(flush_percent_of(1), 50);
	ck_assert_uint_eq(flush_percent_of(7), 50);
}

/* A tracefs of the test's own, in a directory that it begins and ends. */
static char tracefs[64];

static const char *
file_of(const char *buffer, const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s%s/%s", tracefs,
	    *buffer == '\0' ? "" : "instances/", buffer, name);
	return path;
}

static void
write_file(const char *buffer, const char *name, const char *text)
{
	FILE *f = fopen(file_of(buffer, name), "we");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static const char *
percent_of(const char *buffer)
{
	static char text[16];
	FILE *f = fopen(file_of(buffer, "buffer_percent"), "re");

	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
	ck_assert_int_eq(fclose(f), 0);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* A ring buffer as the kernel makes it; 400 pages for each CPU, of which four
 * are 1 percent. */
static void
make_buffer(const char *name)
{
	char text[32];

	(void)mkdir(file_of(name, ""), 0700);
	(void)snprintf(
	    text, sizeof(text), "%ld\n", 400 * sysconf(_SC_PAGESIZE) / 1024);
	write_file(name, "buffer_size_kb", text);
	write_file(name, "buffer_percent", "50\n");
}

static void
remove_buffer(const char *name)
{
	ck_assert_int_eq(unlink(file_of(name, "buffer_size_kb")), 0);
	ck_assert_int_eq(unlink(file_of(name, "buffer_percent")), 0);
	ck_assert_int_eq(rmdir(file_of(name, "")), 0);
}

static char state[80];

static void
begin(struct flush_percent *p)
{
	*p = (struct flush_percent){ .tracefs = tracefs, .file = state };
	ck_assert_int_eq(flush_percent_begin(p), OK);
}

static void
begin_tracefs(struct flush_percent *p)
{
	(void)snprintf(
	    tracefs, sizeof(tracefs), "/tmp/tracepulse-flush-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(tracefs));
	ck_assert_int_eq(mkdir(file_of("", "instances"), 0700), 0);
	make_buffer("");
	(void)snprintf(state, sizeof(state), "%s/state", tracefs);
	begin(p);
}

static void
end_tracefs(void)
{
	ck_assert_int_eq(unlink(state), 0);
	ck_assert_int_eq(rmdir(file_of("", "instances")), 0);
	remove_buffer("");
}

/* A recorder with a buffer of its own ends, and comes again: its buffer is
 * another one, of the same name. */
TEST(a_buffer_that_comes_again_is_set_again)
{
	static struct flush_percent p;

	begin_tracefs(&p);
	make_buffer("foo");
	ck_assert_int_eq(flush_percent_set(&p), OK);
	ck_assert_str_eq(percent_of(""), "1");
	ck_assert_str_eq(percent_of("foo"), "1");
	remove_buffer("foo");
	make_buffer("foo");
	ck_assert_int_eq(flush_percent_set(&p), OK);
	ck_assert_str_eq(percent_of("foo"), "1");
	flush_percent_end(&p);
	ck_assert_str_eq(percent_of(""), "50");
	ck_assert_str_eq(percent_of("foo"), "50");
	remove_buffer("foo");
	end_tracefs();
}

TEST(buffers_that_are_gone_leave_room_for_others)
{
	static struct flush_percent p;
	char name[16];

	begin_tracefs(&p);
	for (unsigned i = 0; i < 2 * FLUSH_BUFFERS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "run%u", i);
		make_buffer(name);
		ck_assert_int_eq(flush_percent_set(&p), OK);
		ck_assert_str_eq(percent_of(name), "1");
		remove_buffer(name);
	}
	flush_percent_end(&p);
	ck_assert_str_eq(percent_of(""), "50");
	end_tracefs();
}

/* What somebody else has set is there again at the end, also if it is set while
 * this runs. */
TEST(what_others_have_set_comes_back)
{
	static struct flush_percent p;

	begin_tracefs(&p);
	ck_assert_int_eq(flush_percent_set(&p), OK);
	write_file("", "buffer_percent", "20\n");
	ck_assert_int_eq(flush_percent_set(&p), OK);
	ck_assert_str_eq(percent_of(""), "1");
	flush_percent_end(&p);
	ck_assert_str_eq(percent_of(""), "20");

	begin(&p);
	ck_assert_int_eq(flush_percent_set(&p), OK);
	write_file("", "buffer_percent", "30\n");
	flush_percent_end(&p);
	ck_assert_str_eq(percent_of(""), "30");
	end_tracefs();
}

/* Two run at a time: the last one restores what was there before the first. */
TEST(the_last_one_restores)
{
	static struct flush_percent first, second;

	begin_tracefs(&first);
	ck_assert_int_eq(flush_percent_set(&first), OK);
	begin(&second);
	ck_assert_int_eq(flush_percent_set(&second), OK);
	flush_percent_end(&first);
	ck_assert_str_eq(percent_of(""), "1");
	flush_percent_end(&second);
	ck_assert_str_eq(percent_of(""), "50");
	end_tracefs();
}

TEST(what_a_killed_one_has_left_is_restored)
{
	static struct flush_percent next;
	pid_t pid;
	int status;

	begin_tracefs(&next);
	flush_percent_end(&next);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		begin(&next);
		_exit(flush_percent_set(&next) != OK);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_str_eq(percent_of(""), "1");
	begin(&next);
	ck_assert_str_eq(percent_of(""), "50");
	ck_assert_int_eq(flush_percent_set(&next), OK);
	flush_percent_end(&next);
	ck_assert_str_eq(percent_of(""), "50");
	end_tracefs();
}
