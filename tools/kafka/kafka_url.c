/* SPDX-License-Identifier: MIT */
#include "tools/kafka/kafka_url.h"

#include <stdio.h>
#include <string.h>

#define SCHEME "kafka://"
#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

bool
kafka_url_is(const char *text)
{
	return strncmp(text, SCHEME, strlen(SCHEME)) == 0;
}

static enum status
wrong(const char **why, const char *text)
{
	*why = text;
	return E_MALFORMED;
}

/* Names, addresses and ports, with commas between brokers. Whether a host
 * exists is for the library to find out. */
static bool
are_brokers(const char *s)
{
	const size_t n = strlen(s);

	return n > 0 && strspn(s, ALNUM ".-_:[],") == n && s[0] != ',' &&
	       s[n - 1] != ',' && strstr(s, ",,") == NULL;
}

static bool
is_topic(const char *s)
{
	const size_t n = strlen(s);

	return n > 0 && strspn(s, ALNUM "._-") == n && strcmp(s, ".") != 0 &&
	       strcmp(s, "..") != 0;
}

enum status
kafka_url_parse(struct kafka_url *u, const char *text, const char **why)
{
	const char *brokers = text + strlen(SCHEME), *slash;

	if (!kafka_url_is(text))
		return wrong(why, "kafka:// is required");
	slash = strchr(brokers, '/');
	if (slash == NULL || slash[1] == '\0')
		return wrong(why, "the topic is missing");
	if ((size_t)(slash - brokers) >= sizeof(u->brokers))
		return wrong(why, "the brokers are too long");
	snprintf(u->brokers, sizeof(u->brokers), "%.*s", (int)(slash - brokers),
	    brokers);
	if (!are_brokers(u->brokers))
		return wrong(why, "invalid list of brokers");
	if (strlen(slash + 1) > KAFKA_TOPIC_MAX - strlen(KAFKA_SESSIONS_SUFFIX))
		return wrong(why, "the topic is too long");
	if (!is_topic(slash + 1))
		return wrong(why, "invalid topic: it has letters, digits, "
				  "\".\", \"_\" and \"-\"");
	memcpy(u->topic, slash + 1, strlen(slash + 1) + 1);
	snprintf(u->sessions, sizeof(u->sessions), "%.*s%s",
	    (int)(KAFKA_TOPIC_MAX - strlen(KAFKA_SESSIONS_SUFFIX)), u->topic,
	    KAFKA_SESSIONS_SUFFIX);
	return OK;
}
