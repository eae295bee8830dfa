/* SPDX-License-Identifier: MIT */
/* clang-format off: the columns are the table */
/*
 * Reasons that the relay gives: labels of metrics, members in the JSON, words in
 * the log. Define the macros of the rows that are wanted.
 */
#ifndef LOSS
#define LOSS(name, text)
#endif
#ifndef WHY
#define WHY(name, text)
#endif
#ifndef REASON
#define REASON(name, text)
#endif
#ifndef DELETED
#define DELETED(name, text)
#endif

/* Why packets are lost: lost_packets_total. */
LOSS(gap,                "they never arrived over TCP")
LOSS(udp,                "they did not arrive over UDP in time")
LOSS(write,              "they could not be written")
LOSS(disk_full,          "the disk was full")
LOSS(removed,            "somebody removed the file or its folder")
LOSS(no_chunk,           "they arrived after a rotation to no chunk")
LOSS(memory,             "memory was short, and their indexes had not arrived")
LOSS(unfinished,         "their indexes arrived, but their bytes never did")
LOSS(viewer_overwritten, "they were overwritten or cleared before a viewer read them")
LOSS(viewer_removed,     "their file was removed before a viewer read them")

/* Why a session ended: sessions_ended_total, and the log. */
WHY(closed, "the peer closed its streams, then its connection")
WHY(left,   "the peer's connection ended while streams were open")
WHY(error,  "the peer's connection ended with an error")
WHY(waited, "announced bytes did not arrive in time")
WHY(stop,   "the relay stopped")

/* Why a connection or a request was refused: refused_total. */
REASON(refused,     "a request got an error, and the connection continued")
REASON(closed,      "a request got an error, and the connection ended")
REASON(malformed,   "malformed message")
REASON(protocol,    "not allowed by the protocol in this state")
REASON(limit,       "over a limit")
REASON(memory,      "out of memory")
REASON(io,          "the relay could not write or read")
REASON(crowded,     "too many connections")
REASON(descriptors, "out of descriptors")
REASON(stalled,     "silent in the middle of a message")
REASON(lost,        "the socket failed")

/* Which limit a directory was deleted for: deleted_total, and the log. */
DELETED(max_age,   "it was older than --max-age")
DELETED(max_use,   "more was used than --max-use")
DELETED(keep_free, "less was free than --keep-free")

#undef LOSS
#undef WHY
#undef REASON
#undef DELETED
