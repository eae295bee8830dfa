/* SPDX-License-Identifier: MIT */
/* Shared by recorder.c and recorder_data.c. */
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
	RECORDER_TALKING,   /* until the metadata is whole */
	RECORDER_RUNNING,   /* pages come */
	RECORDER_DRAINING,  /* it has ended; data in flight still comes */
	RECORDER_NAMING,    /* its host name is looked up, for the file */
	RECORDER_FINISHING, /* its files are joined */
	RECORDER_SINKING,   /* its sink is not done */
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
	uint64_t look_ns; /* V1: time of the next check whether the metadata is
			     whole */
	uint64_t fds;	  /* in the account */
	uint32_t ports;	  /* ports for pages, in the account */

	struct recording *recording;
	struct data_sockets *data;
	struct data_counts counts;
	struct page_feed feed; /* has the sink */
	uint64_t pages_memory; /* memory for dividing them, in the account */
	uint32_t page_size;

	struct background_job finish_job;
	struct name_query *naming; /* NULL: no lookup */
	enum status finished;
};

/* recorder_data.c: what the dialog calls. */
extern const struct recorder_dialog_ops recorder_dialog_ops;
/* V1: checks whether the metadata is whole. Checks that take long are made
 * rarely, unless IS_LAST: no more bytes come. */
enum status recorder_look_at_metadata(
    struct recorder *r, bool is_last) MUST_CHECK;
/* Closes the data sockets. */
void recorder_data_free(struct recorder *r);

void recorder_name_find(struct recorder *r);
void recorder_name_forget(struct recorder *r);

/* How often states that wait are checked. */
#define LOOK_MS 50
/* Changes to the next states that need not wait. R may be destroyed. */
void recorder_advance(struct recorder *r);
void recorder_finish_file(struct recorder *r);
void recorder_free_recording(struct recorder *r);

void recorder_destroy(struct recorder *r);
struct recorder_share {
	uint64_t fds, memory;
	uint32_t ports;
};
struct recorder_share recorder_of_host(const struct recorder *r);
/* The memory of its pages and its sink. */
uint64_t recorder_memory(const struct recorder *r);
/* Charges descriptors to it. E_LIMIT: too many are in use. */
enum status recorder_take_fds(struct recorder *r, uint64_t n) MUST_CHECK;
/* The same for ports of pages. */
enum status recorder_take_ports(struct recorder *r, uint32_t n) MUST_CHECK;
void recorder_named(struct recorder *r, const char *name);
void recorder_set_timer(struct recorder *r, uint64_t ms);

#endif
