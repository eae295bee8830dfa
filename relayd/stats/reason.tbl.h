/* SPDX-License-Identifier: MIT */
/* clang-format off: the columns are the table */
/*
 * Why a connection or a request was refused: a label of refused_total.
 *     name         text
 */
REASON(refused,     "a request got an error, the connection went on")
REASON(closed,      "a request got an error, and the connection ended")
REASON(malformed,   "a message that cannot be read")
REASON(protocol,    "not allowed by the protocol here")
REASON(limit,       "over a limit")
REASON(memory,      "no memory")
REASON(io,          "the relay could not write or read")
REASON(crowded,     "too many connections")
REASON(descriptors, "no descriptor left")
REASON(stalled,     "silent in the middle of a message")
REASON(lost,        "the socket failed")
