#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make records as doc/kafka.md lays them out: seed_kafka.py CORPUS VECTORS

CORPUS gets a file for each, with what fuzz_kafka.c reads; VECTORS is a file with
a line for each: name, key in the topic of sessions, value in hex."""
import pathlib
import struct
import sys

SESSION = "host-a/web-20261127-142414/1795789454/" \
          "000102030405060708090a0b0c0d0e0f"
STREAM = "ust/uid/1000/64-bit/channel0_3"
METADATA = "ust/uid/1000/64-bit/metadata"


def value(kind, fields, stream=None):
    name = b"" if stream is None else \
        struct.pack(">H", len(stream)) + stream.encode()
    return bytes([1, kind]) + name + fields


def packet(size, padding, offset, data):
    index = struct.pack(">10Q", 0, 0, (size + padding) * 8, size * 8,
                        1000, 2000, 3, 4, 5, 6)
    return value(4, index + struct.pack(">3I", size, padding, offset) + data,
                 STREAM)


def records():
    """(name, what follows the session in the key, value)"""
    yield "session", "session", value(1, struct.pack(">IB", 1000000, 1))
    yield "stream", f"stream/{STREAM}", value(2, b"", STREAM)
    yield "metadata", f"metadata/4096/{METADATA}", \
        value(3, struct.pack(">Q", 4096) + b"/* CTF 1.8 */\n", METADATA)
    yield "packet", f"packet/{STREAM}", packet(12, 4, 0, b"twelve bytes")
    yield "part", f"packet/{STREAM}", packet(12, 4, 7, b"bytes")
    yield "empty-packet", f"packet/{STREAM}", packet(0, 0, 0, b"")
    yield "beacon", f"beacon/{STREAM}", \
        value(5, struct.pack(">2Q", 123456789, 2), STREAM)
    yield "loss", f"loss/{STREAM}", value(6, struct.pack(">2Q", 17, 3), STREAM)
    yield "stream-end", f"stream-end/{STREAM}", \
        value(7, struct.pack(">Q", 20), STREAM)
    yield "session-end", "session-end", value(8, b"")
    yield "state", "state", \
        value(9, struct.pack(">B4Q", 1, 1795789999 * 10**9, 20, 81920, 3))


def main(corpus, vectors):
    lines = []
    for name, what, blob in records():
        key = f"{SESSION}/{what}".encode()
        pathlib.Path(corpus, name).write_bytes(
            struct.pack(">H", len(key)) + key + blob)
        lines.append(f"{name} {key.decode()} {blob.hex()}\n")
    pathlib.Path(vectors).write_text("".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
