/* SPDX-License-Identifier: MIT */
/* The name of a recorder's host, which its file is called by, as the stock
 * listener does it. A name server may be slow, so a thread asks. */
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ftrace/recorder_internal.h"

/* Of a host's name; the port has its place behind it. */
#define HOST_BYTES 128

/* Who answers for an address is not trusted: letters, digits, '.', '-', '_'. */
static bool
is_host(const char *s)
{
	return *s != '\0' && *s != '.' && *s != '-' &&
	       strspn(s,
		   "abcdefghijklmnopqrstuvwxyz"
		   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == strlen(s);
}

/* Its recorder may be gone before the answer comes. */
struct name_query {
	struct background_job job;
	struct recorder *recorder; /* NULL: gone */
	struct sockaddr_storage peer;
	char found[RECORDING_NAME_MAX];
};

/* In a thread. */
static void
work(struct background_job *job)
{
	struct name_query *q = container_of(job, struct name_query, job);
	const struct sockaddr_in6 *in6 = (const void *)&q->peer;
	struct sockaddr_storage a = q->peer;
	struct sockaddr_in in = { .sin_family = AF_INET };
	char host[NI_MAXHOST] = "";
	int err;

	/* Of IPv4 in IPv6, the name of the IPv4 address. */
	if (a.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		memcpy(&in.sin_addr, &in6->sin6_addr.s6_addr[12], 4);
		memcpy(&a, &in, sizeof(in));
	}
	err = getnameinfo((const struct sockaddr *)&a,
	    a.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(in),
	    host, sizeof(host), NULL, 0, NI_NAMEREQD);
	if (err == 0 && is_host(host) && strlen(host) <= HOST_BYTES)
		snprintf(q->found, sizeof(q->found), "%.*s:%u", HOST_BYTES,
		    host, address_port((const struct sockaddr *)&q->peer));
}

static void
done(struct background_job *job)
{
	struct name_query *q = container_of(job, struct name_query, job);

	if (q->recorder != NULL) {
		q->recorder->naming = NULL;
		recorder_named(q->recorder, q->found);
	}
	free(q);
}

void
recorder_name_find(struct recorder *r)
{
	struct name_query *q = calloc(1, sizeof(*q));

	if (q == NULL)
		return; /* the address is name enough */
	q->recorder = r;
	q->peer = r->peer;
	q->job = (struct background_job){ .work = work, .done = done };
	r->naming = q;
	background_add(r->all->names, &q->job);
}

void
recorder_name_forget(struct recorder *r)
{
	struct name_query *q = r->naming;

	if (q == NULL)
		return;
	r->naming = NULL;
	/* Nobody waits behind who is gone: queries are slow, and those who come
	 * and go could make any number of them. */
	if (background_cancel(&q->job))
		free(q);
	else
		q->recorder = NULL;
}
