/* SPDX-License-Identifier: MIT */
#include "relayd/http/view.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/account.h"
#include "common/fds.h"
#include "proto/live.h"
#include "relayd/process/options.h"

const char *const view_rate_names[RATES] = { "received_bytes_per_second",
	"received_packets_per_second", "written_bytes_per_second",
	"sent_bytes_per_second", "lost_packets_per_second" };

void
view_open(struct view *v, const struct options *o)
{
	*v = (struct view){ .options = o,
		.started_s = clock_wall_s(),
		.started_ns = clock_now_ns() };
	/* A truncated name may lack its NUL. */
	if (gethostname(v->hostname, sizeof(v->hostname) - 1) != 0)
		v->hostname[0] = '\0';
	v->statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

void
view_close(struct view *v)
{
	free(v->oldest_path);
	if (v->statm_fd >= 0)
		close(v->statm_fd);
}

static uint64_t
live_requests(unsigned cmd, unsigned status)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < LIVE_WORKERS_MAX; i++)
		n += published_word(
		    &stats_live_worker(i)->live_requests[cmd][status]);
	return n;
}

static void
live_totals(
    void (*each)(void *arg, const struct total *t), void *arg, unsigned cmd)
{
	const char *name;

	for (unsigned st = 0; st < STATS_LIVE_STATUSES; st++) {
		name = live_status_name(cmd, st);
		if (name != NULL &&
		    (st > 0 || live_status_name(cmd, 1) == NULL))
			each(arg, &(struct total){ "live_requests_total",
				      "Viewer requests answered", false,
				      { { "command", live_row(cmd)->name },
					  { "status", name } },
				      live_requests(cmd, st) });
	}
}

void
view_totals(void (*each)(void *arg, const struct total *t), void *arg)
{
	enum { COUNTER, GAUGE };
	static const struct total rows[STATS] = {
#define STAT(id, kind, metric, label, value, help) \
	{ metric, help, kind == GAUGE, { { label, value } }, 0 },
#include "relayd/stats/stats.tbl.h"
#undef STAT
	};
	struct total t;

	for (unsigned i = 0; i < STATS; i++) {
		t = rows[i];
		t.n = stats_sum((enum stats_row)i);
		if (*t.labels[0].name == '\0')
			t.labels[0].name = NULL;
		each(arg, &t);
	}
	for (unsigned p = 0; p < STATS_PORTS; p++)
		each(arg, &(struct total){ "connections", "Open connections",
			      true, { { "port", stats_port_names[p] } },
			      stats_connections((enum stats_port)p) });
	for (unsigned p = 0; p < STATS_PORTS; p++)
		for (unsigned why = 0; why < REFUSALS; why++)
			each(arg, &(struct total){ "refused_total",
				      "Connections and requests refused", false,
				      { { "port", stats_port_names[p] },
					  { "reason", refusal_names[why] } },
				      stats_refusals((enum stats_port)p,
					  (enum refusal)why) });
	for (unsigned cmd = 0; cmd < STATS_LIVE_COMMANDS; cmd++)
		live_totals(each, arg, cmd);
}

static void
ask_disk(struct view *v)
{
	struct statvfs st;

	v->disk_asked_ns = clock_now_ns();
	v->asked_full = stats_sum(STAT_disk_full) > 0;
	v->has_disk = statvfs(v->options->output, &st) == 0;
	if (!v->has_disk)
		return;
	v->disk_free = (uint64_t)st.f_bavail * st.f_frsize;
	v->disk_total = (uint64_t)st.f_blocks * st.f_frsize;
}

static void
take_sample(struct view *v)
{
	const unsigned last = v->n_samples;

	v->samples[last].ns = clock_now_ns();
	v->samples[last].n[RATE_received_bytes] =
	    stats_sum(STAT_received_tcp_bytes) +
	    stats_sum(STAT_received_udp_bytes);
	v->samples[last].n[RATE_received_packets] =
	    stats_sum(STAT_received_tcp_packets) +
	    stats_sum(STAT_received_udp_packets);
	v->samples[last].n[RATE_written_bytes] = stats_sum(STAT_written_bytes);
	v->samples[last].n[RATE_sent_bytes] = stats_sum(STAT_sent_bytes);
	v->samples[last].n[RATE_lost_packets] = stats_sum_lost();
	v->n_samples++;
}

bool
view_full_in(const struct view *v, uint64_t *seconds)
{
	const unsigned n = history_count(&v->history);
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		bytes += history_at(&v->history, i, RATE_written_bytes);
	if (!v->has_disk || bytes == 0)
		return false;
	*seconds = (uint64_t)((double)v->disk_free * n / (double)bytes);
	return true;
}

void
view_tick(struct view *v)
{
	double s;

	if (v->n_samples == ARRAY_LEN(v->samples)) {
		memmove(&v->samples[0], &v->samples[1],
		    (v->n_samples - 1) * sizeof(v->samples[0]));
		v->n_samples--;
	}
	take_sample(v);
	s = (double)(v->samples[v->n_samples - 1].ns - v->samples[0].ns) /
	    (double)NS_PER_S;
	for (unsigned i = 0; i < RATES; i++)
		v->rates[i] = s <= 0
				  ? 0
				  : (double)(v->samples[v->n_samples - 1].n[i] -
					     v->samples[0].n[i]) /
					s;
	history_add(&v->history, v->rates);
	/* Query it at once when it becomes full, or is no longer. */
	if (v->disk_asked_ns == 0 ||
	    v->asked_full != (stats_sum(STAT_disk_full) > 0) ||
	    clock_now_ns() - v->disk_asked_ns >= VIEW_DISK_NS)
		ask_disk(v);
}

uint64_t
view_resident(const struct view *v)
{
	char text[128] = "";
	unsigned long long pages = 0;

	if (v->statm_fd < 0 ||
	    pread(v->statm_fd, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%*u %llu", &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

double
view_cpu_seconds(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) != 0)
		return 0;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

uint64_t
view_descriptors(const struct view *v)
{
	uint64_t n = v->own_descriptors + stats_sum(STAT_files) +
		     stats_connections(PORT_LIVE) +
		     stats_connections(PORT_HTTP);

	for (unsigned i = 0; i < FDS_SHARES; i++)
		n += account_used(&fds[i]);
	return n;
}

uint64_t
view_memory(const struct view *v)
{
	return v->memory == NULL ? 0 : account_used(v->memory);
}

/* Is a thread stuck? Live workers count unless ONLY_INGEST. */
static bool
has_stuck_thread(const struct view *v, bool only_ingest)
{
	for (unsigned i = 0; i < v->threads.n; i++)
		if ((!only_ingest ||
			v->threads.all[i].kind != THREAD_LIVE_WORKER) &&
		    thread_is_stuck(&v->threads.all[i], VIEW_STUCK_NS))
			return true;
	return false;
}

bool
view_is_healthy(const struct view *v)
{
	return v->phase != VIEW_SERVING || !has_stuck_thread(v, false);
}

/* As in relayd/net/admission.h: each session may need all its descriptors
 * later. */
static bool
lacks_descriptors(const struct view *v)
{
	const uint64_t n = stats_sum(STAT_sessions_active) +
			   stats_sum(STAT_sessions_waiting) +
			   stats_sum(STAT_sessions_ending);
	const uint64_t max = fds[FDS_SESSIONS].hard - fds[FDS_EXTRA].hard;

	return fds_left(FDS_SESSIONS) < v->session_descriptors ||
	       (n + 1) * v->session_descriptors > max;
}

bool
view_is_disk_full(const struct view *v)
{
	return (v->has_disk && v->disk_free < VIEW_DISK_FULL) ||
	       stats_sum(STAT_disk_full) > 0;
}

/* Whether new sessions are admitted, and why not. A live worker that is STUCK
 * delays no session, and does not count. */
enum readiness {
	READY,
	LOSING,
	STARTING,
	DRAINING,
	STUCK,
	DISK_LOSES,
	DISK_REFUSES,
	NO_DESCRIPTORS,
};

static enum readiness
readiness(const struct view *v)
{
	if (v->phase == VIEW_STARTING)
		return STARTING;
	if (v->phase == VIEW_DRAINING)
		return DRAINING;
	if (has_stuck_thread(v, true))
		return STUCK;
	if (view_is_disk_full(v))
		return v->options->on_full == ON_FULL_LOSE ? DISK_LOSES
							   : DISK_REFUSES;
	if (lacks_descriptors(v))
		return NO_DESCRIPTORS;
	return v->rates[RATE_lost_packets] > 0 ? LOSING : READY;
}

const struct view_state *
view_state(const struct view *v)
{
	static const struct view_state states[] = {
		[READY] = { NULL, "ready",
		    "New sessions are admitted, and no packet is being lost." },
		[LOSING] = { NULL, "losing",
		    "New sessions are admitted, but packets are being lost." },
		[STARTING] = { "starting", "starting",
		    "New sessions are not admitted yet." },
		[DRAINING] = { "draining", "draining",
		    "The relay is stopping: it writes what has arrived, then "
		    "it exits." },
		[STUCK] = { "a thread does not answer", "not_ready",
		    "New sessions may have to wait: a thread does not "
		    "answer." },
		[DISK_LOSES] = { "disk full", "not_ready",
		    "New sessions are admitted, but their packets are lost: "
		    "the disk is full." },
		[DISK_REFUSES] = { "disk full", "not_ready",
		    "Sessions that need more space are refused: the disk is "
		    "full." },
		[NO_DESCRIPTORS] = { "no descriptors", "not_ready",
		    "New sessions are not admitted: no descriptors are left." },
	};

	return &states[readiness(v)];
}

void
history_add(struct history *h, const double rates[RATES])
{
	uint64_t *to = h->ring[h->total++ % HISTORY_S];

	for (unsigned i = 0; i < RATES; i++)
		to[i] = (uint64_t)rates[i] +
			(rates[i] > (double)(uint64_t)rates[i]);
}

uint64_t
history_at(const struct history *h, unsigned i, enum view_rate rate)
{
	assert(i < history_count(h) && rate < RATES);
	return h->ring[(h->total - history_count(h) + i) % HISTORY_S][rate];
}
