/* SPDX-License-Identifier: MIT */
/* tracepulse shows the state of a relay, for people and scripts. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>

#include "tools/ctl/check.h"
#include "tools/ctl/ctl.h"

static int (*const commands[])(struct ctl *c) = {
#define COMMAND(name, operand, options, help) [COMMAND_##name] = command_##name,
#include "tools/ctl/commands.tbl.h"
#undef COMMAND
};

/* Was everything written? A full disk may be reported only now. */
static int
end_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	(void)ctl_fail("cannot write to standard output");
	return status == CTL_OK ? CTL_FAILED : status;
}

int
main(int argc, char **argv)
{
	struct ctl c = { 0 };
	int status;

	setlocale(LC_CTYPE, "");
	if (ctl_options_parse(&c.options, argc, argv) != OK)
		return c.options.command == COMMAND_check ? CHECK_UNKNOWN
							  : CTL_USAGE;
	if (c.options.is_done)
		return end_output(CTL_OK);
	if (fetch_begin() != OK)
		return ctl_fail("out of memory");
	terminal_open(&c.terminal);
	c.fetch = fetch_create(&c.options.address, c.options.timeout_ms);
	status = end_output(commands[c.options.command](&c));
	fetch_destroy(c.fetch);
	return status;
}
