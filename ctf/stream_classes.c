/* SPDX-License-Identifier: MIT */
#include "ctf/stream_classes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PACKET_MAGIC UINT32_C(0x75d11d57)
/* The beginning of TSDL of any version (CTF 1.8, 7.3). */
#define SIGNATURE "/* CTF 1"
#define RECORD_SEPARATOR 0x1e /* begins a JSON text sequence (RFC 7464) */
#define JSON_CLASS "\"data-stream-class\""

/* Byte offsets in the header of a metadata packet (CTF 1.8, 7.1). */
#define CONTENT_SIZE_AT 24
#define PACKET_SIZE_AT 28

static void
give_up(struct stream_classes *s)
{
	s->found = STREAM_CLASSES_ALL;
}

static bool
is_word(int c)
{
	return isalnum(c) || c == '_' || c == '.';
}

static bool
word_is(const struct stream_classes *s, const char *text)
{
	return s->n_word == strlen(text) &&
	       memcmp(s->word, text, s->n_word) == 0;
}

/* A word is complete: "stream", "id", or the number after "id =". */
static void
take_word(struct stream_classes *s)
{
	s->after = CLASSES_OTHER;
	if (s->depth == 0 && word_is(s, "stream"))
		s->after = CLASSES_STREAM;
	else if (s->depth == 0 && word_is(s, "trace"))
		s->after = CLASSES_TRACE;
	if (s->is_stream && s->depth == 1) {
		if (s->id_state == CLASSES_ID_IS) {
			s->word[s->n_word] = '\0';
			s->id = strtoull(s->word, NULL, 0);
		}
		s->id_state = word_is(s, "id") ? CLASSES_ID : CLASSES_NO_ID;
	}
	s->n_word = 0;
}

static void
take_punctuation(struct stream_classes *s, int c)
{
	if (c == '{') {
		if (s->depth == 0) {
			s->is_stream = s->after == CLASSES_STREAM;
			s->has_trace |= s->after == CLASSES_TRACE;
			s->id = 0;
		}
		s->depth++;
	} else if (c == '}' && s->depth > 0) {
		s->depth--;
		if (s->depth == 0 && s->is_stream)
			s->found |= UINT64_C(1) << (s->id < 63 ? s->id : 63);
	}
	s->after = CLASSES_OTHER;
	s->id_state = c == '=' && s->id_state == CLASSES_ID ? CLASSES_ID_IS
							    : CLASSES_NO_ID;
}

/* Take a character outside of comments and strings. */
static void
take_text(struct stream_classes *s, int c)
{
	if (is_word(c)) {
		/* The words that matter are shorter. */
		if (s->n_word < sizeof(s->word) - 1)
			s->word[s->n_word++] = (char)c;
		return;
	}
	if (s->n_word > 0)
		take_word(s);
	if (c == '/')
		s->state = CLASSES_SLASH;
	else if (c == '"')
		s->state = CLASSES_STRING;
	else if (!isspace(c))
		take_punctuation(s, c);
}

static void
take_json(struct stream_classes *s, int c)
{
	if (c != JSON_CLASS[s->n_matched])
		s->n_matched = 0;
	if (c == JSON_CLASS[s->n_matched])
		s->n_matched++;
	if (s->n_matched < sizeof(JSON_CLASS) - 1)
		return;
	/* Classes are declared before they are needed, so the first one stands
	 * for all. */
	give_up(s);
}

/* The first characters say which language the text has. */
static void
check_signature(struct stream_classes *s, int c)
{
	if (s->n_signed == 0 && c == RECORD_SEPARATOR) {
		s->state = CLASSES_JSON;
		s->n_signed = sizeof(SIGNATURE);
	} else if (c != SIGNATURE[s->n_signed++]) {
		give_up(s);
	}
}

static void
take_char(struct stream_classes *s, int c)
{
	if (s->n_signed < sizeof(SIGNATURE) - 1)
		check_signature(s, c);
	switch (s->state) {
	case CLASSES_TEXT:
		take_text(s, c);
		break;
	case CLASSES_SLASH:
		s->state = c == '/'   ? CLASSES_LINE
			   : c == '*' ? CLASSES_BLOCK
				      : CLASSES_TEXT;
		break;
	case CLASSES_LINE:
		if (c == '\n')
			s->state = CLASSES_TEXT;
		break;
	case CLASSES_BLOCK:
		if (c == '*')
			s->state = CLASSES_STAR;
		break;
	case CLASSES_STAR:
		if (c != '*')
			s->state = c == '/' ? CLASSES_TEXT : CLASSES_BLOCK;
		break;
	case CLASSES_STRING:
		if (c == '\\')
			s->state = CLASSES_ESCAPE;
		else if (c == '"')
			s->state = CLASSES_TEXT;
		break;
	case CLASSES_ESCAPE:
		s->state = CLASSES_STRING;
		break;
	case CLASSES_JSON:
		take_json(s, c);
		break;
	}
}

static uint32_t
word_at(const struct stream_classes *s, unsigned at, bool is_big)
{
	const uint8_t *p = s->head + at;

	if (is_big)
		return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
		       (uint32_t)p[2] << 8 | p[3];
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[1] << 8 | p[0];
}

/* The first four bytes say whether packets are around the text. */
static void
find_form(struct stream_classes *s)
{
	s->form = word_at(s, 0, true) == PACKET_MAGIC ||
			  word_at(s, 0, false) == PACKET_MAGIC
		      ? CLASSES_PACKETS
		      : CLASSES_PLAIN;
	if (s->form == CLASSES_PLAIN)
		for (unsigned i = 0; i < s->n_head; i++)
			take_char(s, s->head[i]);
}

/* The header of a packet is complete. */
static void
begin_packet(struct stream_classes *s)
{
	bool is_big = word_at(s, 0, true) == PACKET_MAGIC;
	uint64_t content = word_at(s, CONTENT_SIZE_AT, is_big) / 8;
	uint64_t packet = word_at(s, PACKET_SIZE_AT, is_big) / 8;

	if (word_at(s, 0, is_big) != PACKET_MAGIC ||
	    content < sizeof(s->head) || packet < content) {
		give_up(s);
		return;
	}
	s->text_left = content - sizeof(s->head);
	s->skip_left = packet - content;
	s->n_head = 0;
}

static void
take_byte(struct stream_classes *s, uint8_t c)
{
	if (s->form == CLASSES_PLAIN) {
		take_char(s, c);
	} else if (s->text_left > 0) {
		s->text_left--;
		take_char(s, c);
	} else if (s->skip_left > 0) {
		s->skip_left--;
	} else {
		s->head[s->n_head++] = c;
		/* The first byte decides, as the text may have only a few
		 * bytes. */
		if (s->form == CLASSES_BEGIN && s->n_head == 1 &&
		    c != PACKET_MAGIC >> 24 && c != (PACKET_MAGIC & 0xff) &&
		    c != SIGNATURE[0] && c != RECORD_SEPARATOR)
			give_up(s);
		else if (s->form == CLASSES_BEGIN && s->n_head == 4)
			find_form(s);
		else if (s->n_head == sizeof(s->head))
			begin_packet(s);
	}
}

uint64_t
stream_classes_set(const struct stream_classes *s)
{
	return s->found != 0 || s->has_trace || s->state == CLASSES_JSON
		   ? s->found
		   : STREAM_CLASSES_ALL;
}

void
stream_classes_feed(
    struct stream_classes *s, const uint8_t *p, uint64_t n, uint32_t padding)
{
	if (s->found != STREAM_CLASSES_ALL &&
	    n + padding > STREAM_CLASSES_BYTES_MAX - s->bytes)
		give_up(s);
	s->bytes += n + padding;
	for (uint64_t i = 0; i < n && s->found != STREAM_CLASSES_ALL; i++)
		take_byte(s, p[i]);
	for (uint32_t i = 0; i < padding && s->found != STREAM_CLASSES_ALL; i++)
		take_byte(s, 0);
}
