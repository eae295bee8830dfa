/* SPDX-License-Identifier: MIT */
/* clang-format off: the columns are the table */
/*
 * The viewer port, one row per command (live 1.4).
 *
 *   wire  name             allowed in                    payload  status at
 *
 * Allowed in: NEW (before CONNECT) or GREETED. A command that needs
 * CREATE_SESSION and comes without it gets one of its own status codes. The
 * payload's size follows from the command: the header's data_size is wrong in
 * requests of common clients. Status at: the offset of the status in the reply;
 * -1: there is none.
 */
LIVE(1,  connect,         LIVE_IN_NEW | LIVE_IN_GREETED, 20,       -1)
LIVE(2,  list_sessions,   LIVE_IN_GREETED,               0,        -1)
LIVE(3,  attach_session,  LIVE_IN_GREETED,               20,       0)
LIVE(4,  get_next_index,  LIVE_IN_GREETED,               8,        56)
LIVE(5,  get_packet,      LIVE_IN_GREETED,               20,       0)
LIVE(6,  get_metadata,    LIVE_IN_GREETED,               8,        8)
LIVE(7,  get_new_streams, LIVE_IN_GREETED,               8,        0)
LIVE(8,  create_session,  LIVE_IN_GREETED,               0,        0)
LIVE(9,  detach_session,  LIVE_IN_GREETED,               8,        0)
