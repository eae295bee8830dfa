/* SPDX-License-Identifier: MIT */
/* The address of the relay's HTTP server: the value of --url. */
#ifndef TOOLS_CTL_ADDRESS_H
#define TOOLS_CTL_ADDRESS_H

#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"

#define ADDRESS_DEFAULT "http://localhost:5340"
#define ADDRESS_PORT "5340" /* of a HOST without a scheme and a port */
#define ADDRESS_HOST_MAX 256

struct address {
	char base[512]; /* paths are appended to it; has no slash at its end */
	char unix_path[108];	     /* of a Unix socket; empty: TCP */
	char host[ADDRESS_HOST_MAX]; /* without brackets; empty: Unix socket */
	bool is_local; /* its name or address is one of this machine */
};

/*
 * http://HOST[:PORT][/PATH], https:// likewise, HOST[:PORT], or unix:PATH. An
 * IPv6 address is in brackets. E_MALFORMED: *WHY is a constant text.
 */
enum status address_parse(
    struct address *a, const char *text, const char **why) MUST_CHECK;

/* Is HOST a loopback address, or "localhost"? */
bool address_is_loopback(const char *host);

/* A Unix socket of this machine. E_MALFORMED: the path is empty or too long. */
enum status address_unix(struct address *a, const char *path) MUST_CHECK;

#endif
