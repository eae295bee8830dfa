#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cut the recorded control streams into seeds: seed_corpus.py VECTORS OUT

One seed for each command and payload size (the first 256 bytes of metadata
are enough), and the beginning of each recording. The first byte of a seed is
the session's minor.
"""
import pathlib
import struct
import sys

HEADER = struct.Struct(">QQII")
MINOR = bytes([13])
LARGEST = 4096


def messages(stream):
    at = 0
    while at < len(stream):
        _, size, cmd, _ = HEADER.unpack_from(stream, at)
        end = at + HEADER.size + size
        yield cmd, stream[at:end]
        at = end


def cut_metadata(cmd, message):
    if cmd != 6 or len(message) < 256:
        return message
    payload = message[HEADER.size:256]
    return HEADER.pack(0, len(payload), cmd, 0) + payload


def old(cmd, minor, payload):
    return bytes([minor]) + HEADER.pack(0, len(payload), cmd, 0) + payload


def field(text, size):
    return text.ljust(size, b"\0")


def synthetic():
    """Shapes that no recording has (streaming 10)."""
    yield "create_session-2.1", old(2, 1, b"")
    yield "add_stream-2.1", old(1, 1, field(b"c_0", 264)
                                + field(b"h//s-date/ust/", 4096))
    yield "create_session-2.4", old(2, 4, field(b"s", 255) + field(b"h", 64)
                                    + struct.pack(">II", 1000000, 1))
    yield "add_stream-2.2", old(1, 4, field(b"c_0", 264)
                                + field(b"/h/s-date/ust/", 4096)
                                + struct.pack(">QQ", 8192, 3))
    yield "send_index-2.4", old(13, 4, struct.pack(">8Q", *range(1, 9)))
    yield "create_session-2.15", old(
        2, 15, struct.pack(">IIIIBB", 2, 2, 4, 0, 0, 1) + b"u" * 16
        + struct.pack(">QQBQI", 1, 2, 1, 3, 2) + b"s\0h\0a/b\0")
    rest = struct.pack(">QQQ", 1, 1, 5)
    for hole in 0, 3:
        yield f"rotate-hole-{hole}", old(
            18, 13, struct.pack(">IB", 1, 1) + b"\xaa" * hole + rest)
    yield "start_data", old(3, 13, b"")
    yield "udp_open", old(10001, 13, struct.pack(">IIIIQ", 1, 1392, 64, 1,
                                                 250_000))
    yield "udp_open-short", old(10001, 13, b"private")
    yield "udp_status", old(10002, 13, struct.pack(">Q", 0xffffffffffffffff))
    yield "resume", old(10003, 13, bytes(range(16)))
    yield "stream_written", old(10004, 13, struct.pack(">Q", 1))
    yield "unknown", old(9999, 13, b"private")


def main(vectors, out):
    seeds = dict(synthetic())
    for path in sorted(pathlib.Path(vectors).glob("*/ctl*.c2s.bin")):
        start = b""
        for cmd, message in messages(path.read_bytes()):
            message = cut_metadata(cmd, message)
            seeds.setdefault(f"{cmd:02}-{len(message)}", MINOR + message)
            if len(start) + len(message) < LARGEST:
                start += message
        seeds[f"{path.parent.name}-{path.name[:4].rstrip('.')}"] = MINOR + start
    for name, seed in seeds.items():
        (pathlib.Path(out) / name).write_bytes(seed)


if __name__ == "__main__":
    main(*sys.argv[1:])
