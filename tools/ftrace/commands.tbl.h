/* SPDX-License-Identifier: MIT */
/*
 * The sub-commands of tracepulse-ftrace, one row each, in the order of --help.
 * A row NAME needs a function command_NAME() (tools/ftrace/command.h).
 *      name     help
 */
/* clang-format off */
COMMAND(listen,  "receive what trace-cmd record -N sends, and write it to files")
COMMAND(convert, "make a trace.dat a trace in CTF, in a directory or on a relay")
COMMAND(help,    "print this, or what tracepulse-ftrace COMMAND --help prints")
