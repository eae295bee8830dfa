/* SPDX-License-Identifier: MIT */
/*
 * What a Perfetto trace knows of a machine: names, threads, CPUs. Each machine
 * has packets of its own, in which only its own names are valid.
 */
#ifndef TOOLS_PLUGIN_HOSTS_H
#define TOOLS_PLUGIN_HOSTS_H

#include <stdbool.h>

#include "tools/plugin/annotations.h"
#include "tools/plugin/names.h"
#include "tools/plugin/packets.h"
#include "tools/plugin/tracks.h"

/* CPUs of a host: what "cpu_id" claims costs memory. */
#define HOST_CPUS_MAX 4096

enum {
	HOST_BUNDLE = 8192, /* bytes of a CPU's events; then they are put */
};

struct cpu {
	struct text events; /* of the kernel, as for a FtraceEventBundle */
	bool has_thread;
	int64_t tid; /* that runs */
};

struct host {
	struct host *next;
	char *name;
	struct packets packets;
	struct names events, fields;
	struct threads threads;
	struct cpu *cpus;
	uint64_t n_cpus;
	bool has_clock;	 /* it is said what time it was */
	bool has_kernel; /* and which kernel it has */
};

/* The host of that name in LIST, or a new one; NULL: no memory. */
struct host *host_get(struct host **list, const char *name);
void hosts_free(struct host *list);

/* NULL: N is out of range, or no memory. */
struct cpu *host_cpu(struct host *h, uint64_t n);

/* Puts events of a CPU that wait; of all CPUs. */
bool host_put_cpu(struct host *h, struct cpu *cpu, struct text *out);
void hosts_flush(struct host *list, struct text *out);

/* The number of the name of events or fields; 0: no memory. */
uint64_t host_event_name(
    struct host *h, const char *name, struct annotations *a, struct text *out);
uint64_t host_field_name(
    struct host *h, const char *name, struct annotations *a, struct text *out);

/* The time of the clock is that of CLOCK_REALTIME. Done once. */
bool host_put_clock(struct host *h, int64_t ns, struct text *out);

/* The kernel, as uname(2) has it: states of threads depend on it. Done once. */
bool host_put_kernel(struct host *h, const char *sysname, const char *release,
    struct annotations *a, struct text *out);

/* Describes a track called NAME, if that was not done. */
bool host_put_track(struct host *h, struct track *track, const char *name,
    struct annotations *a, struct text *out);
bool host_put_thread(struct host *h, struct thread *thread,
    struct annotations *a, struct text *out);

/* Names process PID. Returns the UUID of its track; 0: no memory. */
uint64_t host_put_process_name(struct host *h, int64_t pid, const char *name,
    struct annotations *a, struct text *out);

/* Of a process as the kernel lists it: one of its threads. */
struct host_process {
	int64_t tid, pid, ppid;
	const char *name;
};
bool host_put_process(struct host *h, const struct host_process *process,
    int64_t ns, struct annotations *a, struct text *out);

#endif
