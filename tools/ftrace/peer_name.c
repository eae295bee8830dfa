/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/peer_name.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ftrace/recording.h"
#include "tools/ftrace/tcp_port.h"
#include "tools/ftrace/token.h"

/* The longest host name; the port follows it. */
#define HOST_BYTES 128

struct peer_name {
	struct background_job job;
	struct sockaddr_storage peer;
	char name[RECORDING_NAME_MAX];
	void (*found)(void *arg, const char *name); /* NULL: canceled */
	void *arg;
};

/* In a thread. */
static void
look_up(struct background_job *job)
{
	struct peer_name *q = container_of(job, struct peer_name, job);
	const struct sockaddr_in6 *in6 = (const void *)&q->peer;
	struct sockaddr_storage a = q->peer;
	struct sockaddr_in in = { .sin_family = AF_INET };
	char host[NI_MAXHOST] = "";
	int err;

	/* Mapped IPv4: look up the IPv4 address. */
	if (a.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		memcpy(&in.sin_addr, &in6->sin6_addr.s6_addr[12], 4);
		memcpy(&a, &in, sizeof(in));
	}
	err = getnameinfo((const struct sockaddr *)&a,
	    a.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(in),
	    host, sizeof(host), NULL, 0, NI_NAMEREQD);
	if (err == 0 && token_is_word(host, HOST_BYTES))
		snprintf(q->name, sizeof(q->name), "%.*s:%u", HOST_BYTES, host,
		    address_port((const struct sockaddr *)&q->peer));
}

static void
on_done(struct background_job *job)
{
	struct peer_name *q = container_of(job, struct peer_name, job);

	if (q->found != NULL)
		q->found(q->arg, q->name);
	free(q);
}

struct peer_name *
peer_name_ask(struct background *names, const struct sockaddr *peer,
    void (*found)(void *arg, const char *name), void *arg)
{
	struct peer_name *q = address_is_internet(peer) ? calloc(1, sizeof(*q))
							: NULL;

	if (q == NULL)
		return NULL;
	address_copy(&q->peer, peer);
	q->job = (struct background_job){ .work = look_up, .done = on_done };
	q->found = found;
	q->arg = arg;
	background_add(names, &q->job);
	return q;
}

void
peer_name_cancel(struct peer_name *q)
{
	if (q == NULL)
		return;
	if (background_cancel(&q->job))
		free(q);
	else
		q->found = NULL;
}
