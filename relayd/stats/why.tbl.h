/* SPDX-License-Identifier: MIT */
/* clang-format off: the columns are the table */
/*
 * Why a session ended: the label of sessions_ended_total, the log line, and the
 * member in the JSON.
 *  name    text
 */
WHY(closed, "the peer closed its streams, then its connection")
WHY(left,   "the peer's connection ended while streams were open")
WHY(error,  "the peer's connection ended by an error")
WHY(waited, "bytes that were announced did not come in time")
WHY(stop,   "the relay stopped")
