/* SPDX-License-Identifier: MIT */
/*
 * The command line of tracepulse-ftrace connect, one row per option.
 *     name  short name or 0  long name  argument or NULL  help
 */
/* clang-format off */
OPTION(BROKER, 0, "broker", "HOST:PORT",
    "where the broker is")
OPTION(TOKEN_FILE, 0, "token-file", "FILE",
    "has the word that the broker knows")
OPTION(AGENT, 0, "agent", "HOST:PORT",
    "where the agent is [127.0.0.1:823]")
OPTION(CPUS, 0, "cpus", "N",
    "CPUs that are told of it [this machine's]; 0: not known")
OPTION(HELP, 'h', "help", NULL,
    "print this and end")
