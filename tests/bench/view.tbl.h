/* SPDX-License-Identifier: MIT */
/* The command line of viewgen; see common/option_rows.h. */
/* clang-format off */
OPTION(HOST, 0, "host", "ADDRESS", TEXT(host),
    "of the relay, IPv4 [127.0.0.1]")
OPTION(LIVE, 0, "live", "PORT", NUMBER(live, 1, 65535),
    "of the relay")
OPTION(VIEWERS, 0, "viewers", "N", NUMBER(viewers, 1, 100000),
    "number n watches session n modulo sessions [1]")
OPTION(LAST, 0, "last", NULL, FLAG(is_last),
    "begin at the end, not at the beginning")
OPTION(PIECE, 0, "piece", "BYTES", NUMBER(piece, 0, 1 << 30),
    "at most, of one GET_PACKET; 0: all [262144]")
OPTION(PAUSE, 0, "pause", "MS", NUMBER(pause_ms, 0, 86400000),
    "after \"nothing new\" [0]")
OPTION(STAY, 0, "stay", "MS", NUMBER(stay_ms, 0, 86400000),
    "go on asking so long after the last packet [0]")
OPTION(STALL, 0, "stall", "MS", NUMBER(stall_ms, 0, 86400000),
    "read nothing for so long within the first packet")
OPTION(SENT, 0, "sent", "FILE", TEXT(sent_path),
    "of loadgen --sent: tell how late indexes arrive")
#include "tests/bench/shape.tbl.h"
