/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/annotations.h"
#include "tools/plugin/events.h"
#include "tools/plugin/ftrace.h"
#include "tools/plugin/hosts.h"
#include "tools/plugin/perfetto.h"
#include "tools/plugin/places.h"
#include "tools/plugin/sink.h"
#include "tools/plugin/slices.h"

struct perfetto {
	bt_self_component *self;
	struct events *events;
	struct host *hosts;
	struct arena arena; /* of the current message */
	struct text scratch;
	struct annotations annotations; /* of the current event */
};

struct stream {
	struct events_stream base;
	struct host *host;
	struct track track; /* for events of no known thread */
	char *name;	    /* of the track */
	bool is_introduced; /* in the trace */
	bool has_pid;	    /* all of it is of one process */
	int64_t pid;
};

#define INTEGER BT_FIELD_CLASS_TYPE_INTEGER

enum special {
	SPECIAL_NONE,
	SPECIAL_PROCESS,  /* lttng_statedump_process_state */
	SPECIAL_FORK,	  /* sched_process_fork */
	SPECIAL_PROCNAME, /* lttng_ust_statedump:procname */
	SPECIAL_FUNCTION, /* its slice is a function */
};

struct kind {
	struct events_kind base;
	enum special special;
	enum slice_part part;
	uint64_t name;	/* of the event */
	uint64_t slice; /* of the slice that it begins or ends */
	struct place tid, pid, comm;
	struct place prev, next; /* threads, of sched_switch */
	/* A thread that the event is about: all are there, or none is used. */
	struct {
		struct place tid, pid, ppid, name;
	} about;
	struct place procname; /* of the process that it is in */
	struct place address;  /* of a function */
	struct place info;     /* "debug_info" of it, a structure */
	uint64_t function;     /* its name there */
	struct plan *plans[PARTS];
	struct ftrace_kind ftrace;
};

/* An event, while it is written. */
struct current {
	struct perfetto *p;
	struct kind *kind;
	struct stream *stream;
	struct host *host;
	const bt_event *event;
	int64_t ns;
	struct text *out;
};

static struct stream *
stream_of(struct events_stream *base)
{
	return (struct stream *)base;
}

static struct kind *
kind_of(struct events_kind *base)
{
	return (struct kind *)base;
}

/* Captured packets: the interface is in the environment of the trace. */
static const char *
interface_of(struct events_stream *base, const bt_packet *packet)
{
	const bt_field *context = bt_packet_borrow_context_field_const(packet);
	const bt_field *input =
	    context == NULL
		? NULL
		: bt_field_structure_borrow_member_field_by_name_const(
		      context, "input");
	char key[40] = "source_uri";

	if (input == NULL || bt_field_get_class_type(input) !=
				 BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)
		return NULL;
	if (bt_field_integer_unsigned_get_value(input) > 0)
		(void)snprintf(key, sizeof(key), "source_uri_%" PRIu64,
		    bt_field_integer_unsigned_get_value(input));
	return events_environment(base, key);
}

/* Tracks of the same name and trace are one. */
static bool
name_track(struct stream *s, const char *name)
{
	const char *trace = bt_trace_get_name(
	    bt_stream_borrow_trace_const(s->base.stream));
	uint64_t hash = tracks_hash(TRACKS_HASH, s->host->name);

	if (s->name != NULL && strcmp(s->name, name) == 0)
		return true;
	free(s->name);
	s->name = strdup(name);
	hash = tracks_hash(hash, "/");
	hash = tracks_hash(hash, trace != NULL ? trace : "");
	hash = tracks_hash(hash, "/");
	s->track.uuid = tracks_hash(hash, name);
	s->track.is_described = false;
	return s->name != NULL;
}

/* A trace of LTTng with buffers per process names that. */
static void
find_process_of(struct stream *s)
{
	const bt_value *pid =
	    bt_trace_borrow_environment_entry_value_by_name_const(
		bt_stream_borrow_trace_const(s->base.stream), "vpid");

	s->has_pid = pid != NULL && bt_value_is_signed_integer(pid);
	if (s->has_pid)
		s->pid = bt_value_integer_signed_get(pid);
}

static bool
stream_begins(void *format, struct events_stream *base)
{
	struct perfetto *p = format;
	struct stream *s = stream_of(base);
	const char *host = events_environment(base, "hostname");
	const char *name = events_stream_name(base);
	char number[40];

	(void)snprintf(number, sizeof(number), "stream %" PRIu64,
	    bt_stream_get_id(base->stream));
	s->host = host_get(&p->hosts, host != NULL ? host : "");
	find_process_of(s);
	return s->host != NULL && name_track(s, name != NULL ? name : number);
}

static void
stream_ends(struct events_stream *base)
{
	free(stream_of(base)->track.open);
	free(stream_of(base)->name);
}

static bool
packet_begins(struct events_stream *base, const bt_packet *packet)
{
	const char *interface = interface_of(base, packet);

	return interface == NULL || name_track(stream_of(base), interface);
}

static bool
in_contexts(struct kind *k, struct place *place, const char *name,
    bt_field_class_type type)
{
	return places_find(
	    place, k->base.class, PART_COMMON, PART_SPECIFIC, name, type);
}

static bool
in_payload(struct kind *k, struct place *place, const char *name,
    bt_field_class_type type)
{
	return places_find(
	    place, k->base.class, PART_PAYLOAD, PART_PAYLOAD, name, type);
}

/* The first of NAMES, up to a NULL, that is an integer in a context. */
static void
find_thread(struct kind *k, struct place *place, const char *const *names)
{
	while (*names != NULL && !in_contexts(k, place, *names++, INTEGER))
		;
}

/* A thread that was there when the trace began, or is created. */
static void
find_about(struct kind *k)
{
	bool is_dump = k->special == SPECIAL_PROCESS;

	in_payload(k, &k->about.tid, is_dump ? "tid" : "child_tid", INTEGER);
	in_payload(k, &k->about.pid, is_dump ? "pid" : "child_pid", INTEGER);
	in_payload(k, &k->about.ppid, is_dump ? "ppid" : "parent_pid", INTEGER);
	in_payload(k, &k->about.name, is_dump ? "name" : "child_comm",
	    BT_FIELD_CLASS_TYPE_STRING);
}

/* The address of a function, and what filter.lttng-utils.debug-info adds. */
static void
find_function(struct kind *k)
{
	const bt_field_class *info;

	in_payload(k, &k->address, "addr", INTEGER);
	if (!in_contexts(
		k, &k->info, "debug_info", BT_FIELD_CLASS_TYPE_STRUCTURE))
		return;
	info = bt_field_class_structure_member_borrow_field_class_const(
	    bt_field_class_structure_borrow_member_by_index_const(
		places_class(k->base.class, k->info.part), k->info.index));
	k->info.is_there = places_member(
	    info, "func", BT_FIELD_CLASS_TYPE_STRING, &k->function);
}

static void
find_places(struct kind *k)
{
	static const char *const tids[] = { "tid", "vtid", "common_pid", NULL };
	static const char *const pids[] = { "pid", "vpid", NULL };

	if (k->special == SPECIAL_PROCESS || k->special == SPECIAL_FORK)
		find_about(k);
	find_thread(k, &k->tid, tids);
	find_thread(k, &k->pid, pids);
	in_contexts(k, &k->comm, "procname", BT_FIELD_CLASS_TYPE_STRING);
	if (k->special == SPECIAL_PROCNAME)
		in_payload(
		    k, &k->procname, "procname", BT_FIELD_CLASS_TYPE_STRING);
	if (k->special == SPECIAL_FUNCTION)
		find_function(k);
	if (k->ftrace.event == NULL)
		return;
	if (!in_payload(k, &k->prev, "prev_tid", INTEGER))
		in_payload(k, &k->prev, "prev_pid", INTEGER);
	if (!in_payload(k, &k->next, "next_tid", INTEGER))
		in_payload(k, &k->next, "next_pid", INTEGER);
}

/* Called for the names of fields, as plan_config.number(). */
struct naming {
	struct perfetto *p;
	struct host *host;
	struct text *out;
};

static uint64_t
number_field(void *data, const char *name)
{
	struct naming *n = data;

	return host_field_name(n->host, name, &n->p->annotations, n->out);
}

/* Threads are on tracks; their contexts are not repeated as fields. */
static void
leave_out(struct kind *k, const struct place *place)
{
	if (place->is_there)
		plan_leave_out(k->plans[place->part], place->index);
}

static bool
make_plans(struct naming *naming, struct kind *k)
{
	struct plan_config config = { .number = number_field, .data = naming };

	if (!plans_create(k->plans, &config, k->base.class))
		return false;
	leave_out(k, &k->tid);
	leave_out(k, &k->pid);
	leave_out(k, &k->comm);
	return true;
}

static enum special
special_of(const char *name)
{
	static const char function[] = "lttng_ust_cyg_profile";

	if (strcmp(name, "lttng_statedump_process_state") == 0)
		return SPECIAL_PROCESS;
	if (strcmp(name, "sched_process_fork") == 0)
		return SPECIAL_FORK;
	if (strcmp(name, "lttng_ust_statedump:procname") == 0)
		return SPECIAL_PROCNAME;
	if (strncmp(name, function, sizeof(function) - 1) == 0)
		return SPECIAL_FUNCTION;
	return SPECIAL_NONE;
}

static bool
kind_begins(void *format, struct events_kind *base, struct text *out)
{
	struct perfetto *p = format;
	struct kind *k = kind_of(base);
	struct host *host = stream_of(base->stream)->host;
	struct naming naming = { p, host, out };
	const char *name = events_kind_name(base);
	char *slice = NULL;
	bool is_bundled, ok;

	ftrace_kind(&k->ftrace, name, places_class(base->class, PART_PAYLOAD));
	is_bundled = k->ftrace.event != NULL && base->stream->has_cpu &&
		     base->stream->cpu < HOST_CPUS_MAX;
	k->special = special_of(name);
	find_places(k);
	k->part = slice_part(name, &slice);
	k->name = host_event_name(host, name, &p->annotations, out);
	if (k->part != SLICE_NONE && slice != NULL)
		k->slice = host_event_name(host, slice, &p->annotations, out);
	ok = k->name > 0 && (k->part == SLICE_NONE || k->slice > 0) &&
	     (is_bundled || k->special == SPECIAL_PROCESS ||
		 make_plans(&naming, k));
	free(slice);
	arena_reset(&p->arena);
	return ok;
}

static void
kind_ends(struct events_kind *base)
{
	plans_destroy(kind_of(base)->plans);
}

/* The thread that the event is of; false: not known. */
static bool
find_tid(const struct current *c, int64_t *tid)
{
	struct cpu *cpu;

	if (places_get(c->event, &c->kind->tid, tid))
		return true;
	if (!c->stream->base.has_cpu)
		return false;
	cpu = host_cpu(c->host, c->stream->base.cpu);
	if (cpu == NULL || !cpu->has_thread)
		return false;
	*tid = cpu->tid;
	return true;
}

/* An event of the kernel, of CPU. */
static bool
put_ftrace(struct current *c, struct cpu *cpu)
{
	struct perfetto *p = c->p;
	int64_t tid;
	bool has_tid = places_get(c->event, &c->kind->prev, &tid) ||
		       find_tid(c, &tid);

	if (!ftrace_append(&c->kind->ftrace,
		places_part(c->event, PART_PAYLOAD), c->ns,
		has_tid ? &tid : NULL, &p->annotations, &cpu->events))
		return false;
	if (places_get(c->event, &c->kind->next, &cpu->tid))
		cpu->has_thread = true;
	return cpu->events.len < HOST_BUNDLE ||
	       host_put_cpu(c->host, cpu, c->out);
}

static bool
put_event(struct current *c, uint64_t track, Perfetto__TrackEvent *event)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	packet.has_timestamp = true;
	packet.timestamp = (uint64_t)c->ns;
	packet.track_event = event;
	event->has_type = true;
	event->has_track_uuid = true;
	event->track_uuid = track;
	event->debug_annotations = c->p->annotations.list;
	event->n_debug_annotations = c->p->annotations.n;
	return packets_put(&c->host->packets, &packet, c->out);
}

static void
set_name(Perfetto__TrackEvent *event, uint64_t iid)
{
	event->name_field_case = PERFETTO__TRACK_EVENT__NAME_FIELD_NAME_IID;
	event->name_iid = iid;
}

/* The name of a function: what the debug-info filter found, or its address. */
static bool
set_function(struct current *c, Perfetto__TrackEvent *event)
{
	const struct kind *k = c->kind;
	const char *name =
	    !k->info.is_there
		? ""
		: bt_field_string_get_value(
		      bt_field_structure_borrow_member_field_by_index_const(
			  places_field(c->event, &k->info), k->function));
	int len = (int)strcspn(name, "+"); /* "NAME+OFFSET" */
	char text[256] = "";
	int64_t value;

	(void)snprintf(text, sizeof(text), "%.*s", len, name);
	if (text[0] == '\0' && places_get(c->event, &k->address, &value))
		(void)snprintf(
		    text, sizeof(text), "0x%" PRIx64, (uint64_t)value);
	if (text[0] == '\0')
		return true;
	event->name_field_case = PERFETTO__TRACK_EVENT__NAME_FIELD_NAME;
	event->name = annotations_string(&c->p->annotations, text);
	return event->name != NULL;
}

/* Ends N slices; the fields are those of the last one. */
static bool
put_ends(struct current *c, uint64_t track, uint32_t n)
{
	size_t n_annotations = c->p->annotations.n;
	bool ok = true;

	for (; n > 0 && ok; n--) {
		Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;

		event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
		c->p->annotations.n = n > 1 ? 0 : n_annotations;
		ok = put_event(c, track, &event);
	}
	return ok;
}

/* An event of TRACK. MAY_SLICE: what happens on it happens one by one. */
static bool
put_on_track(struct current *c, struct track *track, bool may_slice)
{
	const struct kind *k = c->kind;
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	uint32_t n;

	event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT;
	set_name(&event, k->name);
	if (may_slice && k->part == SLICE_END) {
		n = track_pop(track, k->slice);
		if (n > 0)
			return put_ends(c, track->uuid, n);
	}
	if (may_slice && k->part == SLICE_BEGIN &&
	    track_push(track, k->slice)) {
		event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
		set_name(&event, k->slice);
		if (k->special == SPECIAL_FUNCTION && !set_function(c, &event))
			return false;
	}
	return put_event(c, track->uuid, &event);
}

/* The thread that the event is about, if it is about one. */
static bool
put_process(struct current *c)
{
	const struct kind *k = c->kind;
	struct host_process process;
	struct thread *thread;

	if (!places_get(c->event, &k->about.tid, &process.tid) ||
	    !places_get(c->event, &k->about.pid, &process.pid) ||
	    !places_get(c->event, &k->about.ppid, &process.ppid) ||
	    !k->about.name.is_there)
		return true;
	process.name = bt_field_string_get_value(
	    places_field(c->event, &k->about.name));
	thread = threads_get(&c->host->threads, process.tid);
	if (thread == NULL)
		return false;
	thread_set_pid(thread, process.pid);
	return host_put_process(
	    c->host, &process, c->ns, &c->p->annotations, c->out);
}

/* On the track of thread TID. */
static bool
put_on_thread(struct current *c, int64_t tid)
{
	struct thread *thread = threads_get(&c->host->threads, tid);
	int64_t pid;

	if (thread == NULL)
		return false;
	if (places_get(c->event, &c->kind->pid, &pid))
		thread_set_pid(thread, pid);
	else if (c->stream->has_pid)
		thread_set_pid(thread, c->stream->pid);
	if (c->kind->procname.is_there && thread->knows_pid &&
	    host_put_process_name(c->host, thread->pid,
		bt_field_string_get_value(
		    places_field(c->event, &c->kind->procname)),
		&c->p->annotations, c->out) == 0)
		return false;
	if (c->kind->comm.is_there)
		thread_set_name(thread, bt_field_string_get_value(places_field(
					    c->event, &c->kind->comm)));
	return host_put_thread(c->host, thread, &c->p->annotations, c->out) &&
	       put_on_track(c, &thread->track, true);
}

/* The track of a stream, or of the process of which all its events are. */
static bool
describe_stream(struct perfetto *p, struct stream *s, struct text *out)
{
	struct annotations *a = &p->annotations;
	const char *name = events_environment(&s->base, "procname");

	if (!s->has_pid || name == NULL)
		return host_put_track(s->host, &s->track, s->name, a, out);
	if (s->track.is_described)
		return true;
	s->track.is_described = true;
	s->track.uuid = host_put_process_name(s->host, s->pid, name, a, out);
	return s->track.uuid != 0;
}

/* On that of the stream; the idle threads of all CPUs have the same number. */
static bool
put_on_stream(struct current *c)
{
	struct stream *s = c->stream;

	return describe_stream(c->p, s, c->out) &&
	       put_on_track(c, &s->track, !s->base.has_cpu);
}

static bool
annotate(struct current *c)
{
	struct annotations *a = &c->p->annotations;
	struct plan *const *plans = c->kind->plans;
	size_t n = 0;

	for (enum part part = 0; part < PARTS; part++)
		n += plans[part] != NULL ? plans[part]->n : 0;
	if (!annotations_begin(a, n))
		return false;
	for (enum part part = 0; part < PARTS; part++) {
		if (!plan_is_empty(plans[part]) &&
		    !annotations_add(
			a, plans[part], places_part(c->event, part)))
			return false;
	}
	return true;
}

/* Before the first event of a stream: what it says about its host. */
static bool
introduce(struct current *c)
{
	struct stream *s = c->stream;
	const char *sysname, *release;

	if (s->is_introduced)
		return true;
	s->is_introduced = true;
	sysname = events_environment(&s->base, "sysname");
	release = events_environment(&s->base, "kernel_release");
	return (!events_has_epoch(&s->base) ||
		   host_put_clock(s->host, c->ns, c->out)) &&
	       (sysname == NULL || release == NULL ||
		   host_put_kernel(
		       s->host, sysname, release, &c->p->annotations, c->out));
}

static bool
put(struct current *c)
{
	struct cpu *cpu = NULL;
	int64_t tid;

	if (!introduce(c))
		return false;
	if (c->kind->ftrace.event != NULL && c->stream->base.has_cpu)
		cpu = host_cpu(c->host, c->stream->base.cpu);
	if (cpu != NULL)
		return put_ftrace(c, cpu);
	if (!put_process(c))
		return false;
	if (c->kind->special == SPECIAL_PROCESS)
		return true;
	if (!annotate(c))
		return false;
	return find_tid(c, &tid) && tid > 0 ? put_on_thread(c, tid)
					    : put_on_stream(c);
}

static bool
on_event(void *format, struct events_kind *base, const bt_event *event,
    const bt_clock_snapshot *time, struct text *out)
{
	struct perfetto *p = format;
	struct current c = { .p = p, .event = event, .out = out };
	bool ok;

	if (time == NULL) {
		SINK_FAIL(p->self,
		    "stream %s has no clock: a Perfetto trace needs times",
		    stream_of(base->stream)->name);
		return false;
	}
	if (!events_ns(time, &c.ns))
		return true;
	c.kind = kind_of(base);
	c.stream = stream_of(base->stream);
	c.host = c.stream->host;
	ok = put(&c);
	arena_reset(&p->arena);
	return ok;
}

/* An instant "lost events" on the track of the stream. */
static bool
on_loss(void *format, const struct events_loss *loss, struct text *out)
{
	struct perfetto *p = format;
	struct stream *s = stream_of(loss->stream);
	struct current c = { .p = p, .stream = s, .host = s->host, .out = out };
	struct annotations *a = &p->annotations;
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	char name[20];
	uint64_t count;
	bool ok;

	if (loss->end == NULL || !events_ns(loss->end, &c.ns))
		return true;
	(void)snprintf(name, sizeof(name), "lost %s", loss->what);
	count = host_field_name(s->host, "count", a, out);
	event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT;
	set_name(&event, host_event_name(s->host, name, a, out));
	ok = count > 0 && event.name_iid > 0 && annotations_begin(a, 1) &&
	     (!loss->counted ||
		 annotations_add_number(a, count, loss->count)) &&
	     describe_stream(p, s, out) && put_event(&c, s->track.uuid, &event);
	arena_reset(&p->arena);
	return ok;
}

static void
perfetto_destroy(void *format)
{
	struct perfetto *p = format;

	events_destroy(p->events);
	hosts_free(p->hosts);
	arena_free(&p->arena);
	text_free(&p->scratch);
	free(p);
}

static void *
perfetto_create(bt_self_component *self)
{
	static const struct events_format ops = {
		.stream_size = sizeof(struct stream),
		.kind_size = sizeof(struct kind),
		.stream_begins = stream_begins,
		.stream_ends = stream_ends,
		.packet_begins = packet_begins,
		.kind_begins = kind_begins,
		.kind_ends = kind_ends,
		.event = on_event,
		.loss = on_loss,
	};
	struct perfetto *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->self = self;
	p->annotations.arena = &p->arena;
	p->annotations.scratch = &p->scratch;
	p->events = events_create(&ops, p);
	if (p->events == NULL) {
		perfetto_destroy(p);
		p = NULL;
	}
	return p;
}

static bool
perfetto_message(void *format, const bt_message *message, struct text *out)
{
	struct perfetto *p = format;

	return events_message(p->events, message, out);
}

static void
perfetto_flush(void *format, struct text *out)
{
	struct perfetto *p = format;

	hosts_flush(p->hosts, out);
}

bt_component_class_initialize_method_status
perfetto_initialize(bt_self_component_sink *self,
    bt_self_component_sink_configuration *configuration, const bt_value *params,
    void *data)
{
	static const struct sink_format format = {
		.what = "a Perfetto trace",
		.parameters = "is path",
		.create = perfetto_create,
		.destroy = perfetto_destroy,
		.message = perfetto_message,
		.flush = perfetto_flush,
	};

	(void)configuration;
	(void)data;
	return sink_initialize(&format, self, params);
}
