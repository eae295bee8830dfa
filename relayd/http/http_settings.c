/* SPDX-License-Identifier: MIT */
/* Settings that change while HTTP is served. The main thread changes its
 * options at a reload, so that the HTTP thread has a copy of these. */
#include <stdlib.h>

#include "common/log.h"
#include "relayd/http/http_internal.h"

struct http_settings *
settings_of(const struct options *o)
{
	struct http_settings *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->metrics_per_session = o->metrics_per_session;
	s->hosts = o->http_hosts;
	for (unsigned i = 0; i < s->hosts.n; i++)
		s->names[i] = s->hosts.names[i];
	return s;
}

void
settings_use(struct http *h, struct http_settings *take_s)
{
	struct server *const servers[] = { h->port.server, h->admin.server };

	for (size_t i = 0; i < ARRAY_LEN(servers); i++)
		if (servers[i] != NULL)
			server_set_hosts(
			    servers[i], take_s->names, take_s->hosts.n);
	free(h->settings);
	h->settings = take_s;
}

void
http_reload(const struct options *o, void *http)
{
	struct http_settings *s;
	struct message *m = NULL;
	struct http *h = http;

	if (h == NULL)
		return;
	s = settings_of(o);
	if (s == NULL || message_create(&m, MESSAGE_SETTINGS) != OK) {
		free(s);
		log_warn("reload: no memory for the settings of HTTP, which "
			 "stay as they were");
		return;
	}
	m->object = s;
	loop_post(&h->loop, m);
}
