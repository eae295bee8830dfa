/* SPDX-License-Identifier: MIT */
/*
 * The command line of tracepulse-ftrace reach, one row per option.
 *     name  short name or 0  long name  argument or NULL  help
 */
/* clang-format off */
OPTION(PORT, 'p', "port", "PORT",
    "where trace-cmd record -A connects; 0: any, which is logged [0]")
OPTION(BIND, 0, "bind", "ADDRESS",
    "listen at this address [127.0.0.1]")
OPTION(BROKER, 0, "broker", "HOST:PORT",
    "where the broker is")
OPTION(TOKEN_FILE, 0, "token-file", "FILE",
    "has the word that the broker knows")
OPTION(HELP, 'h', "help", NULL,
    "print this and end")
