/* SPDX-License-Identifier: MIT */
#include "relayd/stats/news.h"

#include <stddef.h>

static struct {
	void (*tell)(const struct news *n, void *arg);
	void *arg;
} listener;

void
news_listen(void (*tell)(const struct news *n, void *arg), void *arg)
{
	listener.tell = tell;
	listener.arg = arg;
}

bool
news_has_listener(void)
{
	return listener.tell != NULL;
}

void
news_tell(const struct news *n)
{
	if (listener.tell != NULL)
		listener.tell(n, listener.arg);
}
