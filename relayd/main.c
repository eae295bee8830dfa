/* SPDX-License-Identifier: MIT */
/* tracepulse-relayd: read options, go to the background, start workers,
 * serve. */
#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/process/systemd.h"
#include "relayd/process/daemon.h"
#include "relayd/http/http.h"
#include "relayd/net/descriptors.h"
#include "relayd/net/health.h"
#include "relayd/net/service.h"
#include "relayd/net/threads.h"
#include "relayd/acceptor.h"
#include "relayd/handover.h"
#include "relayd/process/rundir.h"
#include "relayd/process/options.h"
#include "relayd/process/reload.h"
#include "common/sandbox.h"
#include "relayd/retention_thread.h"
#include "relayd/stats/stats.h"
#include "relayd/record/stream_window.h"
#include "store/dir_registry.h"
#include "store/syncer.h"
#include "store/output.h"
#include "store/packet_log.h"
#include "store/recovery.h"

/* Peers wait at most this long until files of earlier runs are repaired. */
#define RECOVERY_WAIT_NS NS_PER_S

/* The part of --max-memory for the file positions that viewers can read. */
#define LOG_FILES_PART 16

/* All that a running relay has. */
struct relay {
	struct options options;
	struct daemon daemon;
	struct reload reload;
	struct open_sessions sessions;
	struct sandbox sandbox, recovery_sandbox;
	struct acceptor *acceptor;
	struct acceptor_disk disk;
	struct recovery_thread *recovery;
	struct published is_recovering;
	struct retention_thread *retention;
	struct http *http;
	struct threads threads;
	struct handover handover;
	uint64_t cut;  /* sessions that the last end of the relay has cut */
	bool is_given; /* another process goes on with the sessions */
};

/* Restricts the calling thread to what serving needs. */
static void
give_up_rights(void *sandbox)
{
	sandbox_enter(sandbox);
}

/* Runs before the port files are written, so that scripts waiting for them find
 * repaired traces. */
static void
recover(struct relay *r)
{
	r->recovery_sandbox = r->sandbox;
	r->recovery_sandbox.is_quiet = true;
	/* Recovery continues after port files are written, and must not be
	 * able to remove them. */
	memset(r->recovery_sandbox.removes, 0,
	    sizeof(r->recovery_sandbox.removes));
	recovery_start(&r->recovery, r->disk.base_fd, RECOVERY_WAIT_NS,
	    give_up_rights, &r->recovery_sandbox, &r->is_recovering);
}

static void
set_window(const struct options *o)
{
	stream_window_limit(o->live_window.bytes, o->live_window.ns);
}

/* After a reload: those that keep a copy of a setting get the new one. */
static void
apply(const struct options *o, void *arg)
{
	struct relay *r = arg;

	set_window(o);
	retention_thread_reload(o, r->retention);
	http_reload(o, r->http);
	acceptor_reload(o, r->acceptor);
}

static void
on_hangup(evutil_socket_t fd, short what, void *arg)
{
	struct relay *r = arg;
	/* A failure is logged by reload_now(), and changes nothing. */
	const enum status st = reload_now(&r->reload);

	stats_add(
	    stats_main(), st == OK ? STAT_reloads_good : STAT_reloads_bad, 1);
}

static void
on_second(evutil_socket_t fd, short what, void *arg)
{
	const uint64_t active = stats_sum(STAT_sessions_active);
	const uint64_t snapshot = stats_sum(STAT_sessions_snapshot);
	struct relay *r = arg;

	log_report_suppressed();
	open_sessions_set(
	    &r->sessions, active > snapshot ? active - snapshot : 0);
}

static enum status
make_http(struct relay *r, const struct daemon_ports *ports)
{
	const struct options *o = &r->options;
	const struct http_config config = {
		.options = o,
		.admin_path = r->daemon.admin_path,
		.memory = acceptor_memory(r->acceptor),
		.control = ports->control,
		.data = ports->data,
		.live = ports->live,
		.max_clients = descriptors_http(o),
		.max_admins = descriptors_admin(o),
		.own_descriptors = descriptors_own(o),
		.session_descriptors = SESSION_FDS,
	};

	return http_create(&r->http, &config);
}

static enum status
start_http(struct relay *r)
{
	return http_start(
	    r->http, &r->threads, retention_thread_loop(r->retention));
}

/* In the sandbox. */
static enum status
start_threads(struct relay *r)
{
	enum status st = OK;

	if (r->disk.syncer != NULL)
		st = syncer_start(r->disk.syncer);
	if (st == OK)
		st = retention_thread_start(r->retention);
	if (st == OK)
		st = acceptor_start(r->acceptor);
	if (st != OK)
		return st;
	acceptor_threads(r->acceptor, &r->threads);
	return start_http(r);
}

/* Until a signal ends the relay, or another process takes over. */
static enum status
run_until_end(struct relay *r)
{
	enum status st;

	for (;;) {
		acceptor_run(r->acceptor);
		st = handover_give(&r->handover, r->acceptor, r->http);
		if (st != E_LATER)
			break;
		st = acceptor_start(r->acceptor);
		if (st == OK)
			st = start_http(r);
		if (st != OK)
			return st;
		http_serving(r->http);
	}
	r->is_given = st == OK;
	(void)systemd_notify("STOPPING=1\n");
	return OK;
}

static enum status
serve(struct relay *r)
{
	const struct options *o = &r->options;
	struct daemon *d = &r->daemon;
	struct event_base *base = acceptor_base(r->acceptor);
	struct daemon_ports ports = acceptor_ports(r->acceptor);
	struct health_config config = {
		.path = d->health_path,
		.group = d->has_group ? d->group : HEALTH_NO_GROUP,
		.mask = threads_health,
		.arg = &r->threads,
	};
	const struct service_config service_config = {
		.is_alive = acceptor_is_alive,
		.figures = acceptor_figures,
		.arg = r->acceptor,
	};
	const struct timeval every_second = { .tv_sec = 1 };
	struct event *second = event_new(base, -1, EV_PERSIST, on_second, r);
	struct event *hangup = evsignal_new(base, SIGHUP, on_hangup, r);
	struct service *service = NULL;
	struct health *health = NULL;
	enum status st = E_NOMEM;

	if (second != NULL && event_add(second, &every_second) == 0 &&
	    hangup != NULL && event_add(hangup, NULL) == 0)
		st = health_create(&health, base, &config);
	packet_log_limit_files(
	    o->max_memory / LOG_FILES_PART / LOG_FILE_MEMORY);
	set_window(o);
	if (st == OK)
		st = make_http(r, &ports);
	ports.http = http_port(r->http);
	if (st == OK) {
		handover_restore_http(&r->handover, r->http);
		recover(r);
		st = daemon_write(d, &ports);
	}
	if (st == OK)
		handover_prepare(&r->handover, r->acceptor, o);
	if (st == OK) {
		log_open_journal();
		give_up_rights(&r->sandbox);
		st = start_threads(r);
	}
	if (st == OK)
		st = service_create(&service, base, &service_config);
	if (st == OK) {
		daemon_ready(d, &ports);
		http_serving(r->http);
		handover_done(&r->handover);
		st = run_until_end(r);
	}
	http_drain(r->http);
	service_destroy(service);
	health_destroy(health);
	if (hangup != NULL)
		event_free(hangup);
	if (second != NULL)
		event_free(second);
	return st;
}

static void
set_sandbox(struct relay *r)
{
	const struct options *o = &r->options;
	const struct daemon *d = &r->daemon;

	r->sandbox = (struct sandbox){
		.mode = o->sandbox,
		.output = o->output,
		.state_dir = o->state_dir,
		.output_fd = r->disk.base_fd,
		.removes = { d->files[FILE_CONTROL].path,
		    d->files[FILE_PID].path, d->health_path, o->http_path,
		    d->admin_path, r->handover.path, r->handover.attempt },
		.config_dir = options_config_dir(),
		.config = o->config,
		.log_file = o->log_file,
		.signals_parent = o->sig_parent && d->ready_fd < 0,
	};
}

/* Everything that can fail before this process serves, and the sessions of the
 * process before. */
static enum status
prepare(struct relay *r)
{
	struct options *o = &r->options;
	enum status st;

	st = handover_begin(&r->handover, o, r->disk.base_fd);
	if (st == OK)
		st = acceptor_create(&r->acceptor, o, &r->handover.udp);
	if (st == OK)
		st = dir_registry_create(&r->disk.registry);
	if (st == OK)
		st = retention_thread_create(
		    &r->retention, r->disk.registry, o);
	if (st == OK && o->sync.mode == SYNC_TIME)
		st = syncer_create(
		    &r->disk.syncer, r->disk.base_fd, o->sync.time_ns);
	if (st != OK)
		return st;
	r->disk.stored = retention_thread_notifier(r->retention);
	r->disk.is_recovering = &r->is_recovering;
	st = acceptor_prepare(r->acceptor, &r->disk);
	if (st != OK)
		return st;
	st = handover_restore(&r->handover, r->acceptor);
	/* They belong to the process that goes on. */
	r->is_given = st != OK;
	return st;
}

/* Sessions that the last end of the relay has cut. */
static void
report_cut(struct relay *r)
{
	const struct handover *h = &r->handover;

	r->cut = open_sessions_take(&r->sessions, r->options.run_dir);
	if (h->bytes != NULL)
		r->cut = h->head.n_sessions > h->moved.sessions
			     ? h->head.n_sessions - h->moved.sessions
			     : 0;
	if (r->cut == 0)
		return;
	stats_add(stats_main(), STAT_sessions_cut, r->cut);
	log_warn("sessions cut when the relay last ended: %" PRIu64
		 "; their tracers did not notice, and nothing is "
		 "recorded until the sessions are destroyed and "
		 "created again",
	    r->cut);
}

static enum status
run(struct relay *r)
{
	struct options *o = &r->options;
	enum status st;

	st = daemon_start(&r->daemon, o);
	if (st != OK)
		return st;
	r->disk.base_fd = output_open(o->output);
	if (r->disk.base_fd < 0)
		return E_IO;
	set_sandbox(r);
	r->sessions.fd = -1;
	st = prepare(r);
	if (st == OK) {
		report_cut(r);
		st = serve(r);
	}
	/* The journals are this process's in any case. */
	if (!r->is_given)
		acceptor_destroy(r->acceptor);
	else if (r->acceptor != NULL)
		acceptor_leave_files(r->acceptor);
	/* After a failed start, the next one still reports the cut sessions. */
	if (st == OK)
		r->cut = r->is_given ? acceptor_sessions(r->acceptor)
				     : stats_sum(STAT_ended_stop);
	if (st == OK && r->cut > 0 && !r->is_given)
		log_warn("sessions cut by this stop: %" PRIu64
			 "; their tracers do not notice, so destroy and create "
			 "these sessions again",
		    r->cut);
	open_sessions_end(&r->sessions, r->cut);
	/* Before HTTP, which it informs of deletions; after the workers, whose
	 * last notes it stores. */
	retention_thread_stop(r->retention);
	http_destroy(r->http);
	syncer_stop(r->disk.syncer);
	recovery_stop(r->recovery);
	if (!r->is_given)
		dir_registry_destroy(r->disk.registry);
	close(r->disk.base_fd);
	return st;
}

static enum status
start_log(struct options *o)
{
	o->is_watched = log_look_at_stderr(true);
	log_set_json(o->log_format == LOG_FORMAT_JSON);
	log_set_level(options_log_level(o));
	log_set_abort_on_error(o->abort_on_error);
	return o->log_file[0] == '\0' ? OK : log_open(o->log_file);
}

/* --print-config, --check-config */
static int
report(struct options *o)
{
	struct descriptors shares;
	enum status st = OK;

	if (o->print_config)
		options_print(o);
	if (o->check_config) {
		st = options_check(o);
		daemon_raise_descriptors();
		if (descriptors_divide(&shares, o) != OK)
			st = E_REFUSED;
	}
	return st == OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
main(int argc, char **argv)
{
	static struct relay relay;
	struct options *o = &relay.options;
	enum status st;

	/* Command line errors are printed without a time stamp. */
	(void)log_look_at_stderr(false);
	options_report_as_service(argc, argv);
	if (options_parse(o, argc, argv) != OK)
		return EXIT_FAILURE;
	if (o->is_done)
		return EXIT_SUCCESS;
	if (o->check_config || o->print_config)
		return report(o);
	if (start_log(o) != OK)
		return EXIT_FAILURE;
	reload_init(&relay.reload, o, argc, argv, apply, &relay);
	handover_init(&relay.handover);
	st = systemd_take_sockets(o, &relay.handover.from);
	if (st == OK)
		st = run(&relay);
	daemon_end(&relay.daemon);
	/* The next process waits until this one's files are gone. */
	handover_end(&relay.handover);
	log_report_suppressed();
	return st == OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
