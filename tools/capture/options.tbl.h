/* SPDX-License-Identifier: MIT */
/* The command line of tracepulse-capture; see common/option_rows.h. Words
 * separated by | are choices, in the order of their enum. */
/* clang-format off */
OPTION(INPUT, 'i', "input", "URI", GROUP("Input", OWN(take_input)),
    "read packets from an interface, any, or a URI; several inputs make streams of one trace")
OPTION(READ, 'r', "read", "FILE", OWN(take_file),
    "read packets from a file; - is standard input")
OPTION(FILTER, 0, "filter", "EXPRESSION", TEXT(filter),
    "capture only packets that match this filter; see pcap-filter(7)")
OPTION(COUNT, 'c', "count", "N", COUNT(count, 1, UINT64_MAX),
    "end after N packets of each input")
OPTION(DURATION, 0, "duration", "TIME", TIME(duration_ns, 1, TIME_MAX_NS),
    "end after this time")
OPTION(SNAPLEN, 's', "snaplen", "BYTES", NUMBER(snaplen, 0, LARGE_RECORD_LEN_MAX),
    "capture at most that many bytes of a packet; 0: all [0]")
OPTION(PROMISCUOUS, 0, "promiscuous", NULL, FLAG(promiscuous),
    "capture packets for other hosts too")
OPTION(NO_PROMISCUOUS, 'p', "no-promiscuous-mode", NULL, FLAG(is_not_promiscuous),
    "accepted as a habit: --promiscuous is required otherwise")
OPTION(DIRECTION, 'Q', "direction", "in|out|inout", CHOICE(direction),
    "capture packets of an interface that come in, go out, or both [inout]")
OPTION(BUFFER_SIZE, 'B', "buffer-size", "KIB", NUMBER(buffer_kib, 1, BUFFER_KIB_MAX),
    "share this much memory with the kernel, for packets of an interface [32768]")
OPTION(TIME_STAMP_TYPE, 0, "time-stamp-type", "host", CHOICE(time_stamp_type),
    "whose clock gives the time of a packet of an interface [host]")
OPTION(LIST_TIME_STAMP_TYPES, 'J', "list-time-stamp-types", NULL, FLAG(lists_time_stamps),
    "print these clocks and exit")
OPTION(NUMERIC, 'n', "numeric", NULL, FLAG(is_numeric),
    "accepted as a habit: addresses are never names")
OPTION(LIST_INTERFACES, 'D', "list-interfaces", NULL, FLAG(lists_interfaces),
    "print the interfaces and exit")
OPTION(LIST_FORMATS, 0, "list-formats", NULL, FLAG(lists_formats),
    "print the formats that libtrace supports and exit")
OPTION(PAYLOAD, 0, "payload", "none|headers|full|summary", GROUP("Events", CHOICE(payload)),
    "the parts of a packet that its event contains, or a text [headers]")
OPTION(ANON_KEY, 0, "anon-key", "FILE", TEXT(anon_key),
    "replace addresses, keeping common prefixes; FILE contains a key of 32 bytes. "
    "The bytes of packets that are not understood are left out")
OPTION(ANON_CHECKSUMS, 0, "anon-checksums", "mend|blank", CHOICE(checksums),
    "adjust checksums to the new addresses, or blank them [blank]")
OPTION(THREADS, 'j', "threads", "N", NUMBER(threads, 1, PIPELINE_THREADS_MAX),
    "process the packets of each input with N threads, 1 to 32 [1]")
OPTION(HASH, 0, "hash", "balance|flow", CHOICE(hash),
    "share packets among threads in turn, or by flow [balance]")
OPTION(ORDER, 0, "order", "stream|strict", CHOICE(order),
    "keep packets in order within each thread's stream, or within a whole input [stream]")
OPTION(RELAY, 0, "relay", "URL", GROUP("To a relay or Kafka", TEXT(relay)),
    "send to a relay, net://HOST[:CONTROL-PORT[:DATA-PORT]][/PATH], or to Apache Kafka, "
    "kafka://BROKER[:PORT][,BROKER[:PORT]].../TOPIC")
OPTION(KAFKA_CONFIG, 0, "kafka-config", "FILE", TEXT(target.kafka_config),
    "Kafka: FILE has settings of librdkafka, KEY=VALUE in each line [none]")
OPTION(LIVE, 0, "live", NULL, FLAG(live),
    "send a live session, to which viewers may attach")
OPTION(SESSION, 0, "session", "NAME", TEXT(session),
    "name of the session [capture]")
OPTION(HOSTNAME, 0, "hostname", "NAME", TEXT(hostname),
    "host name of the trace [this host's]")
OPTION(FLUSH, 0, "flush", "TIME", TIME(flush_ns, FLUSH_MIN_NS, FLUSH_MAX_NS),
    "send packets after they have waited this long for more [1s]")
OPTION(RETRY, 0, "retry", NULL, FLAG(retry),
    "try again while there is no relay; another session then goes on")
OPTION(UDP, 0, "udp", NULL, FLAG(target.udp),
    "send packets as datagrams; the relay must be tracepulse-relayd")
OPTION(OUTPUT, 0, "output", "DIR", GROUP("To a directory", TEXT(output)),
    "write a CTF trace into a new or empty directory")
OPTION(ROTATE_SIZE, 0, "rotate-size", "SIZE", SIZE(rotation.max_bytes, ROTATE_MIN, UINT64_MAX),
    "begin a new trace below DIR before the current one exceeds SIZE [never]")
OPTION(ROTATE_TIME, 0, "rotate-time", "TIME", TIME(rotation.max_ns, 1, TIME_MAX_NS),
    "begin a new trace below DIR after this time [never]")
OPTION(WRITE, 'w', "write", "FILE", GROUP("To a file of packets", TEXT(write)),
    "write packets to a pcap file, to FILE.pcapng, - or an output of libtrace, such as erf:FILE")
OPTION(FILE_SIZE, 'C', "file-size", "MB", COUNT(file_mb, 1, UINT64_MAX / MB),
    "begin a new file, FILE1 and so on, after so many millions of bytes")
OPTION(FILE_TIME, 'G', "file-time", "SECONDS", COUNT(file_s, 1, TIME_MAX_NS / NS_PER_S),
    "begin a new file after this time; FILE is a format of strftime(3)")
OPTION(PACKET_BUFFERED, 'U', "packet-buffered", NULL, FLAG(is_packet_buffered),
    "write each packet to a pcap or pcapng file at once, instead of within 1s")
OPTION(FILE_COUNT, 'W', "file-count", "N", NUMBER(files, 1, FILES_MAX),
    "with -C, begin again with the first of N files; with -G alone, end after N")
OPTION(PRECISION, 0, "time-stamp-precision", "nano|micro", CHOICE(precision),
    "write time stamps to a pcap or pcapng file in this unit [nano]")
OPTION(COMPRESS, 0, "compress", "LEVEL", NUMBER(level, 0, 9),
    "compress that output, 0 to 9 [0]")
OPTION(COMPRESS_TYPE, 0, "compress-type", "gzip|bzip2|xz|none", CHOICE(compression),
    "compress with this method [gzip]")
OPTION(FROM_CTF, 0, "from-ctf", "DIR", TEXT(from_ctf),
    "read packets from a trace with --payload=full, for --write")
OPTION(STATS, 0, "stats", NULL, GROUP("Messages", FLAG(stats)),
    "print statistics on standard error once a second")
OPTION(JSON, 0, "json", NULL, FLAG(json),
    "print the summary as one JSON object")
OPTION(QUIET, 0, "quiet", NULL, FLAG(quiet),
    "print no summary")
OPTION(HELP, 'h', "help", NULL, PRINT,
    "print this help and exit")
OPTION(VERSION, 'V', "version", NULL, PRINT,
    "print the version and exit")
