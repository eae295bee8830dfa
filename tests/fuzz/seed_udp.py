#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seeds for fuzz_udp: seed_udp.py CORPUS"""
import pathlib
import struct
import sys

A, B = 0x100, 0x200
NONE = 0xffffffffffffffff


def take(kind, blob):
    return struct.pack(">BH", kind, len(blob)) + blob


def datagram(stream, seq, size, at, padding=0, magic=0x54505544):
    piece = bytes([seq & 255]) * min(512, size - at)
    return struct.pack(">IBBH16sQQIIII", magic, 1, 0, 56, b"", stream, seq,
                       size, padding, at, 0) + piece


def packet(stream, seq, size, padding=0, but=()):
    return [take(0, datagram(stream, seq, size, at, padding))
            for at in range(0, size, 512) or [0] if at not in but]


def request(command, payload):
    return take(2, struct.pack(">QQII", 0, len(payload), command, 0) + payload)


def index(stream, seq, size):
    return request(13, struct.pack(">10Q", stream, seq, size * 8, size * 8, 0,
                                   0, 0, 0, 0, seq))


def time(ms10):
    return struct.pack(">BH", 3, ms10)


def seeds():
    """name -> what happens"""
    status = request(10002, struct.pack(">Q", NONE))
    yield "order", [
        *packet(A, 0, 1500, 36), index(A, 0, 1536), *packet(B, 0, 0, 8),
        index(B, 0, 8), *packet(A, 1, 512), index(A, 1, 512),
        request(8, struct.pack(">QQ", A, 1))]
    yield "gap", [
        *packet(A, 1, 700), index(A, 0, 700), index(A, 1, 700),
        *packet(A, 0, 1400, but=(512,)), status, time(6), status,
        *packet(A, 0, 1400), request(7, struct.pack(">QQ", A, 2)), time(6)]
    yield "window", [
        blob for seq in range(1, 9) for blob in
        (*packet(B, seq, 600, but=(512,) if seq == 3 else ()),
         index(B, seq, 600))] + [status]
    yield "many", [
        blob for seq in range(40) for blob in
        packet(A, seq, 200000, but=range(512, 199000, 512))] + [status]
    yield "lies", [
        take(1, datagram(A, 0, 100, 0)), take(0, datagram(A, 0, 100, 0, 0, 1)),
        take(0, datagram(A, 0, 2000, 0)), take(0, datagram(A, 0, 2001, 512)),
        take(0, datagram(A, 0, 2000, 0)[:-1]), take(0, b"TPUD"),
        take(0, datagram(A, NONE, 10, 0)), take(0, datagram(7, 0, 10, 0)),
        take(0, datagram(A | 1, 0, 10, 0))]
    yield "rotate", [
        *packet(A, 0, 100), index(A, 0, 100), index(A, 1, 100),
        request(19, struct.pack(">QQI", 1, 1800000001, 0)),
        request(18, struct.pack(">IB7sQQQ", 1, 1, b"", 1, A, 2)), time(6),
        request(20, struct.pack(">QQBI", 0, 1800000002, 1, 2)), time(6)]


def main():
    for name, parts in seeds():
        pathlib.Path(sys.argv[1], name).write_bytes(b"".join(parts))


if __name__ == "__main__":
    main()
