/* SPDX-License-Identifier: MIT */
/* Where there is no libbabeltrace2. */
#include <stdio.h>

#include "tools/capture/ctf_reader.h"

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
