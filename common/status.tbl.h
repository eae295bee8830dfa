/* SPDX-License-Identifier: MIT */
/* clang-format off: the columns are the table */
/*
 * Every outcome of a function that can fail.
 *
 * The columns: name, who is to blame, text.
 *
 * The blame determines the log level. A connection continues
 * after OK, E_MORE, E_LATER and E_REFUSED, which its endpoint handles, and
 * moves with E_HANDOVER. It is closed after all others (conn_fail()); with
 * E_REFUSED_CLOSE its reply is sent first.
 */
STATUS(OK, NOBODY, "ok")
STATUS(E_MORE, NOBODY, "more bytes are needed")
STATUS(E_LATER, NOBODY, "continues in a later cycle")
STATUS(E_HANDOVER, NOBODY, "connection moves to another thread")
STATUS(E_REFUSED, NOBODY, "refused")
STATUS(E_REFUSED_CLOSE, PEER, "refused, connection closed")
STATUS(E_MALFORMED, PEER, "malformed message")
STATUS(E_PROTOCOL, PEER, "not allowed by the protocol")
STATUS(E_LIMIT, PEER, "over a limit")
STATUS(E_EXISTS, NOBODY, "already exists")
STATUS(E_NOENT, NOBODY, "does not exist")
STATUS(E_BUSY, NOBODY, "in use")
STATUS(E_STOPPED, NOBODY, "stopped")
STATUS(E_NOMEM, US, "out of memory")
STATUS(E_IO, US, "input/output error")
STATUS(E_NOSPC, US, "no space left on the disk")
