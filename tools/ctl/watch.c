/* SPDX-License-Identifier: MIT */
/* tracepulse watch */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/ctl/ctl.h"
#include "tools/ctl/session.h"
#include "tools/ctl/status.h"
#include "tools/ctl/text.h"
#include "tools/ctl/watch.h"

#define VIEWER "babeltrace2"

static bool
is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
	       strncmp(host, "127.", 4) == 0;
}

static bool
is_any(const char *host)
{
	return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

enum status
watch_url(char out[WATCH_URL_MAX], const struct address *a, const char *listens,
    unsigned port, const struct session *s, const char **why)
{
	const char *host = a->host[0] != '\0' ? a->host : "localhost";
	int n;

	*why = "the relay has no live port";
	if (port == 0 || port > UINT16_MAX)
		return E_NOENT;
	*why = "its live port is for viewers on the relay's own machine "
	       "(--live-port there lets others in)";
	if (!a->is_local && is_loopback(listens))
		return E_REFUSED;
	/* Of this machine, where else than everywhere it listens counts. */
	if (a->is_local && !is_any(listens) && listens[0] != '\0')
		host = listens;
	if (strchr(host, ':') != NULL && a->is_local && is_any(listens))
		host = "localhost";
	*why = VIEWER " knows no IPv6: name the relay by --url in another way, "
		      "or let it listen for viewers on IPv4, too";
	if (strchr(host, ':') != NULL)
		return E_REFUSED;
	n = snprintf(out, WATCH_URL_MAX, "net://%s:%u/host/%s/%s", host, port,
	    s->host, s->name);
	*why = "its name is too long";
	return n < 0 || n >= WATCH_URL_MAX ? E_LIMIT : OK;
}

/* The session, still open; CTL_FAILED: it was said why not. */
static int
choose(struct ctl *c, const struct sessions *s, const struct session **out)
{
	char escaped[1024], path[1024];

	if (!session_find(c, s, c->options.operand, out))
		return CTL_FAILED;
	text_escape(escaped, sizeof(escaped), (*out)->name);
	text_escape(path, sizeof(path), (*out)->path);
	if (!(*out)->is_active)
		return ctl_fail("%s has ended; " VIEWER " reads it from %s "
				"below the relay's output directory",
		    escaped, path);
	if ((*out)->live_timer_us == 0)
		return ctl_fail(
		    "%s is not live (lttng create --live)", escaped);
	for (size_t i = 0; i < s->n; i++)
		if (&s->all[i] != *out && s->all[i].is_active &&
		    strcmp(s->all[i].name, (*out)->name) == 0 &&
		    strcmp(s->all[i].host, (*out)->host) == 0)
			return ctl_fail("%s: " VIEWER " could not tell "
					"apart the sessions that have this "
					"host and name",
			    escaped);
	return CTL_OK;
}

/* WORD as a shell would take it; it is escaped by the caller. */
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
print_command(char **words)
{
	char *escaped;

	for (size_t i = 0; words[i] != NULL; i++) {
		escaped = text_escaped(words[i]);
		if (escaped == NULL)
			return ctl_fail("out of memory");
		if (i > 0)
			putc(' ', stdout);
		print_word(escaped);
		free(escaped);
	}
	putc('\n', stdout);
	return CTL_OK;
}

static int
start_viewer(const struct ctl *c, char *url)
{
	static char name[] = VIEWER, input[] = "-i", plugin[] = "lttng-live";
	char *const *more = c->options.more;
	size_t n = 0;
	char **words;
	int status;

	while (more != NULL && more[n] != NULL)
		n++;
	words = calloc(n + 5, sizeof(*words));
	if (words == NULL)
		return ctl_fail("out of memory");
	words[0] = name;
	words[1] = input;
	words[2] = plugin;
	words[3] = url;
	if (n > 0)
		memcpy(words + 4, more, n * sizeof(*words));
	if (c->options.dry_run) {
		status = print_command(words);
	} else {
		execvp(VIEWER, words);
		status = ctl_fail(VIEWER " cannot be started: %s%s",
		    strerror(errno),
		    errno == ENOENT ? " (the package " VIEWER ")" : "");
	}
	free(words);
	return status;
}

/* The URL of the session that was asked for, with what the relay told. */
static int
find_url(struct ctl *c, char url[WATCH_URL_MAX])
{
	const struct session *one = NULL;
	const char *why = "";
	struct answer a = { 0 };
	struct relay_status r;
	struct sessions s;
	const json_t *live;
	int status;

	if (status_load(c, &r) != OK)
		return ctl_fail_fetch(c);
	if (sessions_load(c, NULL, NULL, &s) != OK) {
		status_free(&r);
		return ctl_fail_fetch(c);
	}
	live = answer_object(&a, r.listeners, "live");
	status = choose(c, &s, &one);
	if (status == CTL_OK &&
	    watch_url(url, &c->options.address, answer_text(&a, live, "host"),
		(unsigned)answer_number(&a, live, "port"), one, &why) != OK)
		status = ctl_fail("%s", why);
	sessions_free(&s);
	status_free(&r);
	return status;
}

int
command_watch(struct ctl *c)
{
	char url[WATCH_URL_MAX];
	int status = find_url(c, url);

	return status == CTL_OK ? start_viewer(c, url) : status;
}
