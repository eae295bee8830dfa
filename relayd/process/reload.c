/* SPDX-License-Identifier: MIT */
#include "relayd/process/reload.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/process/environment.h"
#include "relayd/process/systemd.h"
#include "relayd/process/options_internal.h"

void
reload_init(struct reload *r, struct options *o, int argc, char **argv,
    reload_fn *apply, void *arg)
{
	*r = (struct reload){ .options = o,
		.argc = argc,
		.argv = argv,
		.apply = apply,
		.arg = arg };
	r->asked = *o;
	environment_keep_directory();
}

/* What follows from settings of the log; a log file that is named anew. */
static void
apply_log(const struct options *o)
{
	log_set_json(o->log_format == LOG_FORMAT_JSON);
	log_set_level(options_log_level(o));
	/* log_open() has logged a failure; the previous file stays in use. */
	if (o->log_file[0] != '\0' && log_open(o->log_file) != OK)
		log_debug("the previous log file stays in use");
}

static void
copy_setting(struct options *o, const struct options *from, enum option_id id)
{
	const struct option_row *row = &option_rows[id];

	memcpy((char *)o + row->reload_at, (const char *)from + row->reload_at,
	    row->reload_size);
	o->from[id] = from->from[id];
}

/* Is the value different from the one requested before? A default may follow
 * the machine: that is not a change. */
static bool
has_changed(const struct reload *r, const struct options *fresh,
    enum option_id id, char old[OPTION_TEXT_MAX], char new[OPTION_TEXT_MAX])
{
	options_show(&r->asked, id, old);
	options_show(fresh, id, new);
	return option_rows[id].show != NULL && strcmp(old, new) != 0 &&
	       (r->asked.from[id].kind != ORIGIN_DEFAULT ||
		   fresh->from[id].kind != ORIGIN_DEFAULT);
}

/* Copy the reloadable settings from FRESH. Returns how many changed. */
static unsigned
take_over(struct reload *r, const struct options *fresh)
{
	char old[OPTION_TEXT_MAX], new[OPTION_TEXT_MAX];
	unsigned n = 0;

	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		if (!has_changed(r, fresh, id, old, new))
			continue;
		if (option_rows[id].reload_size > 0) {
			log_notice("reload: --%s is \"%s\" now, it was \"%s\"",
			    option_rows[id].name, new, old);
			n++;
		} else {
			log_warn("reload: --%s stays \"%s\" until a restart, "
				 "then it is \"%s\"",
			    option_rows[id].name, old, new);
		}
	}
	/* Copy after all comparisons: the text of one setting may depend on
	 * another setting. */
	for (enum option_id id = 0; id < N_OPTIONS; id++)
		if (option_rows[id].reload_size > 0) {
			copy_setting(r->options, fresh, id);
			copy_setting(&r->asked, fresh, id);
		}
	return n;
}

static enum status
read_again(struct reload *r)
{
	static struct options fresh;
	unsigned n;

	if (options_parse(&fresh, r->argc, r->argv) != OK) {
		log_error("reload: nothing changed");
		return E_REFUSED;
	}
	fresh.is_watched = r->options->is_watched;
	n = take_over(r, &fresh);
	log_notice("reload: done, %u settings changed", n);
	return OK;
}

enum status
reload_now(struct reload *r)
{
	char state[64];
	enum status st;

	snprintf(state, sizeof(state),
	    "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n", clock_now_ns() / 1000);
	(void)systemd_notify(state);
	st = read_again(r);
	apply_log(r->options);
	if (st == OK)
		r->apply(r->options, r->arg);
	(void)systemd_notify("READY=1\n");
	return st;
}
