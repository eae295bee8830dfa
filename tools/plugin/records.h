/* SPDX-License-Identifier: MIT */
/*
 * Messages of babeltrace2 as records in JSON, one per line, as
 * tracepulse-plugin(7) describes them. One thread.
 */
#ifndef TOOLS_PLUGIN_RECORDS_H
#define TOOLS_PLUGIN_RECORDS_H

#include <stdbool.h>

#include <babeltrace2/babeltrace.h>

#include "tools/plugin/plan.h"
#include "tools/plugin/text.h"

struct records;

/* Borrows CONFIG, which is complete when the first message comes. */
struct records *records_create(const struct plan_config *config);
void records_destroy(struct records *r);

/* Appends the record of MESSAGE, if it has one. False: no memory. */
bool records_message(
    struct records *r, const bt_message *message, struct text *out);

#endif
