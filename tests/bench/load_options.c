/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/udp.h"
#include "tests/bench/load.h"
#include "tests/bench/number.h"
#include "tests/bench/program.h"

enum opt {
	OPT_HELP = 'h',
	OPT_HOST = 256,
	OPT_CONTROL,
	OPT_DATA,
	OPT_RAW,
	OPT_UDP,
	OPT_FRAGMENT,
	OPT_SESSIONS,
	OPT_FIRST,
	OPT_STREAMS,
	OPT_PACKETS,
	OPT_SIZE,
	OPT_PADDING,
	OPT_OUTSTANDING,
	OPT_BEACON,
	OPT_RATE,
	OPT_HOLD,
	OPT_ASKING,
	OPT_SENT,
	OPT_JSON,
	OPT_VERIFY,
};

static const struct option long_options[] = {
	{ "help", no_argument, NULL, OPT_HELP },
	{ "host", required_argument, NULL, OPT_HOST },
	{ "control", required_argument, NULL, OPT_CONTROL },
	{ "data", required_argument, NULL, OPT_DATA },
	{ "raw", required_argument, NULL, OPT_RAW },
	{ "udp", no_argument, NULL, OPT_UDP },
	{ "fragment", required_argument, NULL, OPT_FRAGMENT },
	{ "sessions", required_argument, NULL, OPT_SESSIONS },
	{ "first", required_argument, NULL, OPT_FIRST },
	{ "streams", required_argument, NULL, OPT_STREAMS },
	{ "packets", required_argument, NULL, OPT_PACKETS },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "padding", required_argument, NULL, OPT_PADDING },
	{ "outstanding", required_argument, NULL, OPT_OUTSTANDING },
	{ "beacon", required_argument, NULL, OPT_BEACON },
	{ "rate", required_argument, NULL, OPT_RATE },
	{ "hold", required_argument, NULL, OPT_HOLD },
	{ "asking", no_argument, NULL, OPT_ASKING },
	{ "sent", required_argument, NULL, OPT_SENT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "verify", required_argument, NULL, OPT_VERIFY },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
    "usage: loadgen --control=PORT --data=PORT [OPTION]...   to a relay\n"
    "       loadgen --raw=PORT [OPTION]...       data only, to a plain sink\n"
    "       loadgen --verify=DIR [OPTION]...     only check a relay's tree\n"
    "\n"
    "  --host=ADDRESS     of the relay, IPv4 [127.0.0.1]\n"
    "  --udp              packets as datagrams, sent again when lost\n"
    "  --fragment=BYTES   of a packet in a datagram [the library's]\n"
    "  --sessions=N       sessions, each with two connections [1]\n"
    "  --first=N          number of the first, also in its name [0]\n"
    "  --streams=N        data streams of a session [4]\n"
    "  --packets=N        packets of a stream [1000]\n"
    "  --size=BYTES       of a packet (k, M) [256k]\n"
    "  --padding=BYTES    zeros behind each packet, made by the relay [0]\n"
    "  --outstanding=N    indexes of a session that wait for a reply [16]\n"
    "  --beacon=MS        live sessions, with beacons in that interval\n"
    "  --rate=N           packets per second of a session [no limit]\n"
    "  --hold=MS          keep everything open for so long before the end;\n"
    "                     \"holding\" on standard error says that it began\n"
    "  --asking           the first one asks DATA_PENDING in a loop meanwhile\n"
    "  --sent=FILE        when each index of session 0 was sent, for viewgen\n"
    "  --verify=DIR       after the run, check the relay's output directory\n"
    "  --json             print one JSON object\n";

static uint16_t
port(const char *text)
{
	return (uint16_t)number_parse(text, 1, 65535);
}

static void
set_host(struct load_options *o, const char *text)
{
	struct in_addr a;

	if (inet_pton(AF_INET, text, &a) != 1)
		program_bad_usage("%s: not an IPv4 address", text);
	snprintf(o->url.host, sizeof(o->url.host), "%s", text);
}

static void
take(struct load_options *o, int opt, const char *arg)
{
	struct shape *s = &o->shape;

	switch (opt) {
	case OPT_HELP:
		fputs(help, stdout);
		exit(0);
	case OPT_HOST:
		set_host(o, arg);
		break;
	case OPT_CONTROL:
		o->url.control = port(arg);
		break;
	case OPT_RAW:
		o->is_raw = true;
		/* fall through */
	case OPT_DATA:
		o->url.data = port(arg);
		break;
	case OPT_UDP:
		o->is_udp = true;
		break;
	case OPT_FRAGMENT:
		o->fragment = (uint32_t)number_parse(
		    arg, UDP_FRAGMENT_MIN, UDP_FRAGMENT_MAX);
		break;
	case OPT_SESSIONS:
		s->sessions = (unsigned)number_parse(arg, 1, 100000);
		break;
	case OPT_FIRST:
		s->first = (unsigned)number_parse(arg, 0, 1000000);
		break;
	case OPT_STREAMS:
		s->streams = (unsigned)number_parse(arg, 1, 10000);
		break;
	case OPT_PACKETS:
		s->packets = number_parse(arg, 0, UINT64_C(1) << 40);
		break;
	case OPT_SIZE:
		s->size = (uint32_t)number_parse(arg, 0, UINT32_MAX);
		break;
	case OPT_PADDING:
		s->padding = (uint32_t)number_parse(arg, 0, UINT32_MAX);
		break;
	case OPT_OUTSTANDING:
		o->outstanding = (unsigned)number_parse(arg, 1, 100000);
		break;
	case OPT_BEACON:
		o->beacon_ms = (unsigned)number_parse(arg, 1, 1000000);
		break;
	case OPT_RATE:
		o->rate = number_parse(arg, 1, 1000000000);
		break;
	case OPT_HOLD:
		o->hold_ms = (unsigned)number_parse(arg, 0, 86400000);
		break;
	case OPT_ASKING:
		o->is_asking = true;
		break;
	case OPT_SENT:
		o->sent_path = arg;
		break;
	case OPT_JSON:
		o->is_json = true;
		break;
	case OPT_VERIFY:
		o->verify = arg;
		break;
	default:
		exit(2);
	}
}

static void
check(const struct load_options *o)
{
	const bool has_relay = o->url.control != 0;

	if (o->is_raw && (has_relay || o->verify != NULL))
		program_bad_usage("--raw stands alone");
	if (!o->is_raw && has_relay != (o->url.data != 0))
		program_bad_usage("--control and --data belong together");
	if (!o->is_raw && !has_relay && o->verify == NULL)
		program_bad_usage("where to?");
}

void
load_options_parse(struct load_options *o, int argc, char **argv)
{
	int opt;

	*o = (struct load_options){
		.shape = { 1, 0, 4, 1000, 256 * 1024, 0 },
		.outstanding = 16,
		.url = { .family = AF_INET },
	};
	set_host(o, "127.0.0.1");
	while ((opt = getopt_long(argc, argv, "h", long_options, NULL)) != -1)
		take(o, opt, optarg);
	if (optind < argc)
		program_bad_usage("%s: not an option", argv[optind]);
	check(o);
}
