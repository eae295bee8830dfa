/* SPDX-License-Identifier: MIT */
/* clang-format off: the columns are the table */
/*
 * Every outcome of a function that can fail.
 *      name             to blame  text
 * The blame decides the level in the log. At the edge (relayd/net/conn.c) a
 * connection goes on after OK, E_MORE and E_REFUSED, and moves with E_HANDOVER.
 * After all others it is closed; with E_REFUSED_CLOSE its reply is sent first.
 */
STATUS(OK,               NOBODY,   "ok")
STATUS(E_MORE,           NOBODY,   "more bytes are needed")
STATUS(E_LATER,          NOBODY,   "goes on in a later turn")
STATUS(E_HANDOVER,       NOBODY,   "the connection belongs to another thread")
STATUS(E_REFUSED,        NOBODY,   "refused")
STATUS(E_REFUSED_CLOSE,  PEER,     "refused, connection closed")
STATUS(E_MALFORMED,      PEER,     "malformed message")
STATUS(E_PROTOCOL,       PEER,     "not allowed by the protocol")
STATUS(E_LIMIT,          PEER,     "over a limit")
STATUS(E_EXISTS,         NOBODY,   "exists already")
STATUS(E_NOENT,          NOBODY,   "does not exist")
STATUS(E_BUSY,           NOBODY,   "in use")
STATUS(E_STOPPED,        NOBODY,   "stopped")
STATUS(E_NOMEM,          US,       "out of memory")
STATUS(E_IO,             US,       "input/output error")
STATUS(E_NOSPC,          US,       "no room on the disk")
