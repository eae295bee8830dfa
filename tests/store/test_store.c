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
#include "store/dir_registry.h"
#include "tests/lib/one_registry.h"
#include "tests/lib/unit.h"
#include "tests/relayd/scratch.h"

struct test_store test_store;

struct relpath *
path_of(const char *text)
{
	struct relpath *p;

	MUST(relpath_parse(&p, (struct span){ text, strlen(text) }) == OK);
	return p;
}

void
test_store_open(unsigned max_files)
{
	struct store_config config = { .max_files = max_files,
		.index_lock_timeout_ns = NS_PER_S,
		.max_cached = 1 << 20,
		.memory = &test_store.memory,
		.registry = one_registry() };

	memset(&test_store, 0, sizeof(test_store));
	scratch_open();
	test_store.base = open(
	    scratch_path(""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(test_store.base, 0);
	config.base_fd = test_store.base;
	ck_assert_int_eq(store_create(&test_store.store, &config), OK);
}

void
test_store_released(struct chunk *take_c, void *arg)
{
	unsigned budget = UINT_MAX;

	test_store.n_released++;
	test_store.last_released = take_c;
	if (test_store.keeps_released)
		return;
	if (chunk_settle(take_c))
		ck_assert(chunk_delete_step(take_c, &budget));
	chunk_finish(take_c);
}

struct chunk *
test_store_chunk(uint64_t id, uint64_t time, const char *name)
{
	struct relpath *override_name = name == NULL ? NULL : path_of(name);
	struct chunk *c;

	MUST(chunk_create(&c, test_store.dir, id, time, override_name,
		 test_store_released, NULL) == OK);
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
test_store_open_stream(
    unsigned max_files, const char *channel, bool is_numbered)
{
	struct relpath *wanted = path_of("h/s");

	test_store_open(max_files);
	ck_assert_int_eq(session_dir_claim(&test_store.dir, test_store.store,
			     wanted, 0, NULL),
	    OK);
	relpath_free(wanted);
	test_store.chunk = test_store_chunk(0, 0, NULL);
	test_store.family = test_store_family(
	    test_store.chunk, "ust/0", channel, is_numbered);
}

void
test_store_close(void)
{
	chunk_put(test_store.chunk);
	session_dir_put(test_store.dir);
	store_destroy(test_store.store);
	ck_assert_uint_eq(published(&test_store.memory), 0);
	close(test_store.base);
	scratch_close();
}

struct packet *
test_store_packet(uint64_t seq, uint8_t fill, uint32_t size, uint32_t padding,
    bool has_record)
{
	struct packet *p = packet_create(&test_store.store->packets, seq);
	size_t room;
	uint8_t *at;

	MUST(p != NULL);
	p->size = size;
	p->padding = padding;
	while (!packet_is_whole(p)) {
		room = packet_space(&test_store.store->packets, p, &at);
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

struct store *
test_store_next(void)
{
	struct store_config config = test_store.store->config;
	struct store *s;

	MUST(dir_registry_create(&config.registry) == OK);
	MUST(store_create(&s, &config) == OK);
	return s;
}

void
test_store_end_next(struct store *take_s)
{
	struct dir_registry *registry = take_s->config.registry;

	store_destroy(take_s);
	dir_registry_destroy(registry);
}

enum status
test_store_read_state(
    struct state_in *in, const struct state_out *o, const uint8_t *p, size_t n)
{
	int *fds = calloc(o->n_fds + 1, sizeof(*fds));

	MUST(fds != NULL && !state_out_is_bad(o));
	for (uint32_t i = 0; i < o->n_fds; i++)
		fds[i] = fcntl(o->fds[i], F_DUPFD_CLOEXEC, 0);
	return state_in_init(in, p, n, fds, o->n_fds, o->n_objects);
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
