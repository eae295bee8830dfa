/* SPDX-License-Identifier: MIT */
/* clang-format off: the columns are the table */
/*
 * What happened to datagrams: one row per count, in the order of the log line.
 * The rows from "malformed" on count datagrams that the worker drops.
 *        name           what it counts
 */
UDP_COUNT(taken, "new pieces of packets")
UDP_COUNT(resent, "new pieces that were sent again on request")
UDP_COUNT(forwarded, "forwarded: they arrived at another worker's socket")
UDP_COUNT(kernel, "dropped by the kernel: the socket was full")
UDP_COUNT(malformed, "truncated, or of unknown magic number, version or header")
UDP_COUNT(stream, "no such stream, or it is closed, or it does not use UDP")
UDP_COUNT(token, "the token is not that of the stream's session")
UDP_COUNT(checksum, "the checksum is wrong")
UDP_COUNT(figures, "offset, length, number or size is impossible, or too large")
UDP_COUNT(contradiction, "the packet size differs from an earlier piece")
UDP_COUNT(duplicate, "the piece has already arrived")
UDP_COUNT(late, "its packet was already committed or counted as lost")
UDP_COUNT(memory, "the session, or the relay, lacks memory")
