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
    "Bytes of complete packets received")
STAT(received_udp_bytes, COUNTER, "received_bytes_total", "transport", "udp",
    "Bytes of complete packets received")
STAT(received_tcp_packets, COUNTER, "received_packets_total", "transport",
    "tcp", "Complete packets received")
STAT(received_udp_packets, COUNTER, "received_packets_total", "transport",
    "udp", "Complete packets received")
STAT(metadata_bytes, COUNTER, "metadata_bytes_total", "", "",
    "Bytes of metadata received")
STAT(written_bytes, COUNTER, "written_bytes_total", "", "",
    "Bytes of packets written to data files")
STAT(written_packets, COUNTER, "written_packets_total", "", "",
    "Packets written to data files")
STAT(index_records, COUNTER, "index_records_total", "", "",
    "Records written to index files")
STAT(beacons, COUNTER, "beacons_total", "", "",
    "Beacons received: time stamps without a packet")
STAT(corrected_records, COUNTER, "corrected_records_total", "", "",
    "Index records corrected because their size differed from the packet's")
STAT(gaps, COUNTER, "gaps_total", "", "",
    "Gaps in packet numbers, after which the relay continued")
STAT(write_errors, COUNTER, "write_errors_total", "", "", "Writes that failed")
STAT(forced_locks, COUNTER, "forced_locks_total", "", "",
    "Index writes made although a reader held the file's lock")
#define LOSS(name, text)                                                 \
	STAT(lost_##name, COUNTER, "lost_packets_total", "cause", #name, \
	    "Packets lost")
#include "relayd/stats/reasons.tbl.h"
STAT(reloads_good, COUNTER, "config_reloads_total", "result", "success",
    "Reloads of the settings")
STAT(reloads_bad, COUNTER, "config_reloads_total", "result", "failure",
    "Reloads of the settings")
STAT(
    sessions_began, COUNTER, "sessions_began_total", "", "", "Sessions started")
#define WHY(name, text)                                                   \
	STAT(ended_##name, COUNTER, "sessions_ended_total", "why", #name, \
	    "Sessions ended")
#include "relayd/stats/reasons.tbl.h"
STAT(sessions_cut, GAUGE, "sessions_cut", "", "",
    "Sessions that were open when the relay last ended: their tracers "
    "continue, but nothing is recorded")
STAT(restored_sessions, GAUGE, "restored", "what", "sessions",
    "What a restart took over from the process before")
STAT(restored_connections, GAUGE, "restored", "what", "connections",
    "What a restart took over from the process before")
STAT(restored_viewers, GAUGE, "restored", "what", "viewers",
    "What a restart took over from the process before")
STAT(unrestored_connections, GAUGE, "unrestored", "what", "connections",
    "What a restart had to close; sessions are in sessions_cut")
STAT(unrestored_viewers, GAUGE, "unrestored", "what", "viewers",
    "What a restart had to close; sessions are in sessions_cut")
STAT(sessions_active, GAUGE, "sessions", "state", "active",
    "Open sessions, by state")
STAT(sessions_ending, GAUGE, "sessions", "state", "ending",
    "Open sessions, by state")
STAT(sessions_waiting, GAUGE, "sessions", "state", "waiting",
    "Open sessions, by state")
STAT(lingering_sessions, GAUGE, "lingering_sessions", "", "",
    "Ended sessions that viewers can still read (--live-linger)")
STAT(sessions_snapshot, GAUGE, "snapshot_sessions", "", "",
    "Active sessions that hold one snapshot each: a restart does not cut them")
STAT(streams, GAUGE, "streams", "", "", "Open streams")
STAT(files, GAUGE, "open_files", "", "", "Open descriptors of trace files")
STAT(disk_full, GAUGE, "disk_full", "", "",
    "Workers that cannot write because the disk is full")
STAT(viewers, GAUGE, "viewers", "", "",
    "Attached viewers, counted once for each session")
STAT(viewers_came, COUNTER, "viewers_came_total", "", "",
    "Attachments of viewers to sessions")
STAT(sent_bytes, COUNTER, "sent_bytes_total", "", "", "Bytes sent to viewers")
STAT(trace_bytes, GAUGE, "trace_bytes", "", "",
    "Bytes of the traces in the output directory that the relay knows")
STAT(unnoted, COUNTER, "unnoted_total", "", "",
    "Directories that are never deleted, because memory for notes was short")
#define DELETED(name, text)                                             \
	STAT(deleted_##name, COUNTER, "deleted_total", "reason", #name, \
	    "Sessions, chunks and snapshots deleted")
#include "relayd/stats/reasons.tbl.h"
#define DELETED(name, text)                                                  \
	STAT(deleted_bytes_##name, COUNTER, "deleted_bytes_total", "reason", \
	    #name, "Bytes deleted")
#include "relayd/stats/reasons.tbl.h"
STAT(deleted_window, COUNTER, "deleted_bytes_total", "reason", "live_window",
    "Bytes deleted")
STAT(deleted_youngest, GAUGE, "deleted_youngest_seconds", "", "",
    "Shortest time from the end of a trace to its deletion; 0: none deleted")
/* The rows of relayd/record/udp_count.tbl.h, in its order. */
#define DATAGRAMS(name)                                                 \
	STAT(udp_##name, COUNTER, "udp_datagrams_total", "what", #name, \
	    "Datagrams by result; doc/udp.md, section 2, explains the labels")
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
