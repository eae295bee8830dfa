/* SPDX-License-Identifier: MIT */
/* The metadata of a trace as readers see it. */
#include <pthread.h>
#include <urcu.h>

#include "ctf/stream_classes.h"
#include "store/metadata_log.h"
#include "tests/lib/unit.h"
#include "tests/store/any_folder.h"

static struct metadata_log *log_;
static struct folder *folders[2];

static void
open_log(void)
{
	ck_assert_int_eq(metadata_log_create(&log_), OK);
	folders[0] = any_folder();
	folders[1] = any_folder();
}

static void
close_log(void)
{
	metadata_log_put(log_);
	folder_put(folders[0]);
	folder_put(folders[1]);
	rcu_barrier();
}

static void
assert_file(uint64_t length, const struct folder *want)
{
	struct metadata_view view;

	metadata_log_look(log_, &view);
	ck_assert_uint_eq(view.length, length);
	ck_assert_ptr_eq(view.folder, want);
	folder_put(view.folder);
	ck_assert_uint_eq(metadata_log_length(log_), length);
}

EACH_TEST(open_log, close_log)

TEST(a_log_without_a_file)
{
	assert_file(0, NULL);
	metadata_log_append(log_, "x", 1, 9); /* nothing to append to */
	assert_file(0, NULL);
	ck_assert(published(&log_->is_ended) == 0);
}

TEST(it_grows_and_begins_again)
{
	ck_assert_int_eq(metadata_log_begin(log_, folders[0]), OK);
	assert_file(0, folders[0]);
	metadata_log_append(log_, "text", 4, 4092);
	metadata_log_append(log_, "", 0, 4096);
	assert_file(8192, folders[0]);
	/* A clear: the tracer sends it all again. */
	ck_assert_int_eq(metadata_log_begin(log_, folders[1]), OK);
	assert_file(0, folders[1]);
	metadata_log_append(log_, "text", 4, 8188);
	assert_file(8192, folders[1]);
	metadata_log_end(log_);
	ck_assert(published(&log_->is_ended) != 0);
	assert_file(8192, folders[1]);
}

static bool
has_class(void)
{
	struct metadata_view view;

	metadata_log_look(log_, &view);
	folder_put(view.folder);
	return view.has_class;
}

/* What is there now, and what a reader may have had before a clear. */
TEST(classes_are_of_what_is_there)
{
	const char class[] = "stream { id = 1; };";

	ck_assert(!has_class());
	ck_assert_int_eq(metadata_log_begin(log_, folders[0]), OK);
	metadata_log_append(log_, "/* CTF 1.8 */trace { };", 23, 0);
	ck_assert(!has_class());
	ck_assert(!stream_classes_have(published(&log_->classes), 1));
	metadata_log_append(log_, class, sizeof(class) - 1, 0);
	ck_assert(has_class());
	ck_assert(stream_classes_have(published(&log_->classes), 1));
	ck_assert(!stream_classes_have(published(&log_->classes), 0));
	ck_assert_int_eq(metadata_log_begin(log_, folders[1]), OK);
	ck_assert(!has_class());
	ck_assert(stream_classes_have(published(&log_->classes), 1));
}

TEST(waiters_are_taken_once)
{
	ck_assert_uint_eq(waiters_take(&log_->waiters), 0);
	waiters_add(&log_->waiters, 2);
	ck_assert_uint_eq(waiters_take(&log_->waiters), 2);
	ck_assert_uint_eq(waiters_take(&log_->waiters), 0);
}

#define STRESS 20000

/* Even generations are in folder 0 and at most 100 long, odd ones in folder 1
 * and from 101 on. */
static void *
write_metadata(void *arg)
{
	rcu_register_thread();
	for (unsigned i = 0; i < STRESS; i++) {
		ck_assert_int_eq(metadata_log_begin(log_, folders[i % 2]), OK);
		for (uint64_t n = 1; n <= 3; n++)
			metadata_log_append(
			    log_, ";", 1, n == 1 ? i % 2 * 100 : 0);
	}
	metadata_log_end(log_);
	rcu_unregister_thread();
	return NULL;
}

TEST(a_length_belongs_to_its_folder)
{
	struct metadata_view view;
	pthread_t writer;
	bool is_ended;

	rcu_register_thread();
	ck_assert_int_eq(
	    pthread_create(&writer, NULL, write_metadata, NULL), 0);
	do {
		is_ended = published(&log_->is_ended) != 0;
		metadata_log_look(log_, &view);
		if (view.length > 0)
			ck_assert_ptr_eq(
			    view.folder, folders[view.length > 100]);
		folder_put(view.folder);
	} while (!is_ended);
	pthread_join(writer, NULL);
	assert_file(103, folders[1]);
	rcu_unregister_thread();
}
