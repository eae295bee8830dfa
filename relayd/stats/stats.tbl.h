/* SPDX-License-Identifier: MIT */
/* clang-format off: the columns are the table */
/*
 * What one thread counts. The metric's name has the prefix tracepulse_; the
 * member in the JSON has the same name without it. Rows of one metric stand
 * together. A row without a label has "" twice. GAUGE: what there is now;
 * COUNTER: only grows.
 *   name  kind  metric  label  value  help
 */
STAT(received_tcp_bytes, COUNTER, "received_bytes_total", "transport", "tcp",
    "Bytes of whole packets that arrived")
STAT(received_udp_bytes, COUNTER, "received_bytes_total", "transport", "udp",
    "Bytes of whole packets that arrived")
STAT(received_tcp_packets, COUNTER, "received_packets_total", "transport",
    "tcp", "Whole packets that arrived")
STAT(received_udp_packets, COUNTER, "received_packets_total", "transport",
    "udp", "Whole packets that arrived")
STAT(metadata_bytes, COUNTER, "metadata_bytes_total", "", "",
    "Bytes of metadata that arrived")
STAT(written_bytes, COUNTER, "written_bytes_total", "", "",
    "Bytes of packets that are in data files")
STAT(written_packets, COUNTER, "written_packets_total", "", "",
    "Packets that are in data files")
STAT(index_records, COUNTER, "index_records_total", "", "",
    "Records that are in index files")
STAT(beacons, COUNTER, "beacons_total", "", "",
    "Time stamps without a packet that arrived")
STAT(corrected_records, COUNTER, "corrected_records_total", "", "",
    "Index records whose size was not the packet's")
STAT(gaps, COUNTER, "gaps_total", "", "",
    "Times that the relay stopped waiting for missing packet numbers")
STAT(write_errors, COUNTER, "write_errors_total", "", "",
    "Writes that failed")
STAT(forced_locks, COUNTER, "forced_locks_total", "", "",
    "Times that records were written although a reader had the lock")
#define LOSS(name, text) \
	STAT(lost_##name, COUNTER, "lost_packets_total", "cause", #name, \
	    "Packets that were lost")
#include "relayd/stats/reasons.tbl.h"
STAT(reloads_good, COUNTER, "config_reloads_total", "result", "success",
    "Times that the settings were read again")
STAT(reloads_bad, COUNTER, "config_reloads_total", "result", "failure",
    "Times that the settings were read again")
STAT(sessions_began, COUNTER, "sessions_began_total", "", "",
    "Sessions that began")
#define WHY(name, text) \
	STAT(ended_##name, COUNTER, "sessions_ended_total", "why", #name, \
	    "Sessions that ended")
#include "relayd/stats/reasons.tbl.h"
STAT(sessions_cut, GAUGE, "sessions_cut", "", "",
    "Sessions that were open when the relay last ended: their tracers go on "
    "unrecorded")
STAT(sessions_active, GAUGE, "sessions", "state", "active",
    "Sessions that exist")
STAT(sessions_ending, GAUGE, "sessions", "state", "ending",
    "Sessions that exist")
STAT(sessions_snapshot, GAUGE, "snapshot_sessions", "", "",
    "Active sessions that are for one snapshot each: a restart cuts nothing")
STAT(streams, GAUGE, "streams", "", "",
    "Streams that are open")
STAT(files, GAUGE, "open_files", "", "",
    "Descriptors of trace files")
STAT(disk_full, GAUGE, "disk_full", "", "",
    "Workers without space on the disk")
STAT(viewers, GAUGE, "viewers", "", "",
    "Viewers that are attached, once for each session")
STAT(viewers_came, COUNTER, "viewers_came_total", "", "",
    "Times that a viewer attached to a session")
STAT(sent_bytes, COUNTER, "sent_bytes_total", "", "",
    "Bytes sent to viewers")
STAT(trace_bytes, GAUGE, "trace_bytes", "", "",
    "Bytes of the traces that the relay has noted")
STAT(unnoted, COUNTER, "unnoted_total", "", "",
    "Directories that are never deleted, because there was no memory to note them")
#define DELETED(name, text) \
	STAT(deleted_##name, COUNTER, "deleted_total", "reason", #name, \
	    "Sessions, chunks and snapshots that were deleted")
#include "relayd/stats/reasons.tbl.h"
#define DELETED(name, text) \
	STAT(deleted_bytes_##name, COUNTER, "deleted_bytes_total", "reason", \
	    #name, "Bytes of what was deleted")
#include "relayd/stats/reasons.tbl.h"
STAT(deleted_window, COUNTER, "deleted_bytes_total", "reason", "live_window",
    "Bytes of what was deleted")
STAT(deleted_youngest, GAUGE, "deleted_youngest_seconds", "", "",
    "Least time from the end of a trace to its deletion, rounded up; 0: none")
/* The rows of relayd/record/udp_count.tbl.h, in its order. */
#define DATAGRAMS(name) \
	STAT(udp_##name, COUNTER, "udp_datagrams_total", "what", #name, \
	    "Datagrams by result, as in udp 2")
DATAGRAMS(taken)
DATAGRAMS(resent)
DATAGRAMS(forwarded)
DATAGRAMS(kernel)
DATAGRAMS(malformed)
DATAGRAMS(stream)
DATAGRAMS(token)
DATAGRAMS(checksum)
DATAGRAMS(figures)
DATAGRAMS(contradiction)
DATAGRAMS(duplicate)
DATAGRAMS(late)
DATAGRAMS(memory)
#undef DATAGRAMS
