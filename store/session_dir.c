/* SPDX-License-Identifier: MIT */
#include "store/session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/state.h"
#include "ctf/beacons.h"
#include "store/dir.h"
#include "store/dir_registry.h"
#include "store/folder.h"
#include "store/journal.h"
#include "store/output.h"
#include "store/store.h"
#include "store/stored.h"

/* How the names of the relay's own files in the output directory begin. */
#define RELAYS_PREFIX ".tracepulse-"
/* A slow disk takes 1 ms to create a folder, and the other connections of the
 * worker wait for it. */
#define FOLDERS_A_CYCLE 4

static enum status
new_dir(struct session_dir **out, struct store *store)
{
	struct session_dir *d = calloc(1, sizeof(*d));

	*out = d;
	if (d == NULL)
		return E_NOMEM;
	d->refs = 1;
	d->fd = -1;
	d->store = store;
	d->output = output_get(store_output(store));
	return OK;
}

void
session_dir_show_claim(int fd)
{
	struct flock all = { .l_type = F_RDLCK };

	(void)fcntl(fd, F_OFD_SETLK, &all);
}

/* The content of the file with KEY. */
#define KEY_TEXT (2 * SECRET_LEN + 1)

static void
key_text(char out[KEY_TEXT + 1], const struct secret *key)
{
	for (size_t i = 0; i < SECRET_LEN; i++)
		snprintf(out + 2 * i, 3, "%02x", key->b[i]);
	memcpy(out + 2 * SECRET_LEN, "\n", 2);
}

static bool
has_key(int fd, const struct session_dir *d)
{
	char want[KEY_TEXT + 1], got[KEY_TEXT] = "";
	bool is_same;
	int file;

	if (!d->has_key || dir_open_file(&file, fd, SESSION_DIR_KEY,
			       O_RDONLY | O_NONBLOCK) != OK)
		return false;
	key_text(want, &d->key);
	is_same = read(file, got, KEY_TEXT) == KEY_TEXT &&
		  memcmp(got, want, KEY_TEXT) == 0;
	close(file);
	return is_same;
}

/* Without it the session can be resumed only as long as this process has it. */
static void
write_key(struct session_dir *d)
{
	char text[KEY_TEXT + 1];
	bool is_written;
	int file;

	if (!d->has_key)
		return;
	/* What an earlier session has left is ours. */
	d->has_beacons = has_key(d->fd, d);
	if (d->has_beacons)
		return;
	key_text(text, &d->key);
	if (dir_open_file(&file, d->fd, SESSION_DIR_KEY,
		O_WRONLY | O_CREAT | O_EXCL) == OK) {
		is_written = fchmod(file, S_IRUSR | S_IWUSR) == 0 &&
			     write(file, text, KEY_TEXT) == KEY_TEXT &&
			     (!store_syncs_names(d->store) ||
				 fdatasync(file) == 0);
		dir_close(file);
		if (is_written)
			return;
		(void)dir_unlink(d->fd, SESSION_DIR_KEY);
	}
	log_peer_errno(LOG_WARN,
	    "%s: cannot write the key: the session cannot be resumed when the "
	    "relay was killed",
	    d->path->s);
}

/* Claim the directory against other relays. IS_NEW: it was just created. */
static bool
take(const struct session_dir *d, int fd, bool is_new)
{
	const struct dir_claim *c = d->claim;
	struct dir_id id;
	const bool has_room = is_new ||
			      (c->may_add && dir_identify(&id, fd) == OK &&
				  dir_is_same(&id, &c->shared)) ||
			      has_key(fd, d);

	/* Another relay's snapshot sessions have the shared lock, too: only
	 * the first one of this relay can see that. */
	if (flock(fd, (c->joins ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 &&
	    (c->sharers == 0 || flock(fd, LOCK_SH | LOCK_NB) == 0)) {
		session_dir_show_claim(fd);
		return has_room || dir_is_empty(fd);
	}
	/* Without locks (NFS), only a new directory is known to be free. */
	return errno != EWOULDBLOCK && has_room;
}

bool
session_dir_has_lock(int fd)
{
	/* What lies behind is for readers. */
	struct flock any = { .l_type = F_WRLCK, .l_len = BEACONS_LOCK };

	return fcntl(fd, F_OFD_GETLK, &any) == 0 && any.l_type != F_UNLCK;
}

static bool
has_folder(int dir, const char *name)
{
	int fd;

	if (dir_open(&fd, dir, name) != OK)
		return false;
	close(fd);
	return true;
}

/* Does FD contain a trace? */
static bool
has_trace(int fd)
{
	return has_folder(fd, "archives") || has_folder(fd, "kernel") ||
	       has_folder(fd, "ust");
}

/* The number, from 0 on, of the first folder above PATH, below the host's, that
 * belongs to another relay or a finished session; UINT_MAX: none. FINISHED_AT
 * names one; unless IS_MADE, as this relay created them, the contents show it.
 */
static unsigned
foreign_folder(int base, const char *path, unsigned finished_at, bool is_made)
{
	unsigned level = 0, found = UINT_MAX;
	char name[NAME_MAX + 1];
	const char *slash;
	int fd, at = base;

	for (; found == UINT_MAX && (slash = strchr(path, '/')) != NULL;
	     level++, path = slash + 1) {
		snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
		if (dir_open(&fd, at, name) != OK) {
			/* A file, or a link, which is not followed. */
			if (errno == ENOTDIR || errno == ELOOP)
				found = level;
			break;
		}
		if (at != base)
			close(at);
		at = fd;
		if (level == finished_at ||
		    (level > 0 && (session_dir_has_lock(fd) ||
				      (!is_made && has_trace(fd)))))
			found = level;
	}
	if (at != base)
		close(at);
	return found;
}

bool
session_dir_is_foreign(int base, const char *path)
{
	bool is_foreign;
	int fd;

	if (foreign_folder(base, path, UINT_MAX, false) != UINT_MAX)
		return true;
	if (dir_open(&fd, base, path) != OK)
		return false;
	is_foreign = session_dir_has_lock(fd) || has_folder(fd, "archives");
	close(fd);
	return is_foreign;
}

bool
session_dir_is_own_name(const char *name, size_t n)
{
	return (n > 0 && name[0] == '.') ||
	       (n == strlen("archives") && memcmp(name, "archives", n) == 0);
}

bool
session_dir_is_relays(const char *path)
{
	return strncmp(path, RELAYS_PREFIX, strlen(RELAYS_PREFIX)) == 0;
}

static unsigned
last_level(const char *path)
{
	unsigned level = 0;

	while ((path = strchr(path, '/')) != NULL) {
		path++;
		level++;
	}
	return level;
}

/* Create the directory of C and its parents. E_LATER: FOLDERS_A_CYCLE folders
 * were created, and more are missing. A directory that is made again is created
 * at once; so is one below a suffix, because the next try may choose
 * another suffix at random. */
static enum status
create_folders(int base, const struct dir_claim *c)
{
	const char *path = c->path->s, *slash = strchr(path, '/');
	const char *leaf = strrchr(path, '/');
	const bool may_wait = leaf != NULL && !c->is_settled &&
			      strncmp(path, c->wanted->s,
				  (size_t)(leaf - path) + 1) == 0;
	char above[RELPATH_MAX];
	unsigned n = 0;
	enum status st;

	for (; slash != NULL; slash = strchr(slash + 1, '/')) {
		snprintf(
		    above, sizeof(above), "%.*s", (int)(slash - path), path);
		st = dir_create(base, above);
		if (st == OK && may_wait && ++n == FOLDERS_A_CYCLE)
			return E_LATER;
		if (st != OK && st != E_EXISTS)
			return st;
	}
	return dir_create(base, path);
}

/* Create the claimed directory of D, and lock it. E_EXISTS: it belongs to
 * another session. */
static enum status
make_leaf(struct session_dir *d, int *out, bool *is_new)
{
	const struct dir_claim *c = d->claim;
	struct output *o = d->output;
	const char *path = c->path->s;
	enum status st;

	do {
		/* The parents usually exist. */
		st = dir_create(o->fd, path);
		*is_new = st == OK;
		if (st == E_NOENT)
			st = create_folders(o->fd, c);
	} while (st == E_NOSPC && reserve_release(&o->reserve));
	*is_new |= st == OK;
	if (st == OK || st == E_EXISTS)
		st = folder_dir_open(out, o->fd, path);
	if (st != OK)
		return errno == ENOTDIR || errno == ELOOP ? E_EXISTS : st;
	if (take(d, *out, *is_new))
		return OK;
	/* The relay before this one may not have ended yet. */
	st = has_key(*out, d) ? E_BUSY : E_EXISTS;
	folder_dir_close(*out);
	return st;
}

/* Make the directory of D. E_EXISTS: component *LEVEL is another session's. */
static enum status
try_path(struct session_dir *d, int *out, bool *is_new, unsigned *level)
{
	const struct dir_claim *c = d->claim;
	const struct output *o = d->output;
	const char *path = c->path->s;
	enum status st;

	*level = foreign_folder(o->fd, path, c->finished_at, false);
	if (*level != UINT_MAX)
		return E_EXISTS;
	st = make_leaf(d, out, is_new);
	if (st != OK) {
		*level = last_level(path);
		return st;
	}
	/* A relay that claims a folder above from now on sees that it is not
	 * empty; one that has claimed it already is seen here. */
	*level = foreign_folder(o->fd, path, UINT_MAX, true);
	if (*level == UINT_MAX)
		return OK;
	folder_dir_close(*out);
	if (*is_new)
		(void)dir_remove(o->fd, path);
	return E_EXISTS;
}

/* The same, with other names while they are taken. */
static enum status
make_dir(struct session_dir *d, int *out, bool *is_new)
{
	struct dir_claim *c = d->claim;
	struct dir_id id;
	unsigned level;
	enum status st;

	do {
		st = try_path(d, out, is_new, &level);
		if (st == OK) {
			if (dir_identify(&id, *out) == OK)
				dir_claim_settled(c, &id);
			return OK;
		}
		if (st == E_EXISTS)
			st = dir_claim_avoid(c, level);
	} while (st == OK);
	*out = -1;
	return st;
}

static void
log_failure(const struct relpath *wanted, enum status st)
{
	if (st == E_NOMEM)
		errno = ENOMEM;
	if (st == E_LIMIT)
		log_peer(LOG_ERROR,
		    "session directory %s: its name is too long", wanted->s);
	else if (st == E_BUSY)
		log_peer(LOG_WARN,
		    "session directory %s: another relay still has it",
		    wanted->s);
	else if (st != E_LATER)
		log_peer_errno(LOG_ERROR,
		    "session directory %s: cannot create it", wanted->s);
}

static enum status
find_place(struct session_dir *d, const struct relpath *wanted)
{
	enum status st = OK;

	if (d->wanted == NULL)
		st = relpath_dup(&d->wanted, wanted);
	if (st == OK && d->claim == NULL)
		st = dir_registry_claim(&d->claim, d->store->config.registry,
		    &d->output->id, wanted, DIR_CLAIM_BESIDE, d->sharers);
	if (st == OK)
		st = make_dir(d, &d->fd, &d->is_new);
	if (st == OK)
		st = relpath_dup(&d->path, d->claim->path);
	d->journal_root.path = d->path;
	if (st == OK)
		write_key(d);
	return st;
}

enum status
session_dir_claim(struct session_dir **out, struct store *store,
    const struct relpath *wanted, uint64_t sharers, const struct secret *key)
{
	struct session_dir *d;
	enum status st;

	*out = NULL;
	if (new_dir(&d, store) != OK)
		return E_NOMEM;
	d->sharers = sharers;
	if (key != NULL) {
		d->has_key = true;
		d->key = *key;
	}
	st = find_place(d, wanted);
	if (st != OK) {
		log_failure(wanted, st);
		session_dir_put(d);
		return st;
	}
	if (store_syncs_names(store) &&
	    dir_sync(d->output->fd, d->path->s) != OK)
		store_sync_failed(store, d->path->s, ".");
	*out = d;
	return OK;
}

/* The report of D; NULL: no memory. */
static struct stored_note *
make_note(struct session_dir *d)
{
	struct dir_id id;

	if (dir_identify(&id, d->fd) != OK)
		return NULL;
	return stored_note_create(&(struct stored_note){
	    .row = { .ino = id.ino,
		.born = id.born,
		.kind = STORED_SESSION,
		.began_ns = clock_wall_ns(),
		.path = d->path->s,
		.host = d->host,
		.session = d->session },
	    .is_new = d->is_new,
	    .dir = stored_dir_get(d->stored),
	});
}

static void
forget_note(struct session_dir *d)
{
	if (d->stored != NULL)
		stored_dir_leave(d->stored);
	stored_dir_put(d->stored);
	d->stored = NULL;
	free(d->host);
	free(d->session);
	d->host = d->session = NULL;
}

void
session_dir_note(struct session_dir *d, const char *host, const char *session)
{
	struct stored_notifier *notifier = d->store->config.stored;
	struct stored_note *n = NULL;

	if (notifier == NULL || d->path == NULL)
		return;
	d->stored = stored_dir_create();
	d->host = strdup(host);
	d->session = strdup(session);
	if (d->stored != NULL) {
		stored_dir_enter(d->stored);
		if (d->host != NULL && d->session != NULL)
			n = make_note(d);
	}
	if (n != NULL) {
		notifier->notify(notifier, n);
		return;
	}
	log_error("%s: will never be deleted: %s", d->path->s, strerror(errno));
	forget_note(d);
}

void
session_dir_count(struct session_dir *d, int64_t n)
{
	if (d->stored != NULL)
		published_count(&d->stored->bytes, (uint64_t)n);
}

static enum status
make_again(struct session_dir *d)
{
	struct session_dir *next;
	enum status st;

	if (new_dir(&next, d->store) != OK)
		return E_NOMEM;
	next->sharers = d->sharers;
	next->has_key = d->has_key;
	next->key = d->key;
	/* The path is still claimed. */
	if (next->output == d->output) {
		next->claim = d->claim;
		d->claim = NULL;
	}
	/* Packets cannot wait for a later cycle: wait for the tree. */
	do {
		st = find_place(next, d->wanted);
	} while (st == E_LATER);
	if (st != OK) {
		log_failure(d->path, st);
		if (d->claim == NULL) {
			d->claim = next->claim;
			next->claim = NULL;
		}
		session_dir_put(next);
		return st;
	}
	log_warn(
	    "%s was removed; created again as %s", d->path->s, next->path->s);
	if (d->stored != NULL)
		session_dir_note(next, d->host, d->session);
	d->next = next;
	return OK;
}

enum status
session_dir_renew(struct session_dir **d)
{
	struct session_dir *last = *d;
	enum status st;

	while (last->path != NULL && folder_dir_is_removed(last->fd)) {
		if (last->next == NULL && (st = make_again(last)) != OK)
			return st;
		last = last->next;
	}
	session_dir_get(last);
	session_dir_put(*d);
	*d = last;
	return OK;
}

enum status
session_dir_base(struct session_dir **out, struct store *store)
{
	struct session_dir *d;
	enum status st;

	*out = NULL;
	if (new_dir(&d, store) != OK)
		return E_NOMEM;
	st = folder_dir_open(&d->fd, d->output->fd, "");
	if (st != OK) {
		session_dir_put(d);
		return st;
	}
	*out = d;
	return OK;
}

enum status
session_dir_share(struct session_dir *d, struct folder_base **out)
{
	enum status st = OK;

	if (d->base == NULL) {
		st = folder_base_create(&d->base, d->fd);
		if (st == OK && d->stored != NULL)
			folder_base_use(d->base, d->stored);
	}
	*out = d->base;
	return st;
}

struct session_dir *
session_dir_get(struct session_dir *d)
{
	d->refs++;
	return d;
}

void
session_dir_put(struct session_dir *d)
{
	if (d == NULL || --d->refs > 0)
		return;
	if (d->has_beacons)
		(void)dir_unlink(d->fd, BEACONS_FILE);
	if (d->base != NULL) {
		/* Viewers may still have it open: end the claim. */
		(void)fcntl(
		    d->fd, F_OFD_SETLK, &(struct flock){ .l_type = F_UNLCK });
		(void)flock(d->fd, LOCK_UN);
		folder_base_put(d->base);
	} else if (d->fd >= 0) {
		folder_dir_close(d->fd);
	}
	forget_note(d);
	session_dir_put(d->next);
	dir_claim_release(d->claim);
	output_put(d->output);
	relpath_free(d->wanted);
	relpath_free(d->path);
	free(d);
}

static const struct state_member members[] = {
	STATE_DROP(struct session_dir, refs),
	STATE_CODE(struct session_dir, fd),
	STATE_CODE(struct session_dir, base),
	STATE_PATH(struct session_dir, wanted),
	STATE_PATH(struct session_dir, path),
	STATE_KEEP(struct session_dir, sharers),
	STATE_CODE(struct session_dir, claim),
	STATE_KEEP(struct session_dir, is_new),
	STATE_CODE(struct session_dir, stored),
	STATE_TEXT(struct session_dir, host),
	STATE_TEXT(struct session_dir, session),
	STATE_DROP(struct session_dir, journal_root), /* with its files */
	STATE_DROP(struct session_dir, store),
	STATE_CODE(struct session_dir, output),
	STATE_CODE(struct session_dir, next),
	STATE_KEEP(struct session_dir, has_beacons),
	STATE_KEEP(struct session_dir, has_key),
	STATE_BYTES(struct session_dir, key),
};
static STATE_TABLE(session_dir_state, struct session_dir, members);

static void
put_dir(void *d)
{
	session_dir_put(d);
}

void
session_dir_put_state(struct state_out *o, struct session_dir *d)
{
	/* NULL ends the chain of those that were made again. */
	for (; state_put_object(o, d); d = d->next) {
		state_put(o, &session_dir_state, d);
		state_put(o, &dir_id_state, &d->output->id);
		state_put_bool(o, d->base != NULL);
		if (d->base != NULL)
			folder_base_put_state(o, d->base);
		else
			state_put_fd(o, d->fd);
		state_put_bool(o, d->claim != NULL);
		state_put_bool(o, d->stored != NULL);
		if (d->stored != NULL)
			state_put_u64(o, published(&d->stored->bytes));
	}
}

/* The directory moves with its flock. */
static enum status
get_fd(struct session_dir *d, struct state_in *in)
{
	enum status st;

	if (!state_get_bool(in))
		return folder_dir_get_state(&d->fd, in);
	st = folder_base_get_state(&d->base, in);
	if (st == OK && d->base == NULL)
		st = E_MALFORMED;
	if (st == OK)
		d->fd = folder_base_fd(d->base);
	return st;
}

/* Claim the path of D for this process. */
static enum status
claim_again(struct session_dir *d)
{
	struct dir_id id;
	enum status st;

	st = dir_registry_claim(&d->claim, d->store->config.registry,
	    &d->output->id, d->path, DIR_CLAIM_EXACT, d->sharers);
	if (st == OK && dir_identify(&id, d->fd) == OK)
		dir_claim_settled(d->claim, &id);
	return st;
}

/* Report D again: it is in use. */
static void
note_again(struct session_dir *d, uint64_t bytes)
{
	char *host = d->host, *session = d->session;

	d->host = d->session = NULL;
	if (host != NULL && session != NULL)
		session_dir_note(d, host, session);
	if (d->stored != NULL) {
		publish(&d->stored->bytes, bytes);
		if (d->base != NULL)
			folder_base_use(d->base, d->stored);
	}
	free(host);
	free(session);
}

static enum status
get_contents(struct session_dir *d, struct state_in *in)
{
	enum status st = state_get(in, &session_dir_state, d);
	struct dir_id output = { 0 };
	bool has_claim, is_elsewhere;

	if (st == OK)
		st = state_get(in, &dir_id_state, &output);
	if (st == OK)
		st = get_fd(d, in);
	if (st != OK)
		return st;
	/* It was removed together with the output directory, which was made
	 * again: so will this one be. */
	is_elsewhere = !dir_is_same(&output, &d->output->id);
	if (is_elsewhere && !folder_dir_is_removed(d->fd))
		return E_NOENT;
	d->journal_root.path = d->path;
	has_claim = state_get_bool(in);
	if (has_claim && (d->path == NULL || d->wanted == NULL))
		return E_MALFORMED;
	if (has_claim && !is_elsewhere)
		st = claim_again(d);
	if (st == OK && state_get_bool(in))
		note_again(d, state_get_u64(in));
	return st == OK ? state_in_status(in) : st;
}

enum status
session_dir_get_state(
    struct session_dir **out, struct state_in *in, struct store *store)
{
	struct session_dir *d, **slot = out;
	uint32_t number;
	enum status st = OK;
	void *known;

	*out = NULL;
	while (st == OK &&
	       !state_get_object(in, &session_dir_state, &known, &number)) {
		st = new_dir(&d, store);
		if (st != OK)
			break;
		/* A reference of the slot, and one of IN. */
		*slot = session_dir_get(d);
		state_made_shared(in, number, &session_dir_state, d, put_dir);
		st = get_contents(d, in);
		slot = &d->next;
	}
	for (d = *out; st == OK && d != NULL; d = d->next)
		if (d == known)
			st = E_MALFORMED; /* after itself */
	if (st == OK && known != NULL)
		*slot = session_dir_get(known);
	if (st == OK)
		st = state_in_status(in);
	if (st == OK && *out == NULL)
		st = E_MALFORMED;
	if (st != OK) {
		session_dir_put(*out);
		*out = NULL;
	}
	return st;
}
