/* SPDX-License-Identifier: MIT */
/* The command line of heapcost; see common/option_rows.h. */
/* clang-format off */
OPTION(DEPTH, 0, "depth", "N", COUNT(depth, 1, 65536),
    "packets that wait for their turn at most [64]")
OPTION(PACKETS, 0, "packets", "N", COUNT(packets, 1, UINT32_MAX),
    "at least so many [1000000]")
OPTION(SEED, 0, "seed", "N", COUNT(seed, 0, UINT32_MAX),
    "of the order in which they come [1]")
OPTION(JSON, 0, "json", NULL, FLAG(is_json), "print one JSON object, as always")
OPTION(HELP, 'h', "help", NULL, PRINT, "print this help and exit")
