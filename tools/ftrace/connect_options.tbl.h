/* SPDX-License-Identifier: MIT */
/* The options of tracepulse-ftrace connect; see common/option_rows.h. */
/* clang-format off */
OPTION(BROKER, 0, "broker", "HOST:PORT", ADDRESS(broker),
    "address of the broker")
OPTION(TOKEN_FILE, 0, "token-file", "FILE", TEXT(token_file),
    "file with the token that the broker expects")
OPTION(AGENT, 0, "agent", "HOST:PORT", ADDRESS(end.agent),
    "address of the agent [127.0.0.1:823]")
OPTION(CPUS, 0, "cpus", "N", NUMBER(end.cpus, 0, BROKER_CPUS_MAX),
    "number of CPUs to report; 0: not known [those of this machine]")
OPTION(HELP, 'h', "help", NULL, PRINT,
    "print this help and exit")
