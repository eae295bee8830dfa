#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What one session, and one host, may take of the daemon's descriptors.
Starts daemons of its own."""
import contextlib
import sys
import time

import relay
import viewer
from relay import check, equal
from viewer import PERIOD_US

MANY = 250


def read_all(watch, streams, tag):
    """One packet of each data stream."""
    for s in streams:
        until = time.monotonic() + relay.TIMEOUT
        while (i := watch.next_index(s.id)).status != viewer.OK:
            check(time.monotonic() < until, f"{s.path}: status {i.status}")
            time.sleep(0.01)
        equal(watch.packet(s.id, i.offset, i.size // 8),
              (viewer.PACKET_OK, tag), s.path)


def many_folders_take_no_descriptors():
    """Each stream of a live session in a folder of its own, as with buffers
    per process; all are read, also those of a chunk that was archived."""
    with relay.Daemon("--fd-pool-size", "512", "--live-hold=off",
                      workers=1) as daemon:
        before = daemon.folders()
        many = relay.Session(daemon, "many", live=PERIOD_US)
        paths = [f"ust/pid/app-{n}" for n in range(MANY)]
        metas = [many.add("metadata", path=p) for p in paths]
        streams = [many.add("c", path=p) for p in paths]
        many.control.code(relay.STREAMS_SENT)
        for n in range(20):
            check(relay.is_served(daemon, f"other{n}"), f"other{n} is refused")
        grown = daemon.folders() - before
        # The thread that counts what ended has some for a moment.
        check(grown <= 16, f"{grown} folders more are open")
        for meta in metas:
            many.control.metadata(meta, b"stream { id = 0; };")
        watch = viewer.greeted(daemon)
        watch.create()
        status, shown = watch.attach(watch.find("many").id)
        equal(status, viewer.ATTACHED, "ATTACH")
        for n, stream in enumerate(streams):
            many.put(stream, 0, b"a" * 64)
        apps = [s for s in shown if "pid" in s.path and not s.is_metadata]
        equal(len(apps), MANY, "streams")
        apps = apps[:40]
        read_all(watch, apps[:20], b"a" * 64)
        many.control.next_chunk(1, 0, (many.stream, 0), (many.meta, 0),
                                *((s, 0) for s in metas),
                                *((s, 1) for s in streams))
        for stream in streams:
            many.put(stream, 1, b"b" * 64)
        relay.wait_until("no archive",
                         lambda: list(daemon.out.glob("h/many*/archives/*")))
        read_all(watch, apps[20:], b"a" * 64)
        read_all(watch, apps, b"b" * 64)
        watch.close()
        many.leave()


def packets_of_closed_files():
    """A viewer takes an index of each of more streams than it may have files
    open, as babeltrace 1.5 does; then the files are overwritten. The packets
    are still those of the indexes."""
    with relay.Daemon("--fd-pool-size", "512", "--live-hold=off",
                      workers=1) as daemon:
        s = relay.Session(daemon, "rings", live=PERIOD_US)
        rings = [s.add(f"r_{n}", size=4096, count=2) for n in range(MANY)]
        s.control.code(relay.STREAMS_SENT)
        s.control.metadata(s.meta, b"stream { id = 0; };")

        def write(seq):
            for n, ring in enumerate(rings):
                payload = bytes([n, seq]) * 2048
                s.put(ring, seq, payload)
        write(0)
        watch = viewer.greeted(daemon)
        watch.create()
        _, shown = watch.attach(watch.find("rings").id)
        found = {}
        for t in shown:
            if not t.channel.startswith("r_"):
                continue
            until = time.monotonic() + relay.TIMEOUT
            while (i := watch.next_index(t.id)).status != viewer.OK:
                check(time.monotonic() < until, f"{t.channel}: {i}")
                time.sleep(0.005)
            found[t.id] = t, i
        equal(len(found), MANY, "indexes")
        for seq in range(1, 5):
            write(seq)
        for ring in rings:
            s.control.wait_written(ring, 4)
        for t, i in found.values():
            n = int(t.channel[2:])
            for at, length in (0, 4000), (4000, 96):
                status, data = watch.packet(t.id, i.offset + at, length)
                equal(status, viewer.PACKET_OK, t.channel)
                check(data == bytes([n, 0]) * (length // 2),
                      f"{t.channel}: other bytes")
        watch.close()
        end([s])


def fill(daemon, most=1000):
    """Sessions without packets until one is refused."""
    found = []
    with contextlib.suppress(relay.Failed, OSError):
        while len(found) < most:
            found.append(relay.Session(daemon, f"idle{len(found)}"))
    return found


def end(sessions):
    for s in sessions:
        s.leave()


def one_host_leaves_room_for_others():
    """A host alone has nearly all; another one still finds room for what one
    machine needs: kernel, 64-bit and 32-bit user space."""
    with relay.Daemon("--fd-pool-size", "512", workers=1) as daemon:
        greedy = fill(daemon)
        check(len(greedy) >= 35, f"{len(greedy)} sessions of a lone host")
        daemon.source = "127.0.0.2"
        few = [relay.Session(daemon, f"few{n}") for n in range(3)]
        for s in few:
            s.packet()
        # Those that are there go on, and can rotate.
        for s in greedy[:5] + few:
            s.next_chunk(1, None)
            s.packets(1)
        daemon.source = "127.0.0.1"
        check(not relay.is_served(daemon, "late"), "the greedy host got more")
        lines = [line for line in daemon.log_text().splitlines()
                 if "session refused" in line]
        check(len(lines) == 1 and "peer=127.0.0.1:" in lines[0] and
              "its host" in lines[0], f"{lines}")
        end(greedy[-8:])
        relay.wait_until("no room for a later one",
                         lambda: relay.is_served(daemon, "later"))
        end(greedy[:-8] + few)


def sessions_that_linger_count():
    """A session whose control connection ended may wait for bytes: it still is
    one of its host's."""
    with relay.Daemon("--fd-pool-size", "512", workers=1) as daemon:
        waiting = []
        with contextlib.suppress(relay.Failed, OSError):
            while len(waiting) < 1000:
                s = relay.Session(daemon, f"waits{len(waiting)}")
                waiting.append(s)
                s.packets(1)
                s.control.code(relay.SEND_INDEX,
                               relay.index_request(s.stream, s.seq, 64))
                s.control.close()
        daemon.source = "127.0.0.2"
        few = [relay.Session(daemon, f"few{n}") for n in range(3)]
        for s in few:
            s.packets(1)
        end(waiting + few)


def data_connections_of_a_session():
    """One is enough, and a second one while the first is dying; hundreds take
    nothing from others."""
    with relay.Daemon("--fd-pool-size", "1024", workers=1) as daemon:
        many = relay.Session(daemon, "many")
        streams = [many.add(f"c{n}") for n in range(200)]
        conns = []
        for stream in streams:
            conn = daemon.data()
            with contextlib.suppress(OSError):
                conn.packet(stream, 0, b"x" * 8)
            conns.append(conn)
        many.packet()
        daemon.wait_log("data connection closed: the session has")
        # The first connections that a session has are served.
        many.control.index(streams[0], 0, 8)
        many.control.wait_written(streams[0], 0)
        check(daemon.descriptors() < 500, f"{daemon.descriptors()} are open")
        for conn in conns:
            conn.close()
        check(relay.is_served(daemon, "other"), "another session is refused")
        end([many])


def chunks_of_a_session():
    """A chunk is open while a stream is in it. A stream that stays behind in
    each takes no more than some."""
    with relay.Daemon("--fd-pool-size", "1024", workers=1) as daemon:
        slow = relay.Session(daemon, "slow")
        chunk = 0
        while chunk < 100:
            handle, code = slow.control.add_stream(f"c{chunk}", want=None)
            if code != relay.OK:
                break
            if slow.control.create_chunk(chunk + 1,
                                         want=None) != relay.OK:
                break
            chunk += 1
            slow.control.close_chunk(chunk - 1, 0)
        check(3 <= chunk < 20, f"{chunk} chunks")
        check("trace chunks are open" in daemon.log_text(), "nothing is logged")
        check(relay.is_served(daemon, "other"), "another session is refused")
        end([slow])


def attach_to(session, v):
    equal(v.attach(v.find(session.name).id)[0], viewer.ATTACHED,
          "ATTACH_SESSION")


def ended_sessions_of_viewers():
    """Live sessions of one packet, whose viewers know of them and do not read.
    The folder of each stays open for them; new sessions are still accepted,
    and a viewer that asks is served."""
    with relay.Daemon("--fd-pool-size", "512", workers=1) as daemon:
        first = viewer.Watched(daemon, "first")
        first.step()
        first.session.packet()
        first.session.finish()
        watching = []
        for n in range(300):
            try:
                s = viewer.Live(daemon, f"short{n}")
            except (relay.Failed, OSError) as e:
                raise relay.Failed(f"session {n}: {e!r}") from e
            s.packet()
            try:
                attach_to(s, watching[n % 4])
            except (relay.Failed, OSError, IndexError):
                # It was closed, or is not there yet.
                watching[n % 4:n % 4 + 1] = [viewer.Viewer(daemon)]
                watching[n % 4].connect()
                watching[n % 4].create()
                attach_to(s, watching[n % 4])
            s.finish()
        check("ended sessions" in daemon.log_text(), "no viewer is closed")
        check(daemon.descriptors() < 200, f"{daemon.descriptors()} are open")
        # Whose only session it is may read it to its end.
        first.read()
        for v in [first.viewer, *watching]:
            v.close()


if __name__ == "__main__":
    sys.exit(relay.main())
