/* SPDX-License-Identifier: MIT */
/* What holds when nobody says anything. */
#include "relayd/process/options_internal.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "relayd/process/machine.h"
#include "relayd/process/sandbox.h"

#define WORKERS_DEFAULT_MAX 8
#define KEEP_AT_LEAST (3600 * NS_PER_S)
#define PACKET_SIZE_DEFAULT (UINT64_C(256) << 20)

/* The hard limit counts, as daemon_start() raises the soft limit to it. */
unsigned
options_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 1024;
	return limit.rlim_max > INT_MAX ? INT_MAX : (unsigned)limit.rlim_max;
}

void
options_set_defaults(struct options *o)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	const uint64_t memory = machine_memory("");

	*o = (struct options){
		.control = { .family = AF_INET, .host = "0.0.0.0" },
		.data = { .family = AF_INET, .host = "0.0.0.0" },
		.live = { .family = AF_INET, .host = "localhost" },
		.has_http = true,
		.http = { .family = AF_INET, .host = "localhost" },
		.group = "tracing",
		.fd_pool_size = options_descriptor_limit(),
		.workers = 1,
		.live_workers = 1,
		.live_hold = true,
		.log_level = -1,
		.max_memory = UINT64_C(256) << 20,
		.max_packet_size = PACKET_SIZE_DEFAULT,
		.index_lock_timeout_ns = NS_PER_S,
		.keep_at_least_ns = KEEP_AT_LEAST,
		.sandbox = SANDBOX_LANDLOCK | SANDBOX_SECCOMP,
	};
	if (cores > 0)
		o->workers = cores > WORKERS_DEFAULT_MAX ? WORKERS_DEFAULT_MAX
							 : (unsigned)cores;
	if (memory > 0)
		o->max_memory = memory / 4 > MEMORY_MIN ? memory / 4
							: MEMORY_MIN;
}

enum log_level
options_log_level(const struct options *o)
{
	if (o->log_level >= 0 &&
	    (o->verbose == 0 ||
		o->from[OPT_LOG_LEVEL].kind >= o->from[OPT_VERBOSE].kind))
		return (enum log_level)o->log_level;
	if (o->verbose == 0)
		return o->is_watched || o->log_file[0] != '\0' ? LOG_NOTICE
							       : LOG_WARN;
	return o->verbose == 1 ? LOG_INFO : LOG_DEBUG;
}
