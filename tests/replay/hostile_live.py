#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What viewers should not do, with a good viewer and a good writer beside
that must not notice (live 5, W1, W2, W8 to W10; live 6).

Arguments: cases by name, all if none. TP_TEST_LONG=1 waits for slow limits.
"""
import os
import resource
import select
import struct
import sys
import time

import relay
import viewer
from relay import NONE, check, equal
from viewer import (Live, Viewer, Watched, attached, bystanders, clients,
                    greeted, ids)

MIB = 1 << 20
SOON = 20  # seconds; for what takes milliseconds on an idle machine
BIG = 16 * MIB  # more than the sockets between hold


# A sanitizer keeps what was freed; here memory is counted.
COUNTED = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") +
           ":quarantine_size_mb=0:thread_local_quarantine_size_kb=0"
           ":allocator_release_to_os_interval_ms=0"}


def wait_for(what, condition, seconds=SOON):
    relay.wait_until(f"not within {seconds} s: {what}", lambda: condition(),
                     seconds)


def refused(v, stream, what):
    """Every request that names STREAM is answered with an error."""
    equal(v.next_index(stream).status, viewer.ERR, f"{what}: GET_NEXT_INDEX")
    equal(v.packet(stream, 0, 16)[0], viewer.PACKET_ERR,
          f"{what}: GET_PACKET")
    equal(v.metadata(stream)[0], viewer.METADATA_ERR, f"{what}: GET_METADATA")


# Requests -------------------------------------------------------------------

def packets_beyond_the_file():
    """W1: 4 GiB, sums beyond 64 bits, before any index."""
    with relay.Daemon(env=COUNTED) as daemon, bystanders(daemon):
        s = Live(daemon, "victim")
        s.packets(4)
        v, _, streams = attached(daemon, "victim")
        data, meta = ids(streams)
        equal(v.packet(data, 0, 16)[0], viewer.PACKET_ERR, "before any index")
        equal(v.packet(meta, 0, 16)[0], viewer.PACKET_ERR, "of metadata")
        i = v.next_index(data)
        equal((i.status, i.offset, i.size), (viewer.OK, 0, 8 * 4096), "index")
        before = daemon.rss()
        for offset, length in ((0, 0xffffffff), (0, 0xfffffff4),
                               (4096, 0xffffffff), (NONE, 1), (NONE, 0),
                               (NONE - 15, 16), (NONE - 4095, 4096),
                               (1 << 63, 0x7fffffff), (1 << 63, 1),
                               (4 * 4096, 1), (4 * 4096 - 1, 2),
                               (0, 4 * 4096 + 1), (4 * 4096 + 1, 0)):
            equal(v.packet(data, offset, length), (viewer.PACKET_ERR, b""),
                  f"GET_PACKET {offset} + {length}")
        grown = daemon.rss() - before
        check(grown < 16 * MIB, f"{grown >> 20} MiB for refusals")
        equal(v.packet(data, 0, 4 * 4096), (viewer.PACKET_OK, s.written),
              "the whole file")
        equal(v.packet(data, 4096, 0), (viewer.PACKET_OK, b""), "no byte")
        v.close()
        s.finish()


def foreign_ids():
    """W1, W10: nothing is given to those that are not attached."""
    with relay.Daemon() as daemon, bystanders(daemon) as good:
        own = Live(daemon, "mine")
        own.packet()
        v, mine, streams = attached(daemon, "mine")
        known = {s.id for s in streams}
        strangers = [0, NONE, NONE >> 1, 1 << 63, good.stream, good.meta,
                     max(known) + 1000, mine + 1000]
        check(not known & set(strangers), "ids are given twice")
        for stream in strangers:
            refused(v, stream, f"stream {stream:#x}")
        for session in 0, NONE, 1 << 63, mine + 1000:
            equal(v.attach(session), (viewer.UNKNOWN, []), "ATTACH_SESSION")
            equal(v.new_streams(session), (viewer.STREAMS_ERR, []),
                  "GET_NEW_STREAMS")
            equal(v.detach(session), 2, "DETACH_SESSION of none")
        equal(v.new_streams(good.id), (viewer.STREAMS_ERR, []),
              "GET_NEW_STREAMS of a session attached elsewhere")
        equal(v.detach(good.id), 3, "DETACH_SESSION of one attached elsewhere")
        equal(v.attach(mine)[0], viewer.ALREADY, "attached twice")
        equal(v.detach(mine), 1, "DETACH_SESSION")
        for stream in known:
            refused(v, stream, "stream of a session it left")
        equal(v.detach(mine), 3, "DETACH_SESSION, again")
        v.close()
        own.finish()


def nothing_without_a_viewer_session():
    """No CREATE_SESSION: NO_SESSION, ERR; then all is well."""
    with relay.Daemon() as daemon, bystanders(daemon) as good:
        v = greeted(daemon)
        for seek in viewer.BEGINNING, viewer.LAST, 77:
            equal(v.attach(good.id, seek), (viewer.NO_SESSION, []),
                  "ATTACH_SESSION")
        equal(v.detach(good.id), 3, "DETACH_SESSION")
        equal(v.new_streams(good.id)[0], viewer.STREAMS_ERR,
              "GET_NEW_STREAMS")
        for stream in good.stream, good.meta:
            refused(v, stream, "without CREATE_SESSION")
        equal(v.create(), 1, "CREATE_SESSION")
        for seek in 0, 3, 0xffffffff:
            equal(v.attach(good.id, seek), (viewer.SEEK_ERR, []), "seek")
        equal(v.find("good").clients, 1, "clients after bad seeks")
        equal(v.attach(good.id)[0], viewer.ATTACHED, "ATTACH_SESSION")
        equal(v.find("good").clients, 2, "clients")
        equal(v.create(), 1, "a second CREATE_SESSION")
        equal(v.find("good").clients, 1, "clients after it")
        equal(v.attach(good.id)[0], viewer.ATTACHED, "ATTACH_SESSION, again")
        v.close()


def no_connect_first():
    with relay.Daemon() as daemon, bystanders(daemon) as good:
        for request in (viewer.frame(viewer.LIST),
                        viewer.frame(viewer.CREATE),
                        viewer.attach_request(good.id),
                        viewer.id_request(viewer.NEXT_INDEX, good.stream),
                        viewer.packet_request(good.stream, 0, 4096),
                        viewer.id_request(viewer.METADATA, good.meta),
                        viewer.id_request(viewer.NEW_STREAMS, good.id),
                        viewer.id_request(viewer.DETACH, good.id),
                        viewer.frame(0), viewer.frame(99), b"\xff" * 36):
            v = Viewer(daemon)
            v.send(request)
            equal(v.ends(SOON), b"", f"reply to {request.hex()}")


def versions():
    """The major number decides (live 1.3)."""
    with relay.Daemon() as daemon, bystanders(daemon) as good:
        for major, kind in ((1, 1), (3, 1), (0, 1), (0xffffffff, 1), (2, 0),
                            (2, 3), (2, 0xffffffff)):
            v = Viewer(daemon)
            v.send(viewer.connect_request(4, major, kind))
            equal(v.ends(SOON), b"", f"major {major}, type {kind}")
        seen = {good.viewer.connect()[0]}
        for minor in 0, 1, 2, 3, 4, 14, 15, 16, 99, 0xffffffff:
            v = Viewer(daemon, minor)
            ident, *rest = v.connect()
            equal(rest, [2, 15, 0], f"CONNECT of 2.{minor}")
            check(ident not in seen, f"viewer session {ident} given twice")
            seen.add(ident)
            equal([s.name for s in v.list()], ["good"], f"list of 2.{minor}")
            streams = v.ready(good.id)
            equal(v.next_index(ids(streams)[0]).status, viewer.OK, "index")
            # Another version on the same connection counts from then on.
            v.minor = 4 if minor >= 15 else 15
            v.connect()
            equal([s.name for s in v.list()], ["good"], "list afterwards")
            equal(v.connect(kind=2)[0], 0, "a notification connection")
            v.close()


def unknown_commands():
    """11, and closed; the payload of one is not waited for."""
    with relay.Daemon() as daemon, bystanders(daemon):
        for command in 0, 10, 11, 99, 0x80000000, 0xffffffff:
            for size in 0, 20, NONE:
                v = greeted(daemon)
                v.send(viewer.frame(command, b"", size))
                equal(v.ends(SOON), struct.pack(">I", 11),
                      f"command {command}")


def data_size_is_not_believed():
    """P2: Trace Compass says 20 for 8, and 0 for 20."""
    with relay.Daemon() as daemon, bystanders(daemon) as good:
        for size in 0, 1, 20, 1 << 20, 1 << 40, NONE:
            v = Viewer(daemon)
            v.send(viewer.frame(viewer.CONNECT, struct.pack(
                ">QIII", NONE, 2, 4, 1), size))
            equal(v.unpack(">QIII")[1:], (2, 15, 0), "CONNECT")
            v.send(viewer.frame(viewer.CREATE, b"", size))
            equal(v.unpack(">I"), (1,), "CREATE_SESSION")
            v.send(viewer.frame(viewer.ATTACH, struct.pack(
                ">QQI", good.id, NONE, 1), size))
            equal(v._streams()[0], viewer.ATTACHED, "ATTACH_SESSION")
            v.send(viewer.frame(viewer.NEXT_INDEX, struct.pack(
                ">Q", good.stream), size))
            equal(v.unpack(">7QII")[7], viewer.OK, "GET_NEXT_INDEX")
            v.close()


# Connections ----------------------------------------------------------------

def half_requests():
    """Silence within a request, half-closed connections: no other client waits,
    and everything is released."""
    with relay.Daemon() as daemon, bystanders(daemon) as good:
        # Now and then one more is open for a moment.
        before = min(daemon.descriptors() for _ in range(20))
        silent = []
        whole = (viewer.connect_request(), viewer.attach_request(good.id),
                 viewer.packet_request(good.stream, 0, 4096))
        for request in whole:
            for cut in 1, 8, 15, 16, 17, len(request) - 1:
                v = Viewer(daemon)
                if request is not whole[0]:
                    v.connect()
                    v.ready(good.id)
                v.send(request[:cut])
                silent.append(v)
            good.step()
        wait_for("all are accepted",
                 lambda: daemon.descriptors() - before >= len(silent))
        for v in silent[::2]:
            v.sock.shutdown(relay.socket.SHUT_WR)
            equal(v.ends(SOON), b"", "half-closed in mid-request")
        for v in silent[1::2]:
            v.close()
        wait_for("descriptors are given back",
                 lambda: daemon.descriptors() <= before)
        wait_for("one client", lambda: clients(daemon, "good") == 1)


def one_byte_at_a_time():
    """P24: the same dialogue as in whole segments."""
    with relay.Daemon() as daemon, bystanders(daemon) as good:
        v = Viewer(daemon)
        v.send = lambda blob: [v.sock.sendall(blob[i:i + 1])
                               for i in range(len(blob))]
        v.connect()
        equal(v.find("good").id, good.id, "LIST_SESSIONS")
        data, meta = ids(v.ready(good.id))
        equal(v.metadata(meta), (viewer.METADATA_OK, b"metadata of good"),
              "GET_METADATA")
        read = b""
        while len(read) < len(good.seen):
            i = v.next_index(data)
            equal(i.status, viewer.OK, "GET_NEXT_INDEX")
            status, part = v.packet(data, i.offset, i.size // 8)
            equal(status, viewer.PACKET_OK, "GET_PACKET")
            read += part
        check(read == good.seen, "another content")
        equal(v.new_streams(good.id), (viewer.STREAMS_OK, []),
              "GET_NEW_STREAMS")
        equal(v.detach(good.id), 1, "DETACH_SESSION")
        v.close()


def requests_in_one_segment():
    """Never done by stock viewers; each is answered, in order."""
    with relay.Daemon() as daemon, bystanders(daemon) as good:
        v = Viewer(daemon)
        v.send(viewer.connect_request() + viewer.frame(viewer.CREATE)
               + viewer.attach_request(good.id)
               + viewer.id_request(viewer.NEXT_INDEX, good.stream)
               + viewer.packet_request(good.stream, 0, 4096)
               + viewer.id_request(viewer.METADATA, good.meta)
               + viewer.id_request(viewer.DETACH, good.id)
               + viewer.frame(99) + b"never looked at")
        v.unpack(">QIII")
        equal(v.unpack(">I"), (1,), "CREATE_SESSION")
        equal(len(v._streams()[1]), 2, "streams")
        equal(v.unpack(">7QII")[7], viewer.OK, "GET_NEXT_INDEX")
        equal(v.unpack(">III"), (viewer.PACKET_OK, 4096, 0), "GET_PACKET")
        check(v.read(4096) == good.seen[:4096], "another packet")
        equal(v.unpack(">QI"), (16, viewer.METADATA_OK), "GET_METADATA")
        equal(v.read(16), b"metadata of good", "metadata")
        equal(v.unpack(">I"), (1,), "DETACH_SESSION")
        equal(v.ends(SOON), struct.pack(">I", 11), "the end")


# Those that do not read ----------------------------------------------------

def packets_that_are_not_read():
    """W2: 16 MiB each for 8 viewers, of which none reads a byte."""
    with relay.Daemon(env=COUNTED) as daemon, bystanders(daemon) as good:
        s = Live(daemon, "big")
        s.packets(1, BIG, 0)
        before = daemon.rss()
        stalled = []
        for _ in range(8):
            v, _, streams = attached(daemon, "big")
            data, _ = ids(streams)
            equal(v.next_index(data).size, 8 * BIG, "size")
            v.send(viewer.packet_request(data, 0, BIG))
            stalled.append(v)
        for _ in range(20):
            good.step(1)
            s.packet()
        s.wait_written()
        grown = daemon.rss() - before
        check(grown < BIG, f"{grown >> 20} MiB for 8 x 16 MiB")
        # One goes on, and has lost nothing.
        equal(stalled[0].unpack(">III"), (viewer.PACKET_OK, BIG, 0), "header")
        check(stalled[0].read(BIG) == s.written[:BIG], "another packet")
        equal(stalled[0].next_index(data).offset, BIG, "the next index")
        for v in stalled:
            v.reset()
        wait_for("no client", lambda: clients(daemon, "big") == 0)
        s.finish()


def the_unread_are_closed():
    """Half a request, or a reply of which nothing is taken: not for ever."""
    env = {"LTTNG_NETWORK_SOCKET_TIMEOUT": "3000"}
    with relay.Daemon(env=env) as daemon, bystanders(daemon) as good:
        s = Live(daemon, "big")
        s.packets(1, BIG, 0)
        v, _, streams = attached(daemon, "big")
        data, _ = ids(streams)
        v.next_index(data)
        half, _, _ = attached(daemon, "big")
        idle, _, _ = attached(daemon, "big")
        equal(clients(daemon, "big"), 3, "clients")
        v.send(viewer.packet_request(data, 0, BIG))
        half.send(viewer.frame(viewer.LIST)[:15])
        equal(half.ends(SOON), b"", "half a request")
        wait_for("the unread one is closed",
                 lambda: clients(daemon, "big") == 1)
        check(len(v.ends(SOON)) < BIG, "all of it came")
        good.step()
        equal([x.name for x in idle.list() if x.clients == 1], ["good", "big"],
              "the idle one is served")
        idle.close()
        s.finish()


def listing_of_1000_sessions():
    """Both layouts, whole; and read by nobody."""
    count = 1000
    with relay.Daemon(env=COUNTED) as daemon, bystanders(daemon) as good:
        crowd = []
        for n in range(count):
            c = daemon.peer()
            c.create_session(name=f"session-{n}",
                             uuid=struct.pack(">QQ", 1, n), live=n)
            crowd.append(c)
        want = {f"session-{n}" for n in range(count)} | {"good"}
        for minor in 4, 15:
            v = greeted(daemon, minor)
            wait_for("all are listed", lambda: len(v.list()) == count + 1)
            found = v.list()
            equal({s.name for s in found}, want, f"names, 2.{minor}")
            equal(len({s.id for s in found}), count + 1, "ids")
            equal({s.timer for s in found if s.name == "session-7"}, {7},
                  "timer")
            equal({s.host for s in found}, {"h"}, "hosts")
            v.close()
        before = daemon.rss()
        unread = []
        for _ in range(20):
            v = greeted(daemon)
            v.send(viewer.frame(viewer.LIST) * 200)
            unread.append(v)
        good.step(10)
        grown = daemon.rss() - before
        check(grown < 20 * 2 * MIB, f"{grown >> 20} MiB for 20 listings")
        for c in unread + crowd:
            c.close()
        v = greeted(daemon)
        wait_for("one is listed", lambda: len(v.list()) == 1)
        v.close()


# Comings and goings ---------------------------------------------------------

def leave_anywhere(daemon, title, turn):
    """Attach, then vanish with a reset, each time a little later."""
    v = Viewer(daemon)
    if turn % 10 > 0:
        v.connect()
    ident = v.find(title).id if turn % 10 > 1 else 0
    if turn % 10 > 2:
        v.create()
    if turn % 10 == 3:
        v.send(viewer.attach_request(ident))
    data = ids(v.ready(ident))[0] if turn % 10 > 3 else 0
    if turn % 10 == 5:  # half of it unread
        v.send(viewer.frame(viewer.LIST) * 3)
        v.read(10)
    if turn % 10 > 5:
        equal(v.next_index(data).status, viewer.OK, "index")
    if turn % 10 == 7:
        v.send(viewer.packet_request(data, 0, BIG))
    if turn % 10 == 8:
        v.send(viewer.packet_request(data, 0, BIG))
        v.read(4096)
    if turn % 10 == 9:  # a reply that may be held
        v.send(viewer.id_request(viewer.NEXT_INDEX, data) * 3)
    v.reset()


def attach_and_vanish():
    """P19, W9, and Ctrl-C at any time: nothing is left."""
    with relay.Daemon(env=COUNTED) as daemon, bystanders(daemon) as good:
        s = Live(daemon, "big")
        s.packets(1, BIG, 0)
        for turn in range(20):
            leave_anywhere(daemon, "big", turn)
        wait_for("no client, warm", lambda: clients(daemon, "big") == 0)
        descriptors, memory = daemon.descriptors(), daemon.rss()
        for turn in range(200):
            leave_anywhere(daemon, "big", turn)
            if turn % 20 == 0:
                good.step(1)
        wait_for("no client", lambda: clients(daemon, "big") == 0)
        wait_for("descriptors are given back",
                 lambda: daemon.descriptors() <= descriptors)
        grown = daemon.rss() - memory
        check(grown < 8 * MIB, f"{grown >> 10} KiB after 200 of them")
        s.finish()


def held_and_vanish():
    """Those whose replies are held are seen to leave, at once."""
    with relay.Daemon() as daemon, bystanders(daemon):
        s = Live(daemon, "idle", timer=60_000_000)
        waiting = []
        for turn in range(20):
            v, _, streams = attached(daemon, "idle")
            data, _ = ids(streams)
            equal(v.next_index(data).status, viewer.RETRY, "index")
            v.send(viewer.id_request(viewer.NEXT_INDEX, data))
            waiting.append(v)
        readable, _, _ = select.select([v.sock for v in waiting], [], [], 0.2)
        check(len(readable) < len(waiting), "nobody is held")
        for turn, v in enumerate(waiting):
            v.reset() if turn % 2 else v.close()
        wait_for("no client", lambda: clients(daemon, "idle") == 0)
        s.finish()


def stop_with_viewers():
    """SIGTERM with viewers that wait, that read, and that do not."""
    with relay.Daemon(env=COUNTED) as daemon:
        good = Watched(daemon)
        good.step()
        s = Live(daemon, "big")
        s.packets(1, BIG, 0)
        crowd = []
        for turn in range(12):
            v, _, streams = attached(daemon, "big")
            data, _ = ids(streams)
            if turn % 4 > 0:
                v.next_index(data)
            if turn % 4 == 1:
                v.send(viewer.packet_request(data, 0, BIG))
            elif turn % 4 == 2:
                for _ in range(3):
                    v.next_index(data)
                v.send(viewer.id_request(viewer.NEXT_INDEX, data))
            elif turn % 4 == 3:
                v.send(viewer.frame(viewer.LIST)[:9])
            crowd.append(v)
        began = time.monotonic()
        daemon.stop()
        took = time.monotonic() - began
        check(took < 10, f"{took:.1f} s")
        for v in crowd + [good.viewer]:
            v.ends(SOON)
        good.session.check()
        s.check()


def _few():
    resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600))


def a_crowd_of_viewers():
    """They are turned away before writers lack descriptors; who is there is
    served."""
    with relay.Daemon(limit=_few) as daemon, bystanders(daemon) as good:
        crowd = [Viewer(daemon) for _ in range(150)]
        good.step()
        for v in crowd[:25]:
            v.connect()
            equal([s.name for s in v.list()], ["good"], "LIST_SESSIONS")
        wait_for("somebody is turned away",
                 lambda: any(relay.is_closed(v.sock) for v in crowd[25:]))
        for n in range(5):
            relay.recorded(daemon, f"late{n}")
        good.step()
        for v in crowd:
            v.close()
        wait_for("a later viewer is served", lambda: is_served(daemon), 10)
        wait_for("one client", lambda: clients(daemon, "good") == 1)


def no_descriptor_for_a_file():
    """P6: what cannot be opened now can be later; no ERR, which would end a
    stock viewer, and no packet is passed over."""
    with relay.Daemon() as daemon, bystanders(daemon) as good:
        s = Live(daemon, "other")
        s.packets(1)
        v, _, streams = attached(daemon, "other")
        data, meta = ids(streams)
        pid = daemon.process.pid
        used = {int(n) for n in os.listdir(f"/proc/{pid}/fd")}
        free = min(set(range(len(used) + 1)) - used)
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, before[1]))
        for _ in range(3):
            check(v.next_index(data).status != viewer.ERR, "ERR")
            check(v.metadata(meta)[0] != viewer.METADATA_ERR, "metadata ERR")
        good.step()
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        wait_for("the first packet", lambda: ok_offset(v, data) == 0)
        equal(v.packet(data, 0, 4096), (viewer.PACKET_OK, s.written),
              "GET_PACKET")
        s.finish()
        v.close()


def ok_offset(v, data):
    i = v.next_index(data)
    return i.offset if i.status == viewer.OK else None


def is_served(daemon):
    v = Viewer(daemon)
    v.sock.settimeout(1)
    try:
        v.connect()
        return len(v.list()) == 1
    except (relay.Failed, OSError):
        return False
    finally:
        v.close()


# Options --------------------------------------------------------------------

def viewers_per_session():
    """--max-viewers-per-session; a place is free when its viewer is gone."""
    with relay.Daemon("--max-viewers-per-session", "2") as daemon, \
            bystanders(daemon) as good:
        other = Live(daemon, "other")
        first, _, _ = attached(daemon, "good")
        late = greeted(daemon)
        late.create()
        equal(late.attach(good.id), (viewer.ALREADY, []), "the third")
        equal(first.detach(good.id), 1, "DETACH_SESSION")
        equal(late.attach(good.id)[0], viewer.ATTACHED, "in its place")
        equal(first.attach(good.id)[0], viewer.ALREADY, "the first again")
        late.reset()
        wait_for("the place of one that vanished", lambda: first.attach(
            good.id)[0] == viewer.ATTACHED)
        there = [attached(daemon, "other")[0] for _ in range(2)]
        equal(first.attach(there[0].find("other").id)[0], viewer.ALREADY,
              "the third of another session")
        for v in there + [first]:
            v.close()
        other.finish()


def places_among_workers():
    """Two live workers never give one place twice."""
    with relay.Daemon("--max-viewers-per-session=2", "--live-workers=2",
                      "--live-hold=off") as daemon:
        good = Watched(daemon)
        crowd = [greeted(daemon) for _ in range(16)]
        for _ in range(50):
            for v in crowd:
                equal(v.create(), 1, "CREATE_SESSION")
            for v in crowd:
                v.send(viewer.attach_request(good.id))
            taken = [v._streams()[0] for v in crowd].count(viewer.ATTACHED)
            equal(taken, 1, "viewers beside the good one")
        for v in crowd:
            v.close()
        good.step()
        good.finish()


def asked_in_vain(daemon, title, times):
    """Seconds for so many questions to an idle stream."""
    v, _, streams = attached(daemon, title)
    data, _ = ids(streams)
    began = time.monotonic()
    for _ in range(times):
        equal(v.next_index(data).status, viewer.RETRY, "of an idle stream")
    took = time.monotonic() - began
    v.close()
    return took


def replies_held_or_not():
    """--live-hold: a poller waits for the live period, at most a second."""
    for options, least, most in (((), 4, 60),
                                 (("--live-hold=off",), 0, 7)):
        with relay.Daemon(*options) as daemon, bystanders(daemon):
            s = Live(daemon, "idle", timer=60_000_000)
            took = asked_in_vain(daemon, "idle", 9)
            check(least <= took < most, f"{options}: {took:.1f} s for 9")
            s.finish()


def several_live_workers():
    """Every worker knows every session; ids are the same on all."""
    with relay.Daemon("--live-workers=3") as daemon, \
            bystanders(daemon) as good:
        many = [Watched(daemon, f"s{n}") for n in range(6)]
        for w in many:
            w.step(2)
        seen = set()
        for _ in range(6):
            v, ident, streams = attached(daemon, "s3")
            equal(ident, many[3].id, "session id")
            equal(ids(streams), (many[3].stream, many[3].meta), "stream ids")
            (session,) = [x for x in v.list() if x.id == ident]
            equal((session.clients, session.streams), (2, 2), "counts")
            i = v.next_index(many[3].stream)
            equal(v.packet(many[3].stream, i.offset, 4096)[1],
                  many[3].seen[:4096], "packet")
            refused(v, good.stream, "a stream it is not attached to")
            seen.add(v.connect()[0])
            v.reset()
            wait_for("one client", lambda: clients(daemon, "s3") == 1)
        equal(len(seen), 6, "viewer session ids")
        waiting, data = [], many[0].stream
        for _ in range(6):
            v, _, _ = attached(daemon, "s0")
            for _ in range(2):
                v.next_index(data)
            v.send(viewer.id_request(viewer.NEXT_INDEX, data))
            waiting.append(v)
        many[0].step(1)
        for v in waiting:
            while v.unpack(">7QII")[7] != viewer.OK:
                v.send(viewer.id_request(viewer.NEXT_INDEX, data))
            v.close()
        for w in many:
            w.step(1)
            w.finish()


if __name__ == "__main__":
    sys.exit(relay.main(at_once=4))
