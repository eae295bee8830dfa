/* SPDX-License-Identifier: MIT */
/*
 * A state that the process before has left (common/state.h): nodes with each
 * kind of member, of which several may share a child, each child in a part that
 * can fail alone. The first byte is the number of descriptors, the second that
 * of objects. What can be read must say the same when it is written and read
 * again.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/publish.h"
#include "common/relpath.h"
#include "common/state.h"
#include "tests/fuzz/fuzz.h"

#define CHILDREN_MAX 3
#define FDS_MAX 4

struct inner {
	uint16_t number;
};

struct node {
	unsigned refs;
	bool is_whole; /* so no node is inside itself */
	bool flag;
	uint8_t small, bounded;
	uint32_t number;
	char *text;
	struct relpath *path;
	struct buf bytes;
	struct published counter;
	struct inner inner;
	uint8_t raw[4];
	int fd;
	struct node *children[CHILDREN_MAX];
	unsigned n;
};

static const struct state_member inner_members[] = {
	STATE_KEEP(struct inner, number),
};
static STATE_TABLE(inner_state, struct inner, inner_members);

static const struct state_member members[] = {
	STATE_DROP(struct node, refs),
	STATE_DROP(struct node, is_whole),
	STATE_KEEP(struct node, flag),
	STATE_KEEP(struct node, small),
	STATE_MOST(struct node, bounded, 3),
	STATE_KEEP(struct node, number),
	STATE_TEXT(struct node, text),
	STATE_PATH(struct node, path),
	STATE_BUF(struct node, bytes),
	STATE_PUBLISHED(struct node, counter),
	STATE_STRUCT(struct node, inner, inner_state),
	STATE_BYTES(struct node, raw),
	STATE_CODE(struct node, fd),
	STATE_CODE(struct node, children),
	STATE_CODE(struct node, n),
};
static STATE_TABLE(node_state, struct node, members);

static void
put(void *node)
{
	struct node *n = node;

	if (n == NULL || --n->refs > 0)
		return;
	for (unsigned i = 0; i < n->n; i++)
		put(n->children[i]);
	if (n->fd >= 0)
		close(n->fd);
	free(n->text);
	relpath_free(n->path);
	buf_free(&n->bytes);
	free(n);
}

static enum status get(struct node **out, struct state_in *in);

/* A child that cannot be read is left out. */
static void
get_child(struct node *n, struct state_in *in)
{
	const uint32_t mark = state_mark(in);
	const struct reader rest = state_part(in);
	struct node *child;
	enum status st = get(&child, in);

	state_part_end(in, &rest);
	if (st == OK && child != NULL)
		n->children[n->n++] = child;
	else if (st != OK)
		state_unmake(in, mark);
}

static enum status
get(struct node **out, struct state_in *in)
{
	struct node *n;
	uint32_t number;
	enum status st;
	void *known;

	*out = NULL;
	if (state_get_object(in, &node_state, &known, &number)) {
		n = known;
		if (n != NULL && !n->is_whole)
			return E_MALFORMED;
		if (n != NULL)
			n->refs++;
		*out = n;
		return state_in_status(in);
	}
	n = calloc(1, sizeof(*n));
	if (n == NULL)
		abort();
	n->fd = -1;
	n->refs = 2; /* the caller's, and IN's */
	state_made_shared(in, number, &node_state, n, put);
	st = state_get(in, &node_state, n);
	if (st == OK)
		n->fd = state_get_fd(in);
	while (st == OK && n->n < CHILDREN_MAX && state_get_bool(in))
		get_child(n, in);
	n->is_whole = true;
	if (st == OK)
		st = state_in_status(in);
	if (st != OK)
		put(n);
	else
		*out = n;
	return st;
}

static void
write_node(struct state_out *o, const struct node *n)
{
	size_t part;

	if (!state_put_object(o, n))
		return;
	state_put(o, &node_state, n);
	state_put_fd(o, n->fd);
	for (unsigned i = 0; i < n->n; i++) {
		state_put_bool(o, true);
		part = state_begin(o);
		write_node(o, n->children[i]);
		state_end(o, part);
	}
	if (n->n < CHILDREN_MAX)
		state_put_bool(o, false);
}

/* The first node of the N bytes at P, or NULL, and what it says. */
static struct node *
read_all(const uint8_t *p, size_t n, const int *fds, uint32_t n_fds,
    uint32_t n_objects, struct state_out *said)
{
	struct node *root = NULL;
	struct state_in in;
	int *own = NULL;

	if (n_fds > 0)
		own = malloc(n_fds * sizeof(*own));
	for (uint32_t i = 0; i < n_fds && own != NULL; i++)
		own[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
	if (own == NULL)
		n_fds = 0;
	*said = (struct state_out){ 0 };
	if (state_in_init(&in, p, n, own, n_fds, n_objects) != OK)
		return NULL;
	if (get(&root, &in) == OK && root != NULL)
		write_node(said, root);
	state_in_free(&in);
	return root;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct state_out said, again;
	int fds[FDS_MAX] = { 0, 0, 0, 0 };
	struct node *root, *same;

	if (n < 2)
		return 0;
	root = read_all(p + 2, n - 2, fds, p[0] % (FDS_MAX + 1), p[1], &said);
	if (root != NULL) {
		assert(!state_out_is_bad(&said));
		same = read_all(buf_data(&said.buf), buf_len(&said.buf),
		    said.fds, said.n_fds, said.n_objects, &again);
		assert(same != NULL && again.n_objects == said.n_objects &&
		       again.n_fds == said.n_fds &&
		       buf_len(&again.buf) == buf_len(&said.buf));
		assert(memcmp(buf_data(&again.buf), buf_data(&said.buf),
			   buf_len(&said.buf)) == 0);
		put(same);
		state_out_free(&again);
	}
	put(root);
	state_out_free(&said);
	return 0;
}
