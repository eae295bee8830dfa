/* SPDX-License-Identifier: MIT */
/*
 * A viewer's connection to a relay (live 1): one request at a time, and its
 * reply. Functions wait while goes_on() says so (E_STOPPED); every other
 * failure is final, and described by v->error. One thread.
 */
#ifndef TOOLS_SEND_LIVE_VIEWER_H
#define TOOLS_SEND_LIVE_VIEWER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"
#include "proto/live.h"
#include "tools/client/url.h"

/* How long a relay may take for the next bytes of a reply. It may hold a reply
 * for a second (live 4.8). */
#define LIVE_VIEWER_TIMEOUT_MS 30000

struct live_viewer {
	int fd;		/* -1: none */
	unsigned minor; /* the smaller one of both sides */
	struct buf in;	/* the reply */
	bool (*goes_on)(void *arg);
	void *arg;
	char error[512];
};

/* Connect, and greet. In any case, close it. */
enum status live_viewer_open(struct live_viewer *v, const struct url *url,
    bool (*goes_on)(void *arg), void *arg) MUST_CHECK;
void live_viewer_close(struct live_viewer *v);

/* Send a request and wait for the whole reply, which is valid until the next
 * call. */
enum status live_viewer_ask(struct live_viewer *v, const struct live_request *q,
    struct reader *reply) MUST_CHECK;
/* Take the memory of the last reply, for the caller to free(3). */
uint8_t *live_viewer_take(struct live_viewer *v);
/* Note a failure, with printf's words. Returns ST. */
enum status live_viewer_fail(struct live_viewer *v, enum status st,
    const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
