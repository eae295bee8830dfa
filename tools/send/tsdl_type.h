/* SPDX-License-Identifier: MIT */
/*
 * The types of TSDL as far as their size matters. Types live in one table and
 * are called by their place in it. A name may be defined again; the last
 * definition counts.
 */
#ifndef TOOLS_SEND_TSDL_TYPE_H
#define TOOLS_SEND_TSDL_TYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/compiler.h"
#include "common/status.h"
#include "tools/send/tsdl.h"

enum byte_order { ORDER_NATIVE, ORDER_LITTLE, ORDER_BIG };

enum type_kind {
	TYPE_NUMBER, /* integer or floating point */
	TYPE_STRUCT,
	TYPE_ARRAY,    /* of constant length */
	TYPE_VARIABLE, /* its size is not constant */
};

#define TYPE_NONE (-1)
#define NAME_LEN 64 /* longer names are cut: none that we need is longer */

struct type {
	enum type_kind kind;
	bool is_integer;
	unsigned size;	/* bits, of a number */
	unsigned align; /* bits; of a struct: at least that of its members */
	enum byte_order order;
	int element;	 /* of an array */
	unsigned length; /* of an array: elements */
	int first;	 /* of a struct: its first member, TYPE_NONE: empty */
};

struct member {
	char name[NAME_LEN];
	int type;
	int next; /* TYPE_NONE: the last */
};

struct type_name {
	char name[NAME_LEN];
	int type;
};

struct types {
	struct type *types;
	struct member *members;
	struct type_name *names;
	int n_types, n_members, n_names;
	int cap_types, cap_members, cap_names;
};

void types_free(struct types *t);
/* Returns the type's place; TYPE_NONE without memory. */
int types_add(struct types *t, const struct type *type);
/* Add a member to struct IN, behind member AFTER; TYPE_NONE: as the first. The
 * alignment of IN becomes at least that of its members. */
int types_add_member(
    struct types *t, int in, int after, const char *name, int type);
bool types_name(struct types *t, const char *name, int type);
int types_find(const struct types *t, const char *name); /* or TYPE_NONE */

/* Find where the known fields of a struct are; numbers of native order have the
 * order NATIVE. E_REFUSED: its size is not constant; E_LIMIT: it is too
 * large. */
enum status types_layout(const struct types *t, int type,
    enum byte_order native, struct tsdl_layout *out) MUST_CHECK;

#endif
