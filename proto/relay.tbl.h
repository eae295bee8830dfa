/* SPDX-License-Identifier: MIT */
/* clang-format off: the columns are the table */
/*
 * The control port, one row per command (streaming 2.7).
 *
 *    wire  name                since  allowed in                     max payload
 *
 * since: the first minor that has the command. The session's minor counts if
 * there is a session, else the connection's. Allowed in: NEW (no session on
 * this connection yet) or SESSION. A payload above the last column closes the
 * connection at its header.
 */
#define RELAY_SMALL (8 * 1024)		 /* fixed parts and names */
#define RELAY_POSITIONS (1024 * 1024)	 /* 65,535 positions of 16 bytes */
#define RELAY_METADATA (128 * 1024 * 1024) /* what lttng-relayd takes */

RELAY(1,  add_stream,         0,  IN_SESSION,          RELAY_SMALL)
RELAY(2,  create_session,     0,  IN_NEW | IN_SESSION, RELAY_SMALL)
RELAY(3,  start_data,         0,  IN_SESSION,          RELAY_SMALL)
RELAY(5,  version,            0,  IN_NEW | IN_SESSION, RELAY_SMALL)
RELAY(6,  send_metadata,      0,  IN_SESSION,          RELAY_METADATA)
RELAY(7,  close_stream,       0,  IN_SESSION,          RELAY_SMALL)
RELAY(8,  data_pending,       0,  IN_SESSION,          RELAY_SMALL)
RELAY(9,  quiescent_control,  0,  IN_SESSION,          RELAY_SMALL)
RELAY(10, begin_data_pending, 0,  IN_SESSION,          RELAY_SMALL)
RELAY(11, end_data_pending,   0,  IN_SESSION,          RELAY_SMALL)
RELAY(13, send_index,         4,  IN_SESSION,          RELAY_SMALL)
RELAY(16, streams_sent,       4,  IN_SESSION,          RELAY_SMALL)
RELAY(17, reset_metadata,     8,  IN_SESSION,          RELAY_SMALL)
RELAY(18, rotate_streams,     11, IN_SESSION,          RELAY_POSITIONS)
RELAY(19, create_trace_chunk, 11, IN_SESSION,          RELAY_SMALL)
RELAY(20, close_trace_chunk,  11, IN_SESSION,          RELAY_SMALL)
RELAY(21, trace_chunk_exists, 11, IN_SESSION,          RELAY_SMALL)
RELAY(22, get_configuration,  0,  IN_NEW | IN_SESSION, RELAY_SMALL)
/* From 10000 on: tracepulse's own (proto/udp.h, resume 1). */
RELAY(10001, udp_open,        4,  IN_SESSION,          RELAY_SMALL)
RELAY(10002, udp_status,      4,  IN_SESSION,          RELAY_SMALL)
RELAY(10003, resume,          11, IN_NEW,              RELAY_SMALL)
RELAY(10004, stream_written,  11, IN_SESSION,          RELAY_SMALL)

#undef RELAY_SMALL
#undef RELAY_POSITIONS
#undef RELAY_METADATA
