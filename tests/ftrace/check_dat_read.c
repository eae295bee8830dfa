/* SPDX-License-Identifier: MIT */
/* Files and metadata of trace-cmd, whole and spoiled. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ftrace/vector.h"
#include "tests/ftrace/whole.h"
#include "common/compiler.h"
#include "tests/lib/unit.h"
#include "tools/ftrace/dat_read.h"

/* The event lines of the report of each. */
static const struct {
	const char *name;
	unsigned version, events, lost;
} vectors[] = {
	{ "v6-tcp", 6, 109, 0 },
	{ "v6-udp", 6, 119, 0 },
	{ "v7-tcp-none", 7, 120, 0 },
	{ "v6-tcp-flush", 6, 144, 0 },
	{ "v6-tcp-missed", 6, 2030, 268 },
#ifdef HAVE_ZSTD
	{ "v7-tcp", 7, 122, 0 },
#endif
};

TEST_ROWS(every_event_of_a_recording_is_converted, ARRAY_LEN(vectors))
{
	struct bytes b = vector_part(vectors[_i].name, "result");
	struct kernel_counts c;

	ck_assert_int_eq(whole_convert(b.p, b.n, &c), OK);
	ck_assert_uint_eq(c.events, vectors[_i].events);
	ck_assert_uint_eq(c.lost, vectors[_i].lost);
	ck_assert_uint_eq(c.unknown + c.malformed + c.late, 0);
	free(b.p);
}

TEST_ROWS(what_a_recorder_sends_is_read_too, ARRAY_LEN(vectors))
{
	struct bytes b = vector_metadata(vectors[_i].name);
	char why[DAT_WHY_MAX];
	struct dat *d;

	ck_assert_int_eq(dat_read(&d, b.p, b.n, why), OK);
	ck_assert_uint_eq(d->version, vectors[_i].version);
	ck_assert_uint_eq(d->n_buffers, 0);
	ck_assert_uint_eq(d->n_cpus, 2);
	ck_assert_uint_eq(d->page.size, 4096);
	ck_assert_uint_eq(d->page.data_at, 16);
	ck_assert_str_eq(d->hostname, "target");
	ck_assert_str_eq(d->release, "6.18.0");
	ck_assert_str_eq(d->clock, "local");
	ck_assert(d->has_trace_id);
	dat_free(d);
	free(b.p);
}

/* Processes ended while a stock recorder read their names: there are fewer
 * bytes than it says. */
TEST(names_may_be_fewer_than_told)
{
	static const uint8_t cmdlines[] = { 21, 0, 0, 0 };
	struct bytes b = vector_metadata("v7-tcp-none");
	const uint8_t *at = memmem(b.p, b.n, cmdlines, sizeof(cmdlines));
	char why[DAT_WHY_MAX];
	struct dat *d;

	ck_assert_ptr_nonnull(at);
	/* Behind id, flags, name and size; its lowest byte. */
	b.p[at - b.p + 16] += 17;
	ck_assert_int_eq(dat_read(&d, b.p, b.n, why), OK);
	dat_free(d);
	free(b.p);
}

/* V1 has the first items only. */
TEST(the_metadata_of_v1_is_read)
{
	static const size_t greeting = sizeof("2\0004096\0001\0004\0TCP");
	struct bytes b = vector_part("v1-tcp", "conn2-c2s");
	char why[DAT_WHY_MAX];
	struct dat *d;

	ck_assert_int_eq(dat_read(&d, b.p + greeting, b.n - greeting, why), OK);
	ck_assert_uint_gt(d->n_events, 40);
	ck_assert_str_eq(d->hostname, "");
	ck_assert(!d->has_trace_id);
	dat_free(d);
	free(b.p);
}

static enum status
count_packet(void *arg, const struct kernel_packet *p)
{
	*(unsigned *)arg += p->n_events > 0;
	return OK;
}

/* It says what time it was for the sender, whatever viewers were promised. */
TEST(the_time_of_an_event_that_is_left_out_is_known)
{
	struct bytes b = vector_metadata("v6-tcp");
	struct bytes pages = vector_part("v6-tcp", "cpu0");
	const struct kernel_settings settings = { .buffer = "",
		.offset_from = "none" };
	unsigned packets = 0;
	char why[DAT_WHY_MAX];
	struct kernel_stream *s;
	struct kernel_trace *t;
	struct page_event e;
	struct page p;
	struct dat *d;

	ck_assert_int_eq(dat_read(&d, b.p, b.n, why), OK);
	ck_assert_int_eq(kernel_trace_create(&t, d, &settings, why), OK);
	ck_assert_int_eq(
	    kernel_stream_create(&s, &(struct kernel_stream_config){ .trace = t,
					 .page_size = d->page.size,
					 .packet = count_packet,
					 .arg = &packets }),
	    OK);
	ck_assert_int_eq(page_open(&p, &d->page, pages.p), OK);
	ck_assert_uint_eq(s->last_event, 0);
	kernel_stream_promise(s, t->time_max);
	ck_assert_uint_eq(s->last_event, 0);
	ck_assert_int_eq(kernel_stream_page(s, pages.p), OK);
	ck_assert_int_eq(kernel_stream_flush(s), OK);
	while (page_next(&p, &e))
		;
	ck_assert_uint_eq(s->last_event, p.time);
	ck_assert_uint_eq(s->last, t->time_max);
	ck_assert_uint_gt(s->counts.late, 0);
	ck_assert_uint_eq(packets, 0);
	kernel_stream_destroy(s);
	kernel_trace_destroy(t);
	dat_free(d);
	free(pages.p);
	free(b.p);
}

static const char *const corpus[] = { "v6-little", "v6-big", "v7-none-little",
	"v7-none-big", "v7-zlib-little", "v7-zlib-big" };

static struct bytes
corpus_file(int i)
{
	char path[128];

	(void)snprintf(
	    path, sizeof(path), "tests/fuzz/corpus/dat/%s", corpus[i]);
	return bytes_source_file(path);
}

/* Both byte orders and sizes of a long, both versions, and with two buffers. */
TEST_ROWS(made_files_have_the_same_events, ARRAY_LEN(corpus))
{
	const unsigned times = strncmp(corpus[_i], "v6", 2) == 0 ? 1 : 2;
	struct bytes b = corpus_file(_i);
	struct kernel_counts c;

	ck_assert_int_eq(whole_convert(b.p, b.n, &c), OK);
	/* Of two CPUs; the second buffer has the first CPU only. */
	ck_assert_uint_eq(c.events, times == 1 ? 8 : 14);
	ck_assert_uint_eq(c.lost, times == 1 ? 4 : 7);
	ck_assert_uint_eq(c.late, 1);
	ck_assert_uint_eq(c.unknown + c.malformed, 0);
	free(b.p);
}

TEST_ROWS(a_file_that_ends_early_is_refused_or_read, ARRAY_LEN(corpus))
{
	struct bytes all = corpus_file(_i);
	char why[DAT_WHY_MAX];
	struct kernel_counts c;
	struct dat *d;

	for (size_t n = 0; n < all.n; n++) {
		struct bytes b = bytes_copy(all.p, n);

		(void)!whole_convert(b.p, b.n, &c);
		if (dat_read(&d, b.p, b.n, why) == OK)
			dat_free(d);
		free(b.p);
	}
	free(all.p);
}

/* Every length, count, offset and letter there is: each byte becomes all that
 * matters. Nothing outside is read, promises are kept, it ends. */
TEST_ROWS(any_byte_may_be_anything, ARRAY_LEN(corpus))
{
	static const uint8_t changes[] = { 0x01, 0xff };
	struct bytes b = corpus_file(_i);
	struct kernel_counts c;

	for (size_t i = 0; i < b.n; i++) {
		const uint8_t was = b.p[i];

		if (was == 0 && i % 3 != 0)
			continue; /* zeros after the data: most of it */

		for (size_t k = 0; k < ARRAY_LEN(changes); k++) {
			b.p[i] = was ^ changes[k];
			(void)!whole_convert(b.p, b.n, &c);
		}
		b.p[i] = 0;
		(void)!whole_convert(b.p, b.n, &c);
		b.p[i] = was;
	}
	free(b.p);
}
