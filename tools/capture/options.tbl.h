/* SPDX-License-Identifier: MIT */
/*
 * The command line of tracepulse-capture, one row per option: the source of the
 * getopt tables and of --help.
 *     name  short name or 0  long name  argument or NULL  help
 */
/* clang-format off */
OPTION(INPUT, 'i', "input", "URI",
    "where packets come from; several make streams of one trace")
OPTION(FILTER, 0, "filter", "EXPRESSION",
    "only these packets, as tcpdump's")
OPTION(SNAPLEN, 0, "snaplen", "BYTES",
    "at most so much of a packet; 0: all of it [0]")
OPTION(PROMISCUOUS, 0, "promiscuous", NULL,
    "packets for other hosts, too")
OPTION(PAYLOAD, 0, "payload", "none|headers|full",
    "what of a packet an event has [headers]")
OPTION(ANON_KEY, 0, "anon-key", "FILE",
    "replace addresses by others, prefix by prefix; a key of 32 bytes. Of "
    "unknown link types no bytes are taken")
OPTION(ANON_CHECKSUMS, 0, "anon-checksums", "mend|blank",
    "what becomes of checksums then [blank]")
OPTION(THREADS, 'j', "threads", "N",
    "threads that process the packets of an input, 1 to 32 [1]")
OPTION(HASH, 0, "hash", "balance|flow",
    "which packets go to one thread: by turns, or those of a flow [balance]")
OPTION(ORDER, 0, "order", "stream|strict",
    "in order in each thread's stream, or over all of an input [stream]")
OPTION(RELAY, 0, "relay", "URL",
    "to a relay: net://HOST[:CONTROL-PORT[:DATA-PORT]][/PATH]")
OPTION(UDP, 0, "udp", NULL,
    "as datagrams; the relay must be tracepulse-relayd")
OPTION(LIVE, 0, "live", NULL,
    "as a live session, to which viewers may attach")
OPTION(SESSION, 0, "session", "NAME",
    "name of the session [capture]")
OPTION(HOSTNAME, 0, "hostname", "NAME",
    "host name of the trace [this host's]")
OPTION(FLUSH, 0, "flush", "TIME",
    "a packet waits at most so long for others [1s]")
OPTION(OUTPUT, 0, "output", "DIR",
    "to a CTF trace in a new, or empty, directory")
OPTION(ROTATE_SIZE, 0, "rotate-size", "SIZE",
    "begin a new trace below DIR before it gets larger [never]")
OPTION(ROTATE_TIME, 0, "rotate-time", "TIME",
    "begin a new trace below DIR after so long [never]")
OPTION(WRITE, 0, "write", "URI",
    "to an output of libtrace, such as pcapfile:FILE")
OPTION(COMPRESS, 0, "compress", "LEVEL",
    "compress it, 0 to 9 [0]")
OPTION(COMPRESS_TYPE, 0, "compress-type", "gzip|bzip2|lzo|xz|none",
    "by which method [gzip]")
OPTION(FROM_CTF, 0, "from-ctf", "DIR",
    "packets come from a trace with --payload=full, for --write")
OPTION(COUNT, 0, "count", "N",
    "end after so many packets of each input")
OPTION(DURATION, 0, "duration", "TIME",
    "end after so long")
OPTION(STATS, 0, "stats", NULL,
    "figures on standard error, once a second")
OPTION(JSON, 0, "json", NULL,
    "print the summary as one JSON object")
OPTION(QUIET, 0, "quiet", NULL,
    "no summary")
OPTION(LIST_FORMATS, 0, "list-formats", NULL,
    "print what URIs libtrace knows and end")
OPTION(HELP, 'h', "help", NULL,
    "print this and end")
OPTION(VERSION, 'V', "version", NULL,
    "print the version and end")
