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
#include "tools/ctl/viewer.h"
#include "tools/ctl/watch.h"

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

static int
start_viewer(const struct ctl *c, const struct viewer *v)
{
	if (!c->options.dry_run)
		return viewer_become(v);
	for (size_t i = 0; i < v->n; i++) {
		char *escaped = text_escaped(v->words[i]);

		if (i > 0)
			putc(' ', stdout);
		print_word(escaped);
		free(escaped);
	}
	putc('\n', stdout);
	return CTL_OK;
}

/* One session by -i, as people type it; of several each is a component. */
static int
watch_urls(const struct ctl *c, char **urls, size_t n)
{
	struct viewer v = { 0 };
	int status;

	viewer_add(&v, VIEWER);
	for (size_t i = 0; i < n && n > 1; i++)
		viewer_live(&v, urls[i]);
	if (n == 1) {
		viewer_add(&v, "-i");
		viewer_add(&v, "lttng-live");
		viewer_add(&v, urls[0]);
	}
	for (char *const *more = c->options.more; more != NULL && *more != NULL;
	     more++)
		viewer_add(&v, *more);
	status = start_viewer(c, &v);
	viewer_free(&v);
	return status;
}

static int
watch_picked(
    const struct ctl *c, const struct relay_status *r, const struct picked *p)
{
	char **urls = viewer_urls(c, r, p);
	const int status = urls == NULL ? CTL_FAILED
					: watch_urls(c, urls, p->n);

	viewer_free_urls(urls, p->n);
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
