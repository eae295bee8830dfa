# SPDX-License-Identifier: MIT
"""A CTF trace of one event a packet, as a tracer would have written it, and
what babeltrace2 reads of it."""
import os
import re
import struct
import subprocess

from relay import equal, has

METADATA = b"""/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = be;
 packet.header := struct {
  integer { size = 32; align = 8; signed = 0; base = 16; } magic;
  integer { size = 32; align = 8; signed = 0; } stream_id; }; };
clock { name = c; uuid = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
 freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 8; signed = 0;
 map = clock.c.value; } := stamp;
typealias integer { size = 64; align = 8; signed = 0; } := u64;
stream { id = 0;
 packet.context := struct { stamp timestamp_begin; stamp timestamp_end;
  u64 content_size; u64 packet_size; u64 packet_seq_num;
  u64 events_discarded; };
 event.header := struct { stamp timestamp; }; };
event { name = tick; id = 0; stream_id = 0;
 fields := struct { u64 n; }; };
"""


def packet(seq, padding=0):
    """Number SEQ, with event SEQ; PADDING bytes are to follow it."""
    begin, end = 1000 * seq, 1000 * seq + 10
    body = struct.pack(">QQ", begin + 1, seq)
    size = 8 * (8 + 48 + len(body))
    return struct.pack(">IIQQQQQQ", 0xC1FC1FC1, 0, begin, end, size,
                       size + 8 * padding, seq, 0) + body


def read(*paths):
    """(numbers of the events, complaints) of babeltrace2; None: there is
    none here."""
    if not has("babeltrace2", "what babeltrace2 reads"):
        return None
    found = subprocess.run(
        ["babeltrace2", *map(str, paths)], capture_output=True, text=True,
        env={**os.environ, "LC_ALL": "C"}, check=False)
    equal(found.returncode, 0, found.stderr)
    return ([int(n) for n in re.findall(r"n = (\d+)", found.stdout)],
            found.stderr)
