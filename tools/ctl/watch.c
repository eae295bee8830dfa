/* SPDX-License-Identifier: MIT */
/* tracepulse watch */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/ctl/ctl.h"
#include "tools/ctl/pick.h"
#include "tools/ctl/session.h"
#include "tools/ctl/status.h"
#include "tools/ctl/text.h"
#include "tools/ctl/watch.h"

#define VIEWER "babeltrace2"

/* Is HOST an IPv4 address of this machine? */
static bool
is_own(const char *host)
{
	struct ifaddrs *all, *i;
	struct in_addr four;
	bool is = false;

	if (inet_pton(AF_INET, host, &four) != 1 || getifaddrs(&all) != 0)
		return false;
	for (i = all; i != NULL && !is; i = i->ifa_next)
		is = i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET &&
		     ((struct sockaddr_in *)(void *)i->ifa_addr)
			     ->sin_addr.s_addr == four.s_addr;
	freeifaddrs(all);
	return is;
}

static bool
is_any(const char *host)
{
	return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

enum status
watch_url(char out[WATCH_URL_MAX], const struct address *a, const char *listens,
    unsigned port, const struct relay_session *s, const char **why)
{
	const char *host = a->host[0] != '\0' ? a->host : "localhost";
	int n;

	*why = "the relay has no live port";
	if (port == 0 || port > UINT16_MAX)
		return E_NOENT;
	*why = "the relay accepts viewers on its own machine only (see its "
	       "option --live-port)";
	if (!a->is_local && address_is_loopback(listens))
		return E_REFUSED;
	/* Through a tunnel a remote relay seems to be local. */
	*why = "the relay listens for viewers on an address that is not "
	       "this machine's: name its machine by --url";
	if (a->is_local && !is_any(listens) && listens[0] != '\0') {
		if (strchr(listens, ':') == NULL &&
		    !address_is_loopback(listens) && !is_own(listens))
			return E_REFUSED;
		host = listens;
	}
	if (strchr(host, ':') != NULL && a->is_local && is_any(listens))
		host = "localhost";
	*why = VIEWER " does not support IPv6: give another address by --url, "
		      "or let the relay listen for viewers on IPv4";
	if (strchr(host, ':') != NULL)
		return E_REFUSED;
	n = snprintf(out, WATCH_URL_MAX, "net://%s:%u/host/%s/%s", host, port,
	    s->host, s->name);
	*why = "the name of the session is too long";
	return n < 0 || n >= WATCH_URL_MAX ? E_LIMIT : OK;
}

/* Print WORD quoted for a shell; the caller has escaped it. */
static void
print_word(const char *word)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	    "_-./:=@,+[]";

	if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
		fputs(word, stdout);
		return;
	}
	putc('\'', stdout);
	for (; *word != '\0'; word++)
		if (*word == '\'')
			fputs("'\\''", stdout);
		else
			putc(*word, stdout);
	putc('\'', stdout);
}

/* WORDS: NULL at the end. */
static int
start_viewer(const struct ctl *c, char **words)
{
	if (!c->options.dry_run) {
		execvp(VIEWER, words);
		return ctl_fail(VIEWER " cannot be started: %s%s",
		    strerror(errno),
		    errno == ENOENT ? " (the package " VIEWER ")" : "");
	}
	for (size_t i = 0; words[i] != NULL; i++) {
		char *escaped = text_escaped(words[i]);

		if (i > 0)
			putc(' ', stdout);
		print_word(escaped);
		free(escaped);
	}
	putc('\n', stdout);
	return CTL_OK;
}

/* The value of --params, in which strings are written as in C. The viewer ends
 * with the session, as with -i. */
static char *
params_of(const char *url)
{
	static const char begin[] = "inputs=[\"",
			  end[] = "\"],session-not-found-action=\"end\"";
	char *out = ctl_memory(
	    malloc(sizeof(begin) + 2 * strlen(url) + sizeof(end)));
	char *p = out;

	p = mempcpy(p, begin, sizeof(begin) - 1);
	for (; *url != '\0'; url++) {
		if (*url == '"' || *url == '\\')
			*p++ = '\\';
		*p++ = *url;
	}
	memcpy(p, end, sizeof(end));
	return out;
}

/* One session by -i, as people type it; of several each is a component. */
static int
watch_urls(const struct ctl *c, char **urls, size_t n)
{
	static char viewer[] = VIEWER, input[] = "-i", plugin[] = "lttng-live";
	static char component[] = "-c", class[] = "source.ctf.lttng-live";
	static char option[] = "-p";
	char *const *more = c->options.more;
	size_t n_more = 0, at = 0;
	int status;
	char **words;

	while (more != NULL && more[n_more] != NULL)
		n_more++;
	words = ctl_memory(calloc(4 * n + n_more + 2, sizeof(*words)));
	words[at++] = viewer;
	for (size_t i = 0; i < n && n > 1; i++) {
		words[at++] = component;
		words[at++] = class;
		words[at++] = option;
		words[at++] = params_of(urls[i]);
	}
	if (n == 1) {
		words[at++] = input;
		words[at++] = plugin;
		words[at++] = urls[0];
	}
	if (n_more > 0)
		memcpy(words + at, more, n_more * sizeof(*words));
	status = start_viewer(c, words);
	for (size_t i = 0; i < n && n > 1; i++)
		free(words[4 + 4 * i]);
	free(words);
	return status;
}

static int
watch_picked(
    const struct ctl *c, const struct relay_status *r, const struct picked *p)
{
	struct json_answer a = { 0 };
	const json_t *live = answer_object(&a, r->listeners, "live");
	char **urls = ctl_memory(calloc(p->n + 1, sizeof(*urls)));
	const char *why = "";
	enum status st = OK;
	int status;

	for (size_t i = 0; i < p->n && st == OK; i++) {
		urls[i] = ctl_memory(malloc(WATCH_URL_MAX));
		st = watch_url(urls[i], &c->options.address,
		    answer_text(&a, live, "host"),
		    (unsigned)answer_number(&a, live, "port"),
		    p->all[i].session, &why);
	}
	status = st == OK ? watch_urls(c, urls, p->n) : ctl_fail("%s", why);
	for (size_t i = 0; i < p->n; i++)
		free(urls[i]);
	free(urls);
	return status;
}

int
command_watch(struct ctl *c)
{
	struct relay_status r;
	struct sessions s;
	struct picked p;
	int status;

	if (status_load(c, &r) != OK)
		return ctl_fail_fetch(c);
	if (sessions_load(c, NULL, c->options.host, &s) != OK) {
		status_free(&r);
		return ctl_fail_fetch(c);
	}
	status = pick_sessions(c, &s, &p);
	if (status == CTL_OK)
		status = watch_picked(c, &r, &p);
	free(p.all);
	sessions_free(&s);
	status_free(&r);
	return status;
}
