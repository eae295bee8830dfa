/* SPDX-License-Identifier: MIT */
/* What recorder*.c share. */
#ifndef TOOLS_FTRACE_RECORDER_INTERNAL_H
#define TOOLS_FTRACE_RECORDER_INTERNAL_H

#include "common/buf.h"
#include "tools/ftrace/data_sockets.h"
#include "tools/ftrace/listener.h"
#include "tools/ftrace/loop.h"
#include "tools/ftrace/page_feed.h"
#include "tools/ftrace/recorder.h"
#include "tools/ftrace/recorder_dialog.h"

enum recorder_state {
	RECORDER_TALKING,   /* until its metadata is whole */
	RECORDER_RUNNING,   /* pages come */
	RECORDER_DRAINING,  /* it has ended; what is under way still comes */
	RECORDER_NAMING,    /* its name is asked for, for its file */
	RECORDER_FINISHING, /* its file is being put together */
	RECORDER_SINKING,   /* its sink has not taken all */
};

struct name_query;

struct recorder {
	struct list node;
	struct recorders *all;
	struct sockaddr_storage peer;
	char name[RECORDING_NAME_MAX]; /* HOST:PORT */
	enum recorder_state state;
	int fd; /* -1: closed */
	struct event *readable, *writable, *timer;
	struct recorder_dialog dialog;
	uint64_t began_ns, heard_ns, ended_ns;
	uint64_t look_ns; /* V1: metadata is not looked at before */
	uint64_t fds;	  /* accounted */
	uint32_t ports;	  /* of its pages, in use */

	struct recording *recording;
	struct data_sockets *data;
	struct data_counts counts;
	struct page_feed feed; /* its sink */
	uint64_t pages_memory; /* that they may need */
	uint32_t page_size;

	struct background_job finish_job;
	struct name_query *naming; /* NULL: its name is not asked for now */
	enum status finished;
};

/* recorder_data.c: what the dialog asks for. */
extern const struct recorder_dialog_ops recorder_dialog_ops;
/* V1: is the metadata whole now? Not each time, if it takes long, but if no
 * more of it comes. */
enum status recorder_look_at_metadata(
    struct recorder *r, bool is_last) MUST_CHECK;
/* Its data sockets go. */
void recorder_data_free(struct recorder *r);

/* recorder_name.c */
/* Look its name up; recorder_named() is the answer. */
void recorder_name_find(struct recorder *r);
/* It is not interested any more. */
void recorder_name_forget(struct recorder *r);

/* recorder_end.c */
/* How often it is looked whether something is over. */
#define LOOK_MS 50
/* To the next state, for as long as nothing is waited for. It may be gone
 * then. */
void recorder_advance(struct recorder *r);
/* Put its file together; then it goes on. */
void recorder_finish_file(struct recorder *r);
void recorder_free_recording(struct recorder *r);

/* recorder.c */
void recorder_destroy(struct recorder *r);
/* What all recorders of its host have, with its own. */
struct recorder_share {
	uint64_t fds, memory;
	uint32_t ports;
};
struct recorder_share recorder_of_host(const struct recorder *r);
/* The memory of its pages and its sink at this time. */
uint64_t recorder_memory(const struct recorder *r);
/* Descriptors are taken for it; E_LIMIT: there are no more. */
enum status recorder_take_fds(struct recorder *r, uint64_t n) MUST_CHECK;
/* The same of ports for pages. */
enum status recorder_take_ports(struct recorder *r, uint32_t n) MUST_CHECK;
/* Its name is known: NAME; "": it has none but its address. */
void recorder_named(struct recorder *r, const char *name);
void recorder_set_timer(struct recorder *r, uint64_t ms);

#endif
