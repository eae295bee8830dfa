/* SPDX-License-Identifier: MIT */
/*
 * A record of a Kafka topic: two bytes with the length of the key, the key, the
 * value. What can be decoded must be the same when it is encoded and decoded
 * again.
 */
#include <assert.h>
#include <string.h>

#include "common/buf.h"
#include "tests/fuzz/fuzz.h"
#include "tools/kafka/record.h"

/* Every byte is touched, so that a sanitizer sees those that are not there. */
static unsigned
sum(const void *p, size_t n)
{
	unsigned total = 0;

	for (size_t i = 0; i < n; i++)
		total += ((const uint8_t *)p)[i];
	return total;
}

static void
check_key(struct span key)
{
	const struct span session = record_key_session(key);
	struct record_key k, again;
	struct buf b = { 0 };

	assert(session.n <= key.n);
	if (record_key_decode(&k, key) != OK)
		return;
	record_key_encode(&b, &k);
	assert(buf_len(&b) <= RECORD_KEY_MAX);
	assert(record_key_decode(&again,
		   (struct span){ (const char *)buf_data(&b), buf_len(&b) }) ==
	       OK);
	assert(again.begin_s == k.begin_s);
	assert(memcmp(again.uuid, k.uuid, sizeof(k.uuid)) == 0);
	buf_free(&b);
}

static void
check_value(const uint8_t *p, size_t n)
{
	struct record r, again;
	struct buf b = { 0 };

	if (record_decode(&r, p, n) != OK)
		return;
	(void)sum(r.data, r.size);
	(void)sum(r.stream.p, r.stream.n);
	record_encode(&b, &r);
	assert(buf_len(&b) <= n);
	assert(memcmp(buf_data(&b), p, buf_len(&b)) == 0);
	assert(record_decode(&again, buf_data(&b), buf_len(&b)) == OK);
	assert(again.size == r.size);
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct reader r = reader_over(p, n);
	const size_t key_n = reader_u16(&r);
	const uint8_t *key = reader_take(&r, key_n);

	if (key == NULL)
		return 0;
	check_key((struct span){ (const char *)key, key_n });
	check_value(r.p, (size_t)reader_left(&r));
	return 0;
}
