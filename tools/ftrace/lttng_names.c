/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/lttng_names.h"

#include <stdio.h>
#include <string.h>

#include "common/compiler.h"

/* Prefixes of names in a system, and LTTng's prefix. Those that are not listed
 * have the same name, without the system. */
static const struct {
	const char *system, *ours, *theirs;
} prefixes[] = {
	{ "syscalls", "sys_enter_", "syscall_entry_" },
	{ "syscalls", "sys_exit_", "syscall_exit_" },
	{ "irq", "softirq_", "irq_softirq_" },
	{ "irq", "tasklet_", "irq_tasklet_" },
	{ "timer", "hrtimer_", "timer_hrtimer_" },
	{ "timer", "itimer_", "timer_itimer_" },
	{ "kmem", "kmalloc", "kmem_kmalloc" },
	{ "kmem", "kfree", "kmem_kfree" },
	{ "kmem", "mm_page_", "kmem_mm_page_" },
	{ "power", "cpu_idle", "power_cpu_idle" },
	{ "power", "cpu_frequency", "power_cpu_frequency" },
	{ "power", "machine_suspend", "power_machine_suspend" },
	{ "power", "wakeup_source_", "power_wakeup_source_" },
	{ "power", "clock_", "power_clock_" },
	{ "skb", "kfree_skb", "skb_kfree" },
	{ "skb", "consume_skb", "skb_consume" },
	{ "printk", "console", "printk_console" },
	{ "net", "netif_", "net_if_" },
	{ "net", "napi_", "net_napi_" },
	{ "compaction", "mm_compaction_", "compaction_" },
	{ "kvm", "kvm_entry", "kvm_x86_entry" },
	{ "kvm", "kvm_exit", "kvm_x86_exit" },
	{ "exceptions", "page_fault_", "x86_exceptions_page_fault_" },
	{ "irq_vectors", "vector_", "vector_" }, /* LTTng has none of these */
	{ "irq_vectors", "x86_platform_ipi_", "x86_irq_vectors_ipi_" },
	{ "irq_vectors", "", "x86_irq_vectors_" },
};

static bool
begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

void
lttng_event_name(char out[LTTNG_NAME_SIZE], const struct event_format *f)
{
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strcmp(f->system, prefixes[i].system) == 0 &&
		    begins(f->name, prefixes[i].ours)) {
			(void)snprintf(out, LTTNG_NAME_SIZE, "%s%s",
			    prefixes[i].theirs,
			    f->name + strlen(prefixes[i].ours));
			return;
		}
	(void)snprintf(out, LTTNG_NAME_SIZE, "%s", f->name);
}

/* The scheduler's pids are thread ids. */
void
lttng_field_name(char name[EVENT_NAME_MAX], const struct event_format *f)
{
	const size_t n = strlen(name);

	if (strcmp(f->system, "sched") == 0 &&
	    (strcmp(name, "pid") == 0 ||
		(n > 4 && strcmp(name + n - 4, "_pid") == 0)))
		name[n - 3] = 't';
}

bool
lttng_is_rwbs(const struct event_format *f, const struct event_field *x)
{
	return x->kind == FIELD_TEXT && strcmp(f->system, "block") == 0 &&
	       strcmp(x->name, "rwbs") == 0;
}

/* LTTng's flags of the N letters at DATA. The kernel writes an F before the
 * request's kind, as its kind, or after it. */
uint32_t
lttng_rwbs_flags(const uint8_t *data, uint32_t n)
{
	static const struct {
		char letter;
		uint32_t flag;
	} letters[] = {
		{ 'W', 1 << 0 },
		{ 'D', 1 << 1 },
		{ 'R', 1 << 2 },
		{ 'A', 1 << 3 },
		{ 'B', 1 << 4 },
		{ 'S', 1 << 5 },
		{ 'M', 1 << 6 },
		{ 'E', 1 << 7 },
	};
	enum { FLUSH = 1 << 8, FUA = 1 << 9, PREFLUSH = 1 << 10 };
	bool has_kind = false;
	uint32_t flags = 0;

	for (uint32_t i = 0; i < n && data[i] != '\0'; i++) {
		const char c = (char)data[i];

		if (c == 'F' && has_kind)
			flags |= FUA;
		else if (c == 'F' && i + 1 < n && data[i + 1] != '\0' &&
			 strchr("DWRFN", data[i + 1]) != NULL)
			flags |= PREFLUSH;
		else if (c == 'F')
			flags |= FLUSH;
		has_kind |= strchr("DWRN", c) != NULL || (flags & FLUSH) != 0;
		for (size_t k = 0; k < ARRAY_LEN(letters); k++)
			if (c == letters[k].letter)
				flags |= letters[k].flag;
	}
	return flags;
}
