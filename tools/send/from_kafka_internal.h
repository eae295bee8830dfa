/* SPDX-License-Identifier: MIT */
/*
 * The source "a Kafka topic". One thread polls the consumer. A session belongs
 * to one partition, and goes to an output of its own. An offset is committed
 * when the outputs have stored all records before it, so a session may be read
 * again from there: by this process after a failure of the sink, by the next
 * one after a crash, or by another member of the group.
 */
#ifndef TOOLS_SEND_FROM_KAFKA_INTERNAL_H
#define TOOLS_SEND_FROM_KAFKA_INTERNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/list.h"
#include "tools/client/retry.h"
#include "tools/kafka/kafka_config.h"
#include "tools/kafka/record.h"
#include "tools/send/report.h"
#include "tools/sink/sink.h"

struct from_kafka {
	const struct send_options *options;
	struct send_sink *sink;
	struct report *report;
	volatile sig_atomic_t *stop;
	rd_kafka_t *consumer;
	struct kafka_errors errors;
	struct list partitions;
	struct retry retry;  /* of the sink */
	uint64_t end_ns;     /* deadline for the end; 0: there is none */
	bool has_assignment; /* there was one */
};

/* A partition that this member has. */
struct kafka_partition {
	struct list node, sessions;
	struct from_kafka *from;
	int32_t number;
	int64_t next;	/* offset of the record to be taken next; -1: unknown */
	int64_t stored; /* all before it is stored; -1: unknown */
	int64_t committed; /* the group knows it; -1: unknown */
	int64_t mark;	   /* what the outputs are asked about; -1: nothing */
	uint64_t ask_ns;   /* when they are asked next */
	bool has_table;	   /* the topic of sessions was read */
	bool has_warned;   /* of a bad record */
};

struct source_stream {
	struct list node;
	char *name;	     /* PATH/CHANNEL */
	const char *channel; /* in NAME */
	bool is_metadata;
	unsigned number;
	bool is_added, is_closed;
	/* What the sink needs next: a packet_seq_num, or bytes of metadata. */
	uint64_t next;
};

/* Metadata that the topic of sessions has. */
struct source_metadata {
	struct list node;
	char *stream;
	uint64_t offset;
	struct buf bytes;
};

struct source_session {
	struct list node, streams, metadata;
	struct kafka_partition *partition;
	char *key;
	char *host, *name;
	struct record_key ids; /* its spans are HOST and NAME */
	bool has_description;
	struct record_session description;
	struct send_output *out; /* NULL: not open */
	bool has_new_streams;	 /* since streams_sent() */
	bool is_new;		 /* something was taken since the last mark */
	bool is_asked;		 /* for the mark of the partition */
	bool is_over;		 /* it has ended, or the sink refuses it */
	/* The parts of a packet that is not whole yet. */
	struct buf parts;
	int64_t parts_offset; /* of the first part; -1: there are none */
};

/* Find a session of P, or add it. NULL: no memory, or KEY is not valid. */
struct source_session *source_session(
    struct kafka_partition *p, struct span key, bool add);
/* Close the output, if there is one, without an end of the session. */
void source_session_close(struct source_session *s);
void source_session_destroy(struct source_session *s);
/*
 * Take a record, which comes from offset AT. MESSAGE has its bytes; it is set
 * to NULL if it was kept. Not OK: the record was not taken.
 */
enum status source_session_take(struct source_session *s,
    const struct record *r, int64_t at,
    rd_kafka_message_t **message) MUST_CHECK;
/* Send what need not wait for a record. */
enum status source_session_work(struct source_session *s) MUST_CHECK;

/* Read the topic of sessions: what the sessions of P are that began before. */
enum status source_table_read(struct kafka_partition *p) MUST_CHECK;

/* Wait until all of P that was taken is stored, and commit it. */
enum status source_checkpoint(struct kafka_partition *p) MUST_CHECK;
/* May a function that waits continue to wait? */
bool source_goes_on(void *from);

#endif
