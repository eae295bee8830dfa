/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/hosts.h"

struct host *
host_get(struct host **list, const char *name)
{
	struct host *h = *list;

	while (h != NULL && strcmp(h->name, name) != 0)
		h = h->next;
	if (h != NULL)
		return h;
	h = calloc(1, sizeof(*h));
	if (h == NULL)
		return NULL;
	h->name = strdup(name);
	if (h->name == NULL) {
		free(h);
		return NULL;
	}
	h->packets.host = *list != NULL ? (*list)->packets.host + 1 : 0;
	h->next = *list;
	*list = h;
	return h;
}

void
hosts_free(struct host *list)
{
	while (list != NULL) {
		struct host *h = list;

		list = h->next;
		for (uint64_t i = 0; i < h->n_cpus; i++)
			text_free(&h->cpus[i].events);
		free(h->cpus);
		threads_free(&h->threads);
		names_free(&h->events);
		names_free(&h->fields);
		free(h->name);
		free(h);
	}
}

struct cpu *
host_cpu(struct host *h, uint64_t n)
{
	struct cpu *cpus;

	if (n < h->n_cpus)
		return &h->cpus[n];
	if (n >= HOST_CPUS_MAX)
		return NULL;
	cpus = realloc(h->cpus, (n + 1) * sizeof(cpus[0]));
	if (cpus == NULL)
		return NULL;
	memset(cpus + h->n_cpus, 0, (n + 1 - h->n_cpus) * sizeof(cpus[0]));
	h->cpus = cpus;
	h->n_cpus = n + 1;
	return &cpus[n];
}

bool
host_put_cpu(struct host *h, struct cpu *cpu, struct text *out)
{
	bool ok = packets_put_bundle(
	    &h->packets, (uint32_t)(cpu - h->cpus), &cpu->events, out);

	cpu->events.len = 0;
	return ok;
}

void
hosts_flush(struct host *list, struct text *out)
{
	for (; list != NULL; list = list->next) {
		for (uint64_t i = 0; i < list->n_cpus; i++) {
			if (list->cpus[i].events.len > 0)
				host_put_cpu(list, &list->cpus[i], out);
		}
	}
}

uint64_t
host_event_name(
    struct host *h, const char *name, struct annotations *a, struct text *out)
{
	bool is_new;
	uint64_t iid = names_number(&h->events, name, &is_new);
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__EventName entry = PERFETTO__EVENT_NAME__INIT;
	Perfetto__EventName *one = &entry;

	if (iid == 0 || !is_new)
		return iid;
	packet.interned_data = &data;
	data.event_names = &one;
	data.n_event_names = 1;
	entry.has_iid = true;
	entry.iid = iid;
	entry.name = annotations_string(a, name);
	return entry.name != NULL && packets_put(&h->packets, &packet, out)
		   ? iid
		   : 0;
}

uint64_t
host_field_name(
    struct host *h, const char *name, struct annotations *a, struct text *out)
{
	bool is_new;
	uint64_t iid = names_number(&h->fields, name, &is_new);
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__DebugAnnotationName entry =
	    PERFETTO__DEBUG_ANNOTATION_NAME__INIT;
	Perfetto__DebugAnnotationName *one = &entry;

	if (iid == 0 || !is_new)
		return iid;
	packet.interned_data = &data;
	data.debug_annotation_names = &one;
	data.n_debug_annotation_names = 1;
	entry.has_iid = true;
	entry.iid = iid;
	entry.name = annotations_string(a, name);
	return entry.name != NULL && packets_put(&h->packets, &packet, out)
		   ? iid
		   : 0;
}

/* Times of events are those of Perfetto's own clock, BOOTTIME. */
bool
host_put_clock(struct host *h, int64_t ns, struct text *out)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__ClockSnapshot__Clock clocks[2];
	Perfetto__ClockSnapshot__Clock *list[2] = { &clocks[0], &clocks[1] };

	if (h->has_clock)
		return true;
	h->has_clock = true;
	for (int i = 0; i < 2; i++) {
		perfetto__clock_snapshot__clock__init(&clocks[i]);
		clocks[i].has_clock_id = true;
		clocks[i].has_timestamp = true;
		clocks[i].timestamp = (uint64_t)ns;
	}
	clocks[0].clock_id = PERFETTO__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME;
	clocks[1].clock_id = PERFETTO__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME;
	snapshot.clocks = list;
	snapshot.n_clocks = 2;
	packet.clock_snapshot = &snapshot;
	return packets_put(&h->packets, &packet, out);
}

bool
host_put_kernel(struct host *h, const char *sysname, const char *release,
    struct annotations *a, struct text *out)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__SystemInfo info = PERFETTO__SYSTEM_INFO__INIT;
	Perfetto__Utsname names = PERFETTO__UTSNAME__INIT;

	if (h->has_kernel)
		return true;
	h->has_kernel = true;
	packet.system_info = &info;
	info.utsname = &names;
	names.sysname = annotations_string(a, sysname);
	names.release = annotations_string(a, release);
	return names.sysname != NULL && names.release != NULL &&
	       packets_put(&h->packets, &packet, out);
}

static bool
put_descriptor(
    struct host *h, Perfetto__TrackDescriptor *track, struct text *out)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	track->has_uuid = true;
	packet.track_descriptor = track;
	return packets_put(&h->packets, &packet, out);
}

bool
host_put_track(struct host *h, struct track *track, const char *name,
    struct annotations *a, struct text *out)
{
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;

	if (track->is_described)
		return true;
	track->is_described = true;
	descriptor.uuid = track->uuid;
	descriptor.name = annotations_string(a, name);
	return descriptor.name != NULL && put_descriptor(h, &descriptor, out);
}

/* Of a thread or, without TID, of a process. */
static uint64_t
uuid_of(const struct host *h, int64_t pid, int64_t tid)
{
	char key[80];

	(void)snprintf(key, sizeof(key), "%u/%lld/%lld", h->packets.host,
	    (long long)pid, (long long)tid);
	return tracks_hash(TRACKS_HASH, key);
}

uint64_t
host_put_process_name(struct host *h, int64_t pid, const char *name,
    struct annotations *a, struct text *out)
{
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ProcessDescriptor process =
	    PERFETTO__PROCESS_DESCRIPTOR__INIT;

	descriptor.uuid = uuid_of(h, pid, 0);
	descriptor.process = &process;
	process.has_pid = true;
	process.pid = (int32_t)pid;
	process.process_name = annotations_string(a, name);
	return process.process_name != NULL &&
		       put_descriptor(h, &descriptor, out)
		   ? descriptor.uuid
		   : 0;
}

bool
host_put_thread(struct host *h, struct thread *thread, struct annotations *a,
    struct text *out)
{
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ThreadDescriptor of = PERFETTO__THREAD_DESCRIPTOR__INIT;

	if (thread->track.is_described)
		return true;
	thread->track.is_described = true;
	thread->track.uuid = uuid_of(h, thread->pid, thread->tid);
	descriptor.uuid = thread->track.uuid;
	descriptor.thread = &of;
	of.has_pid = true;
	of.pid = (int32_t)thread->pid;
	of.has_tid = true;
	of.tid = thread->tid;
	if (thread->name[0] != '\0') {
		of.thread_name = annotations_string(a, thread->name);
		if (of.thread_name == NULL)
			return false;
		/* The main thread has the name of its process. */
		if (thread->pid == thread->tid &&
		    host_put_process_name(
			h, thread->pid, thread->name, a, out) == 0)
			return false;
	}
	return put_descriptor(h, &descriptor, out);
}

bool
host_put_process(struct host *h, const struct host_process *from, int64_t ns,
    struct annotations *a, struct text *out)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ProcessTree tree = PERFETTO__PROCESS_TREE__INIT;
	Perfetto__ProcessTree__Process process =
	    PERFETTO__PROCESS_TREE__PROCESS__INIT;
	Perfetto__ProcessTree__Process *processes = &process;
	Perfetto__ProcessTree__Thread thread =
	    PERFETTO__PROCESS_TREE__THREAD__INIT;
	Perfetto__ProcessTree__Thread *threads = &thread;
	char *name = annotations_string(a, from->name);

	packet.has_timestamp = true;
	packet.timestamp = (uint64_t)ns;
	packet.process_tree = &tree;
	tree.threads = &threads;
	tree.n_threads = 1;
	thread.has_tid = true;
	thread.tid = (int32_t)from->tid;
	thread.has_tgid = true;
	thread.tgid = (int32_t)from->pid;
	thread.name = name;
	if (from->tid == from->pid) {
		tree.processes = &processes;
		tree.n_processes = 1;
		process.has_pid = true;
		process.pid = (int32_t)from->pid;
		process.has_ppid = true;
		process.ppid = (int32_t)from->ppid;
		process.cmdline = &name;
		process.n_cmdline = 1;
	}
	return name != NULL && packets_put(&h->packets, &packet, out);
}
