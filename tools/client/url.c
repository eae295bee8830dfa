/* SPDX-License-Identifier: MIT */
#include "tools/client/url.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/compiler.h"
#include "common/ref.h"
#include "common/thread.h"

static const struct scheme {
	const char *prefix;
	int family;
} schemes[] = {
	{ "net://", AF_UNSPEC },
	{ "net4://", AF_INET },
	{ "net6://", AF_INET6 },
};

static enum status
wrong(const char **why, const char *text)
{
	*why = text;
	return E_MALFORMED;
}

static const char *
skip_scheme(struct url *u, const char *text)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t n = strlen(schemes[i].prefix);

		if (strncmp(text, schemes[i].prefix, n) == 0) {
			u->family = schemes[i].family;
			return text + n;
		}
	}
	return NULL;
}

/* Returns what follows the host; NULL: there is no host. */
static const char *
take_host(struct url *u, const char *p)
{
	const char *end;
	size_t n;

	if (*p == '[') {
		end = strchr(++p, ']');
		n = end == NULL ? 0 : (size_t)(end++ - p);
	} else {
		n = strcspn(p, ":/");
		end = p + n;
	}
	if (n == 0 || n >= sizeof(u->host))
		return NULL;
	memcpy(u->host, p, n);
	u->host[n] = '\0';
	return end;
}

/* Take ":PORT", if there is one. NULL: it is not valid. */
static const char *
take_port(const char *p, uint16_t *port)
{
	unsigned long v;
	char *end;

	if (*p != ':')
		return p;
	if (p[1] < '0' || p[1] > '9')
		return NULL;
	v = strtoul(p + 1, &end, 10);
	if (v == 0 || v > UINT16_MAX)
		return NULL;
	*port = (uint16_t)v;
	return end;
}

enum status
url_parse(struct url *u, const char *text, const char **why)
{
	const char *p;

	*u = (struct url){ .control = URL_CONTROL_PORT, .data = URL_DATA_PORT };
	if ((p = skip_scheme(u, text)) == NULL)
		return wrong(why, "net://, net4:// or net6:// is required");
	if ((p = take_host(u, p)) == NULL)
		return wrong(why, "no host");
	if ((p = take_port(p, &u->control)) == NULL)
		return wrong(why, "invalid control port");
	if ((p = take_port(p, &u->data)) == NULL)
		return wrong(why, "invalid data port");
	if (*p != '\0' && *p != '/')
		return wrong(why, "unexpected text after the ports");
	if (*p == '/')
		p++;
	if (strlen(p) >= sizeof(u->path))
		return wrong(why, "the path is too long");
	memcpy(u->path, p, strlen(p) + 1);
	return OK;
}

/* A question to the resolver. A question asked by a thread has two owners, that
 * thread and the one that waits: the last one frees it. */
struct question {
	struct url url;
	char port[8];
	struct addrinfo hints;
	struct addrinfo *addresses;
	int error;    /* of getaddrinfo(3) */
	int answered; /* an eventfd */
	struct ref ref;
};

static void
ask(struct question *q, const struct url *u, int flags)
{
	q->url = *u;
	q->hints = (struct addrinfo){ .ai_family = u->family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = flags };
	snprintf(q->port, sizeof(q->port), "%u", u->control);
	q->addresses = NULL;
	q->error = getaddrinfo(q->url.host, q->port, &q->hints, &q->addresses);
}

static enum status
take_answer(struct question *q, struct url_address out[URL_ADDRESSES],
    unsigned *n, const char **why)
{
	if (q->error != 0) {
		*why = gai_strerror(q->error);
		return E_NOENT;
	}
	memset(out, 0, URL_ADDRESSES * sizeof(*out));
	*n = 0;
	for (struct addrinfo *a = q->addresses; a != NULL && *n < URL_ADDRESSES;
	     a = a->ai_next) {
		memcpy(&out[*n].sa, a->ai_addr, a->ai_addrlen);
		out[(*n)++].len = a->ai_addrlen;
	}
	freeaddrinfo(q->addresses);
	q->addresses = NULL;
	return OK;
}

enum status
url_resolve(const struct url *u, struct url_address out[URL_ADDRESSES],
    unsigned *n, const char **why)
{
	struct question q;

	ask(&q, u, 0);
	return take_answer(&q, out, n, why);
}

static void
question_free(struct ref *r)
{
	struct question *q = container_of(r, struct question, ref);

	if (q->addresses != NULL)
		freeaddrinfo(q->addresses);
	if (q->answered >= 0)
		close(q->answered);
	free(q);
}

static void *
ask_for_name(void *arg)
{
	struct question *q = arg;
	const struct url u = q->url;
	const uint64_t one = 1;

	ask(q, &u, 0);
	(void)!write(q->answered, &one, sizeof(one));
	ref_put(&q->ref, question_free);
	return NULL;
}

/* Have a thread ask for the host of U. NULL: no thread could be started. */
static struct question *
ask_aside(const struct url *u)
{
	struct question *q = calloc(1, sizeof(*q));
	pthread_t thread;
	int err = EAGAIN;

	if (q == NULL)
		return NULL;
	q->url = *u;
	ref_init(&q->ref);
	q->answered = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ref_get(&q->ref);
	if (q->answered >= 0)
		err = thread_start(&thread, ask_for_name, q);
	if (err == 0) {
		(void)pthread_detach(thread);
		return q;
	}
	ref_put(&q->ref, question_free); /* the thread's */
	ref_put(&q->ref, question_free);
	return NULL;
}

/* False: GOES_ON returned false. */
static bool
wait_for(const struct question *q, int tick_ms, bool (*goes_on)(void *arg),
    void *arg)
{
	struct pollfd p = { .fd = q->answered, .events = POLLIN };
	uint64_t n;

	while (read(q->answered, &n, sizeof(n)) != sizeof(n)) {
		if (!goes_on(arg))
			return false;
		(void)poll(&p, 1, tick_ms);
	}
	return true;
}

enum status
url_resolve_while(const struct url *u, struct url_address out[URL_ADDRESSES],
    unsigned *n, const char **why, int tick_ms, bool (*goes_on)(void *arg),
    void *arg)
{
	struct question here, *q;
	enum status st = E_STOPPED;

	/* A numeric address needs no resolver. */
	ask(&here, u, AI_NUMERICHOST);
	if (here.error != EAI_NONAME)
		return take_answer(&here, out, n, why);
	q = ask_aside(u);
	if (q == NULL)
		return E_NOMEM;
	if (wait_for(q, tick_ms, goes_on, arg))
		st = take_answer(q, out, n, why);
	ref_put(&q->ref, question_free);
	return st;
}

struct url_address
url_with_port(const struct url_address *a, uint16_t port)
{
	struct url_address out = *a;

	if (a->sa.ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)&out.sa)->sin6_port = htons(
		    port);
	else
		((struct sockaddr_in *)(void *)&out.sa)->sin_port = htons(port);
	return out;
}

bool
url_is_loopback(const struct url_address *a)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (a->sa.ss_family == AF_INET) {
		memcpy(&v4, &a->sa, sizeof(v4));
		return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	}
	memcpy(&v6, &a->sa, sizeof(v6));
	return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) &&
		   v6.sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
}
