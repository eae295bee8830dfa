/* SPDX-License-Identifier: MIT */
/*
 * The command line of tracepulse-ftrace list, one row per option.
 *     name  short name or 0  long name  argument or NULL  help
 */
/* clang-format off */
OPTION(BROKER, 0, "broker", "HOST:PORT",
    "where the broker is")
OPTION(TOKEN_FILE, 0, "token-file", "FILE",
    "has the word that the broker knows")
OPTION(HELP, 'h', "help", NULL,
    "print this and end")
