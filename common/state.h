/* SPDX-License-Identifier: MIT */
/*
 * What a relay hands to the process that replaces it: its state, as bytes, and
 * the descriptors that belong to it.
 *
 * Each stateful struct has a table beside its code that lists every member: its
 * value moves (STATE_KEEP and its like), code moves it (STATE_CODE), or it
 * need not move (STATE_DROP). tests/lint/members.py fails if a member is in no
 * table. Members are added at the end of a table: a record that an older
 * version wrote is shorter, and what it lacks stays as the struct has it.
 *
 * Objects that several others point to are written where they are named first,
 * with a number; after that only the number is written. No pointers and no
 * descriptor numbers are in the bytes, which are parsed like a peer's.
 *
 * Numbers are big-endian (common/buf.h). One thread at a time.
 */
#ifndef COMMON_STATE_H
#define COMMON_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/compiler.h"
#include "common/idmap.h"
#include "common/reader.h"
#include "common/status.h"

struct relpath;

enum state_kind {
	STATE_IS_NUMBER, /* unsigned, of 1, 2, 4 or 8 bytes; also an enum */
	STATE_IS_BOOL,
	STATE_IS_TEXT,	    /* char *, owned by the struct; may be NULL */
	STATE_IS_PATH,	    /* struct relpath *, the same */
	STATE_IS_BUF,	    /* struct buf */
	STATE_IS_PUBLISHED, /* struct published */
	STATE_IS_STRUCT,    /* a struct with a table of its own */
	STATE_IS_BYTES,	    /* an array of bytes, all of it */
	STATE_IS_CODE,
	STATE_IS_DROPPED,
};

struct state_table;

struct state_member {
	const char *name;
	uint16_t offset, size;
	enum state_kind kind;
	uint64_t max;			 /* of a number */
	const struct state_table *table; /* of a struct */
};

struct state_table {
	const char *name; /* of the struct */
	const struct state_member *members;
	size_t n;
};

#define STATE_MEMBER(type, m, kind_, max_, table_)                         \
	{                                                                  \
		.name = #m, .offset = (uint16_t)offsetof(type, m),         \
		.size = (uint16_t)sizeof(((type *)0)->m), .kind = (kind_), \
		.max = (max_), .table = (table_)                           \
	}
/* A number that may have any value, or a bool. */
#define STATE_KEEP(type, m)                      \
	STATE_MEMBER(type, m,                    \
	    _Generic(((type *)0)->m, bool        \
		     : STATE_IS_BOOL, uint8_t    \
		     : STATE_IS_NUMBER, uint16_t \
		     : STATE_IS_NUMBER, uint32_t \
		     : STATE_IS_NUMBER, uint64_t \
		     : STATE_IS_NUMBER),         \
	    UINT64_MAX, NULL)
/* A number, or an enum, that is at most MAX. */
#define STATE_MOST(type, m, max) \
	STATE_MEMBER(type, m, STATE_IS_NUMBER, max, NULL)
#define STATE_TEXT(type, m) STATE_MEMBER(type, m, STATE_IS_TEXT, 0, NULL)
#define STATE_PATH(type, m) STATE_MEMBER(type, m, STATE_IS_PATH, 0, NULL)
#define STATE_BUF(type, m) STATE_MEMBER(type, m, STATE_IS_BUF, 0, NULL)
#define STATE_PUBLISHED(type, m) \
	STATE_MEMBER(type, m, STATE_IS_PUBLISHED, 0, NULL)
#define STATE_BYTES(type, m) STATE_MEMBER(type, m, STATE_IS_BYTES, 0, NULL)
#define STATE_STRUCT(type, m, table) \
	STATE_MEMBER(type, m, STATE_IS_STRUCT, 0, &(table))
/* The code beside the table moves it. */
#define STATE_CODE(type, m) STATE_MEMBER(type, m, STATE_IS_CODE, 0, NULL)
/* The next process makes it itself, or needs none. */
#define STATE_DROP(type, m) STATE_MEMBER(type, m, STATE_IS_DROPPED, 0, NULL)

/* A flexible array, which the code moves or makes again. */
#define STATE_TAIL(type, m)                                        \
	{                                                          \
		.name = #m, .offset = (uint16_t)offsetof(type, m), \
		.kind = STATE_IS_CODE                              \
	}

/* The table NAME of the struct TYPE, from an array of members. */
#define STATE_TABLE(name_, type, members_)                                     \
	const struct state_table name_ = {                                     \
		.name = #type, .members = (members_), .n = ARRAY_LEN(members_) \
	}

/* Writing: what does not fit in memory makes OUT bad, as in common/buf.h. */
struct state_out {
	struct buf buf;
	struct idmap numbers; /* address of an object -> its number + 1 */
	uint32_t n_objects;
	int *fds; /* borrowed descriptors, in their order */
	uint32_t n_fds, cap_fds;
	bool bad;
};

void state_out_free(struct state_out *o); /* the descriptors stay open */
bool state_out_is_bad(const struct state_out *o);

/* One record: the members of OBJECT that TABLE keeps. */
void state_put(
    struct state_out *o, const struct state_table *table, const void *object);
void state_put_bool(struct state_out *o, bool v);
void state_put_u32(struct state_out *o, uint32_t v);
void state_put_u64(struct state_out *o, uint64_t v);
void state_put_text(struct state_out *o, const char *s); /* NULL is fine */
void state_put_bytes(struct state_out *o, const void *p, uint64_t n);
/* FD stays the caller's, and open; -1: none. */
void state_put_fd(struct state_out *o, int fd);
/* Names OBJECT (NULL is fine). True: for the first time, so the caller writes
 * its contents now. */
bool state_put_object(struct state_out *o, const void *object) MUST_CHECK;
/* What is written until state_end(), which gets the result, is a part that a
 * reader can skip. */
size_t state_begin(struct state_out *o);
void state_end(struct state_out *o, size_t part);

/* An object that was read. */
struct state_object {
	const void *kind;
	void *object;
	void (*put)(void *object); /* NULL: nothing to drop */
	uint32_t before; /* the number of the one that was made before it */
};

/* Reading. After one read that failed, IN is bad, and every read yields 0. */
struct state_in {
	struct reader r;
	int *fds; /* -1: taken */
	uint32_t n_fds;
	struct state_object *objects; /* by number */
	uint32_t n_objects;
	uint32_t last_made; /* its number; 0: none */
};

/* Read the N bytes at P, which are borrowed. TAKE_FDS, from malloc(), are
 * closed by state_in_free() unless they are taken. N_OBJECTS is
 * state_out->n_objects. E_NOMEM; E_MALFORMED: more objects than bytes. */
enum status state_in_init(struct state_in *in, const void *p, size_t n,
    int *take_fds, uint32_t n_fds, uint32_t n_objects) MUST_CHECK;
void state_in_free(struct state_in *in);

/* E_MALFORMED, E_NOMEM. OBJECT is as the caller initialized it, where the
 * record has no value; its texts, paths and buffers must be empty before, and
 * are its own afterwards, also on failure. */
enum status state_get(struct state_in *in, const struct state_table *table,
    void *object) MUST_CHECK;
bool state_get_bool(struct state_in *in);
/* At most MAX. */
uint32_t state_get_u32(struct state_in *in, uint32_t max);
uint64_t state_get_u64(struct state_in *in);
/* NULL: there is none; the bytes are borrowed and end with a NUL. */
const char *state_get_text(struct state_in *in);
/* Borrowed. */
struct span state_get_bytes(struct state_in *in);
/* The caller owns it; -1: none. */
int state_get_fd(struct state_in *in);
/*
 * An object of the kind KIND, any address that stands for it. True: *OBJECT is
 * set, or NULL for none. False: its contents follow; the caller makes it and
 * calls state_made(), with the number in *NUMBER. If IN is bad: true, and NULL;
 * it becomes bad if the object was written in a part that could not be read.
 */
bool state_get_object(struct state_in *in, const void *kind, void **object,
    uint32_t *number) MUST_CHECK;
void state_made(
    struct state_in *in, uint32_t number, const void *kind, void *object);
/* The same for an object that is counted: IN takes over one reference, which
 * state_in_free() drops with PUT. So the object is valid where it is named
 * again, even if the part that held it first could not be restored. */
void state_made_shared(struct state_in *in, uint32_t number, const void *kind,
    void *object, void (*put)(void *object));
/* What is made after state_mark() was freed, because a part could not be read:
 * it is bad to name it again, unless it is counted. */
uint32_t state_mark(const struct state_in *in);
void state_unmake(struct state_in *in, uint32_t mark);
/* Begin to read a part; state_part_end(), which gets the result, goes behind
 * it, also if IN is bad by now: the next part is read as if nothing had
 * happened. */
struct reader state_part(struct state_in *in) MUST_CHECK;
void state_part_end(struct state_in *in, const struct reader *rest);
static inline enum status
state_in_status(const struct state_in *in)
{
	return in->r.bad ? E_MALFORMED : OK;
}

#endif
