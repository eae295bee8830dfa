/* SPDX-License-Identifier: MIT */
/* The options of tracepulse-ftrace list; see common/option_rows.h. */
/* clang-format off */
OPTION(BROKER, 0, "broker", "HOST:PORT", ADDRESS(broker),
    "address of the broker")
OPTION(TOKEN_FILE, 0, "token-file", "FILE", TEXT(token_file),
    "file with the token that the broker expects")
OPTION(HELP, 'h', "help", NULL, PRINT,
    "print this help and exit")
