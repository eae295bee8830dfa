/* SPDX-License-Identifier: MIT */
/* clang-format off: the columns are the table */
/*
 * What happened to datagrams: one row per count, in the order of the log line.
 * The rows from "malformed" on count datagrams that the worker drops.
 *        name           what it counts
 */
UDP_COUNT(taken, "pieces of packets that were new")
UDP_COUNT(resent, "of these, sent again on request")
UDP_COUNT(forwarded, "came to another worker's socket")
UDP_COUNT(kernel, "dropped by the kernel: the socket was full")
UDP_COUNT(malformed, "short, cut, another magic, version or header")
UDP_COUNT(stream, "no such stream, or it is closed, or it does not use UDP")
UDP_COUNT(token, "not the token of that stream's session")
UDP_COUNT(checksum, "the checksum is wrong")
UDP_COUNT(figures, "offset, length, number or size is impossible, or too large")
UDP_COUNT(contradiction, "another size than an earlier piece said")
UDP_COUNT(duplicate, "that piece came before")
UDP_COUNT(late, "its packet was committed or given up")
UDP_COUNT(memory, "the session, or the relay, lacks memory")
