/* SPDX-License-Identifier: MIT */
/* The options of tracepulse-ftrace reach; see common/option_rows.h. */
/* clang-format off */
OPTION(PORT, 'p', "port", "PORT", NUMBER(bind.port, 0, UINT16_MAX),
    "port for trace-cmd record -A; 0: any, which is logged [0]")
OPTION(BIND, 0, "bind", "ADDRESS", BIND_TO(bind),
    "listen at this address, at vsock:CID:PORT or at unix:PATH [127.0.0.1]")
OPTION(BROKER, 0, "broker", "HOST:PORT", ADDRESS(broker),
    "address of the broker")
OPTION(TOKEN_FILE, 0, "token-file", "FILE", TEXT(token_file),
    "file with the token that the broker expects")
OPTION(HELP, 'h', "help", NULL, PRINT,
    "print this help and exit")
