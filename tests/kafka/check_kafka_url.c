/* SPDX-License-Identifier: MIT */
#include "tools/kafka/kafka_url.h"

#include <string.h>

#include "tests/lib/unit.h"
#include "common/compiler.h"

static const struct {
	const char *text, *brokers, *topic, *sessions;
} good[] = {
	{ "kafka://b/t", "b", "t", "t-sessions" },
	{ "kafka://b1:9092,b2.example:9093,[::1]:9094/traces",
	    "b1:9092,b2.example:9093,[::1]:9094", "traces", "traces-sessions" },
	{ "kafka://10.0.0.1/a.B_c-9", "10.0.0.1", "a.B_c-9",
	    "a.B_c-9-sessions" },
};

TEST_ROWS(brokers_and_topic_are_found, ARRAY_LEN(good))
{
	struct kafka_url u;
	const char *why;

	ck_assert(kafka_url_is(good[_i].text));
	ck_assert_int_eq(kafka_url_parse(&u, good[_i].text, &why), OK);
	ck_assert_str_eq(u.brokers, good[_i].brokers);
	ck_assert_str_eq(u.topic, good[_i].topic);
	ck_assert_str_eq(u.sessions, good[_i].sessions);
}

static const struct {
	const char *text, *why;
} bad[] = {
	{ "net://b/t", "kafka:// is required" },
	{ "kafka:b/t", "kafka:// is required" },
	{ "kafka://b", "the topic is missing" },
	{ "kafka://b/", "the topic is missing" },
	{ "kafka:///t", "invalid list of brokers" },
	{ "kafka://,b/t", "invalid list of brokers" },
	{ "kafka://b,/t", "invalid list of brokers" },
	{ "kafka://a,,b/t", "invalid list of brokers" },
	{ "kafka://a b/t", "invalid list of brokers" },
	{ "kafka://u@b/t", "invalid list of brokers" },
	{ "kafka://b/t/u",
	    "invalid topic: it has letters, digits, \".\", \"_\" and \"-\"" },
	{ "kafka://b/..",
	    "invalid topic: it has letters, digits, \".\", \"_\" and \"-\"" },
};

TEST_ROWS(a_bad_address_is_refused, ARRAY_LEN(bad))
{
	const char *why = "";
	struct kafka_url u;

	ck_assert_int_eq(kafka_url_parse(&u, bad[_i].text, &why), E_MALFORMED);
	ck_assert_str_eq(why, bad[_i].why);
}

TEST(the_topic_of_sessions_fits_too)
{
	char text[300] = "kafka://b/";
	const size_t head = strlen(text);
	const char *why;
	struct kafka_url u;

	memset(text + head, 't', 240);
	ck_assert_int_eq(kafka_url_parse(&u, text, &why), OK);
	ck_assert_uint_eq(strlen(u.sessions), KAFKA_TOPIC_MAX);
	text[head + 240] = 't';
	ck_assert_int_eq(kafka_url_parse(&u, text, &why), E_MALFORMED);
	ck_assert_str_eq(why, "the topic is too long");
}
