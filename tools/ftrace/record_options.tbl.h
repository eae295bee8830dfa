/* SPDX-License-Identifier: MIT */
/* The options of tracepulse-ftrace record; see common/option_rows.h. */
/* clang-format off */
OPTION(EVENT, 'e', "event", "EVENT", OWN(take_event_name),
    "what to record, as for trace-cmd record -e; may be given several times")
OPTION(CLOCK, 'C', "clock", "CLOCK", TEXT(clock),
    "clock of the guests' traces [mono]")
OPTION(BROKER, 0, "broker", "HOST:PORT", ADDRESS(broker),
    "address of the broker")
OPTION(TOKEN_FILE, 0, "token-file", "FILE", TEXT(token_file),
    "file with the token that the broker expects")
OPTION(DIRECTORY, 'd', "directory", "DIR", TEXT(directory),
    "directory for the files [.]")
OPTION(PREFIX, 'o', "output", "PREFIX", OWN(take_prefix),
    "name the files PREFIX.NAME.dat [trace]")
OPTION(NO_FILE, 0, "no-file", NULL, FLAG(has_no_file),
    "write no files")
OPTION(RELAY, 0, "relay", "URL", RELAY_URL(live),
    "also send the traces live to the relay net://HOST[:CONTROL[:DATA]]")
OPTION(HOLD, 0, "hold", "TIME", TIME(live.hold_ns, 0, LIVE_HOLD_MAX_NS),
    "how long live events wait for pages of silent CPUs [10s; less if the recorder is flushed]")
OPTION(NAMES, 0, "names", "system:event|lttng", CHOICE(live.names),
    "names of events on the relay [system:event]")
OPTION(DURATION, 0, "duration", "TIME", TIME(duration_ns, 0, DURATION_MAX_NS),
    "stop after this time [never]")
OPTION(HELP, 'h', "help", NULL, PRINT,
    "print this help and exit")
