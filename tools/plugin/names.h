/* SPDX-License-Identifier: MIT */
/* Names that are written once and then are a number. */
#ifndef TOOLS_PLUGIN_NAMES_H
#define TOOLS_PLUGIN_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed, it is empty. */
struct names {
	void *tree;
	uint64_t n;
};

/* The number of NAME, from 1; 0: no memory. IS_NEW: NAME was not there. */
uint64_t names_number(struct names *names, const char *name, bool *is_new);
void names_free(struct names *names);

#endif
