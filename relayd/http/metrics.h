/* SPDX-License-Identifier: MIT */
/* Metrics in the text format 0.0.4 of Prometheus. */
#ifndef RELAYD_HTTP_METRICS_H
#define RELAYD_HTTP_METRICS_H

#include "common/buf.h"
#include "relayd/stats/info.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
/* Sessions that have metrics of their own, with --metrics-per-session. */
#define METRICS_SESSIONS_MAX 200

struct view;

void metrics_write(struct buf *b, const struct view *v);
/* Of the N sessions at S; those with the same host and name are added up. */
void metrics_write_sessions(
    struct buf *b, const struct session_info *const *s, unsigned n);

#endif
