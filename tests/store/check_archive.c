/* SPDX-License-Identifier: MIT */
#include "store/archive.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/tar.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"

#define LONG_NAME                                                         \
	"a_name_of_more_than_100_bytes_0123456789_0123456789_0123456789_" \
	"0123456789_0123456789_0123456789_0123456789"
#define DATA "\xc1\xfc\x1f\xc1"

/* Files of a trace, and one of somebody else. */
static int
make_trace(void)
{
	ck_assert_int_eq(mkdir(scratch_path("t"), 0700), 0);
	ck_assert_int_eq(mkdir(scratch_path("t/ust"), 0700), 0);
	ck_assert_int_eq(mkdir(scratch_path("t/ust/index"), 0700), 0);
	scratch_write("t/ust/metadata", "/* CTF 1.8 */");
	scratch_write("t/ust/chan_0", DATA " and more");
	scratch_write("t/ust/empty_0", "");
	scratch_write("t/ust/index/chan_0.idx", "idx");
	scratch_write("t/ust/" LONG_NAME, DATA);
	scratch_write("t/ust/not_ours", "secret");
	return open(scratch_path("t"), O_RDONLY | O_DIRECTORY);
}

/* Listed with N names a step. */
static struct archive *
list(unsigned n)
{
	struct archive *a;
	enum status st;

	ck_assert_int_eq(archive_create(&a, make_trace(), "host/s"), OK);
	do
		st = archive_list(a, n);
	while (st == E_LATER);
	ck_assert_int_eq(st, OK);
	return a;
}

static struct buf
read_all(struct archive *a, size_t part)
{
	struct buf b = { 0 };

	for (uint64_t at = 0; at < archive_size(a); at += part) {
		if (part > archive_size(a) - at)
			part = (size_t)(archive_size(a) - at);
		ck_assert_int_eq(archive_read(a, at, part, &b), OK);
		ck_assert_uint_eq(buf_len(&b), at + part);
	}
	return b;
}

EACH_TEST(scratch_open, scratch_close)

TEST_ROWS(parts_are_as_the_whole, 4)
{
	static const size_t parts[] = { 1, 7, 512, 5000 };
	struct archive *a = list((unsigned)_i + 1);
	struct buf whole = read_all(a, (size_t)archive_size(a));
	struct buf b = read_all(a, parts[_i]);

	ck_assert_mem_eq(buf_data(&b), buf_data(&whole), archive_size(a));
	ck_assert_ptr_eq(memmem(buf_data(&b), buf_len(&b), "secret", 6), NULL);
	ck_assert_ptr_ne(
	    memmem(buf_data(&b), buf_len(&b), "/ust/" LONG_NAME "\n", 60),
	    NULL);
	buf_free(&b);
	buf_free(&whole);
	archive_destroy(a);
}

/* By GNU tar, which a user has. */
TEST(tar_reads_it)
{
	struct archive *a = list(100);
	struct buf b = read_all(a, 100);
	FILE *f = fopen(scratch_path("t.tar"), "w");
	char command[1024];

	ck_assert_uint_eq(fwrite(buf_data(&b), 1, buf_len(&b), f), buf_len(&b));
	ck_assert_int_eq(fclose(f), 0);
	snprintf(command, sizeof(command),
	    "cd %s && tar xf t.tar && cd host/s/ust && rm -f "
	    "../../../t/ust/not_ours "
	    "&& diff -r . ../../../t/ust",
	    scratch_path(""));
	ck_assert_int_eq(system(command), 0); /* NOLINT: a test */
	buf_free(&b);
	archive_destroy(a);
}

static void
remove_data(void)
{
	ck_assert_int_eq(unlink(scratch_path("t/ust/chan_0")), 0);
}

static void
cut_data(void)
{
	ck_assert_int_eq(truncate(scratch_path("t/ust/chan_0"), 5), 0);
}

static void
replace_data(void)
{
	ck_assert_int_eq(
	    rename(scratch_path("t/ust/chan_0"), scratch_path("t/ust/chan_1")),
	    0);
	scratch_write("t/ust/chan_0", DATA " and more");
}

TEST_ROWS(what_has_changed_is_not_read, 3)
{
	static void (*const change[])(
	    void) = { remove_data, cut_data, replace_data };
	struct archive *a = list(100);
	struct buf b = { 0 };

	change[_i]();
	ck_assert_int_eq(
	    archive_read(a, 0, (size_t)archive_size(a), &b), E_NOENT);
	buf_free(&b);
	archive_destroy(a);
}

TEST(another_file_is_another_tag)
{
	struct archive *a = list(100), *b;
	uint64_t tag = archive_tag(a);

	replace_data();
	ck_assert_int_eq(
	    archive_create(
		&b, open(scratch_path("t"), O_RDONLY | O_DIRECTORY), "host/s"),
	    OK);
	ck_assert_int_eq(archive_list(b, 100), OK);
	ck_assert_uint_ne(archive_tag(b), tag);
	archive_destroy(a);
	archive_destroy(b);
}

/* A size that octal digits cannot say, as no test has so much disk. */
TEST(a_large_file)
{
	const struct tar_file f = { .name = "x", .size = UINT64_C(1) << 36 };
	struct buf b = { 0 };

	tar_add_header(&b, &f);
	ck_assert_uint_eq(buf_len(&b), tar_header_size(&f));
	ck_assert_uint_eq(buf_len(&b), 3 * TAR_BLOCK);
	ck_assert_ptr_ne(
	    memmem(buf_data(&b), buf_len(&b), "20 size=68719476736\n", 20),
	    NULL);
	buf_free(&b);
}
