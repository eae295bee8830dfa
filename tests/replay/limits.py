#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What one peer may make the daemon keep: halves of packets, small and many.
Starts daemons of its own."""
import struct
import sys
import threading

import relay
from relay import check, equal

MIB = 1024 * 1024
MEMORY = "128M"


def flood(session, size, count):
    """Packets without records until the daemon reads no more; the bytes of
    them that it, and the sockets between, took."""
    blob = b"".join(
        struct.pack(">QQQII", 0, session.stream, seq, size, 0) + bytes(size)
        for seq in range(count))
    session.data.sock.settimeout(1)
    sent = 0
    try:
        while sent < len(blob):
            sent += session.data.sock.send(blob[sent:sent + MIB])
    except TimeoutError:
        pass
    return sent


def small_packets(size, count, most):
    with relay.Daemon("--max-memory", MEMORY) as daemon, \
            relay.neighbour(daemon) as good:
        hoard = relay.Session(daemon, "hoard")
        before = daemon.rss()
        sent = flood(hoard, size, count)
        grown = daemon.rss() - before
        check(sent < most, f"{sent >> 20} MiB of them were taken")
        check(grown < 100 * MIB, f"{grown >> 20} MiB are held")
        # Its memory is not all there is.
        for _ in range(10):
            good.packet()
        good.wait_written()
        hoard.control.close()
        hoard.data.close()


def empty_packets_count():
    small_packets(0, 2_000_000, 40 * MIB)


def tiny_packets_count():
    small_packets(1, 600_000, 16 * MIB)


def records_of_many_streams():
    """Of one stream 65,536 may wait; of all of a session twice as many."""
    with relay.Daemon("--max-memory", MEMORY) as daemon, \
            relay.neighbour(daemon):
        hoard = relay.Session(daemon, "hoard")
        streams = [hoard.add(f"x_{n}") for n in range(8)]
        replies = bytearray()

        def listen():
            try:
                while part := hoard.control.sock.recv(65536):
                    replies.extend(part)
            except OSError:
                pass
        listener = threading.Thread(target=listen)
        listener.start()
        try:
            for stream in streams:
                hoard.control.send(b"".join(
                    relay.frame(relay.SEND_INDEX,
                                relay.index_request(stream, seq, 4096))
                    for seq in range(60_000)))
        except OSError:
            pass
        hoard.control.sock.settimeout(1)
        listener.join()
        codes = struct.unpack(f">{len(replies) // 4}I", replies)
        check(len(codes) <= 131_073, f"{len(codes)} records were taken")
        equal(set(codes[:100_000]), {relay.OK}, "the first")


CASES = [empty_packets_count, tiny_packets_count, records_of_many_streams]

if __name__ == "__main__":
    sys.exit(relay.run(CASES, sys.argv[1:]))
