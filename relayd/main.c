/* SPDX-License-Identifier: MIT */
/* tracepulse-relayd: read options, go to the background, start workers,
 * serve. */
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "relayd/process/daemon.h"
#include "relayd/net/health.h"
#include "relayd/lobby.h"
#include "relayd/process/options.h"
#include "store/journal_sync.h"
#include "store/output.h"
#include "store/recovery.h"

/* Peers need not wait longer than that for files of the past. */
#define RECOVERY_WAIT_NS NS_PER_S

static enum status
serve(struct daemon *d, const struct options *o, struct lobby *lobby)
{
	struct daemon_ports ports = {
		.control = lobby_control_port(lobby),
		.data = lobby_data_port(lobby),
		.live = lobby_live_port(lobby),
	};
	struct health_config config = {
		.path = d->health_path,
		.group = d->has_group ? d->group : HEALTH_NO_GROUP,
		.mask = lobby_health,
		.arg = lobby,
	};
	struct health *health;
	enum status st;

	st = health_create(&health, lobby_base(lobby), &config);
	if (st != OK)
		return st;
	st = daemon_ready(d, &ports);
	if (st == OK) {
		lobby_run(lobby);
		daemon_stopping(d);
	}
	health_destroy(health);
	return st;
}

static enum status
run(struct daemon *d, struct options *o)
{
	struct lobby_disk disk = { 0 };
	struct recovery_thread *recovery;
	struct lobby *lobby = NULL;
	enum status st;

	st = daemon_start(d, o);
	if (st != OK)
		return st;
	disk.base_fd = output_open(o->output);
	if (disk.base_fd < 0)
		return E_IO;
	recovery_start(&recovery, disk.base_fd, RECOVERY_WAIT_NS);
	if (o->sync == SYNC_TIME)
		st = syncer_start(&disk.syncer, disk.base_fd, o->sync_time_ns);
	if (st == OK)
		st = lobby_create(&lobby, o, &disk);
	if (st == OK)
		st = serve(d, o, lobby);
	lobby_destroy(lobby);
	syncer_stop(disk.syncer);
	recovery_stop(recovery);
	close(disk.base_fd);
	return st;
}

int
main(int argc, char **argv)
{
	static struct options options;
	static struct daemon daemon;
	enum status st;

	if (options_parse(&options, argc, argv) != OK)
		return EXIT_FAILURE;
	if (options.is_done)
		return EXIT_SUCCESS;
	log_set_level(options_log_level(&options));
	log_set_abort_on_error(options.abort_on_error);
	st = run(&daemon, &options);
	daemon_end(&daemon);
	return st == OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
