/* SPDX-License-Identifier: MIT */
/* The options of tracepulse-ftrace flush; see common/option_rows.h. */
/* clang-format off */
OPTION(INTERVAL, 'i', "interval", "TIME", TIME(interval_ns, INTERVAL_MIN_NS, INTERVAL_MAX_NS),
    "time between two flushes [200ms]")
OPTION(PID, 'p', "pid", "PID", COUNT(parent, 1, INT32_MAX),
    "flush only the recorder with this process id [all]")
OPTION(ONCE, 0, "once", NULL, FLAG(is_once),
    "flush once")
OPTION(HELP, 'h', "help", NULL, PRINT,
    "print this help and exit")
