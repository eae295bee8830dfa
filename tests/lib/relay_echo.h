/* SPDX-License-Identifier: MIT */
/*
 * A message of the control port, decoded and encoded again: this shows what a
 * decoder dropped or misread. One case per row of relay.tbl.h.
 */
#ifndef TESTS_LIB_RELAY_ECHO_H
#define TESTS_LIB_RELAY_ECHO_H

#include <stdint.h>

#include "common/compiler.h"
#include "common/reader.h"
#include "common/status.h"

struct buf;

/* Append to OUT the message, with its header, that BODY decodes to. Returns the
 * decoder's failure, or E_PROTOCOL for an unknown command. */
enum status relay_echo(uint32_t cmd, struct reader body, unsigned minor,
    struct buf *out) MUST_CHECK;

#endif
