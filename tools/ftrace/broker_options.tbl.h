/* SPDX-License-Identifier: MIT */
/* The options of tracepulse-ftrace broker; see common/option_rows.h. */
/* clang-format off */
OPTION(PORT, 'p', "port", "PORT", NUMBER(bind.port, 0, UINT16_MAX),
    "port for guests and for programs that reach them; 0: any, which is logged [5367]")
OPTION(BIND, 0, "bind", "ADDRESS", BIND_TO(bind),
    "listen only at this address, at vsock:CID:PORT or at unix:PATH [all]")
OPTION(TOKEN_FILE, 0, "token-file", "FILE", TEXT(token_file),
    "file with the token for reaching guests")
OPTION(GUESTS, 0, "guests", "FILE", TEXT(guests_file),
    "file with a line NAME TOKEN or NAME agent=HOST:PORT for each guest; no others are accepted")
OPTION(HELP, 'h', "help", NULL, PRINT,
    "print this help and exit")
