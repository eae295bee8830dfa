/* SPDX-License-Identifier: MIT */
/*
 * The command line of tracepulse-ftrace broker, one row per option.
 *     name  short name or 0  long name  argument or NULL  help
 */
/* clang-format off */
OPTION(PORT, 'p', "port", "PORT",
    "where guests, and who wants them, connect [5347]; 0: any, which is logged")
OPTION(BIND, 0, "bind", "ADDRESS",
    "listen at this address only [all]")
OPTION(TOKEN_FILE, 0, "token-file", "FILE",
    "has the word by which all of them are known")
OPTION(GUESTS, 0, "guests", "FILE",
    "lines NAME TOKEN or NAME agent=HOST:PORT: no other guests")
OPTION(HELP, 'h', "help", NULL,
    "print this and end")
