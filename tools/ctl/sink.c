/* SPDX-License-Identifier: MIT */
#include "tools/ctl/sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[N_SINKS] = {
	[SINK_NDJSON] = "sink.tracepulse.ndjson",
	[SINK_LINES] = "sink.tracepulse.lines",
	[SINK_PERFETTO] = "sink.tracepulse.perfetto",
};

enum sink_kind
sink_chosen(const struct ctl *c)
{
	if (c->options.perfetto != NULL)
		return SINK_PERFETTO;
	if (c->options.text || (c->terminal.is_terminal && !c->options.json))
		return SINK_LINES;
	return SINK_NDJSON;
}

enum sink_kind
sink_of_file(const char *name)
{
	static const struct {
		const char *ending;
		enum sink_kind kind;
	} endings[] = {
		{ ".ndjson", SINK_NDJSON },
		{ ".json", SINK_NDJSON },
		{ ".txt", SINK_LINES },
		{ ".perfetto", SINK_PERFETTO },
		{ ".pftrace", SINK_PERFETTO },
	};
	const char *point = strrchr(name, '.');

	for (size_t i = 0;
	     point != NULL && i < sizeof(endings) / sizeof(*endings); i++)
		if (strcmp(point, endings[i].ending) == 0)
			return endings[i].kind;
	return N_SINKS;
}

bool
sink_is_there(enum sink_kind kind)
{
	return viewer_has(names[kind]);
}

/* NAME=["A","B"], */
static void
print_list(FILE *to, const char *name, const struct ctl_list *list)
{
	if (list->n == 0)
		return;
	fprintf(to, "%s=[", name);
	for (size_t i = 0; i < list->n; i++) {
		char *string = viewer_string(list->all[i]);

		fprintf(to, "%s%s", i > 0 ? "," : "", string);
		free(string);
	}
	fputs("],", to);
}

void
sink_add_filter(struct viewer *v, const struct ctl_options *o)
{
	char *params = NULL;
	size_t n;
	FILE *to = ctl_memory(open_memstream(&params, &n));

	print_list(to, "names", &o->events);
	print_list(to, "where", &o->filters);
	if (o->has_since)
		fprintf(to, "since=%" PRIu64 ",", o->since_ns);
	if (fclose(to) != 0)
		params = NULL;
	if (*(char *)ctl_memory(params) != '\0') {
		params[n - 1] = '\0'; /* the comma */
		viewer_component(v, "filter.tracepulse.match", params);
	}
	free(params);
}

void
sink_add(struct viewer *v, const struct ctl *c, enum sink_kind kind,
    const char *file, bool has_origin)
{
	char *path = viewer_string(file == NULL ? "-" : file);
	char *params = ctl_text("path=%s%s%s", path,
	    kind == SINK_LINES && has_origin ? ",origin=yes" : "",
	    kind == SINK_LINES && file == NULL && c->terminal.has_colours
		? ",color=yes"
		: "");

	viewer_component(v, names[kind], params);
	free(params);
	free(path);
}
