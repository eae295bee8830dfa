/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/ftrace/ctf_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status
ctf_client_packet(struct client_packet *out, const struct ctf_packet *p)
{
	uint8_t *copy = malloc(p->size);

	if (copy == NULL)
		return E_NOMEM;
	memcpy(copy, p->data, p->size);
	*out = (struct client_packet){
		.data = copy,
		.size = p->size,
		.index = { .packet_size = (uint64_t)p->size * 8,
		    .content_size = (uint64_t)p->size * 8,
		    .timestamp_begin = p->begin,
		    .timestamp_end = p->end,
		    .events_discarded = p->discarded,
		    .ctf_stream = CTF_STREAM_CLASS,
		    .ctf_instance = p->cpu,
		    .packet_seq_num = p->seq },
		.done = free,
		.arg = copy,
	};
	return OK;
}

void
ctf_client_host(char *out, const char *name)
{
	size_t n = 0;

	for (; name[n] != '\0' && n < DAT_NAME_MAX - 1; n++)
		out[n] = name[n] == '/' || (n == 0 && name[n] == '.') ? '_'
								      : name[n];
	out[n] = '\0';
	if (n == 0)
		(void)snprintf(out, DAT_NAME_MAX, "unknown");
}
