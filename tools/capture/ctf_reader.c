/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/capture/ctf_reader.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_BABELTRACE2
#include <babeltrace2/babeltrace.h>

/* The directories of traces: where files called metadata are. */
struct ctf_dirs {
	char **paths; /* absolute, in order */
	size_t n;
};

struct ctf_reader {
	struct ctf_reader_config config;
	struct ctf_reader_counts *counts;
	char *why;
	enum status failed; /* ours, not babeltrace2's */
	bt_graph *graph;
	const bt_component_filter *muxer;
	uint64_t n_ports; /* of the muxer, that are connected */
	bt_message_iterator *iterator;
	uint8_t bytes[RECORD_LEN_MAX];
};

/* For signal handlers; lives until the program ends. */
static bt_interrupter *volatile interrupter;
static volatile sig_atomic_t is_interrupted;

/* Notes a failure, in printf's words. Returns ST. */
static enum status PRINTF_LIKE(3, 4)
    fail(struct ctf_reader *r, enum status st, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, CTF_READER_WHY_MAX, fmt, ap);
	va_end(ap);
	r->failed = st;
	return st;
}

/* Sorts numbers by value: chunk 10 follows chunk 9. babeltrace2 takes parts
 * that begin at the same time in the order in which they are given. */
static int
by_name(const FTSENT **a, const FTSENT **b)
{
	return strverscmp((*a)->fts_name, (*b)->fts_name);
}

/* The directory of the file at PATH, which is absolute. */
static enum status
add(struct ctf_dirs *dirs, const char *path)
{
	char **more = reallocarray(
	    dirs->paths, dirs->n + 1, sizeof(*dirs->paths));

	if (more == NULL)
		return E_NOMEM;
	dirs->paths = more;
	more[dirs->n] = strndup(path, (size_t)(strrchr(path, '/') - path));
	return more[dirs->n++] != NULL ? OK : E_NOMEM;
}

static enum status
walk(struct ctf_dirs *dirs, FTS *fts)
{
	const FTSENT *e;
	enum status st = OK;

	errno = 0;
	while (st == OK && (e = fts_read(fts)) != NULL) {
		if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR) {
			errno = e->fts_errno;
			return E_IO;
		}
		if (e->fts_info == FTS_F &&
		    strcmp(e->fts_name, "metadata") == 0)
			st = add(dirs, e->fts_path);
	}
	return st == OK && errno != 0 ? E_IO : st;
}

static void
free_dirs(struct ctf_dirs *dirs)
{
	for (size_t i = 0; i < dirs->n; i++)
		free(dirs->paths[i]);
	free(dirs->paths);
	*dirs = (struct ctf_dirs){ 0 };
}

static enum status
find_dirs(struct ctf_dirs *dirs, const char *top)
{
	char *const tops[] = { realpath(top, NULL), NULL };
	enum status st = E_IO;
	FTS *fts;
	int error;

	*dirs = (struct ctf_dirs){ 0 };
	if (tops[0] == NULL)
		return E_IO;
	fts = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	if (fts != NULL)
		st = walk(dirs, fts);
	error = errno;
	if (fts != NULL)
		fts_close(fts);
	free(tops[0]);
	if (st != OK)
		free_dirs(dirs);
	errno = error;
	return st;
}

/* NULL: there is none, or it is not a string. */
static const char *
environment(const bt_trace *trace, const char *name)
{
	const bt_value *v =
	    bt_trace_borrow_environment_entry_value_by_name_const(trace, name);

	return v != NULL && bt_value_is_string(v) ? bt_value_string_get(v)
						  : NULL;
}

/* The muxer delivers the beginnings of streams, which have no time, before any
 * packet: so a trace is refused before there is an output. */
static enum status
check_trace(struct ctf_reader *r, const bt_trace *trace)
{
	const char *tracer = environment(trace, "tracer_name");
	const char *payload = environment(trace, "payload");

	if (tracer == NULL || strcmp(tracer, "tracepulse-capture") != 0)
		return fail(r, E_REFUSED,
		    "%s: a trace was made by %s, not by tracepulse-capture",
		    r->config.dir,
		    tracer != NULL ? tracer : "an unknown program");
	if (payload == NULL || strcmp(payload, "full") != 0)
		return fail(r, E_REFUSED,
		    "%s: the trace was captured without --payload=full",
		    r->config.dir);
	return OK;
}

static bool
is_a(const bt_field *field, bt_field_class_type type)
{
	return field != NULL &&
	       bt_field_class_type_is(bt_field_get_class_type(field), type);
}

static bool
get_number(
    const bt_field *fields, const char *name, uint64_t most, uint64_t *out)
{
	const bt_field *field =
	    bt_field_structure_borrow_member_field_by_name_const(fields, name);

	if (!is_a(field, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return false;
	*out = bt_field_integer_unsigned_get_value(field);
	return *out <= most;
}

static bool
get_bytes(struct ctf_reader *r, const bt_field *fields, uint64_t *n)
{
	const bt_field *field =
	    bt_field_structure_borrow_member_field_by_name_const(
		fields, "payload");

	if (!is_a(field, BT_FIELD_CLASS_TYPE_ARRAY))
		return false;
	*n = bt_field_array_get_length(field);
	if (*n > sizeof(r->bytes))
		return false;
	for (uint64_t i = 0; i < *n; i++) {
		const bt_field *byte =
		    bt_field_array_borrow_element_field_by_index_const(
			field, i);

		/* All are of one class. */
		if (i == 0 && !is_a(byte, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
			return false;
		r->bytes[i] = (uint8_t)bt_field_integer_unsigned_get_value(
		    byte);
	}
	return true;
}

static bool
get_time(const bt_message *message, uint64_t *ns)
{
	int64_t since_1970;

	if (bt_message_event_borrow_stream_class_default_clock_class_const(
		message) == NULL ||
	    bt_clock_snapshot_get_ns_from_origin(
		bt_message_event_borrow_default_clock_snapshot_const(message),
		&since_1970) != BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
		return false;
	*ns = (uint64_t)since_1970;
	return since_1970 >= 0;
}

static bool
get_record(struct ctf_reader *r, const bt_message *message,
    const bt_field *fields, struct record *record)
{
	uint64_t link_type, wire_len, cap_len, len;

	*record = (struct record){ .direction = DIRECTION_UNKNOWN,
		.kind = RECORD_PACKET };
	if (!is_a(fields, BT_FIELD_CLASS_TYPE_STRUCTURE) ||
	    !get_number(fields, "link_type", UINT16_MAX, &link_type) ||
	    !get_number(fields, "wire_len", UINT32_MAX, &wire_len) ||
	    !get_number(fields, "cap_len", UINT32_MAX, &cap_len) ||
	    !get_bytes(r, fields, &len) || !get_time(message, &record->ns))
		return false;
	record->link_type = (uint16_t)link_type;
	record->wire_len = (uint32_t)wire_len;
	record->cap_len = (uint32_t)cap_len;
	record->len = (uint32_t)len;
	return true;
}

static bool
is_packet(const char *name)
{
	return name != NULL && (strcmp(name, "net:packet") == 0 ||
				   strcmp(name, "net:ipv4") == 0 ||
				   strcmp(name, "net:ipv6") == 0);
}

static enum status
take_event(struct ctf_reader *r, const bt_message *message)
{
	const bt_event *event = bt_message_event_borrow_event_const(message);
	const char *name = bt_event_class_get_name(
	    bt_event_borrow_class_const(event));
	struct record record;

	if (!is_packet(name))
		return OK;
	if (!get_record(r, message, bt_event_borrow_payload_field_const(event),
		&record))
		return fail(
		    r, E_REFUSED, "%s: invalid event %s", r->config.dir, name);
	r->counts->read++;
	r->failed = r->config.record(r->config.arg, &record, r->bytes);
	return r->failed;
}

static void
add_count(struct ctf_reader *r, uint64_t *to, bt_property_availability is_known,
    uint64_t n)
{
	if (is_known == BT_PROPERTY_AVAILABILITY_AVAILABLE)
		*to += n;
	else
		r->counts->has_discarded = true;
}

static enum status
take_message(struct ctf_reader *r, const bt_message *message)
{
	bt_property_availability is_known;
	uint64_t n = 0;

	switch (bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_EVENT:
		return take_event(r, message);
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		return check_trace(
		    r, bt_stream_borrow_trace_const(
			   bt_message_stream_beginning_borrow_stream_const(
			       message)));
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		is_known = bt_message_discarded_events_get_count(message, &n);
		add_count(r, &r->counts->discarded, is_known, n);
		return OK;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		is_known = bt_message_discarded_packets_get_count(message, &n);
		add_count(r, &r->counts->missing, is_known, n);
		return OK;
	default:
		return OK;
	}
}

/* Report babeltrace2's message: the first cause is the place of the failure. */
static enum status
library_failed(struct ctf_reader *r)
{
	const bt_error *error = bt_current_thread_take_error();
	const char *cause = "failed";

	if (r->failed == OK) {
		if (error != NULL && bt_error_get_cause_count(error) > 0)
			cause = bt_error_cause_get_message(
			    bt_error_borrow_cause_by_index(error, 0));
		(void)fail(r, E_REFUSED, "%s: babeltrace2: %.*s", r->config.dir,
		    (int)strcspn(cause, "\n"), cause);
	}
	if (error != NULL)
		bt_error_release(error);
	return r->failed;
}

static bt_graph_simple_sink_component_initialize_func_status
begin(bt_message_iterator *iterator, void *reader)
{
	struct ctf_reader *r = reader;

	bt_message_iterator_get_ref(iterator);
	r->iterator = iterator;
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static void
end(void *reader)
{
	struct ctf_reader *r = reader;

	bt_message_iterator_put_ref(r->iterator);
	r->iterator = NULL;
}

static bt_graph_simple_sink_component_consume_func_status
consume(bt_message_iterator *iterator, void *reader)
{
	struct ctf_reader *r = reader;
	bt_message_array_const messages;
	uint64_t n;

	switch (bt_message_iterator_next(iterator, &messages, &n)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
	default:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
	}
	for (uint64_t i = 0; i < n; i++) {
		if (r->failed == OK)
			r->failed = take_message(r, messages[i]);
		bt_message_put_ref(messages[i]);
	}
	return r->failed == OK
		   ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK
		   : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
}

/* Installed plugins only: a program with capabilities must not load what a
 * variable or a user's directory names. */
static const bt_plugin *
find_plugin(struct ctf_reader *r, const char *name)
{
	const bt_plugin *plugin = NULL;

	if (bt_plugin_find(name, BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE,
		&plugin) != BT_PLUGIN_FIND_STATUS_OK)
		(void)fail(r, E_REFUSED,
		    "--from-ctf requires the plugin %s of babeltrace2", name);
	return plugin;
}

/* {type: directory, input: PATH}. */
static const bt_value *
support_parameters(const char *path)
{
	bt_value *map = bt_value_map_create();

	if (map != NULL &&
	    bt_value_map_insert_string_entry(map, "type", "directory") == 0 &&
	    bt_value_map_insert_string_entry(map, "input", path) == 0)
		return map;
	bt_value_put_ref(map);
	return NULL;
}

/* The group of the trace in PATH: directories of one group are parts of one
 * trace, made by rotation. NULL: none. The caller frees it. */
static char *
group_of(const bt_component_class *class, const char *path)
{
	const bt_value *params = support_parameters(path), *result = NULL;
	const bt_value *group = NULL;
	bt_query_executor *query = NULL;
	char *name = NULL;

	if (params != NULL)
		query = bt_query_executor_create(
		    class, "babeltrace.support-info", params);
	if (query != NULL &&
	    bt_query_executor_query(query, &result) ==
		BT_QUERY_EXECUTOR_QUERY_STATUS_OK &&
	    bt_value_is_map(result))
		group = bt_value_map_borrow_entry_value_const(result, "group");
	if (group != NULL && bt_value_is_string(group))
		name = strdup(bt_value_string_get(group));
	bt_value_put_ref(result);
	bt_value_put_ref(params);
	bt_query_executor_put_ref(query);
	bt_current_thread_clear_error();
	return name;
}

/* Connect every port of the source to the next free ones of the muxer. */
static enum status
connect_source(struct ctf_reader *r, const bt_component_source *source)
{
	const uint64_t n = bt_component_source_get_output_port_count(source);

	for (uint64_t i = 0; i < n; i++)
		if (bt_graph_connect_ports(r->graph,
			bt_component_source_borrow_output_port_by_index_const(
			    source, i),
			bt_component_filter_borrow_input_port_by_index_const(
			    r->muxer, r->n_ports++),
			NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
			return library_failed(r);
	return OK;
}

/* Add the trace in DIRS. Its clock is Unix time whatever its origin is called,
 * so that the muxer takes those of several machines. */
static enum status
add_source(struct ctf_reader *r, const bt_component_class_source *class,
    const bt_value *dirs, size_t number)
{
	const bt_component_source *source = NULL;
	bt_value *params = bt_value_map_create();
	char name[32];
	enum status st;

	snprintf(name, sizeof(name), "trace %zu", number);
	if (params == NULL ||
	    bt_value_map_insert_entry(params, "inputs", (bt_value *)dirs) !=
		0 ||
	    bt_value_map_insert_bool_entry(
		params, "force-clock-class-origin-unix-epoch", BT_TRUE) != 0 ||
	    bt_graph_add_source_component(r->graph, class, name, params,
		BT_LOGGING_LEVEL_NONE,
		&source) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		st = library_failed(r);
	else
		st = connect_source(r, source);
	bt_value_put_ref(params);
	return st;
}

/* Add the source of directory FIRST and of the others in its group, which are
 * removed from GROUPS and DIRS. */
static enum status
add_group(struct ctf_reader *r, const bt_component_class_source *class,
    struct ctf_dirs *dirs, char **groups, size_t first)
{
	bt_value *inputs = bt_value_array_create();
	enum status st = inputs != NULL ? OK : E_NOMEM;

	for (size_t i = first; st == OK && i < dirs->n; i++) {
		if (dirs->paths[i] == NULL ||
		    (i != first &&
			(groups[first] == NULL || groups[i] == NULL ||
			    strcmp(groups[i], groups[first]) != 0)))
			continue;
		if (bt_value_array_append_string_element(
			inputs, dirs->paths[i]) != 0)
			st = E_NOMEM;
		free(dirs->paths[i]);
		dirs->paths[i] = NULL;
	}
	if (st == OK)
		st = add_source(r, class, inputs, first);
	bt_value_put_ref(inputs);
	return st;
}

static enum status
add_sources(struct ctf_reader *r, const bt_component_class_source *class,
    struct ctf_dirs *dirs)
{
	char **groups = calloc(dirs->n, sizeof(*groups));
	enum status st = groups != NULL ? OK : E_NOMEM;

	for (size_t i = 0; st == OK && i < dirs->n; i++)
		groups[i] = group_of(
		    bt_component_class_source_as_component_class_const(class),
		    dirs->paths[i]);
	for (size_t i = 0; st == OK && i < dirs->n; i++)
		if (dirs->paths[i] != NULL)
			st = add_group(r, class, dirs, groups, i);
	for (size_t i = 0; groups != NULL && i < dirs->n; i++)
		free(groups[i]);
	free(groups);
	return st;
}

static enum status
add_sink(struct ctf_reader *r)
{
	const bt_component_sink *sink = NULL;

	if (bt_graph_add_simple_sink_component(r->graph, "packets", begin,
		consume, end, r, &sink) != BT_GRAPH_ADD_COMPONENT_STATUS_OK ||
	    bt_graph_connect_ports(r->graph,
		bt_component_filter_borrow_output_port_by_index_const(
		    r->muxer, 0),
		bt_component_sink_borrow_input_port_by_index_const(sink, 0),
		NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
		return library_failed(r);
	return OK;
}

static enum status
build(struct ctf_reader *r, const bt_plugin *ctf, const bt_plugin *utils,
    struct ctf_dirs *dirs)
{
	const bt_component_class_source *fs =
	    bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs");
	const bt_component_class_filter *muxer =
	    bt_plugin_borrow_filter_component_class_by_name_const(
		utils, "muxer");
	enum status st;

	if (fs == NULL || muxer == NULL)
		return fail(r, E_REFUSED,
		    "--from-ctf requires source.ctf.fs and filter.utils.muxer "
		    "of "
		    "babeltrace2");
	r->graph = bt_graph_create(0);
	if (r->graph == NULL ||
	    bt_graph_add_interrupter(r->graph, interrupter) !=
		BT_GRAPH_ADD_INTERRUPTER_STATUS_OK ||
	    bt_graph_add_filter_component(r->graph, muxer, "muxer", NULL,
		BT_LOGGING_LEVEL_NONE,
		&r->muxer) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		return library_failed(r);
	st = add_sources(r, fs, dirs);
	/* Without a stream nothing was captured. */
	return st == OK && r->n_ports > 0 ? add_sink(r) : st;
}

static enum status
run_graph(struct ctf_reader *r)
{
	bt_graph_run_status status = BT_GRAPH_RUN_STATUS_AGAIN;

	if (r->n_ports == 0)
		return OK;
	while (status == BT_GRAPH_RUN_STATUS_AGAIN && !is_interrupted)
		status = bt_graph_run(r->graph);
	if (status == BT_GRAPH_RUN_STATUS_OK)
		return OK;
	if (r->failed == OK && is_interrupted) {
		bt_current_thread_clear_error();
		return fail(
		    r, E_BUSY, "ended by a signal: the rest is missing");
	}
	return library_failed(r);
}

static enum status
find_traces(const struct ctf_reader *r, struct ctf_dirs *dirs)
{
	if (find_dirs(dirs, r->config.dir) != OK) {
		snprintf(r->why, CTF_READER_WHY_MAX, "%s: %s", r->config.dir,
		    strerror(errno));
		return E_REFUSED;
	}
	if (dirs->n > 0)
		return OK;
	snprintf(r->why, CTF_READER_WHY_MAX,
	    "%s: no trace at or below this directory", r->config.dir);
	return E_REFUSED;
}

enum status
ctf_reader_run(const struct ctf_reader_config *config,
    struct ctf_reader_counts *counts, char why[CTF_READER_WHY_MAX])
{
	struct ctf_reader *r = calloc(1, sizeof(*r));
	const bt_plugin *ctf = NULL, *utils = NULL;
	struct ctf_dirs dirs = { 0 };
	enum status st = E_NOMEM;

	*counts = (struct ctf_reader_counts){ 0 };
	snprintf(why, CTF_READER_WHY_MAX, "%s", status_text(E_NOMEM));
	if (interrupter == NULL)
		interrupter = bt_interrupter_create();
	if (r != NULL && interrupter != NULL) {
		*why = '\0';
		r->config = *config;
		r->counts = counts;
		r->why = why;
		st = find_traces(r, &dirs);
	}
	if (st == OK) {
		ctf = find_plugin(r, "ctf");
		utils = ctf != NULL ? find_plugin(r, "utils") : NULL;
		st = utils != NULL ? build(r, ctf, utils, &dirs) : r->failed;
	}
	if (st == OK)
		st = run_graph(r);
	if (r != NULL)
		bt_graph_put_ref(r->graph);
	bt_plugin_put_ref(utils);
	bt_plugin_put_ref(ctf);
	free_dirs(&dirs);
	free(r);
	return st;
}

void
ctf_reader_interrupt(void)
{
	is_interrupted = 1;
	if (interrupter != NULL)
		bt_interrupter_set(interrupter);
}

#else

enum status
ctf_reader_run(const struct ctf_reader_config *config,
    struct ctf_reader_counts *counts, char why[CTF_READER_WHY_MAX])
{
	(void)config;
	*counts = (struct ctf_reader_counts){ 0 };
	snprintf(why, CTF_READER_WHY_MAX,
	    "--from-ctf: this program was built without libbabeltrace2");
	return E_REFUSED;
}

void
ctf_reader_interrupt(void)
{
}

#endif
