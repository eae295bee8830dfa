#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Peers of 2.11 to 2.15: the same session, spoken in each of them, leaves the
same tree and gives viewers the same. Starts daemons of its own."""
import struct
import sys

import relay
import viewer
from relay import check, equal
from viewer import (ATTACHED, INACTIVE, OK, PACKET_OK, Viewer, attached,
                    greeted, ids)

CTF_1, CTF_2 = 1, 2


class Peer(relay.Session):
    """Its packets begin and end at times that grow; CREATE_SESSION has the
    trace format from 2.15 on."""

    def __init__(self, daemon, minor, ctf=CTF_1):
        fields = {"ctf": ctf} if minor >= 15 else {}
        super().__init__(daemon, "same", minor=minor, live=1_000_000,
                         **fields)

    def packets(self, count):
        for _ in range(count):
            self.packet(begin=1000 * self.seq, end=1000 * self.seq + 999)
        self.wait_written()


def seen_by_a_viewer(daemon, minor):
    """What a viewer reads of the first three packets."""
    v = greeted(daemon, minor)
    found = v.find("same")
    streams = v.ready(found.id)
    stream, meta = ids(streams)
    out = [found[1:], v.metadata(meta)]
    for _ in range(3):
        i = v.next_index(stream)
        equal(i.status, OK, "index")
        status, data = v.packet(stream, i.offset, i.size // 8)
        equal(status, PACKET_OK, "packet")
        out += [i[:-2], data]
    v.close()
    return out


def story(minor):
    """(tree, what a viewer saw, paths of the closed chunks)"""
    with relay.Daemon() as daemon:
        s = Peer(daemon, minor)
        s.control.metadata(s.meta, b"meta", 4092)
        s.packets(3)
        s.control.index(s.stream, 3, 0, end=5000)
        seen = [seen_by_a_viewer(daemon, v) for v in (4, 15)]
        equal(seen[0], seen[1], "viewers of 2.4 and 2.15")
        paths = [s.next_chunk(1, None)]
        s.packets(2)
        paths.append(s.next_chunk(2, 0))      # moved away
        s.packets(1)
        paths.append(s.next_chunk(3, 2))      # deleted
        s.packets(4)
        s.control.metadata(s.meta, b"meta", 4092)
        s.control.close_stream(s.meta)
        s.control.close_stream(s.stream, s.seq - 1)
        s.leave()
        daemon.stop()
        tree = daemon.tree()
        check(sum(v is not None for v in tree.values()) > 4, "a poor tree")
        return tree, seen, paths


def from_2_11_to_2_15():
    want = story(13)    # the stock peer's, recorded
    for minor in (11, 12, 14, 15, 16, 40):
        equal(story(minor), want, f"2.{minor}")


def listed_formats(v):
    """name -> the last field of its record of 2.15: 0 is CTF 1.8, 1 CTF 2."""
    v.send(viewer.frame(viewer.LIST))
    formats = {}
    for _ in range(v.unpack(">I")[0]):
        *_, host, size, ctf = v.unpack(">QIIIIII")
        v.read(host)
        formats[v.read(size).decode()] = ctf
    return formats


def the_trace_format_of_2_15():
    with relay.Daemon() as daemon, relay.bystander(daemon):
        for ctf in (0, 3, 0xffffffff):
            c = daemon.peer(15)
            equal(c.create_session(name="bad", ctf=ctf, want=relay.FATAL),
                  (0, relay.FATAL, ""), f"format {ctf}")
            c.close()
        two = Peer(daemon, 15, CTF_2)
        two.packets(1)
        modern, old = Viewer(daemon, 15), Viewer(daemon, 14)
        for v in (modern, old):
            v.connect()
        for v in (modern, old):
            v.find("good")
        modern.find("same")
        equal(listed_formats(modern), {"good": 0, "same": 1}, "LIST")
        modern.create()
        old.create()
        ident = modern.find("same").id
        equal([x.name for x in old.list()], ["good"], "a viewer of 2.14")
        equal(modern.attach(ident)[0], ATTACHED, "a viewer of 2.15")
        check(old.attach(ident)[0] != ATTACHED, "one of 2.14 would read CTF 2")
        modern.close()
        old.close()
        two.finish()


def without_clear():
    """2.12 asks, and nothing else changes."""
    with relay.Daemon("--disallow-clear") as daemon:
        for minor in (12, 15):
            s = Peer(daemon, minor)
            equal(struct.unpack(">IQ", s.control.ask(
                relay.GET_CONFIGURATION, bytes(8), 12)), (relay.OK, 0),
                "GET_CONFIGURATION")
            s.packets(2)
            s.finish()
            for path in sorted(daemon.out.rglob("*"), reverse=True):
                if "tracepulse" not in path.name:
                    path.rmdir() if path.is_dir() else path.unlink()


def idle_streams_are_told():
    """A beacon before the first packet, from every version."""
    for minor in (11, 14, 15):
        with relay.Daemon() as daemon:
            s = Peer(daemon, minor)
            s.control.metadata(s.meta, b"meta", 4092)
            v, _, streams = attached(daemon, "same")
            stream, _ = ids(streams)
            s.control.index(s.stream, 0, 0, end=700, ctf=7)
            i = v.next_index(stream)
            equal((i.status, i.end, i.ctf), (INACTIVE, 700, 7), f"2.{minor}")
            v.close()
            s.finish()


if __name__ == "__main__":
    sys.exit(relay.main())
