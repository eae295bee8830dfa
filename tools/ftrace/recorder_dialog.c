/* SPDX-License-Identifier: MIT */
#include "tools/ftrace/recorder_dialog.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/parse.h"

#define VERSION_3 "-1V3"
#define MAGIC_3 "766679"

void
recorder_dialog_init(
    struct recorder_dialog *d, const struct recorder_dialog_ops *ops, void *arg)
{
	*d = (struct recorder_dialog){ .ops = ops, .arg = arg };
	/* Without a NUL, as V1 and V3 recorders expect it. */
	buf_bytes(&d->out, "tracecmd", 8);
}

void
recorder_dialog_free(struct recorder_dialog *d)
{
	buf_free(&d->in);
	buf_free(&d->out);
}

static enum status
wrong(struct recorder_dialog *d, enum status st, const char *why)
{
	d->why = why;
	return st;
}

static enum status
begin(struct recorder_dialog *d)
{
	if (d->begin.cpus == 0 || d->begin.cpus > MESSAGE_CPUS_MAX)
		return wrong(d, E_LIMIT, "invalid number of CPUs");
	if (d->begin.page_size == 0)
		return wrong(d, E_PROTOCOL, "invalid page size 0");
	d->state = DIALOG_PORTS;
	return d->ops->begin(d->arg, &d->begin);
}

static void
put_ports_v1(struct recorder_dialog *d, const uint16_t *ports)
{
	for (uint32_t i = 0; i < d->begin.cpus; i++) {
		char text[8];
		const int n = snprintf(
		    text, sizeof(text), "%s%u", i == 0 ? "" : ",", ports[i]);

		buf_bytes(&d->out, text, (size_t)n);
	}
	buf_u8(&d->out, 0);
}

static enum status
on_version(struct recorder_dialog *d, const char *text)
{
	uint64_t cpus;

	if (parse_u64(text, 1, UINT32_MAX, &cpus) == OK) {
		d->begin.is_v1 = true;
		d->begin.cpus = (uint32_t)cpus;
		d->state = DIALOG_V1_NUMBER;
		return OK;
	}
	if (strncmp(text, "-1V", 3) != 0)
		return wrong(d, E_PROTOCOL, "not the greeting of a recorder");
	if (strcmp(text, VERSION_3) == 0)
		d->state = DIALOG_MAGIC;
	else if (strcmp(text, d->refused) == 0)
		return wrong(d, E_PROTOCOL, "it does not support version 3");
	snprintf(d->refused, sizeof(d->refused), "%s", text);
	buf_bytes(&d->out, "V3", sizeof("V3"));
	return OK;
}

static enum status
on_v1_number(struct recorder_dialog *d, const char *text)
{
	uint64_t v;

	if (parse_u64(text, 0, UINT32_MAX, &v) != OK)
		return wrong(d, E_PROTOCOL, "not a number (V1)");
	if (d->state == DIALOG_V1_SIZE) {
		if (v == 0 || v > V1_OPTION_BYTES_MAX)
			return wrong(d, E_LIMIT, "option too long (V1)");
		d->v1_size = (uint32_t)v;
		d->state = DIALOG_V1_OPTION;
		return OK;
	}
	if (d->v1_numbers++ == 0) {
		d->begin.page_size = (uint32_t)v;
		return OK;
	}
	if (v > V1_OPTIONS_MAX)
		return wrong(d, E_LIMIT, "too many options (V1)");
	d->v1_options = (uint32_t)v;
	d->state = DIALOG_V1_SIZE;
	return v == 0 ? begin(d) : OK;
}

static enum status
on_string(struct recorder_dialog *d, const char *text)
{
	switch (d->state) {
	case DIALOG_VERSION:
		return on_version(d, text);
	case DIALOG_MAGIC:
		if (strcmp(text, MAGIC_3) != 0)
			return wrong(d, E_PROTOCOL, "wrong magic number (V3)");
		d->state = DIALOG_OPTIONS;
		return OK;
	case DIALOG_OPTIONS:
		/* No recorder sends any, and their meaning is not known. In the
		 * 8 bytes on the wire this string is empty. */
		if (*text != '\0' && strcmp(text, "0") != 0)
			return wrong(d, E_PROTOCOL,
			    "unexpected options in the greeting");
		buf_bytes(&d->out, "OK", 2);
		d->state = DIALOG_TINIT;
		return OK;
	default:
		return on_v1_number(d, text);
	}
}

static enum status
on_v1_option(struct recorder_dialog *d)
{
	if (d->v1_size != sizeof("TCP") ||
	    memcmp(buf_data(&d->in), "TCP", sizeof("TCP")) != 0)
		return wrong(d, E_PROTOCOL, "unknown option (V1)");
	buf_consume(&d->in, d->v1_size);
	d->begin.is_tcp = true;
	d->state = DIALOG_V1_SIZE;
	return --d->v1_options == 0 ? begin(d) : OK;
}

static enum status
on_tinit(struct recorder_dialog *d, const struct tracecmd_message *m)
{
	struct message_tinit tinit;
	const enum status st = message_tinit_decode(&tinit, m);

	if (st != OK)
		return wrong(d, st, "TINIT is malformed");
	d->begin = (struct recorder_dialog_begin){ .cpus = tinit.cpus,
		.page_size = tinit.page_size,
		.is_tcp = tinit.is_tcp || tinit.is_vsock,
		.is_vsock = tinit.is_vsock,
		.unknown = tinit.unknown };
	return begin(d);
}

/* Answers an unknown or unexpected message. */
static enum status
not_supported(struct recorder_dialog *d, const struct tracecmd_message *m)
{
	if (m->number == MESSAGE_NOT_SUPP)
		return OK;
	d->not_supported++;
	message_put(&d->out, MESSAGE_NOT_SUPP);
	return OK;
}

static enum status
on_message(struct recorder_dialog *d, const struct tracecmd_message *m)
{
	enum status st = OK;

	if (m->number == MESSAGE_CLOSE) {
		d->state = DIALOG_CLOSED;
	} else if (m->number == MESSAGE_TINIT && d->state == DIALOG_TINIT) {
		st = on_tinit(d, m);
	} else if (m->number == MESSAGE_SEND_DATA &&
		   d->state == DIALOG_METADATA) {
		if (m->data.n > 0)
			st = d->ops->metadata(
			    d->arg, (const uint8_t *)m->data.p, m->data.n);
	} else if (m->number == MESSAGE_FIN_DATA &&
		   d->state == DIALOG_METADATA) {
		d->state = DIALOG_RUNNING;
		st = d->ops->metadata_end(d->arg);
	} else {
		st = not_supported(d, m);
	}
	return st;
}

/* Takes a NUL-terminated string from the input. */
static enum status
take_string(struct recorder_dialog *d)
{
	char text[GREETING_BYTES_MAX];
	const size_t n = buf_len(&d->in);
	const uint8_t *nul = memchr(buf_data(&d->in), '\0', n);
	const size_t len = nul == NULL ? n : (size_t)(nul - buf_data(&d->in));

	if (len >= sizeof(text))
		return wrong(d, E_PROTOCOL, "not the greeting of a recorder");
	if (nul == NULL)
		return E_MORE;
	memcpy(text, buf_data(&d->in), len + 1);
	buf_consume(&d->in, len + 1);
	return on_string(d, text);
}

static enum status
take_message(struct recorder_dialog *d)
{
	struct tracecmd_message m;
	size_t used;
	enum status st = message_parse(
	    &m, buf_data(&d->in), buf_len(&d->in), &used);

	if (st == E_MORE)
		return st;
	if (st != OK)
		return wrong(d, st, "not a message of a recorder");
	st = on_message(d, &m);
	buf_consume(&d->in, used);
	return st;
}

/* Takes what the state expects from the input. E_MORE: it is not whole. */
static enum status
step(struct recorder_dialog *d)
{
	const size_t n = buf_len(&d->in);
	enum status st;

	switch (d->state) {
	case DIALOG_V1_OPTION:
		if (n < d->v1_size)
			return E_MORE;
		return on_v1_option(d);
	case DIALOG_TINIT:
	case DIALOG_RUNNING:
		return take_message(d);
	case DIALOG_PORTS:
		return E_MORE;
	case DIALOG_METADATA:
		if (!d->begin.is_v1)
			return take_message(d);
		st = d->ops->metadata(d->arg, buf_data(&d->in), n);
		buf_consume(&d->in, n);
		return st;
	case DIALOG_CLOSED:
		buf_consume(&d->in, n);
		return OK;
	default:
		return take_string(d);
	}
}

enum status
recorder_dialog_input(struct recorder_dialog *d, const uint8_t *p, size_t n)
{
	enum status st = OK;

	buf_bytes(&d->in, p, n);
	if (d->in.bad)
		return wrong(d, E_NOMEM, "out of memory");
	while (buf_len(&d->in) > 0 && st == OK) {
		st = step(d);
		if (st == OK && buf_len(&d->out) > DIALOG_REPLY_BYTES_MAX)
			return wrong(
			    d, E_LIMIT, "it does not read the replies");
	}
	if (st != OK && st != E_MORE)
		return st;
	buf_trim(&d->in);
	if (d->out.bad)
		return wrong(d, E_NOMEM, "out of memory");
	return OK;
}

enum status
recorder_dialog_ports(struct recorder_dialog *d, const uint16_t *ports)
{
	assert(d->state == DIALOG_PORTS);
	if (d->begin.is_v1)
		put_ports_v1(d, ports);
	else if (message_put_rinit(&d->out, ports, d->begin.cpus) != OK)
		return wrong(d, E_LIMIT,
		    "the ports for its CPUs do not fit in a message; see "
		    "--data-ports");
	d->state = DIALOG_METADATA;
	return recorder_dialog_input(d, NULL, 0);
}
