/* SPDX-License-Identifier: MIT */
/* The command line of tracepulse-send; see common/option_rows.h. */
/* clang-format off */
OPTION(SESSION, 0, "session", "NAME", TEXT(session),
    "name of the session [name of the first TRACE-DIR]")
OPTION(HOSTNAME, 0, "hostname", "NAME", TEXT(hostname),
    "host name of the session [this host's]")
OPTION(LIVE, 0, "live", NULL, FLAG(live),
    "send a live session, with beacons: viewers may attach")
OPTION(LIVE_TIMER, 0, "live-timer", "MICROSECONDS", NUMBER(live_timer_us, 1, UINT32_MAX),
    "time between two beacons of a stream; implies --live [1000000]")
OPTION(REALTIME, 0, "realtime", NULL, FLAG(realtime),
    "send at the pace of the trace's time stamps")
OPTION(ALL, 0, "all", NULL, FLAG(all),
    "send all live sessions of the relay that is the source, also later ones")
OPTION(FOLLOW, 0, "follow", NULL, FLAG(follow),
    "send a trace on while it is recorded in TRACE-DIR; implies --live")
OPTION(QUIET_AFTER, 0, "quiet-after", "SECONDS", DECIMAL(quiet_s, 0, QUIET_MAX_S),
    "follow: a stream without packets for this time gets beacons [never]")
OPTION(STATE, 0, "state", "FILE", TEXT(state),
    "follow, or live to Kafka: keep in FILE what is stored; continue there")
OPTION(LINGER, 0, "linger", "SECONDS", DECIMAL(linger_s, 0, LINGER_MAX_S),
    "keep the session open for this time after the last packet [0]")
OPTION(LOOP, 0, "loop", "N", COUNT(loop, 0, UINT64_MAX),
    "send everything N times, each time as a new session; 0: forever [1]")
OPTION(RATE, 0, "rate", "SIZE", SIZE(sink.rate, 0, UINT64_MAX),
    "send at most that many bytes (B, k, M, G, T) per second [no limit]")
OPTION(UDP, 0, "udp", NULL, FLAG(sink.udp),
    "send packets as datagrams; the relay must be tracepulse-relayd")
OPTION(RESEND, 0, "resend", NULL, FLAG(sink.resend),
    "send lost datagrams again; implies --udp")
OPTION(FRAGMENT, 0, "fragment", "BYTES", NUMBER(sink.fragment, UDP_FRAGMENT_MIN, UDP_FRAGMENT_MAX),
    "bytes of a packet in one datagram, 512 to 65000 [1392]")
OPTION(GAP_TIMEOUT, 0, "gap-timeout", "MICROSECONDS", COUNT(sink.gap_timeout_us, 1, UINT32_MAX),
    "how long the relay waits for lost packets [the relay's default]")
OPTION(SEED, 0, "seed", "N", COUNT(sink.badnet.seed, 0, UINT64_MAX),
    "seed of the network faults that the next four options simulate for UDP [1]")
OPTION(DROP, 0, "drop", "P", DECIMAL(sink.badnet.drop, 0, 1),
    "lose a datagram with probability P, 0 to 1 [0]")
OPTION(DUPLICATE, 0, "duplicate", "P", DECIMAL(sink.badnet.duplicate, 0, 1),
    "send a datagram twice with probability P [0]")
OPTION(REORDER, 0, "reorder", "DEPTH", NUMBER(sink.badnet.depth, 1, BADNET_DEPTH_MAX),
    "let datagrams overtake each other, up to DEPTH of them [0]")
OPTION(CORRUPT, 0, "corrupt", "P", DECIMAL(sink.badnet.corrupt, 0, 1),
    "flip one bit of a datagram with probability P [0]")
OPTION(OUTSTANDING, 0, "outstanding", "N", NUMBER(sink.outstanding, 1, OUTSTANDING_MAX),
    "send at most N indexes before the relay answers one of them [256]")
OPTION(GROUP, 0, "group", "NAME", TEXT(group),
    "Kafka: read a topic as a member of consumer group NAME")
OPTION(KAFKA_CONFIG, 0, "kafka-config", "FILE", TEXT(sink.kafka_config),
    "Kafka: FILE has settings of librdkafka, KEY=VALUE in each line [none]")
OPTION(JSON, 0, "json", NULL, FLAG(json),
    "print the summary as one JSON object")
OPTION(QUIET, 0, "quiet", NULL, FLAG(quiet),
    "print neither progress nor summary")
OPTION(HELP, 0, "help", NULL, PRINT,
    "print this help and exit")
OPTION(VERSION, 0, "version", NULL, PRINT,
    "print the version and exit")
