/* SPDX-License-Identifier: MIT */
/*
 * Where programs write sessions. A sink is one for the whole process;
 * it opens outputs, on any thread. An output is one session, used by one
 * thread at a time.
 *
 * A source calls, for each session:
 *
 *	sink->ops->open
 *	add_stream for each stream, metadata, streams_sent,
 *	packet, beacon, lost, metadata as they come; more streams likewise,
 *	close_stream for each stream that ends,
 *	finish when the session has ended, destroy
 *
 * An output that is destroyed without finish() was interrupted: the session may
 * be opened again later, and continues where the sink says.
 *
 * The functions of an output wait until they can take what they are given.
 * While they wait they ask config->goes_on(); if it returns false they return
 * E_STOPPED. That is not a failure: nothing was taken, and the caller may
 * continue. Other failures are final for this output: every later call returns
 * them, and error() describes them.
 *
 * A program with a loop of its own opens an output, then calls set_waits(o,
 * false). From then on functions return E_BUSY instead of waiting, and nothing
 * was taken. Whenever a descriptor of pollfds() is ready or its time has come,
 * the program calls work(o, 0).
 */
#ifndef TOOLS_SINK_SINK_H
#define TOOLS_SINK_SINK_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "common/status.h"
#include "proto/relay.h"
#include "tools/client/client.h"
#include "tools/client/packet.h"
#include "tools/client/url.h"
#include "tools/kafka/kafka_url.h"
#include "tools/sink/badnet.h"

/* A session as its source knows it. Strings are borrowed until the output is
 * destroyed. */
struct send_session {
	const char *hostname, *name; /* see config->is_new_dir */
	bool name_has_time;	     /* the sink appends no time to the name */
	uint64_t creation_time;	     /* s since the epoch; 0: not known */
	uint32_t live_timer_us;	     /* 0: not live */
	/* The same whenever this session is read, by any process; another
	 * session has another. All zeros: a session that is sent once, and
	 * never continued. To a relay it is the key of RESUME, so it should be
	 * hard to guess; then creation_time or name_has_time is set. */
	struct relay_uuid identity;
};

struct send_output_config {
	struct send_session session;
	/* May a function that waits continue to wait? Called on the thread of
	 * the output, at least every CLIENT_TICK_MS. */
	bool (*goes_on)(void *arg);
	void *arg;
};

/* What an output has done so far. */
struct send_stats {
	struct client_stats sent;
	uint64_t bytes_out;	     /* with a part of the current packet */
	struct badnet_stats channel; /* with --drop and its like */
};

/* The sink has what precedes this place in a stream. For packets: the
 * packet_seq_num that it needs next; for metadata: the bytes that it has. 0: it
 * has nothing. */
typedef uint64_t send_position;

#define SEND_ERROR_MAX 512
#define SEND_POLLFDS CLIENT_POLLFDS

struct send_output {
	const struct send_output_ops *ops;
};

struct send_output_ops {
	/* packet() may return before the packet is done. */
	bool keeps_packets;
	/* Add a stream of the trace in the folder PATH of the session; see
	 * client_add_stream(). *POSITION is where the sink continues. */
	enum status (*add_stream)(struct send_output *o, const char *path,
	    const char *channel, unsigned *number, send_position *position);
	/* Readers of the sink may see the streams that were added so far. */
	enum status (*streams_sent)(struct send_output *o);
	/* DATA is copied. It has whole packets of metadata, or text, and
	 * follows what was given before. */
	enum status (*metadata)(struct send_output *o, unsigned number,
	    const void *data, size_t size);
	/* Take a packet. Its bytes are borrowed until packet->done is called,
	 * which may be before this function returns. If this function does not
	 * return OK, the packet is still the caller's. index.stream and
	 * index.net_seq are not set. */
	enum status (*packet)(struct send_output *o, unsigned number,
	    const struct client_packet *packet);
	/* No later event of this stream is before TIMESTAMP, in cycles
	 * (streaming 4.3). */
	enum status (*beacon)(struct send_output *o, unsigned number,
	    uint64_t timestamp, uint64_t ctf_stream);
	/* N packets of the stream were gone before they could be read. NULL:
	 * the sink does not record that. */
	enum status (*lost)(struct send_output *o, unsigned number, uint64_t n);
	/* The stream has ended: nothing more comes for it. */
	enum status (*close_stream)(struct send_output *o, unsigned number);
	/* Do what is possible; wait at most TIMEOUT_MS for something to do. */
	enum status (*work)(struct send_output *o, int timeout_ms);
	/* See above. NULL: no function of this output waits. */
	void (*set_waits)(struct send_output *o, bool waits);
	/* The descriptors that work() would wait for; returns how many. *AT_NS
	 * is the latest time for the next work(); UINT64_MAX: never. NULL:
	 * there are none. */
	unsigned (*pollfds)(struct send_output *o,
	    struct pollfd out[SEND_POLLFDS], uint64_t *at_ns);
	/* Is everything that was taken so far on the disk of the sink? E_BUSY:
	 * not known yet, call again after work(). Never waits. */
	enum status (*stored)(struct send_output *o, bool *is_all);
	/* Wait until everything that was taken is sent and answered. */
	enum status (*flush)(struct send_output *o);
	/* End early: drop the packets that were taken and have not left;
	 * finish() may follow. */
	void (*cut)(struct send_output *o);
	/* The session has ended: wait until everything is on the disk of the
	 * sink, and close it. After the first call nothing more may be added.
	 */
	enum status (*finish)(struct send_output *o);
	/* What went wrong, one line without a newline; "" if nothing did. */
	const char *(*error)(const struct send_output *o);
	/* Where the sink puts the session, for people. */
	const char *(*path)(const struct send_output *o);
	void (*stats)(const struct send_output *o, struct send_stats *out);
	/* Packets of a stream that the sink has confirmed, and their bytes. */
	struct client_answered (*answered)(
	    const struct send_output *o, unsigned number);
	void (*destroy)(struct send_output *o);
};

struct send_sink {
	const struct send_sink_ops *ops;
};

struct send_sink_ops {
	/* Open a session. CONFIG is copied. Waits, like the functions above;
	 * not OK: WHY is one line, or "" for E_STOPPED. OK: a WHY that is not
	 * "" says why a session with an identity cannot be continued there. */
	enum status (*open)(struct send_sink *sink,
	    const struct send_output_config *config, struct send_output **out,
	    char why[SEND_ERROR_MAX]);
	/* All its outputs were destroyed. */
	void (*destroy)(struct send_sink *sink);
};

enum send_target {
	SEND_DIR,
	SEND_RELAY,
	SEND_TOPIC,
};

/* Where a sink writes. Zeros are the defaults, except as noted. */
struct send_sink_config {
	const char *program; /* named in messages; required */
	/* Set by send_sink_address(). */
	enum send_target target;
	const char *to;
	struct url url;		/* TO, if the target is a relay */
	struct kafka_url kafka; /* TO, if it is a topic */

	/* A directory: it must be new or empty, and has the sessions by their
	 * names, without host and time. The session "" is TO itself. Otherwise
	 * sessions are in TO/HOST/SESSION-TIME. */
	bool is_new_dir;

	/* A relay: struct client_config has them. */
	unsigned timeout_ms;
	unsigned outstanding;
	uint64_t rate;
	bool udp, resend;
	uint32_t fragment;
	uint64_t gap_timeout_us;
	struct badnet_config badnet;

	/* A topic: a file with settings of librdkafka, and one that keeps what
	 * has arrived; NULL: none. */
	const char *kafka_config, *kafka_state;
};

/* Set the address: net://HOST, kafka://BROKER/TOPIC, or a directory. TO is
 * borrowed. E_MALFORMED, E_REFUSED: *WHY is a constant string. */
enum status send_sink_address(struct send_sink_config *config, const char *to,
    const char **why) MUST_CHECK;
/* The same, but a directory is refused, too. */
enum status send_sink_remote(struct send_sink_config *config, const char *to,
    const char **why) MUST_CHECK;

/*
 * The sinks. A new one is a file with these operations and a function that
 * makes it, and a row of the table in sink.c. CONFIG is borrowed until the sink
 * is destroyed. Not OK: WHY is one line.
 */
typedef enum status send_sink_create(struct send_sink **out,
    const struct send_sink_config *config, char why[SEND_ERROR_MAX]) MUST_CHECK;
send_sink_create to_relay_create;
send_sink_create to_dir_create;
send_sink_create to_kafka_create; /* if HAVE_KAFKA */

/* The sink of config->to. */
send_sink_create send_sink_open;

#endif
