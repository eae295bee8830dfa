# SPDX-License-Identifier: MIT
"""A trace made here, as a tracer would have written it, with packets of many
sizes; and which of its packets are in a tree that a relay wrote."""
import collections
import json
import os
import random
import struct

import tree
from world import check

STREAMS = ("ch0_0", "ch0_1")
METADATA = b"""/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le;
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
event { name = "demo:ev"; id = 0; stream_id = 0;
 fields := struct { u64 n; string text; }; };
"""
HEAD = struct.Struct("<4sIQQQQQQ")
EVENT_NS = 1000


def packet(seq, first, sizes):
    """Events numbered from FIRST on; one text of each of SIZES."""
    body = b"".join(
        struct.pack("<QQ", (first + i) * EVENT_NS, first + i)
        + b"%c" % (97 + (first + i) % 26) * size + b"\0"
        for i, size in enumerate(sizes))
    bits = 8 * (HEAD.size + len(body))
    return HEAD.pack(tree.PACKET_MAGIC, 0, first * EVENT_NS,
                     (first + len(sizes) - 1) * EVENT_NS, bits, bits, seq, 0) \
        + body


def make(path, packets, largest, seed=1):
    """A trace in PATH of two streams that take turns, PACKETS packets each of
    up to LARGEST bytes; the numbers of its events, in order."""
    rng = random.Random(seed)
    os.makedirs(path)
    with open(os.path.join(path, "metadata"), "wb") as handle:
        handle.write(METADATA)
    event = 0
    files = [open(os.path.join(path, name), "wb") for name in STREAMS]
    for seq in range(packets):
        for handle in files:
            count = rng.randint(1, 4)
            most = (largest - HEAD.size) // count - 17
            sizes = [rng.randint(1, most) for _ in range(count)]
            handle.write(packet(seq, event, sizes))
            event += count
    for handle in files:
        handle.close()
    return list(range(event))


def on_disk(path):
    """{stream: numbers of the packets that are in the tree}, in order."""
    found = {}
    for index, data in tree.index_files(path):
        stream = os.path.basename(data)
        check(stream not in found, f"two files of {stream}")
        found[stream] = [record[8] for record in tree.read_index(index)[1]]
    return found


def in_loss_log(path):
    """{stream: numbers of the packets that .loss.jsonl lists}"""
    found = collections.defaultdict(list)
    for folder, _, files in os.walk(path):
        if ".loss.jsonl" not in files:
            continue
        with open(os.path.join(folder, ".loss.jsonl")) as lines:
            for gap in map(json.loads, lines):
                found[gap["stream"]] += range(gap["first"],
                                              gap["first"] + gap["lost"])
    return dict(found)
