/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/number.h"
#include "tests/bench/program.h"
#include "tests/bench/view.h"

enum opt {
	OPT_HELP = 'h',
	OPT_HOST = 256,
	OPT_LIVE,
	OPT_SESSIONS,
	OPT_FIRST,
	OPT_STREAMS,
	OPT_PACKETS,
	OPT_SIZE,
	OPT_PADDING,
	OPT_VIEWERS,
	OPT_SEEK,
	OPT_PIECE,
	OPT_PAUSE,
	OPT_STAY,
	OPT_STALL,
	OPT_SENT,
	OPT_JSON,
};

static const struct option long_options[] = {
	{ "help", no_argument, NULL, OPT_HELP },
	{ "host", required_argument, NULL, OPT_HOST },
	{ "live", required_argument, NULL, OPT_LIVE },
	{ "sessions", required_argument, NULL, OPT_SESSIONS },
	{ "first", required_argument, NULL, OPT_FIRST },
	{ "streams", required_argument, NULL, OPT_STREAMS },
	{ "packets", required_argument, NULL, OPT_PACKETS },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "padding", required_argument, NULL, OPT_PADDING },
	{ "viewers", required_argument, NULL, OPT_VIEWERS },
	{ "last", no_argument, NULL, OPT_SEEK },
	{ "piece", required_argument, NULL, OPT_PIECE },
	{ "pause", required_argument, NULL, OPT_PAUSE },
	{ "stay", required_argument, NULL, OPT_STAY },
	{ "stall", required_argument, NULL, OPT_STALL },
	{ "sent", required_argument, NULL, OPT_SENT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
    "usage: viewgen --live=PORT [OPTION]...\n"
    "\n"
    "  --host=ADDRESS     of the relay, IPv4 [127.0.0.1]\n"
    "  --sessions=N, --first=N, --streams=N, --packets=N, --size=BYTES,\n"
    "  --padding=BYTES    as loadgen was told [1, 0, 4, 1000, 256k, 0]\n"
    "  --viewers=N        number n watches session n modulo sessions [1]\n"
    "  --last             begin at the end, not at the beginning\n"
    "  --piece=BYTES      at most, of one GET_PACKET; 0: all [256k]\n"
    "  --pause=MS         after \"nothing new\" [0]\n"
    "  --stay=MS          go on asking so long after the last packet [0]\n"
    "  --stall=MS         read nothing for so long within the first packet\n"
    "  --sent=FILE        of loadgen --sent: tell how late indexes arrive\n"
    "  --json             print one JSON object\n";

static void
take_shape(struct shape *s, int opt, const char *arg)
{
	if (opt == OPT_SESSIONS)
		s->sessions = (unsigned)number_parse(arg, 1, 100000);
	else if (opt == OPT_FIRST)
		s->first = (unsigned)number_parse(arg, 0, 1000000);
	else if (opt == OPT_STREAMS)
		s->streams = (unsigned)number_parse(arg, 1, 10000);
	else if (opt == OPT_PACKETS)
		s->packets = number_parse(arg, 0, UINT64_C(1) << 40);
	else if (opt == OPT_SIZE)
		s->size = (uint32_t)number_parse(arg, 1, 1 << 30);
	else
		s->padding = (uint32_t)number_parse(arg, 0, 1 << 30);
}

static void
take_host(struct view_options *o, const char *arg)
{
	if (inet_pton(AF_INET, arg, &o->relay.sin_addr) != 1)
		program_bad_usage("%s: not an IPv4 address", arg);
}

static unsigned
milliseconds(const char *arg)
{
	return (unsigned)number_parse(arg, 0, 86400000);
}

static void
take(struct view_options *o, int opt, const char *arg)
{
	switch (opt) {
	case OPT_HELP:
		fputs(help, stdout);
		exit(0);
	case OPT_HOST:
		take_host(o, arg);
		break;
	case OPT_LIVE:
		o->relay.sin_port = htons(
		    (in_port_t)number_parse(arg, 1, 65535));
		break;
	case OPT_SESSIONS:
	case OPT_FIRST:
	case OPT_STREAMS:
	case OPT_PACKETS:
	case OPT_SIZE:
	case OPT_PADDING:
		take_shape(&o->shape, opt, arg);
		break;
	case OPT_VIEWERS:
		o->viewers = (unsigned)number_parse(arg, 1, 100000);
		break;
	case OPT_SEEK:
		o->is_last = true;
		break;
	case OPT_PIECE:
		o->piece = (uint32_t)number_parse(arg, 0, 1 << 30);
		break;
	case OPT_PAUSE:
		o->pause_ms = milliseconds(arg);
		break;
	case OPT_STAY:
		o->stay_ms = milliseconds(arg);
		break;
	case OPT_STALL:
		o->stall_ms = milliseconds(arg);
		break;
	case OPT_SENT:
		o->sent_path = arg;
		break;
	case OPT_JSON:
		o->is_json = true;
		break;
	default:
		exit(2);
	}
}

void
view_options_parse(struct view_options *o, int argc, char **argv)
{
	int opt;

	*o = (struct view_options){
		.shape = { 1, 0, 4, 1000, 256 * 1024, 0 },
		.viewers = 1,
		.piece = 256 * 1024,
	};
	o->relay.sin_family = AF_INET;
	take_host(o, "127.0.0.1");
	while ((opt = getopt_long(argc, argv, "h", long_options, NULL)) != -1)
		take(o, opt, optarg);
	if (optind < argc)
		program_bad_usage("%s: not an option", argv[optind]);
	if (o->relay.sin_port == 0)
		program_bad_usage("where to?");
}
