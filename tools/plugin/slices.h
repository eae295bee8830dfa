/* SPDX-License-Identifier: MIT */
/* Names of events that begin or end something. */
#ifndef TOOLS_PLUGIN_SLICES_H
#define TOOLS_PLUGIN_SLICES_H

enum slice_part {
	SLICE_NONE,
	SLICE_BEGIN,
	SLICE_END,
};

/*
 * Which part an event NAME is, by "syscall_entry_" or "_exit_" in it, or
 * "entry", "enter" or "begin", "exit" or "end" behind a "_" or ":" at its end.
 * SLICE is set to the name of the slice, to be freed; NULL: no memory.
 */
enum slice_part slice_part(const char *name, char **slice);

#endif
