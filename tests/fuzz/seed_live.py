#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cut the recorded viewer connections into seeds: seed_live.py DIALOGUES OUT

The first requests of each, one behind the other. Sessions become 1, metadata
streams 1, data streams 2 and 3, as in the target's registry.
"""
import pathlib
import struct
import sys

RECORD = struct.Struct(">BQI")
REQUESTS = 120
SESSION, DATA, METADATA = (3, 7, 9), (4, 5), (6,)


def requests(data):
    at = 0
    while at < len(data):
        is_reply, _, size = RECORD.unpack_from(data, at)
        at += RECORD.size
        if not is_reply:
            yield bytearray(data[at:at + size])
        at += size


def main(dialogues, out):
    for path in sorted(pathlib.Path(dialogues).glob("*.bin")):
        ids, seed = {}, b""
        for request in list(requests(path.read_bytes()))[:REQUESTS]:
            command = struct.unpack_from(">I", request, 8)[0]
            if command in SESSION + METADATA:
                struct.pack_into(">Q", request, 16, 1)
            elif command in DATA:
                stream = struct.unpack_from(">Q", request, 16)[0]
                stream = ids.setdefault(stream, 2 + len(ids) % 2)
                struct.pack_into(">Q", request, 16, stream)
            seed += request
        name = path.stem.removeprefix("live-")
        (pathlib.Path(out) / name).write_bytes(seed)


if __name__ == "__main__":
    main(*sys.argv[1:])
