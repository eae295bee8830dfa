/* SPDX-License-Identifier: MIT */
/* clang-format off: the columns are the table */
/*
 * Why packets are lost: the label of lost_packets_total, and the member in the
 * JSON.
 *   name                text
 */
LOSS(gap,                "numbers that never came over TCP")
LOSS(udp,                "numbers that never came over UDP, or were given up")
LOSS(write,              "they could not be written")
LOSS(disk_full,          "there was no room on the disk")
LOSS(removed,            "somebody removed the file or its folder")
LOSS(no_chunk,           "they came after the last rotation, to no chunk")
LOSS(memory,             "memory was short, and their indexes did not come")
LOSS(unfinished,         "an index came, but the bytes never did")
LOSS(viewer_overwritten, "overwritten or cleared before a viewer read them")
LOSS(viewer_removed,     "their file was removed before a viewer read them")
