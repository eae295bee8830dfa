/* SPDX-License-Identifier: MIT */
#include "tests/store/test_store.h"

#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/relpath.h"
#include "tests/lib/one_registry.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"

struct relpath *
path_of(const char *text)
{
	struct relpath *p;

	MUST(relpath_parse(&p, (struct span){ text, strlen(text) }) == OK);
	return p;
}

void
test_store_open(struct test_store *s, unsigned max_files)
{
	struct store_config config = { .max_files = max_files,
		.index_lock_timeout_ns = NS_PER_S,
		.max_cached = 1 << 20,
		.memory = &s->memory,
		.registry = one_registry() };

	memset(s, 0, sizeof(*s));
	scratch_open();
	s->base = open(scratch_path(""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(s->base, 0);
	config.base_fd = s->base;
	ck_assert_int_eq(store_create(&s->store, &config), OK);
}

static void
released(struct chunk *take_c, void *arg)
{
	struct test_store *s = arg;
	unsigned budget = UINT_MAX;

	s->n_released++;
	s->last_released = take_c;
	if (s->keeps_released)
		return;
	if (chunk_settle(take_c))
		ck_assert(chunk_delete_step(take_c, &budget));
	chunk_finish(take_c);
}

struct chunk *
test_store_chunk(
    struct test_store *s, uint64_t id, uint64_t time, const char *name)
{
	struct relpath *override_name = name == NULL ? NULL : path_of(name);
	struct chunk *c;

	MUST(chunk_create(&c, s->dir, id, time, override_name, released, s) ==
	     OK);
	relpath_free(override_name);
	return c;
}

struct chunk_family *
test_store_family(
    struct chunk *c, const char *path, const char *channel, bool is_numbered)
{
	struct relpath *p = path_of(path), *name = path_of(channel);
	struct chunk_family *f;

	MUST(chunk_add_stream(c, p, name, is_numbered, &f) == OK);
	relpath_free(p);
	relpath_free(name);
	return f;
}

void
test_store_open_stream(struct test_store *s, unsigned max_files,
    const char *channel, bool is_numbered)
{
	struct relpath *wanted = path_of("h/s");

	test_store_open(s, max_files);
	ck_assert_int_eq(session_dir_claim(&s->dir, s->store, wanted, 0), OK);
	relpath_free(wanted);
	s->chunk = test_store_chunk(s, 0, 0, NULL);
	s->family = test_store_family(s->chunk, "ust/0", channel, is_numbered);
}

void
test_store_close(struct test_store *s)
{
	chunk_put(s->chunk);
	session_dir_put(s->dir);
	store_destroy(s->store);
	ck_assert_uint_eq(published(&s->memory), 0);
	close(s->base);
	scratch_close();
}

struct packet *
test_store_packet(struct test_store *s, uint64_t seq, uint8_t fill,
    uint32_t size, uint32_t padding, bool has_record)
{
	struct packet *p = packet_create(&s->store->packets, seq);
	size_t room;
	uint8_t *at;

	MUST(p != NULL);
	p->size = size;
	p->padding = padding;
	while (!packet_is_whole(p)) {
		room = packet_space(&s->store->packets, p, &at);
		MUST(at != NULL);
		memset(at, fill, room);
		packet_filled(p, room);
	}
	p->has_data = true;
	p->has_record = has_record;
	p->rec.packet_size = 8 * packet_length(p);
	p->rec.packet_seq_num = seq;
	return p;
}

long
test_store_size(const char *name)
{
	struct stat sb;

	return lstat(scratch_path(name), &sb) == 0 ? (long)sb.st_size : -1;
}

int
test_store_byte(const char *name, long at)
{
	int fd = open(scratch_path(name), O_RDONLY | O_CLOEXEC);
	uint8_t byte;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	close(fd);
	return byte;
}
