/* SPDX-License-Identifier: MIT */
/* clang-format off: the columns are the table */
/* The kinds of records (doc/kafka.md): number, name, name for people, and
 * whether it is about one stream. */
RECORD(1, SESSION,     "session",     false)
RECORD(2, STREAM,      "stream",      true)
RECORD(3, METADATA,    "metadata",    true)
RECORD(4, PACKET,      "packet",      true)
RECORD(5, BEACON,      "beacon",      true)
RECORD(6, LOSS,        "loss",        true)
RECORD(7, STREAM_END,  "stream-end",  true)
RECORD(8, SESSION_END, "session-end", false)
RECORD(9, STATE,       "state",       false)
