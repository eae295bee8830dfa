/* SPDX-License-Identifier: MIT */
#include "relayd/live/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fds.h"
#include "common/log.h"
#include "common/state.h"
#include "store/folder.h"
#include "ctf/index.h"
#include "store/packet_log.h"

void
open_files_init(struct open_files *files)
{
	list_init(&files->all);
	files->kept.hard = UINT64_MAX;
}

static void
close_shared(int *fd)
{
	if (*fd < 0)
		return;
	close(*fd);
	*fd = -1;
	fds_give(FDS_VIEWER_FILES);
}

/* Keep the promised bytes of F in memory, as far as the limit allows. */
static void
keep_parts(struct open_files *files, struct open_file *f)
{
	struct open_part *p;
	size_t n;

	list_each (p, &f->parts, struct open_part, node) {
		n = (size_t)p->length;
		if (p->bytes != NULL || p->length > OPEN_KEPT_MAX ||
		    !account_take(&files->kept, n))
			continue;
		p->bytes = malloc(n);
		if (p->bytes != NULL && pread(f->data_fd, p->bytes, n,
					    (off_t)p->offset) == (ssize_t)n)
			continue;
		free(p->bytes);
		p->bytes = NULL;
		account_sub(&files->kept, n);
	}
}

/* Close the least recently used file except BUT; HAS_PARTS: one with promised
 * bytes. False: none is idle. */
static bool
close_oldest(
    struct open_files *files, const struct open_file *but, bool has_parts)
{
	struct open_file *f;

	list_each (f, &files->all, struct open_file, node) {
		if (f == but || f->uses > 0 ||
		    (f->data_fd < 0 && f->index_fd < 0) ||
		    list_empty(&f->parts) == has_parts)
			continue;
		if (f->data_fd >= 0)
			keep_parts(files, f);
		close_shared(&f->data_fd);
		close_shared(&f->index_fd);
		return true;
	}
	return false;
}

void
open_file_promise(struct open_files *files, struct open_file *f,
    uint64_t offset, uint64_t length, struct open_part *p)
{
	*p = (struct open_part){
		.files = files, .offset = offset, .length = length
	};
	list_append(&f->parts, &p->node);
}

void
open_part_done(struct open_part *p)
{
	if (p->files == NULL)
		return;
	list_del(&p->node);
	if (p->bytes != NULL)
		account_sub(&p->files->kept, p->length);
	free(p->bytes);
	*p = (struct open_part){ 0 };
}

const uint8_t *
open_part_bytes(const struct open_part *p, uint64_t offset, uint64_t length)
{
	if (p->bytes == NULL || offset < p->offset || length > p->length ||
	    offset - p->offset > p->length - length)
		return NULL;
	return p->bytes + (offset - p->offset);
}

/* Count a descriptor, and close another file for it if the share is used up,
 * except BUT. */
static enum status
take_shared(struct open_files *files, const struct open_file *but)
{
	while (!fds_take(FDS_VIEWER_FILES))
		if (!close_oldest(files, but, false) &&
		    !close_oldest(files, but, true))
			return E_NOMEM;
	return OK;
}

/* Open NAME with a descriptor of the viewers' share; E_NOMEM when that is used
 * up. BUT is not closed to free one. */
static enum status
open_shared(struct open_files *files, int *fd, const struct open_file *but,
    const struct folder *folder, const char *name)
{
	enum status st = take_shared(files, but);
	int saved;

	*fd = -1;
	if (st != OK)
		return st;
	st = folder_open_file(fd, folder, name, O_RDONLY);
	saved = errno;
	if (st != OK)
		fds_give(FDS_VIEWER_FILES);
	errno = saved;
	return st;
}

static enum status
open_one(struct open_files *files, struct open_file *f, bool is_index, int *fd)
{
	char number[32] = "", name[512];
	enum status st;

	if (f->number != UINT64_MAX)
		snprintf(number, sizeof(number), "_%" PRIu64, f->number);
	snprintf(name, sizeof(name), "%s%s%s%s", is_index ? "index/" : "",
	    f->log->channel, number, is_index ? ".idx" : "");
	st = open_shared(files, fd, f, f->folder, name);
	if (st == OK || st == E_NOENT || st == E_NOMEM)
		return st;
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
	    errno == EAGAIN)
		return E_NOMEM;
	log_peer_errno(LOG_WARN, "viewer: cannot open %s", name);
	return st;
}

enum status
open_file_again(struct open_files *files, struct open_file *f)
{
	struct dir_id found;
	enum status st;

	if (files->all.prev != &f->node) {
		list_del(&f->node);
		list_append(&files->all, &f->node);
	}
	if (f->data_fd >= 0)
		return OK;
	st = open_one(files, f, false, &f->data_fd);
	if (st == OK)
		st = dir_identify(&found, f->data_fd);
	/* A ring may have replaced the file under this name. */
	if (st == OK && f->is_known && !dir_is_same(&found, &f->identity))
		st = E_NOENT;
	if (st != OK) {
		close_shared(&f->data_fd);
		return st;
	}
	f->identity = found;
	f->is_known = true;
	return OK;
}

static bool
is_file_at(const struct open_file *f, const struct packet_log *log,
    const struct log_place *place, uint64_t number)
{
	return f->log == log && f->first == place->first &&
	       f->number == number && f->folder == place->folder;
}

static struct open_file *
find(struct open_files *files, const struct packet_log *log,
    const struct log_place *place, uint64_t number, struct open_file *likely)
{
	struct open_file *f;

	if (likely != NULL && is_file_at(likely, log, place, number))
		return likely;
	list_each (f, &files->all, struct open_file, node)
		if (is_file_at(f, log, place, number))
			return f;
	return NULL;
}

/* A file in FOLDER, whose reference it takes over. */
static struct open_file *
make_file(struct folder *take_folder)
{
	struct open_file *f = calloc(1, sizeof(*f));

	if (f == NULL) {
		folder_put(take_folder);
		return NULL;
	}
	f->refs = 1;
	f->data_fd = f->index_fd = -1;
	f->folder = take_folder;
	folder_begin_reading(f->folder);
	list_init(&f->node);
	list_init(&f->parts);
	return f;
}

enum status
open_files_get(struct open_files *files, struct open_file **out,
    const struct packet_log *log, uint64_t pos, struct open_file *likely)
{
	struct log_place place;
	struct open_file *f;
	uint64_t number;
	enum status st;

	*out = NULL;
	st = packet_log_place(log, pos, &place);
	if (st != OK)
		return st;
	number = place.is_numbered ? place.number : UINT64_MAX;
	f = find(files, log, &place, number, likely);
	if (f != NULL) {
		folder_put(place.folder);
		f->refs++;
	} else {
		f = make_file(place.folder);
		if (f == NULL)
			return E_NOMEM;
		f->log = log;
		f->first = place.first;
		f->number = number;
		f->minor = log->minor;
		list_append(&files->all, &f->node);
	}
	st = open_file_again(files, f);
	if (st == OK)
		*out = f;
	else
		open_file_put(f);
	return st;
}

void
open_file_put(struct open_file *f)
{
	if (f == NULL || --f->refs > 0)
		return;
	list_del(&f->node);
	close_shared(&f->data_fd);
	close_shared(&f->index_fd);
	folder_end_reading(f->folder);
	folder_put(f->folder);
	free(f);
}

struct open_file *
open_file_use(struct open_file *f)
{
	f->uses++;
	f->refs++;
	return f;
}

void
open_file_done(struct open_file *f)
{
	if (f == NULL)
		return;
	f->uses--;
	open_file_put(f);
}

bool
open_file_has(struct open_file *f, uint64_t offset, uint64_t length)
{
	struct stat sb;

	/* The part of a file that viewers may read is never truncated. */
	if (offset <= f->data_size && length <= f->data_size - offset)
		return true;
	if (fstat(f->data_fd, &sb) != 0)
		return false;
	f->data_size = (uint64_t)sb.st_size;
	return offset <= f->data_size && length <= f->data_size - offset;
}

enum status
open_file_record(struct open_files *files, struct open_file *f, uint64_t pos,
    struct index_record *rec)
{
	uint8_t bytes[INDEX_RECORD_MAX];
	uint32_t len = index_record_len(f->minor);
	enum status st;
	off_t at;

	if (f->index_fd < 0) {
		st = open_one(files, f, true, &f->index_fd);
		if (st != OK) {
			f->index_fd = -1;
			return st;
		}
	}
	at = (off_t)(INDEX_HEADER_LEN + (pos - f->first) * len);
	if (pread(f->index_fd, bytes, len, at) != (ssize_t)len)
		return E_IO;
	index_decode(bytes, rec, f->minor);
	return OK;
}

enum status
open_file_metadata(
    struct open_files *files, struct open_file **out, struct folder *folder)
{
	struct open_file *f = make_file(folder_get(folder));
	enum status st;

	*out = NULL;
	if (f == NULL)
		return E_NOMEM;
	f->uses = 1;
	st = open_shared(files, &f->data_fd, f, folder, "metadata");
	if (st != OK) {
		open_file_put(f);
		return st;
	}
	*out = f;
	return OK;
}

static const struct state_member part_members[] = {
	STATE_DROP(struct open_part, node),
	STATE_DROP(struct open_part, files),
	STATE_KEEP(struct open_part, offset),
	STATE_KEEP(struct open_part, length),
	STATE_CODE(struct open_part, bytes),
};
static STATE_TABLE(open_part_state, struct open_part, part_members);

static const struct state_member file_members[] = {
	STATE_DROP(struct open_file, node),
	STATE_DROP(struct open_file, parts), /* promised again */
	STATE_DROP(struct open_file, refs), STATE_DROP(struct open_file, uses),
	STATE_CODE(struct open_file, log), /* the reader knows it */
	STATE_KEEP(struct open_file, first),
	STATE_KEEP(struct open_file, number),
	STATE_CODE(struct open_file, data_fd),
	STATE_CODE(struct open_file, index_fd),
	STATE_KEEP(struct open_file, is_known),
	STATE_STRUCT(struct open_file, identity, dir_id_state),
	STATE_KEEP(struct open_file, data_size),
	STATE_CODE(struct open_file, folder),
	STATE_DROP(struct open_file, minor), /* the log's */
};
static STATE_TABLE(open_file_state, struct open_file, file_members);

void
open_file_put_state(struct state_out *o, struct open_file *f)
{
	if (!state_put_object(o, f))
		return;
	folder_put_state(o, f->folder);
	state_put_fd(o, f->data_fd);
	state_put_fd(o, f->index_fd);
	state_put(o, &open_file_state, f);
}

static void
put_file(void *f)
{
	open_file_put(f);
}

static enum status
get_fd(struct open_files *files, const struct open_file *f, struct state_in *in,
    int *out)
{
	const int fd = state_get_fd(in);

	if (fd < 0)
		return state_in_status(in);
	if (take_shared(files, f) != OK) {
		close(fd);
		return E_NOMEM;
	}
	*out = fd;
	return OK;
}

static enum status
get_file(struct open_files *files, struct open_file **out, struct state_in *in,
    uint32_t number, const struct packet_log *log)
{
	struct folder *folder;
	struct open_file *f;
	enum status st = folder_get_state(&folder, in);

	if (st != OK || folder == NULL)
		return st != OK ? st : E_MALFORMED;
	f = make_file(folder);
	if (f == NULL)
		return E_NOMEM;
	st = get_fd(files, f, in, &f->data_fd);
	if (st == OK)
		st = get_fd(files, f, in, &f->index_fd);
	if (st == OK)
		st = state_get(in, &open_file_state, f);
	if (st != OK) {
		open_file_put(f);
		return st;
	}
	f->log = log;
	if (log != NULL) {
		f->minor = log->minor;
		list_append(&files->all, &f->node);
	}
	f->refs++;
	/* FILES stands for this live worker's files. */
	state_made_shared(in, number, files, f, put_file);
	*out = f;
	return OK;
}

enum status
open_file_get_state(struct open_files *files, struct open_file **out,
    struct state_in *in, const struct packet_log *log)
{
	struct open_file *f;
	uint32_t number;
	void *object;

	*out = NULL;
	if (!state_get_object(in, files, &object, &number))
		return get_file(files, out, in, number, log);
	f = object;
	if (f == NULL)
		return state_in_status(in);
	if (log != NULL && f->log != log)
		return E_MALFORMED;
	f->refs++;
	*out = f;
	return OK;
}

void
open_part_put_state(struct state_out *o, const struct open_part *p)
{
	state_put_bool(o, p->files != NULL);
	if (p->files == NULL)
		return;
	state_put(o, &open_part_state, p);
	state_put_bytes(o, p->bytes, p->bytes == NULL ? 0 : p->length);
}

enum status
open_part_get_state(struct open_files *files, struct open_file *f,
    struct state_in *in, struct open_part *p)
{
	struct span kept;
	enum status st;

	if (!state_get_bool(in))
		return state_in_status(in);
	if (f == NULL)
		return E_MALFORMED;
	open_file_promise(files, f, 0, 0, p);
	st = state_get(in, &open_part_state, p);
	kept = state_get_bytes(in);
	if (st != OK || kept.n == 0)
		return st != OK ? st : state_in_status(in);
	if (kept.n != p->length || kept.n > OPEN_KEPT_MAX)
		return E_MALFORMED;
	if (!account_take(&files->kept, kept.n))
		return OK;
	p->bytes = malloc(kept.n);
	if (p->bytes == NULL) {
		account_sub(&files->kept, kept.n);
		return E_NOMEM;
	}
	memcpy(p->bytes, kept.p, kept.n);
	return OK;
}
