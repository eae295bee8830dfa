/* SPDX-License-Identifier: MIT */
/* What LTTng calls events of the kernel that ftrace has by other names; all
 * others have the same name, without their system. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "common/compiler.h"
#include "tools/ftrace/ctf.h"

/* Names that begin so, in that system, begin so with LTTng. */
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
	{ "skb", "kfree_skb", "skb_kfree" },
	{ "skb", "consume_skb", "skb_consume" },
	{ "printk", "console", "printk_console" },
};

static bool
begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

void
ctf_names_event(char *out, const struct event_format *f, enum ctf_names names)
{
	const size_t room = 2 * EVENT_NAME_MAX;

	if (names == CTF_NAMES_SYSTEM) {
		(void)snprintf(out, room, "%s:%s", f->system, f->name);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strcmp(f->system, prefixes[i].system) == 0 &&
		    begins(f->name, prefixes[i].ours)) {
			(void)snprintf(out, room, "%s%s", prefixes[i].theirs,
			    f->name + strlen(prefixes[i].ours));
			return;
		}
	(void)snprintf(out, room, "%s", f->name);
}

/* What the scheduler calls a pid is a thread's, and LTTng says so. */
void
ctf_names_field(char out[EVENT_NAME_MAX], const struct event_format *f,
    const struct event_field *field, enum ctf_names names)
{
	const size_t n = strlen(field->name);

	(void)snprintf(out, EVENT_NAME_MAX, "%s", field->name);
	if (names != CTF_NAMES_LTTNG || strcmp(f->system, "sched") != 0)
		return;
	if (strcmp(out, "pid") == 0 ||
	    (n > 4 && strcmp(out + n - 4, "_pid") == 0))
		out[n - 3] = 't';
}
