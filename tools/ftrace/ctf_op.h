/* SPDX-License-Identifier: MIT */
/* A step of encoding an event. */
#ifndef TOOLS_FTRACE_CTF_OP_H
#define TOOLS_FTRACE_CTF_OP_H

#include <stdbool.h>
#include <stdint.h>

enum ctf_op_kind {
	OP_COPY,      /* SIZE bytes from AT */
	OP_TEXT,      /* what the word at AT names: text */
	OP_ARRAY,     /* the same: numbers of ELEMENT bytes, and how many */
	OP_REST_TEXT, /* the same, from AT to the end of the event */
	OP_REST_ARRAY,
};

struct ctf_op {
	uint8_t kind;	 /* enum ctf_op_kind */
	uint8_t element; /* bytes */
	bool is_relative;
	uint32_t at, size;
};

#endif
