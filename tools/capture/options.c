/* SPDX-License-Identifier: MIT */
#include "tools/capture/options.h"

#include <string.h>

#include "common/clock.h"
#include "common/option.h"
#include "tools/capture/interface.h"

#define FLUSH_NS NS_PER_S
/* Smaller traces would be mostly metadata. */
#define ROTATE_MIN (64 * 1024)
#define FLUSH_MIN_NS (10 * NS_PER_MS)
#define FLUSH_MAX_NS (60 * NS_PER_S)
/* 1 GiB: the kernel shares less than 4. */
#define BUFFER_KIB_MAX (1024 * 1024)
#define MB UINT64_C(1000000)
/* The longest time without progress while the session is opened. */
#define RELAY_TIMEOUT_MS 10000
/* Six digits, as with tcpdump -W. */
#define FILES_MAX 1000000
#define TIME_MAX_NS (UINT64_C(366) * 86400 * NS_PER_S)

static enum status take_input(
    const struct option_row *r, void *to, const char *arg);
static enum status take_file(
    const struct option_row *r, void *to, const char *arg);

#define OPTIONS_TABLE "tools/capture/options.tbl.h"
#define OPTIONS_STRUCT struct capture_options
#include "common/option_rows.h"

static const struct option_table table = {
	.program = "tracepulse-capture",
	.usage = "tracepulse-capture -i INTERFACE | -r FILE [OPTION]... "
		 "[--relay URL | --output DIR | -w FILE] [FILTER]\n"
		 "Makes a CTF trace of network packets. Without an output it "
		 "is live, at a relay\nof this machine.",
	.more = "\nURI is a file, or libtrace's: ring:eth0, erf:FILE, ...\n"
		"FILTER is that of pcap-filter(7). TIME is 250ms, 2s, 1m.\n"
		"\nExamples:\n"
		"  tracepulse-capture -i any port 80\n"
		"  tracepulse-capture -i eth0 --live --relay net://collector "
		"--retry tcp\n"
		"  tracepulse-capture -r trace.pcap --output DIR udp\n"
		"  tracepulse-capture -i any -C 100 -W 10 -w ring.pcap\n"
		"  tracepulse-capture -i eth0 -w - | wireshark -k -i -\n"
		"See tracepulse-capture(1).\n",
	.rows = rows,
	.n = N_OPTIONS,
};

static enum status
take_input(const struct option_row *r, void *to, const char *arg)
{
	struct capture_options *o = to;

	(void)r;
	if (o->n_uris == CAPTURE_INPUTS_MAX || *arg == '\0')
		return E_MALFORMED;
	o->uris[o->n_uris++] = arg;
	return OK;
}

static enum status
take_file(const struct option_row *r, void *to, const char *arg)
{
	struct capture_options *o = to;

	if (take_input(r, to, arg) != OK)
		return E_MALFORMED;
	o->is_file[o->n_uris - 1] = true;
	return OK;
}

/* The words after the options are a filter, as with tcpdump. */
static enum status
take_words(struct capture_options *o, char **words, int n)
{
	size_t used = 0;

	if (n > 0 && o->filter != NULL)
		return option_refuse(&table,
		    "unexpected argument \"%s\" beside --filter", words[0]);
	for (int i = 0; i < n; i++) {
		const size_t len = strlen(words[i]);

		if (len + 1 > sizeof(o->filter_words) - used)
			return option_refuse(
			    &table, "the filter is too long: use --filter");
		memcpy(o->filter_words + used, words[i], len);
		used += len;
		o->filter_words[used++] = i + 1 < n ? ' ' : '\0';
		o->filter = o->filter_words;
	}
	return OK;
}

/* Without an output, packets of interfaces go to viewers on this machine. */
static void
choose_output(struct capture_options *o, uint64_t *given)
{
	if (o->relay != NULL || o->output != NULL || o->write != NULL)
		return;
	for (unsigned i = 0; i < o->n_uris; i++)
		if (o->is_file[i] || !interface_is_there(o->uris[i]))
			return;
	o->relay = "net://localhost";
	*given |= UINT64_C(1) << OPT_RELAY;
	o->live = true;
	if ((*given & UINT64_C(1) << OPT_PAYLOAD) == 0)
		o->payload = PAYLOAD_SUMMARY;
}

/* The address of a relay or a topic, or the directory. */
static enum status
check_target(struct capture_options *o, uint64_t given)
{
	static const unsigned of_relay[] = { OPT_UDP };
	struct send_sink_config *t = &o->target;
	const char *to = o->relay != NULL ? o->relay : o->output;
	const char *why;
	const enum status st = o->relay != NULL
				   ? send_sink_remote(t, to, &why)
				   : send_sink_address(t, to, &why);

	if (st != OK)
		return option_refuse(&table, "%s: %s", to, why);
	if (o->output != NULL && t->target != SEND_DIR)
		return option_refuse(
		    &table, "--output %s: a directory is required", to);
	t->resend = t->udp;
	if (t->target == SEND_TOPIC)
		return option_only(
		    &table, given, of_relay, ARRAY_LEN(of_relay), "a relay");
	if (t->kafka_config != NULL)
		return option_refuse(
		    &table, "--kafka-config requires a kafka:// URL");
	return OK;
}

static enum status
check_output(struct capture_options *o, uint64_t given)
{
	static const unsigned of_relay[] = { OPT_LIVE, OPT_UDP, OPT_RETRY,
		OPT_SESSION, OPT_KAFKA_CONFIG };
	static const unsigned of_output[] = { OPT_ROTATE_SIZE,
		OPT_ROTATE_TIME };
	static const unsigned of_write[] = { OPT_COMPRESS, OPT_FILE_SIZE,
		OPT_FILE_TIME, OPT_FILE_COUNT, OPT_PACKET_BUFFERED,
		OPT_PRECISION };
	static const unsigned of_compress[] = { OPT_COMPRESS_TYPE };

	if ((o->relay != NULL) + (o->output != NULL) + (o->write != NULL) != 1)
		return option_refuse(&table,
		    "exactly one of --relay, --output and --write is required");
	if (option_need(&table, given, of_compress, ARRAY_LEN(of_compress),
		OPT_COMPRESS) != OK)
		return E_REFUSED;
	if (o->level == 0) {
		o->compression = SINK_PLAIN;
		given &= ~(UINT64_C(1) << OPT_COMPRESS);
	}
	if (option_need(&table, given, of_relay, ARRAY_LEN(of_relay),
		OPT_RELAY) != OK ||
	    option_need(&table, given, of_output, ARRAY_LEN(of_output),
		OPT_OUTPUT) != OK ||
	    option_need(
		&table, given, of_write, ARRAY_LEN(of_write), OPT_WRITE) != OK)
		return E_REFUSED;
	if (o->files != 0 && o->file_mb == 0 && o->file_s == 0)
		return option_refuse(&table,
		    "--file-count (-W) requires --file-size (-C) or "
		    "--file-time (-G)");
	if (o->write != NULL) {
		o->rotation.max_bytes = o->file_mb * MB;
		o->rotation.max_ns = o->file_s * NS_PER_S;
	}
	return o->write != NULL ? OK : check_target(o, given);
}

/* Other options than these would have no effect with --from-ctf. */
static enum status
check_from_ctf(uint64_t given)
{
	static const enum option_id fitting[] = { OPT_FROM_CTF, OPT_WRITE,
		OPT_COMPRESS, OPT_COMPRESS_TYPE, OPT_JSON, OPT_QUIET };

	for (size_t i = 0; i < ARRAY_LEN(fitting); i++)
		given &= ~(UINT64_C(1) << fitting[i]);
	if (given == 0)
		return OK;
	return option_refuse(&table, "--%s cannot be used with --from-ctf",
	    rows[__builtin_ctzll(given)].name);
}

static enum status
check(struct capture_options *o, uint64_t given)
{
	if (o->from_ctf != NULL && check_from_ctf(given) != OK)
		return E_REFUSED;
	if (o->from_ctf != NULL && o->write == NULL)
		return option_refuse(&table, "--from-ctf requires --write");
	if (o->from_ctf == NULL && o->n_uris == 0)
		return option_refuse(&table,
		    "an interface (-i) or a file (-r) is required; see --help");
	if (o->n_uris * o->threads > PIPELINE_THREADS_MAX)
		return option_refuse(&table,
		    "--threads: the inputs together may use at most %d threads",
		    PIPELINE_THREADS_MAX);
	if (o->from_ctf == NULL)
		choose_output(o, &given);
	return check_output(o, given);
}

enum status
capture_options_parse(struct capture_options *o, int argc, char **argv)
{
	struct option_words words;
	enum status st;

	*o = (struct capture_options){ .payload = PAYLOAD_HEADERS,
		.threads = 1,
		.session = "capture",
		.direction = CAPTURE_INOUT,
		.flush_ns = FLUSH_NS,
		.checksums = ANON_BLANK,
		.compression = SINK_GZIP,
		.target = { .program = table.program,
		    .is_new_dir = true,
		    .timeout_ms = RELAY_TIMEOUT_MS } };
	st = option_parse(&table, o, argc, argv, &words);
	o->is_done = words.is_done || o->lists_formats || o->lists_interfaces ||
		     o->lists_time_stamps;
	if (st != OK || o->is_done)
		return st;
	st = take_words(o, argv + words.first, argc - words.first);
	if (st != OK)
		return st;
	return check(o, words.given);
}
