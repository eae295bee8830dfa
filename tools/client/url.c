/* SPDX-License-Identifier: MIT */
#include "tools/client/url.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/compiler.h"

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
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		size_t n = strlen(schemes[i].prefix);

		if (strncmp(text, schemes[i].prefix, n) == 0) {
			u->family = schemes[i].family;
			return text + n;
		}
	}
	return NULL;
}

bool
url_is(const char *text)
{
	struct url u;

	return skip_scheme(&u, text) != NULL;
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

/* U has the default ports. */
static enum status
parse(struct url *u, const char *text, const char **why)
{
	const char *p;

	if ((p = skip_scheme(u, text)) == NULL)
		return wrong(why, "net://, net4:// or net6:// is required");
	if ((p = take_host(u, p)) == NULL)
		return wrong(why, "the host is missing");
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

enum status
url_parse(struct url *u, const char *text, const char **why)
{
	*u = (struct url){ .control = URL_CONTROL_PORT, .data = URL_DATA_PORT };
	return parse(u, text, why);
}

enum status
url_parse_live(struct url *u, const char *text, const char **why)
{
	enum status st;

	*u = (struct url){ .control = URL_LIVE_PORT };
	st = parse(u, text, why);
	if (st == OK && u->data != 0)
		return wrong(why, "the live port is the only one");
	return st;
}

/* A request to the resolver. */
struct request {
	struct url url;
	char port[8];
	struct addrinfo hints;
	struct gaicb cb;
};

static void
set_request(struct request *q, const struct url *u, int flags)
{
	*q = (struct request){ .url = *u,
		.hints = { .ai_family = u->family,
		    .ai_socktype = SOCK_STREAM,
		    .ai_flags = flags } };
	snprintf(q->port, sizeof(q->port), "%u", u->control);
	q->cb = (struct gaicb){ .ar_name = q->url.host,
		.ar_service = q->port,
		.ar_request = &q->hints };
}

/* Copy what getaddrinfo(3) returned: ERROR, or ADDRESSES, which are freed. */
static enum status
take_answer(int error, struct addrinfo *addresses,
    struct url_address out[URL_ADDRESSES], unsigned *n, const char **why)
{
	if (error != 0) {
		*why = gai_strerror(error);
		return E_NOENT;
	}
	memset(out, 0, URL_ADDRESSES * sizeof(*out));
	*n = 0;
	for (struct addrinfo *a = addresses; a != NULL && *n < URL_ADDRESSES;
	     a = a->ai_next) {
		memcpy(&out[*n].sa, a->ai_addr, a->ai_addrlen);
		out[(*n)++].len = a->ai_addrlen;
	}
	freeaddrinfo(addresses);
	return OK;
}

/* Have a thread of the C library resolve Q. E_STOPPED: GOES_ON returned
 * false. */
static enum status
wait_for(struct request *q, int tick_ms, bool (*goes_on)(void *arg), void *arg)
{
	const struct timespec tick = { tick_ms / 1000,
		tick_ms % 1000 * 1000000L };
	struct gaicb *list[] = { &q->cb };

	if (getaddrinfo_a(GAI_NOWAIT, list, 1, NULL) != 0)
		return E_NOMEM;
	while (gai_error(&q->cb) == EAI_INPROGRESS) {
		if (!goes_on(arg))
			return E_STOPPED;
		(void)gai_suspend((const struct gaicb *const *)list, 1, &tick);
	}
	return OK;
}

enum status
url_resolve(const struct url *u, struct url_address out[URL_ADDRESSES],
    unsigned *n, const char **why, int tick_ms, bool (*goes_on)(void *arg),
    void *arg)
{
	struct addrinfo *addresses;
	struct request *q = malloc(sizeof(*q));
	enum status st;
	int error;

	*why = status_text(E_NOMEM);
	if (q == NULL)
		return E_NOMEM;
	/* A numeric address needs no resolver. */
	set_request(q, u, goes_on == NULL ? 0 : AI_NUMERICHOST);
	error = getaddrinfo(q->url.host, q->port, &q->hints, &addresses);
	if (goes_on == NULL || error != EAI_NONAME) {
		free(q);
		return take_answer(error, addresses, out, n, why);
	}
	set_request(q, u, 0);
	st = wait_for(q, tick_ms, goes_on, arg);
	if (st == OK)
		st = take_answer(
		    gai_error(&q->cb), q->cb.ar_result, out, n, why);
	/* A request that cannot be cancelled stays in use. */
	if (st != E_STOPPED || gai_cancel(&q->cb) != EAI_NOTCANCELED)
		free(q);
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
