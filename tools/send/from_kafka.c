/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tools/send/from_kafka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/send/from_kafka_internal.h"

#define POLL_MS 100
/* Between two questions whether all is stored. */
#define ASK_NS NS_PER_S
/* How long partitions that go to another member, or the end of the program,
 * wait for the sink: shorter than the group waits for a member. */
#define KAFKA_LEAVE_NS (10 * NS_PER_S)
/* Before this version, a member that never had a partition aborts when it
 * leaves, with the assignor "cooperative-sticky". */
#define VERSION_MAY_LEAVE 0x02030000

bool
source_goes_on(void *arg)
{
	const struct from_kafka *f = arg;

	return f->end_ns == 0 ? !*f->stop : clock_now_ns() < f->end_ns;
}

static struct kafka_partition *
find_partition(struct from_kafka *f, int32_t number)
{
	struct kafka_partition *p;

	list_each (p, &f->partitions, struct kafka_partition, node)
		if (p->number == number)
			return p;
	return NULL;
}

static void
add_partition(struct from_kafka *f, int32_t number)
{
	struct kafka_partition *p = calloc(1, sizeof(*p));

	if (p == NULL) /* its records are not taken, and nothing is committed */
		return;
	*p = (struct kafka_partition){ .from = f,
		.number = number,
		.next = -1,
		.stored = -1,
		.committed = -1,
		.mark = -1 };
	list_init(&p->sessions);
	list_append(&f->partitions, &p->node);
}

static void
drop_sessions(struct kafka_partition *p)
{
	struct source_session *s, *next;

	list_each_safe (s, next, &p->sessions, struct source_session, node)
		source_session_destroy(s);
	p->has_table = false;
	p->mark = -1;
}

static void
remove_partition(struct kafka_partition *p)
{
	drop_sessions(p);
	list_del(&p->node);
	free(p);
}

/* The offset before which all was given to outputs: a packet of which a part is
 * missing was not. */
static int64_t
given(const struct kafka_partition *p)
{
	const struct source_session *s;
	int64_t at = p->next;

	list_each (s, &p->sessions, struct source_session, node)
		if (s->parts_offset >= 0 && s->parts_offset < at)
			at = s->parts_offset;
	return at;
}

/* Begin to ask the outputs whether they have stored what they were given. */
static void
begin_to_ask(struct kafka_partition *p)
{
	struct source_session *s;

	p->mark = given(p);
	list_each (s, &p->sessions, struct source_session, node) {
		s->is_asked = s->out != NULL && s->is_new;
		s->is_new = false;
	}
}

/* Ask on. *IS_STORED: all outputs have answered that they have. */
static enum status
ask(struct kafka_partition *p, bool *is_stored)
{
	struct source_session *s;
	enum status st = OK;
	bool is_all;

	*is_stored = true;
	list_each (s, &p->sessions, struct source_session, node) {
		if (st != OK || !s->is_asked)
			continue;
		st = s->out->ops->stored(s->out, &is_all);
		if (st == OK && is_all)
			s->is_asked = false;
		else
			*is_stored = false;
		if (st == E_BUSY)
			st = OK;
	}
	return st;
}

static void
commit(struct kafka_partition *p, bool waits)
{
	struct from_kafka *f = p->from;
	rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(
	    1);

	rd_kafka_topic_partition_list_add(
	    l, f->options->kafka_from.topic, p->number)
	    ->offset = p->mark;
	if (rd_kafka_commit(f->consumer, l, !waits) ==
		RD_KAFKA_RESP_ERR_NO_ERROR &&
	    waits)
		p->committed = p->mark;
	rd_kafka_topic_partition_list_destroy(l);
	p->stored = p->mark;
	p->mark = -1;
}

/* A commit that did not wait was answered. One that failed is repeated: see
 * commit_some(). */
static void
on_commit(rd_kafka_t *rk, rd_kafka_resp_err_t e,
    rd_kafka_topic_partition_list_t *l, void *opaque)
{
	struct from_kafka *f = container_of(
	    (struct kafka_errors *)opaque, struct from_kafka, errors);
	struct kafka_partition *p;

	(void)rk;
	for (int i = 0; e == RD_KAFKA_RESP_ERR_NO_ERROR && i < l->cnt; i++) {
		p = find_partition(f, l->elems[i].partition);
		if (p != NULL && l->elems[i].err == RD_KAFKA_RESP_ERR_NO_ERROR)
			p->committed = l->elems[i].offset;
	}
}

/* Commit what is stored, now and then. */
static enum status
commit_some(struct kafka_partition *p)
{
	const uint64_t now = clock_now_ns();
	bool is_stored = false;
	enum status st;

	if (p->mark < 0) {
		if (p->next < 0 || given(p) == p->committed || now < p->ask_ns)
			return OK;
		begin_to_ask(p);
		p->ask_ns = now + ASK_NS;
	}
	st = ask(p, &is_stored);
	if (st == OK && is_stored)
		commit(p, false);
	return st;
}

enum status
source_checkpoint(struct kafka_partition *p)
{
	struct source_session *s;
	bool is_stored = false;
	enum status st = OK;

	if (p->next < 0)
		return OK;
	/* What was taken since the last mark is asked about, too. */
	list_each (s, &p->sessions, struct source_session, node)
		s->is_new |= s->is_asked;
	begin_to_ask(p);
	while (st == OK && !is_stored) {
		st = ask(p, &is_stored);
		list_each (s, &p->sessions, struct source_session, node)
			if (st == OK && s->is_asked)
				st = s->out->ops->work(s->out, 1);
		if (st == OK && !is_stored && !source_goes_on(p->from))
			st = E_STOPPED;
	}
	if (st == OK)
		commit(p, true);
	return st;
}

/* Partitions leave: what is stored is committed, and the sessions stay as they
 * are for the next member. */
static void
leave(struct from_kafka *f, const rd_kafka_topic_partition_list_t *l,
    bool is_lost)
{
	struct kafka_partition *p;

	f->end_ns = clock_now_ns() + KAFKA_LEAVE_NS;
	for (int i = 0; i < l->cnt; i++) {
		p = find_partition(f, l->elems[i].partition);
		if (p == NULL)
			continue;
		if (!is_lost && source_checkpoint(p) != OK)
			report_error(f->report,
			    "kafka: partition %d leaves before all is stored",
			    (int)p->number);
		remove_partition(p);
	}
	f->end_ns = 0;
}

static void
on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t e,
    rd_kafka_topic_partition_list_t *l, void *opaque)
{
	struct kafka_errors *errors = opaque;
	struct from_kafka *f = container_of(errors, struct from_kafka, errors);
	const bool is_cooperative = strcmp(rd_kafka_rebalance_protocol(rk),
					"COOPERATIVE") == 0;
	rd_kafka_error_t *error = NULL;

	if (e == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
		f->has_assignment = true;
		for (int i = 0; i < l->cnt; i++)
			add_partition(f, l->elems[i].partition);
		if (is_cooperative)
			error = rd_kafka_incremental_assign(rk, l);
		else
			(void)rd_kafka_assign(rk, l);
	} else {
		leave(f, l, rd_kafka_assignment_lost(rk) != 0);
		if (is_cooperative)
			error = rd_kafka_incremental_unassign(rk, l);
		else
			(void)rd_kafka_assign(rk, NULL);
	}
	if (error != NULL)
		report_error(
		    f->report, "kafka: %s", rd_kafka_error_string(error));
	rd_kafka_error_destroy(error);
}

/* Read P again from what is stored on: the sink has lost the rest. */
static void
rewind_partition(struct kafka_partition *p)
{
	struct from_kafka *f = p->from;
	rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(
	    1);

	drop_sessions(p);
	if (p->stored >= 0) {
		rd_kafka_topic_partition_list_add(
		    l, f->options->kafka_from.topic, p->number)
		    ->offset = p->stored;
		rd_kafka_error_destroy(
		    rd_kafka_seek_partitions(f->consumer, l, -1));
		p->next = p->stored;
	}
	rd_kafka_topic_partition_list_destroy(l);
}

/* Whose output has failed? NULL: none has. */
static struct source_session *
failed_session(struct kafka_partition *p)
{
	struct source_session *s;

	list_each (s, &p->sessions, struct source_session, node)
		if (s->out != NULL && s->out->ops->error(s->out)[0] != '\0')
			return s;
	return NULL;
}

/* Something failed with ST for session S of P; NULL: find out for which. What
 * the sink will never take is left out; all else is tried again after a pause.
 */
static enum status
recover(struct kafka_partition *p, struct source_session *s, enum status st)
{
	struct from_kafka *f = p->from;
	uint64_t until;

	if (st == E_STOPPED || st == E_NOMEM)
		return st;
	if (s == NULL)
		s = failed_session(p);
	if (s != NULL && s->out != NULL &&
	    s->out->ops->error(s->out)[0] != '\0')
		report_error(
		    f->report, "%s: %s", s->key, s->out->ops->error(s->out));
	if (s != NULL && !retry_may_help(st, false)) {
		report_error(f->report, "%s: ignored from here on: %s", s->key,
		    status_text(st));
		source_session_close(s);
		s->is_over = true;
		return OK;
	}
	rewind_partition(p);
	until = clock_now_ns() + retry_pause(&f->retry);
	while (source_goes_on(f) && clock_now_ns() < until)
		(void)usleep(POLL_MS * 1000);
	return OK;
}

static void
refuse(struct kafka_partition *p, int64_t offset, enum status st)
{
	if (!p->has_warned)
		report_error(p->from->report,
		    "kafka: partition %d, offset %lld: %s: such records are "
		    "ignored",
		    (int)p->number, (long long)offset, status_text(st));
	p->has_warned = true;
}

/* Take a message with a record. */
static enum status
take(struct kafka_partition *p, rd_kafka_message_t **m)
{
	const struct span key = { (*m)->key, (*m)->key_len };
	const int64_t offset = (*m)->offset;
	struct source_session *s = NULL;
	struct record r;
	enum status st = record_decode(&r, (*m)->payload, (*m)->len);

	if (p->next < 0)
		p->stored = p->next = offset;
	/* Left over in the queue from before a rewind. */
	if (offset < p->next)
		return OK;
	if (st == OK && (s = source_session(p, key, true)) == NULL)
		st = E_MALFORMED;
	if (s == NULL) {
		refuse(p, offset, st);
		p->next = offset + 1;
		return OK;
	}
	st = source_session_take(s, &r, offset, m);
	if (st != OK)
		return recover(p, s, st);
	p->next = offset + 1;
	retry_reset(&p->from->retry);
	return OK;
}

static enum status
take_message(struct from_kafka *f, rd_kafka_message_t *m)
{
	struct kafka_partition *p;
	enum status st = OK;

	if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		/* The library goes on, except after a fatal error. */
		kafka_errors_report(
		    &f->errors, m->err, rd_kafka_message_errstr(m));
		st = m->err == RD_KAFKA_RESP_ERR__FATAL ? E_IO : OK;
		rd_kafka_message_destroy(m);
		return st;
	}
	kafka_errors_clear(&f->errors);
	p = find_partition(f, m->partition);
	if (p != NULL)
		st = take(p, &m);
	if (m != NULL)
		rd_kafka_message_destroy(m);
	return st;
}

static void
show(struct from_kafka *f)
{
	if (report_is_due(f->report))
		report_progress(f->report,
		    &(struct progress_now){ .phase = PROGRESS_FOLLOWING,
			.ns = clock_now_ns(),
			.bytes = f->report->sum.bytes,
			.packets = f->report->sum.packets,
			.left_ns = UINT64_MAX });
}

/* What is to be done without a message. */
static enum status
work(struct from_kafka *f)
{
	struct kafka_partition *p;
	struct source_session *s;
	enum status st;

	list_each (p, &f->partitions, struct kafka_partition, node) {
		st = OK;
		list_each (s, &p->sessions, struct source_session, node)
			if (st == OK)
				st = source_session_work(s);
		if (st == OK)
			st = commit_some(p);
		if (st != OK)
			st = recover(p, NULL, st);
		if (st != OK)
			return st;
	}
	show(f);
	return OK;
}

static enum status
run(struct from_kafka *f)
{
	uint64_t due = 0;
	enum status st = OK;
	rd_kafka_message_t *m;

	while (st == OK && !*f->stop) {
		m = rd_kafka_consumer_poll(f->consumer, POLL_MS);
		if (m != NULL)
			st = take_message(f, m);
		if (st == OK && clock_now_ns() >= due) {
			st = work(f);
			due = clock_now_ns() + POLL_MS * NS_PER_MS / 2;
		}
	}
	return st == OK ? E_STOPPED : st;
}

static enum status
subscribe(struct from_kafka *f, char why[KAFKA_WHY_MAX])
{
	const struct send_options *o = f->options;
	rd_kafka_topic_partition_list_t *l;
	rd_kafka_resp_err_t e;
	rd_kafka_conf_t *c;
	enum status st = kafka_config_create(
	    &c, &o->kafka_from, o->sink.kafka_config, &f->errors, why);

	if (st != OK)
		return st;
	kafka_config_set(c, "group.id", o->group);
	kafka_config_set(c, "enable.auto.commit", "false");
	kafka_config_set(c, "enable.auto.offset.store", "false");
	rd_kafka_conf_set_rebalance_cb(c, on_rebalance);
	rd_kafka_conf_set_offset_commit_cb(c, on_commit);
	f->consumer = rd_kafka_new(RD_KAFKA_CONSUMER, c, why, KAFKA_WHY_MAX);
	if (f->consumer == NULL) {
		rd_kafka_conf_destroy(c);
		return E_REFUSED;
	}
	rd_kafka_poll_set_consumer(f->consumer);
	l = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(
	    l, o->kafka_from.topic, RD_KAFKA_PARTITION_UA);
	e = rd_kafka_subscribe(f->consumer, l);
	rd_kafka_topic_partition_list_destroy(l);
	if (e == RD_KAFKA_RESP_ERR_NO_ERROR)
		return OK;
	snprintf(why, KAFKA_WHY_MAX, "%s", rd_kafka_err2str(e));
	return E_REFUSED;
}

/* Leave the group. */
static void
unsubscribe(struct from_kafka *f)
{
	struct kafka_partition *p, *next;

	if (f->consumer == NULL)
		return;
	if (f->has_assignment || rd_kafka_version() >= VERSION_MAY_LEAVE) {
		(void)rd_kafka_consumer_close(f->consumer);
		rd_kafka_destroy(f->consumer);
	}
	list_each_safe (p, next, &f->partitions, struct kafka_partition, node)
		remove_partition(p);
}

enum status
from_kafka_run(const struct send_options *o, struct send_sink *sink,
    struct report *r, volatile sig_atomic_t *stop)
{
	struct from_kafka f = { .options = o,
		.sink = sink,
		.report = r,
		.stop = stop,
		.errors = { .program = "tracepulse-send" } };
	char why[KAFKA_WHY_MAX];
	enum status st;

	list_init(&f.partitions);
	st = subscribe(&f, why);
	if (st != OK) {
		report_error(r, "%s", why);
	} else {
		st = run(&f);
		if (st != E_STOPPED)
			report_error(r, "%s", status_text(st));
	}
	report_progress_end(r);
	unsubscribe(&f);
	return st;
}
