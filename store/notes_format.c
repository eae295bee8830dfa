/* SPDX-License-Identifier: MIT */
#include "store/notes_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/checksum.h"
#include "common/parse.h"
#include "common/relpath.h"

#define CHECKSUM_LEN 8
#define FIELDS_MAX 8

static const char letters[] = {
	[NOTES_MADE] = 'd',
	[NOTES_ENDED] = 'e',
	[NOTES_KEPT] = 'k',
	[NOTES_MOVED] = 'm',
	[NOTES_GONE] = 'g',
};

/* Of a line of each kind, behind its letter. */
static const unsigned n_fields[] = {
	[NOTES_MADE] = 7,
	[NOTES_ENDED] = 4,
	[NOTES_KEPT] = 3,
	[NOTES_MOVED] = 3,
	[NOTES_GONE] = 2,
};

static void
add_number(struct buf *b, uint64_t n)
{
	char text[24];

	buf_bytes(
	    b, text, (size_t)snprintf(text, sizeof(text), " %" PRIu64, n));
}

static void
add_text(struct buf *b, const char *s)
{
	char code[4];

	if (strcmp(s, "-") == 0 || *s == '\0') {
		buf_bytes(b, *s == '\0' ? " -" : " %2d", *s == '\0' ? 2 : 4);
		return;
	}
	buf_bytes(b, " ", 1);
	for (; *s != '\0'; s++) {
		const unsigned char c = (unsigned char)*s;

		if (c > ' ' && c < 0x7f && c != '%') {
			buf_bytes(b, s, 1);
			continue;
		}
		snprintf(code, sizeof(code), "%%%02x", c);
		buf_bytes(b, code, 3);
	}
}

static void
add_fields(struct buf *b, const struct notes_line *l)
{
	if (l->kind == NOTES_MADE)
		add_number(b, l->what);
	add_number(b, l->ino);
	add_number(b, l->born);
	switch (l->kind) {
	case NOTES_MADE:
		add_number(b, l->began_ns);
		add_text(b, l->path);
		add_text(b, l->host);
		add_text(b, l->session);
		break;
	case NOTES_ENDED:
		add_number(b, l->ended_ns);
		add_number(b, l->bytes);
		break;
	case NOTES_KEPT:
		add_number(b, l->is_kept);
		break;
	case NOTES_MOVED:
		add_text(b, l->path);
		break;
	case NOTES_GONE:
		break;
	}
}

void
notes_encode(struct buf *b, const struct notes_line *l)
{
	char head[CHECKSUM_LEN + 2];
	struct buf body = { 0 };

	buf_bytes(&body, &letters[l->kind], 1);
	add_fields(&body, l);
	snprintf(head, sizeof(head), "%08" PRIx32 " ",
	    checksum_crc32(0, buf_data(&body), buf_len(&body)));
	buf_bytes(b, head, CHECKSUM_LEN + 1);
	buf_bytes(b, buf_data(&body), buf_len(&body));
	buf_bytes(b, "\n", 1);
	b->bad |= body.bad;
	buf_free(&body);
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Put back what %XX stands for. */
static bool
decode_text(char *s)
{
	char *to = s;

	if (strcmp(s, "-") == 0)
		*s = '\0';
	for (; *s != '\0'; s++, to++) {
		*to = *s;
		if (*s != '%')
			continue;
		if (digit(s[1]) < 0 || digit(s[2]) < 0)
			return false;
		*to = (char)(digit(s[1]) * 16 + digit(s[2]));
		if (*to == '\0')
			return false;
		s += 2;
	}
	*to = '\0';
	return true;
}

static bool
decode_number(const char *s, uint64_t *out)
{
	return parse_u64(s, 0, UINT64_MAX, out) == OK;
}

/* A path of ours is one that a relpath could be, and no other: whoever writes
 * to the file cannot lead us elsewhere. */
static bool
decode_path(char *s)
{
	struct relpath *p = NULL;
	bool is_one;

	if (!decode_text(s) ||
	    relpath_parse(&p, (struct span){ s, strlen(s) }) != OK)
		return false;
	is_one = strcmp(p->s, s) == 0;
	relpath_free(p);
	return is_one;
}

static bool
decode_fields(struct notes_line *l, char **f)
{
	uint64_t n = 0;

	if (l->kind == NOTES_MADE) {
		if (!decode_number(*f++, &n) || n > STORED_SNAPSHOT)
			return false;
		l->what = (enum stored_kind)n;
	}
	if (!decode_number(f[0], &l->ino) || !decode_number(f[1], &l->born))
		return false;
	f += 2;
	switch (l->kind) {
	case NOTES_MADE:
		l->path = f[1];
		l->host = f[2];
		l->session = f[3];
		return decode_number(f[0], &l->began_ns) && decode_path(f[1]) &&
		       decode_text(f[2]) && decode_text(f[3]);
	case NOTES_ENDED:
		return decode_number(f[0], &l->ended_ns) &&
		       decode_number(f[1], &l->bytes);
	case NOTES_KEPT:
		l->is_kept = strcmp(f[0], "1") == 0;
		return true;
	case NOTES_MOVED:
		l->path = f[0];
		return decode_path(f[0]);
	case NOTES_GONE:
		return true;
	}
	return false;
}

/* The fields of S between blanks; 0: too many. */
static unsigned
split(char *s, char *fields[FIELDS_MAX])
{
	unsigned n = 0;
	char *blank;

	for (;;) {
		if (n == FIELDS_MAX)
			return 0;
		fields[n++] = s;
		blank = strchr(s, ' ');
		if (blank == NULL)
			return n;
		*blank = '\0';
		s = blank + 1;
	}
}

bool
notes_decode(struct notes_line *out, char *line, size_t n)
{
	char *fields[FIELDS_MAX], head[CHECKSUM_LEN + 1];
	const char *letter;
	unsigned found;

	*out = (struct notes_line){ 0 };
	if (n < CHECKSUM_LEN + 2 || strlen(line) != n ||
	    line[CHECKSUM_LEN] != ' ')
		return false;
	snprintf(head, sizeof(head), "%08" PRIx32,
	    checksum_crc32(0, line + CHECKSUM_LEN + 1, n - CHECKSUM_LEN - 1));
	if (memcmp(head, line, CHECKSUM_LEN) != 0)
		return false;
	found = split(line + CHECKSUM_LEN + 1, fields);
	if (found == 0 || strlen(fields[0]) != 1)
		return false;
	letter = memchr(letters, fields[0][0], sizeof(letters));
	if (letter == NULL)
		return false;
	out->kind = (enum notes_kind)(letter - letters);
	return found == 1 + n_fields[out->kind] &&
	       decode_fields(out, fields + 1);
}
