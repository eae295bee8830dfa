/* SPDX-License-Identifier: MIT */
/*
 * Messages of babeltrace2 as records in JSON, one per line, as
 * tracepulse-plugin(7) describes them.
 *
 * What is the same in all events of a class and a stream is made once. It is
 * forgotten when the stream ends. One thread.
 */
#ifndef TOOLS_PLUGIN_RECORDS_H
#define TOOLS_PLUGIN_RECORDS_H

#include <stdbool.h>

#include <babeltrace2/babeltrace.h>

#include "tools/plugin/plan.h"
#include "tools/plugin/text.h"

struct records;

/* NAMES: patterns of events that are wanted, or NULL. Borrows both. */
struct records *records_create(
    const struct plan_config *config, const bt_value *names);
void records_destroy(struct records *r);

/* Appends the record of MESSAGE, if it has one. False: no memory. */
bool records_message(
    struct records *r, const bt_message *message, struct text *out);

#endif
