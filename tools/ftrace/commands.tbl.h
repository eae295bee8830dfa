/* SPDX-License-Identifier: MIT */
/*
 * The sub-commands of tracepulse-ftrace, one row each, in the order of --help.
 * A row NAME needs a function command_NAME() (tools/ftrace/command.h).
 *      name     help
 */
/* clang-format off */
COMMAND(listen,  "receive what trace-cmd record -N sends, and write it to files")
COMMAND(convert, "make a trace.dat a trace in CTF, in a directory or on a relay")
COMMAND(flush,   "make recorders of this machine send what they have, again and again")
COMMAND(broker,  "know guests by name: where connect, list and reach meet")
COMMAND(connect, "make the agent of trace-cmd on this machine known to a broker")
COMMAND(list,    "print the guests that a broker knows")
COMMAND(record,  "record guests of a broker, to files and live")
COMMAND(reach,   "a port for trace-cmd record -A, which is a guest of a broker")
COMMAND(help,    "print this, or what tracepulse-ftrace COMMAND --help prints")
