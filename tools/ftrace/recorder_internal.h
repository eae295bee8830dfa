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
	RECORDER_LIVE_END,  /* its live session is not done */
};

struct name_query;

/* What a recorder uses, or several of them. */
struct recorder_use {
	uint64_t recorders, fds, ports; /* ports for pages */
	uint64_t memory;		/* see page_feed_memory() */
};

struct recorder {
	struct list node;
	struct recorders *all;
	struct sockaddr_storage peer;
	char name[RECORDING_NAME_MAX]; /* HOST:PORT */
	enum recorder_state state;
	int fd; /* -1: closed */
	struct event *readable, *writable, *timer;
	struct recorder_dialog dialog;
	uint64_t began_ns, received_ns, ended_ns;
	uint64_t check_ns; /* V1: time of the next check whether the metadata is
			     whole */
	struct recorder_use use;

	struct data_sockets *data;
	struct data_counts counts;
	struct page_feed feed;	   /* has the recording and the live session */
	struct name_query *naming; /* NULL: no lookup */
};

/* recorder_data.c: what the dialog calls. */
extern const struct recorder_dialog_ops recorder_dialog_ops;
/* V1: checks whether the metadata is whole. Checks that take long are made
 * rarely, unless IS_LAST: no more bytes come. */
enum status recorder_check_metadata(
    struct recorder *r, bool is_last) MUST_CHECK;
/* Closes the data sockets. */
void recorder_data_free(struct recorder *r);

/* How often states that wait are checked. */
#define CHECK_MS 50
/* Why a recorder of PEER may not use MORE, or NULL. */
const char *recorders_refuse(const struct recorders *all,
    const struct sockaddr *peer, struct recorder_use more);

#endif
