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
#include "relayd/process/rundir.h"
#include "relayd/process/options.h"
#include "relayd/process/reload.h"
#include "relayd/process/sandbox.h"
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

/* The threads that work on the disk, besides the workers. */
struct disk_threads {
	struct recovery_thread *recovery;
	struct sandbox recovery_sandbox;
	struct retention_thread *retention;
	struct acceptor_disk disk;
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
recover(struct disk_threads *t, const struct sandbox *s)
{
	t->recovery_sandbox = *s;
	t->recovery_sandbox.is_quiet = true;
	/* Port files are written meanwhile; this thread removes none of them.
	 */
	memset(t->recovery_sandbox.removes, 0,
	    sizeof(t->recovery_sandbox.removes));
	recovery_start(&t->recovery, t->disk.base_fd, RECOVERY_WAIT_NS,
	    give_up_rights, &t->recovery_sandbox);
}

static void
on_hangup(evutil_socket_t fd, short what, void *arg)
{
	/* A failure is logged by reload_now(), and changes nothing. */
	const enum status st = reload_now(arg);

	stats_add(
	    stats_main(), st == OK ? STAT_reloads_good : STAT_reloads_bad, 1);
}

static enum status
make_http(struct http **out, const struct options *o, struct acceptor *acceptor,
    const struct daemon_ports *ports, const char *admin_path)
{
	const struct http_config config = {
		.options = o,
		.admin_path = admin_path,
		.memory = acceptor_memory(acceptor),
		.control = ports->control,
		.data = ports->data,
		.live = ports->live,
		.max_clients = descriptors_http(o),
		.max_admins = descriptors_admin(o),
		.own_descriptors = descriptors_own(o),
		.session_descriptors = SESSION_FDS,
	};

	return http_create(out, &config);
}

/* In the sandbox. */
static enum status
start_threads(struct acceptor *acceptor, const struct options *o,
    struct disk_threads *disk, struct http *http, struct threads *threads)
{
	enum status st = OK;

	if (o->sync.mode == SYNC_TIME)
		st = syncer_start(
		    &disk->disk.syncer, disk->disk.base_fd, o->sync.time_ns);
	if (st == OK)
		st = retention_thread_start(disk->retention);
	if (st == OK)
		st = acceptor_start(acceptor, &disk->disk);
	if (st != OK)
		return st;
	acceptor_threads(acceptor, threads);
	return http_start(
	    http, threads, retention_thread_loop(disk->retention));
}

static void
set_window(const struct options *o, void *arg)
{
	stream_window_limit(o->live_window.bytes, o->live_window.ns);
}

static enum status
serve(struct daemon *d, struct reload *reload, struct acceptor *acceptor,
    struct disk_threads *disk, struct http **http)
{
	const struct options *o = reload->options;
	struct daemon_ports ports = acceptor_ports(acceptor);
	struct sandbox sandbox = {
		.mode = o->sandbox,
		.output = o->output,
		.state_dir = o->state_dir,
		.output_fd = disk->disk.base_fd,
		.removes = { d->files[FILE_CONTROL].path,
		    d->files[FILE_PID].path, d->health_path, o->http_path,
		    d->admin_path },
		.config_dir = options_config_dir(),
		.config = o->config,
		.log_file = o->log_file,
		.signals_parent = o->sig_parent && d->ready_fd < 0,
	};
	struct threads threads = { 0 };
	struct health_config config = {
		.path = d->health_path,
		.group = d->has_group ? d->group : HEALTH_NO_GROUP,
		.mask = threads_health,
		.arg = &threads,
	};
	const struct service_config service_config = {
		.is_alive = acceptor_is_alive,
		.figures = acceptor_figures,
		.arg = acceptor,
	};
	struct service *service = NULL;
	struct health *health;
	struct event *hangup;
	enum status st;

	st = health_create(&health, acceptor_base(acceptor), &config);
	if (st != OK)
		return st;
	packet_log_limit_files(
	    o->max_memory / LOG_FILES_PART / LOG_FILE_MEMORY);
	set_window(o, NULL);
	reload_tell(reload, set_window, NULL);
	hangup = evsignal_new(
	    acceptor_base(acceptor), SIGHUP, on_hangup, reload);
	if (hangup == NULL || event_add(hangup, NULL) != 0)
		st = E_NOMEM;
	if (st == OK)
		st = make_http(http, o, acceptor, &ports, d->admin_path);
	ports.http = http_port(*http);
	if (st == OK) {
		reload_tell(reload, http_reload, *http);
		reload_tell(reload, acceptor_reload, acceptor);
		recover(disk, &sandbox);
		st = daemon_write(d, &ports);
	}
	if (st == OK) {
		log_open_journal();
		give_up_rights(&sandbox);
		st = start_threads(acceptor, o, disk, *http, &threads);
	}
	if (st == OK)
		st = service_create(
		    &service, acceptor_base(acceptor), &service_config);
	if (st == OK) {
		daemon_ready(d, &ports);
		http_serving(*http);
		acceptor_run(acceptor);
		(void)systemd_notify("STOPPING=1\n");
	}
	http_drain(*http);
	service_destroy(service);
	if (hangup != NULL)
		event_free(hangup);
	health_destroy(health);
	return st;
}

static void
on_second(evutil_socket_t fd, short what, void *arg)
{
	const uint64_t active = stats_sum(STAT_sessions_active);
	const uint64_t snapshot = stats_sum(STAT_sessions_snapshot);

	log_report_suppressed();
	open_sessions_set(arg, active > snapshot ? active - snapshot : 0);
}

static void
tell_cut_before(uint64_t n)
{
	stats_add(stats_main(), STAT_sessions_cut, n);
	log_warn("sessions cut when the relay last ended: %" PRIu64
		 "; their tracers did not notice, and nothing is recorded "
		 "until the sessions are destroyed and created again",
	    n);
}

static void
tell_cut_now(uint64_t n)
{
	if (n > 0)
		log_warn("sessions cut by this stop: %" PRIu64
			 "; their tracers do not notice",
		    n);
}

static enum status
run(struct daemon *d, struct reload *reload)
{
	struct options *o = reload->options;
	struct disk_threads disk = { 0 };
	const struct timeval every_second = { .tv_sec = 1 };
	struct event *second = NULL;
	struct open_sessions open;
	uint64_t cut;
	struct http *http = NULL;
	struct acceptor *acceptor;
	enum status st;

	st = daemon_start(d, o);
	if (st != OK)
		return st;
	disk.disk.base_fd = output_open(o->output);
	if (disk.disk.base_fd < 0)
		return E_IO;
	cut = open_sessions_take(&open, o->run_dir);
	st = acceptor_create(&acceptor, o);
	if (st == OK)
		second = event_new(
		    acceptor_base(acceptor), -1, EV_PERSIST, on_second, &open);
	if (st == OK &&
	    (second == NULL || event_add(second, &every_second) != 0))
		st = E_NOMEM;
	if (st == OK)
		st = dir_registry_create(&disk.disk.registry);
	if (st == OK)
		st = retention_thread_create(
		    &disk.retention, disk.disk.registry, o);
	if (st == OK) {
		if (cut > 0)
			tell_cut_before(cut);
		disk.disk.stored = retention_thread_door(disk.retention);
		reload_tell(reload, retention_thread_reload, disk.retention);
		st = serve(d, reload, acceptor, &disk, &http);
	}
	if (second != NULL)
		event_free(second);
	acceptor_destroy(acceptor);
	/* After a failed start, the next start still reports the cut sessions.
	 */
	if (st == OK) {
		cut = stats_sum(STAT_ended_stop);
		tell_cut_now(cut);
	}
	open_sessions_end(&open, cut);
	/* Before HTTP, which it informs of deletions; after the workers, whose
	 * last notes it stores. */
	retention_thread_stop(disk.retention);
	http_destroy(http);
	syncer_stop(disk.disk.syncer);
	recovery_stop(disk.recovery);
	dir_registry_destroy(disk.disk.registry);
	close(disk.disk.base_fd);
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
	static struct options options;
	static struct daemon daemon;
	static struct reload reload;
	enum status st;

	/* Command line errors are printed without a time stamp. */
	(void)log_look_at_stderr(false);
	options_report_as_service(argc, argv);
	if (options_parse(&options, argc, argv) != OK)
		return EXIT_FAILURE;
	if (options.is_done)
		return EXIT_SUCCESS;
	if (options.check_config || options.print_config)
		return report(&options);
	if (start_log(&options) != OK)
		return EXIT_FAILURE;
	reload_init(&reload, &options, argc, argv);
	st = systemd_take_sockets(&options);
	if (st == OK)
		st = run(&daemon, &reload);
	daemon_end(&daemon);
	log_report_suppressed();
	return st == OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
