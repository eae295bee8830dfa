/* SPDX-License-Identifier: MIT */
#include "store/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/relpath.h"

/* With one user the `-wal` needs no shared memory. */
#define SETTINGS                                                       \
	"PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY;" \
	"PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"    \
	"PRAGMA synchronous = NORMAL;"
/* "tpno" is its application, 1 the version of the tables. A file without tables
 * is a new one. */
#define CHECK                                                                  \
	"SELECT CASE WHEN schema_version = 0 THEN 'new' WHEN application_id =" \
	" 0x74706e6f AND user_version = 1 THEN 'ours' ELSE 'another' END"      \
	" FROM pragma_schema_version, pragma_application_id,"                  \
	" pragma_user_version"
#define CREATE                                                              \
	"PRAGMA journal_mode = WAL; BEGIN;"                                 \
	"PRAGMA application_id = 0x74706e6f; PRAGMA user_version = 1;"      \
	"CREATE TABLE output(path); INSERT INTO output VALUES(%Q);"         \
	"CREATE TABLE directories(ino INTEGER, born INTEGER, kind INTEGER," \
	" began INTEGER, ended INTEGER, bytes INTEGER, kept INTEGER,"       \
	" path BLOB, name BLOB, host BLOB, session BLOB,"                   \
	" PRIMARY KEY(ino, born)); COMMIT"
#define ALL "SELECT * FROM directories ORDER BY rowid"
#define PUT                                                                  \
	"INSERT INTO directories VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)" \
	" ON CONFLICT DO UPDATE SET ended = ?5, bytes = ?6, kept = ?7,"      \
	" path = ?8"
#define REMOVE "DELETE FROM directories WHERE ino = ?1 AND born = ?2"

struct notes {
	char path[PATH_MAX + 64];
	const char *output; /* borrowed */
	sqlite3 *db;
	sqlite3_stmt *put, *remove;
	bool has_failed; /* since the last notes_flush() */
	bool is_failing; /* it was logged */
};

/* The status for RC, a result of SQLite. E_IO: errno is set. */
static enum status
status_of(const struct notes *n, int rc)
{
	switch (rc) {
	case SQLITE_OK:
	case SQLITE_DONE:
		return OK;
	case SQLITE_BUSY:
		return E_BUSY;
	case SQLITE_NOMEM:
		return E_NOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_ERROR:
	case SQLITE_NOTADB:
		return E_MALFORMED;
	}
	errno = rc == SQLITE_FULL ? ENOSPC : sqlite3_system_errno(n->db);
	return E_IO;
}

static enum status
prepare(struct notes *n, sqlite3_stmt **out, const char *sql)
{
	return status_of(n, sqlite3_prepare_v2(n->db, sql, -1, out, NULL));
}

static int
take_answer(void *answer, int n_columns, char **columns, char **names)
{
	(void)n_columns;
	(void)names;
	*(char *)answer = columns[0][0];
	return 0;
}

/* E_MALFORMED: it is not ours. */
static enum status
open_file(struct notes *n)
{
	char answer = '\0', *sql;
	enum status st;
	/* SQLite gives the files beside it the same mode. A file that exists is
	 * not opened here: closing it would end a lock of this process. */
	int fd = open(n->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	st = status_of(n, sqlite3_open_v2(n->path, &n->db,
			      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW |
				  SQLITE_OPEN_NOMUTEX,
			      NULL));
	if (st == OK)
		st = status_of(n, sqlite3_exec(n->db, SETTINGS CHECK,
				      take_answer, &answer, NULL));
	if (st != OK || answer == 'o')
		return st;
	if (answer != 'n')
		return E_MALFORMED;
	sql = sqlite3_mprintf(CREATE, n->output);
	if (sql == NULL)
		return E_NOMEM;
	st = status_of(n, sqlite3_exec(n->db, sql, NULL, NULL, NULL));
	sqlite3_free(sql);
	return st;
}

/* The text of a column; "" for NULL. */
static const char *
text(sqlite3_stmt *s, int column)
{
	const unsigned char *t = sqlite3_column_text(s, column);

	return t == NULL ? "" : (const char *)t;
}

/* Is S a path as the relay notes it, and no other? A forged file must not lead
 * the relay out of the output directory. */
static bool
is_path(const char *s)
{
	struct relpath *p = NULL;
	bool is_one;

	if (relpath_parse(&p, (struct span){ s, strlen(s) }) != OK)
		return false;
	is_one = strcmp(p->s, s) == 0;
	relpath_free(p);
	return is_one;
}

static enum status
load(struct notes *n, void (*each)(void *arg, const struct notes_row *row),
    void *arg)
{
	sqlite3_stmt *s;
	enum status st = prepare(n, &s, ALL);
	int rc;

	if (st != OK)
		return st;
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		const struct notes_row row = {
			.ino = (uint64_t)sqlite3_column_int64(s, 0),
			.born = (uint64_t)sqlite3_column_int64(s, 1),
			.kind = (enum stored_kind)sqlite3_column_int(s, 2),
			.began_ns = (uint64_t)sqlite3_column_int64(s, 3),
			.ended_ns = (uint64_t)sqlite3_column_int64(s, 4),
			.bytes = (uint64_t)sqlite3_column_int64(s, 5),
			.is_kept = sqlite3_column_int(s, 6) != 0,
			.path = text(s, 7),
			.name = text(s, 8),
			.host = text(s, 9),
			.session = text(s, 10),
		};

		if ((unsigned)row.kind <= STORED_SNAPSHOT &&
		    is_path(row.path) && is_path(row.name))
			each(arg, &row);
	}
	sqlite3_finalize(s);
	return status_of(n, rc);
}

enum status
notes_open(struct notes **out, const struct notes_place *p,
    void (*each)(void *arg, const struct notes_row *row), void *arg)
{
	struct notes *n = calloc(1, sizeof(*n));
	enum status st;

	*out = NULL;
	if (n == NULL)
		return E_NOMEM;
	n->output = p->output;
	st = realpath(p->state_dir, n->path) == NULL ? E_IO : OK;
	snprintf(n->path + strlen(n->path), sizeof(n->path) - strlen(n->path),
	    "/notes-%" PRIu64 "-%" PRIu64 ".db", p->id.ino, p->id.born);
	if (st == OK)
		st = open_file(n);
	if (st == OK)
		st = prepare(n, &n->put, PUT);
	if (st == OK)
		st = prepare(n, &n->remove, REMOVE);
	if (st == OK && each != NULL)
		st = load(n, each, arg);
	if (st != OK) {
		notes_close(n);
		return st;
	}
	*out = n;
	return OK;
}

void
notes_close(struct notes *n)
{
	const int error = errno;

	if (n == NULL)
		return;
	sqlite3_finalize(n->put);
	sqlite3_finalize(n->remove);
	sqlite3_close(n->db);
	free(n);
	errno = error;
}

bool
notes_are_lost(const struct notes *n)
{
	int is_moved = 0;

	(void)sqlite3_file_control(
	    n->db, NULL, SQLITE_FCNTL_HAS_MOVED, &is_moved);
	return is_moved != 0;
}

void
notes_remove(struct notes *n)
{
	char wal[sizeof(n->path) + 4];

	if (notes_are_lost(n))
		return;
	snprintf(wal, sizeof(wal), "%s-wal", n->path);
	/* In this order: after the second call the names may belong to another
	 * relay, whose files SQLite leaves alone. */
	(void)unlink(wal);
	(void)unlink(n->path);
}

static void
note_failure(struct notes *n)
{
	if (!n->is_failing)
		log_error("notes of the traces in %s cannot be written: %s",
		    n->output, sqlite3_errmsg(n->db));
	n->is_failing = n->has_failed = true;
}

static void
change(struct notes *n, const char *sql)
{
	if (!n->has_failed &&
	    sqlite3_exec(n->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		note_failure(n);
}

static void
begin(struct notes *n)
{
	if (sqlite3_get_autocommit(n->db))
		change(n, "BEGIN");
}

static void
change_row(struct notes *n, sqlite3_stmt *s, uint64_t ino, uint64_t born)
{
	begin(n);
	sqlite3_bind_int64(s, 1, (sqlite3_int64)ino);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)born);
	if (!n->has_failed && sqlite3_step(s) != SQLITE_DONE)
		note_failure(n);
	sqlite3_reset(s);
}

void
notes_put(struct notes *n, const struct notes_row *row)
{
	const char *const texts[] = { row->path, row->name, row->host,
		row->session };

	sqlite3_bind_int(n->put, 3, (int)row->kind);
	sqlite3_bind_int64(n->put, 4, (sqlite3_int64)row->began_ns);
	sqlite3_bind_int64(n->put, 5, (sqlite3_int64)row->ended_ns);
	sqlite3_bind_int64(n->put, 6, (sqlite3_int64)row->bytes);
	sqlite3_bind_int(n->put, 7, row->is_kept);
	/* A name may be cut within a character. */
	for (int i = 0; i < (int)ARRAY_LEN(texts); i++)
		sqlite3_bind_blob(n->put, 8 + i, texts[i],
		    (int)strlen(texts[i]), SQLITE_STATIC);
	change_row(n, n->put, row->ino, row->born);
}

void
notes_remove_row(struct notes *n, uint64_t ino, uint64_t born)
{
	change_row(n, n->remove, ino, born);
}

void
notes_clear(struct notes *n)
{
	begin(n);
	change(n, "DELETE FROM directories");
}

enum status
notes_flush(struct notes *n, bool syncs)
{
	const bool has_changes = sqlite3_get_autocommit(n->db) == 0;
	bool has_failed;

	if (has_changes)
		change(n, "COMMIT");
	/* A checkpoint syncs. */
	if (syncs)
		change(n, "PRAGMA wal_checkpoint");
	has_failed = n->has_failed;
	n->has_failed = false;
	if (has_failed)
		(void)sqlite3_exec(n->db, "ROLLBACK", NULL, NULL, NULL);
	else if (has_changes) /* nothing to write proves nothing */
		n->is_failing = false;
	return has_failed ? E_IO : OK;
}
