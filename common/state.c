/* SPDX-License-Identifier: MIT */
#include "common/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/publish.h"
#include "common/relpath.h"

/* In place of the length of a text or the index of a descriptor. */
#define NONE UINT32_MAX
/* With an object's number: its contents follow. */
#define FIRST (UINT32_C(1) << 31)

void
state_out_free(struct state_out *o)
{
	buf_free(&o->buf);
	idmap_free(&o->numbers);
	free(o->fds);
	*o = (struct state_out){ 0 };
}

bool
state_out_is_bad(const struct state_out *o)
{
	return o->bad || o->buf.bad;
}

void
state_put_bool(struct state_out *o, bool v)
{
	buf_u8(&o->buf, v);
}

void
state_put_u32(struct state_out *o, uint32_t v)
{
	buf_u32(&o->buf, v);
}

void
state_put_u64(struct state_out *o, uint64_t v)
{
	buf_u64(&o->buf, v);
}

void
state_put_text(struct state_out *o, const char *s)
{
	const size_t n = s == NULL ? 0 : strlen(s) + 1;

	buf_u32(&o->buf, s == NULL ? NONE : (uint32_t)n);
	if (n > 0)
		buf_bytes(&o->buf, s, n);
}

void
state_put_bytes(struct state_out *o, const void *p, uint64_t n)
{
	buf_u64(&o->buf, n);
	if (n > 0)
		buf_bytes(&o->buf, p, n);
}

void
state_put_fd(struct state_out *o, int fd)
{
	const uint32_t cap = o->cap_fds == 0 ? 64 : 2 * o->cap_fds;
	int *more;

	if (fd < 0) {
		buf_u32(&o->buf, NONE);
		return;
	}
	if (o->n_fds == o->cap_fds) {
		more = realloc(o->fds, cap * sizeof(*more));
		if (more == NULL) {
			o->bad = true;
			return;
		}
		o->fds = more;
		o->cap_fds = cap;
	}
	buf_u32(&o->buf, o->n_fds);
	o->fds[o->n_fds++] = fd;
}

bool
state_put_object(struct state_out *o, const void *object)
{
	const uint64_t key = (uintptr_t)object;
	const uintptr_t known = (uintptr_t)idmap_find(&o->numbers, key);
	const uintptr_t next = (uintptr_t)o->n_objects + 1;

	if (object == NULL || known != 0) {
		buf_u32(&o->buf, (uint32_t)known);
		return false;
	}
	/* Values are numbers, which only look like pointers. */
	if (idmap_insert(&o->numbers, key, (void *)next) != OK)
		o->bad = true;
	o->n_objects++;
	buf_u32(&o->buf, (uint32_t)next | FIRST);
	return true;
}

size_t
state_begin(struct state_out *o)
{
	buf_u64(&o->buf, 0);
	return buf_len(&o->buf);
}

void
state_end(struct state_out *o, size_t part)
{
	uint64_t n;

	if (state_out_is_bad(o))
		return;
	n = htobe64(buf_len(&o->buf) - part);
	memcpy(o->buf.mem + o->buf.start + part - sizeof(n), &n, sizeof(n));
}

static uint64_t
number_at(const void *p, uint16_t size)
{
	uint16_t n16;
	uint32_t n32;
	uint64_t n64;

	switch (size) {
	case 1:
		return *(const uint8_t *)p;
	case 2:
		memcpy(&n16, p, sizeof(n16));
		return n16;
	case 4:
		memcpy(&n32, p, sizeof(n32));
		return n32;
	default:
		assert(size == 8);
		memcpy(&n64, p, sizeof(n64));
		return n64;
	}
}

static void
set_number(void *p, uint16_t size, uint64_t v)
{
	const uint8_t n8 = (uint8_t)v;
	const uint16_t n16 = (uint16_t)v;
	const uint32_t n32 = (uint32_t)v;

	if (size == 1)
		memcpy(p, &n8, size);
	else if (size == 2)
		memcpy(p, &n16, size);
	else if (size == 4)
		memcpy(p, &n32, size);
	else
		memcpy(p, &v, sizeof(v));
}

static void
put_member(struct state_out *o, const struct state_member *m, const uint8_t *at)
{
	const struct relpath *path;
	const struct buf *b;
	const char *text;

	switch (m->kind) {
	case STATE_IS_NUMBER:
		buf_u64(&o->buf, number_at(at, m->size));
		break;
	case STATE_IS_BOOL:
		state_put_bool(o, *(const bool *)at);
		break;
	case STATE_IS_TEXT:
		memcpy(&text, at, sizeof(text));
		state_put_text(o, text);
		break;
	case STATE_IS_PATH:
		memcpy(&path, at, sizeof(path));
		state_put_text(o, path == NULL ? NULL : path->s);
		break;
	case STATE_IS_BUF:
		b = (const void *)at;
		state_put_bytes(o, buf_data(b), buf_len(b));
		break;
	case STATE_IS_PUBLISHED:
		buf_u64(&o->buf, published((const void *)at));
		break;
	case STATE_IS_STRUCT:
		state_put(o, m->table, at);
		break;
	case STATE_IS_BYTES:
		buf_bytes(&o->buf, at, m->size);
		break;
	case STATE_IS_CODE:
	case STATE_IS_DROPPED:
		break;
	}
}

void
state_put(
    struct state_out *o, const struct state_table *table, const void *object)
{
	const size_t part = state_begin(o);

	for (size_t i = 0; i < table->n; i++)
		put_member(o, &table->members[i],
		    (const uint8_t *)object + table->members[i].offset);
	state_end(o, part);
}

enum status
state_in_init(struct state_in *in, const void *p, size_t n, int *take_fds,
    uint32_t n_fds, uint32_t n_objects)
{
	*in = (struct state_in){ .r = reader_over(p, n),
		.fds = take_fds,
		.n_fds = n_fds,
		.n_objects = n_objects };
	/* Each has a number at least. */
	if (n_objects > n / sizeof(uint32_t)) {
		state_in_free(in);
		return E_MALFORMED;
	}
	in->objects = calloc((size_t)n_objects + 1, sizeof(*in->objects));
	if (in->objects == NULL) {
		state_in_free(in);
		return E_NOMEM;
	}
	return OK;
}

void
state_in_free(struct state_in *in)
{
	for (uint32_t i = 0; i < in->n_fds; i++)
		if (in->fds[i] >= 0)
			close(in->fds[i]);
	for (uint32_t i = 1; in->objects != NULL && i <= in->n_objects; i++)
		if (in->objects[i].put != NULL)
			in->objects[i].put(in->objects[i].object);
	free(in->fds);
	free(in->objects);
	*in = (struct state_in){ 0 };
}

bool
state_get_bool(struct state_in *in)
{
	const uint8_t v = reader_u8(&in->r);

	if (v > 1)
		in->r.bad = true;
	return v == 1;
}

uint32_t
state_get_u32(struct state_in *in, uint32_t max)
{
	const uint32_t v = reader_u32(&in->r);

	if (v <= max)
		return v;
	in->r.bad = true;
	return 0;
}

uint64_t
state_get_u64(struct state_in *in)
{
	return reader_u64(&in->r);
}

const char *
state_get_text(struct state_in *in)
{
	const uint32_t n = reader_u32(&in->r);

	if (in->r.bad || n == NONE)
		return NULL;
	return reader_cstr(&in->r, n).p;
}

struct span
state_get_bytes(struct state_in *in)
{
	const uint64_t n = reader_u64(&in->r);
	const uint8_t *p = reader_take(&in->r, n);

	return (struct span){ (const char *)p, p == NULL ? 0 : (size_t)n };
}

int
state_get_fd(struct state_in *in)
{
	const uint32_t i = reader_u32(&in->r);
	int fd;

	if (in->r.bad || i == NONE)
		return -1;
	if (i >= in->n_fds || in->fds[i] < 0) {
		in->r.bad = true;
		return -1;
	}
	fd = in->fds[i];
	in->fds[i] = -1;
	return fd;
}

bool
state_get_object(
    struct state_in *in, const void *kind, void **object, uint32_t *number)
{
	const uint32_t v = reader_u32(&in->r);
	const uint32_t n = v & ~FIRST;
	const struct state_object *o;

	*object = NULL;
	*number = 0;
	if (in->r.bad || v == 0)
		return true;
	if (n == 0 || n > in->n_objects) {
		in->r.bad = true;
		return true;
	}
	o = &in->objects[n];
	if ((v & FIRST) != 0 && o->kind == NULL) {
		*number = n;
		return false;
	}
	/* Made twice, of another kind, or in a part that could not be read. */
	if ((v & FIRST) != 0 || o->kind != kind)
		in->r.bad = true;
	else
		*object = o->object;
	return true;
}

void
state_made(struct state_in *in, uint32_t number, const void *kind, void *object)
{
	state_made_shared(in, number, kind, object, NULL);
}

void
state_made_shared(struct state_in *in, uint32_t number, const void *kind,
    void *object, void (*put)(void *object))
{
	struct state_object *o = &in->objects[number];

	assert(number > 0 && number <= in->n_objects);
	if (o->kind == NULL) {
		*o = (struct state_object){ kind, object, put, in->last_made };
		in->last_made = number;
		return;
	}
	/* It is inside itself. */
	in->r.bad = true;
	if (put != NULL)
		put(object);
}

uint32_t
state_mark(const struct state_in *in)
{
	return in->last_made;
}

void
state_unmake(struct state_in *in, uint32_t mark)
{
	static const char freed;
	struct state_object *o;

	for (uint32_t i = in->last_made; i != mark; i = o->before) {
		o = &in->objects[i];
		if (o->put == NULL)
			o->kind = &freed;
	}
}

struct reader
state_part(struct state_in *in)
{
	const uint64_t n = reader_u64(&in->r);
	struct reader rest = in->r;
	const uint8_t *p = reader_take(&rest, n);

	if (p == NULL)
		in->r.bad = true;
	else
		in->r = reader_over(p, (size_t)n);
	return rest;
}

void
state_part_end(struct state_in *in, const struct reader *rest)
{
	in->r = *rest;
}

static enum status
get_text(struct state_in *in, uint8_t *at)
{
	const char *text = state_get_text(in);
	char *copy;

	if (text == NULL)
		return state_in_status(in);
	copy = strdup(text);
	memcpy(at, &copy, sizeof(copy));
	return copy == NULL ? E_NOMEM : OK;
}

static enum status
get_path(struct state_in *in, uint8_t *at)
{
	const char *text = state_get_text(in);
	struct relpath *path;
	enum status st;

	if (text == NULL)
		return state_in_status(in);
	st = relpath_parse(&path, (struct span){ text, strlen(text) });
	memcpy(at, &path, sizeof(path));
	return st;
}

static enum status
get_buf(struct state_in *in, struct buf *b)
{
	const struct span s = state_get_bytes(in);

	if (s.n > 0)
		buf_bytes(b, s.p, s.n);
	return b->bad ? E_NOMEM : state_in_status(in);
}

static enum status
get_member(struct state_in *in, const struct state_member *m, uint8_t *at)
{
	uint64_t v;

	switch (m->kind) {
	case STATE_IS_NUMBER:
		v = reader_u64(&in->r);
		if (v > m->max ||
		    (m->size < sizeof(v) && v >> (8 * m->size) != 0))
			return E_MALFORMED;
		if (!in->r.bad)
			set_number(at, m->size, v);
		break;
	case STATE_IS_BOOL:
		*(bool *)at = state_get_bool(in);
		break;
	case STATE_IS_TEXT:
		return get_text(in, at);
	case STATE_IS_PATH:
		return get_path(in, at);
	case STATE_IS_BUF:
		return get_buf(in, (void *)at);
	case STATE_IS_PUBLISHED:
		publish((void *)at, reader_u64(&in->r));
		break;
	case STATE_IS_STRUCT:
		return state_get(in, m->table, at);
	case STATE_IS_BYTES:
		reader_copy(&in->r, at, m->size);
		break;
	case STATE_IS_CODE:
	case STATE_IS_DROPPED:
		break;
	}
	return state_in_status(in);
}

enum status
state_get(struct state_in *in, const struct state_table *table, void *object)
{
	const struct reader rest = state_part(in);
	enum status st = state_in_status(in);

	for (size_t i = 0; i < table->n && st == OK; i++) {
		const struct state_member *m = &table->members[i];

		/* An older version wrote no more. */
		if (reader_left(&in->r) == 0 && m->kind != STATE_IS_CODE &&
		    m->kind != STATE_IS_DROPPED)
			break;
		st = get_member(in, m, (uint8_t *)object + m->offset);
	}
	state_part_end(in, &rest);
	if (st != OK)
		in->r.bad = true;
	return st;
}
