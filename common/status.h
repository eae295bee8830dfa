/* SPDX-License-Identifier: MIT */
/* The outcome of a function that can fail; the list is status.tbl.h. */
#ifndef COMMON_STATUS_H
#define COMMON_STATUS_H

enum status {
#define STATUS(name, blame, text) name,
#include "common/status.tbl.h"
#undef STATUS
};

enum blame { BLAME_NOBODY, BLAME_PEER, BLAME_US };

/* A short English text, never NULL. */
const char *status_text(enum status st);

enum blame status_blame(enum status st);

#endif
