/* SPDX-License-Identifier: MIT */
/* The command line of loadgen; see common/option_rows.h. */
/* clang-format off */
OPTION(HOST, 0, "host", "ADDRESS", TEXT(host),
    "of the relay, IPv4 [127.0.0.1]")
OPTION(CONTROL, 0, "control", "PORT", NUMBER(control, 1, 65535),
    "of the relay")
OPTION(DATA, 0, "data", "PORT", NUMBER(data, 1, 65535),
    "of the relay")
OPTION(RAW, 0, "raw", "PORT", NUMBER(raw, 1, 65535),
    "of a plain sink, which gets data only")
OPTION(UDP, 0, "udp", NULL, FLAG(is_udp),
    "packets as datagrams, sent again when lost")
OPTION(FRAGMENT, 0, "fragment", "BYTES", NUMBER(fragment, UDP_FRAGMENT_MIN, UDP_FRAGMENT_MAX),
    "of a packet in a datagram [the library's]")
OPTION(OUTSTANDING, 0, "outstanding", "N", NUMBER(outstanding, 1, 100000),
    "indexes of a session that wait for a reply [16]")
OPTION(BEACON, 0, "beacon", "MS", NUMBER(beacon_ms, 1, 1000000),
    "live sessions, with beacons in that interval")
OPTION(RATE, 0, "rate", "N", COUNT(rate, 1, 1000000000),
    "packets per second of a session [no limit]")
OPTION(HOLD, 0, "hold", "MS", NUMBER(hold_ms, 0, 86400000),
    "keep everything open for so long before the end; \"holding\" on standard error says that it began")
OPTION(ASKING, 0, "asking", NULL, FLAG(is_asking),
    "the first session asks DATA_PENDING in a loop meanwhile")
OPTION(SENT, 0, "sent", "FILE", TEXT(sent_path),
    "when each index of session 0 was sent, for viewgen")
OPTION(VERIFY, 0, "verify", "DIR", TEXT(verify),
    "after the run, or alone, check the relay's output directory")
#include "tests/bench/shape.tbl.h"
