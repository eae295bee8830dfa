/* SPDX-License-Identifier: MIT */
/*
 * The command line of tracepulse-ftrace flush, one row per option.
 *     name  short name or 0  long name  argument or NULL  help
 */
/* clang-format off */
OPTION(INTERVAL, 'i', "interval", "TIME",
    "how often [200ms]")
OPTION(PID, 'p', "pid", "PID",
    "only the recorder with this process number [all]")
OPTION(ONCE, 0, "once", NULL,
    "once only")
OPTION(HELP, 'h', "help", NULL,
    "print this and end")
