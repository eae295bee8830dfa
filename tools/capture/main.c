/* SPDX-License-Identifier: MIT */
/* tracepulse-capture makes a trace of network packets. */
#include <stdio.h>

#include "tools/capture/capture.h"
#include "tools/capture/interface.h"

#define EXIT_USAGE 2

int
main(int argc, char **argv)
{
	struct capture_options o;

	if (capture_options_parse(&o, argc, argv) != OK)
		return EXIT_USAGE;
	if (o.lists_formats)
		source_list_formats();
	if (o.lists_interfaces)
		return interface_list() ? 0 : 1;
	if (o.lists_time_stamps)
		puts("Time stamp types (option --time-stamp-type):\n"
		     "  host (Host)");
	if (o.is_done)
		return 0;
	return o.from_ctf != NULL ? from_ctf_run(&o) : capture_run(&o);
}
