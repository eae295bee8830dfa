/* SPDX-License-Identifier: MIT */
/* The options of tracepulse-ftrace convert; see common/option_rows.h. */
/* clang-format off */
OPTION(NAMES, 0, "names", "system:event|lttng", CHOICE(names),
    "names of events [system:event]")
OPTION(SYMBOLS, 0, "symbols", NULL, FLAG(has_symbols),
    "add the names of functions to their addresses")
OPTION(CLOCK_OFFSET, 0, "clock-offset", "NS", OWN(take_offset),
    "Unix time minus the trace's time, in ns [as in FILE]")
OPTION(RELAY, 0, "relay", "URL", TEXT(relay),
    "send the trace to the relay net://HOST[:CONTROL[:DATA]] or to Apache Kafka, "
    "kafka://BROKER[:PORT][,BROKER[:PORT]].../TOPIC")
OPTION(KAFKA_CONFIG, 0, "kafka-config", "FILE", TEXT(target.kafka_config),
    "Kafka: FILE has settings of librdkafka, KEY=VALUE in each line [none]")
OPTION(SESSION, 0, "session", "NAME", OWN(take_session),
    "name of the session there [name of FILE]")
OPTION(QUIET, 'q', "quiet", NULL, FLAG(is_quiet),
    "print only errors")
OPTION(HELP, 'h', "help", NULL, PRINT,
    "print this help and exit")
