/* SPDX-License-Identifier: MIT */
/* The options of loadgen and viewgen that say what the load is. */
/* clang-format off */
OPTION(SESSIONS, 0, "sessions", "N", NUMBER(shape.sessions, 1, 100000),
    "sessions, each with two connections of loadgen [1]")
OPTION(FIRST, 0, "first", "N", NUMBER(shape.first, 0, 1000000),
    "number of the first, also in its name [0]")
OPTION(STREAMS, 0, "streams", "N", NUMBER(shape.streams, 1, 10000),
    "data streams of a session [4]")
OPTION(PACKETS, 0, "packets", "N", COUNT(shape.packets, 0, UINT64_C(1) << 40),
    "packets of a stream [1000]")
OPTION(SIZE, 0, "size", "BYTES", NUMBER(shape.size, 0, UINT32_MAX),
    "of a packet [262144]")
OPTION(PADDING, 0, "padding", "BYTES", NUMBER(shape.padding, 0, UINT32_MAX),
    "zeros behind each packet, made by the relay [0]")
OPTION(JSON, 0, "json", NULL, FLAG(is_json), "print one JSON object")
OPTION(HELP, 'h', "help", NULL, PRINT, "print this help and exit")
