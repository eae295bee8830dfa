/* SPDX-License-Identifier: MIT */
/* Fields of an event by name, and what they are called for people. */
#ifndef TOOLS_PLUGIN_VALUE_H
#define TOOLS_PLUGIN_VALUE_H

#include <stdbool.h>

#include <babeltrace2/babeltrace.h>

#include "tools/plugin/text.h"

/*
 * The member NAME of the structure FIELD, or NULL. "a.b" is the member b of a,
 * which may be an option or a variant, too: of what is selected.
 */
const bt_field *value_member(const bt_field *field, const char *name);

/* The field NAME of the event, of the context of the stream's events, or of its
 * own context: the first in this order that has it, or NULL. */
const bt_field *value_find(const bt_event *event, const char *name);

/*
 * Is FIELD equal to WANT? Strings and labels of enumerations: WANT is a pattern
 * (glob(7)); numbers: by value, "0x1f" is one; addresses: as they are written.
 */
bool value_is(const bt_field *field, const char *want);

/*
 * Appends an array of 4 or 6 bytes or of 8 16-bit integers as an address of
 * IPv4, Ethernet or IPv6 (RFC 5952). False: it is no such array.
 */
bool value_address(const bt_field *field, struct text *t);

#endif
