/* SPDX-License-Identifier: MIT */
#include "store/store.h"

#include <stdlib.h>

#include "common/log.h"
#include "store/output.h"

/* Above it, the memory of records that waited for a lock is freed. */
#define SPARE_MAX (64 * 1024)

enum status
store_create(struct store **out, const struct store_config *config)
{
	struct store *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (s == NULL)
		return E_NOMEM;
	s->config = *config;
	list_init(&s->open_files);
	packet_pool_init(&s->packets, config->max_cached, config->memory);
	/* One spare is enough: most streams write their records at once. */
	buf_spares_init(&s->spares, 1, SPARE_MAX);
	if (output_create(&s->output, config->base_fd, false) != OK) {
		store_destroy(s);
		return E_NOMEM;
	}
	*out = s;
	return OK;
}

void
store_destroy(struct store *s)
{
	if (s == NULL)
		return;
	output_put(s->output);
	packet_pool_free(&s->packets);
	buf_spares_free(&s->spares);
	free(s);
}

struct output *
store_output(struct store *s)
{
	const char *path = s->config.output;
	struct output *o;
	int fd;

	if (path == NULL || output_is_at(s->output, path))
		return s->output;
	fd = output_open(path);
	/* After a failure the old one stays; creating the session then says
	 * why. */
	if (fd < 0 || output_create(&o, fd, true) != OK)
		return s->output;
	log_warn(
	    "output directory %s: was removed or replaced, opened again", path);
	output_put(s->output);
	s->output = o;
	return o;
}
