/* SPDX-License-Identifier: MIT */
/*
 * A directory that stays open with its session: its descriptor counts in the
 * share FDS_SESSIONS (common/fds.h). Any thread.
 */
#ifndef STORE_KEPT_DIR_H
#define STORE_KEPT_DIR_H

#include <stdbool.h>

#include "common/compiler.h"
#include "common/status.h"

/* As dir_open(); also E_IO, errno EMFILE, when the share is used up. */
enum status kept_dir_open(int *out, int base, const char *path) MUST_CHECK;
void kept_dir_close(int fd);
/* Did somebody remove the directory? Then nothing can be made in it any
 * more. */
bool kept_dir_is_gone(int fd);

#endif
