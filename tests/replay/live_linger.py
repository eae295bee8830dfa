#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--live-linger: viewers that come later read what has ended, to its end."""
import sys
import time

sys.dont_write_bytecode = True
import relay
import viewer
from looking import metrics
from relay import check, equal, wait_until
from viewer import HUP, LAST, OK, STREAMS_HUP, STREAMS_OK

HTTP = ("--http", "tcp://127.0.0.1:0")


def _end(session):
    session.wait_written()
    session.control.close_stream(session.meta)
    session.control.close_stream(session.stream, session.seq - 1)
    session.leave()


def _ended(daemon, title="live", packets=3):
    """A session that nobody has viewed."""
    session = viewer.Live(daemon, title)
    session.packets(packets)
    _end(session)
    _wait_streams(daemon, title, 0)
    return session


def _wait_streams(daemon, title, count):
    """Those that are open; viewers learn of a session's end after them."""
    v = viewer.greeted(daemon)
    wait_until(f"{count} streams of {title}",
               lambda: v.find(title).streams == count)
    v.close()
    time.sleep(0.05)


def _titles(daemon):
    v = viewer.greeted(daemon)
    found = sorted(s.name for s in v.list())
    v.close()
    return found


def _read(v, ident, streams, session):
    """All of it, from the oldest packet on, then the end."""
    data, meta = viewer.ids(streams)
    status, text = v.metadata(meta)
    equal((status, text), (viewer.METADATA_OK,
                           b"metadata of " + session.name.encode()), "metadata")
    seen = b""
    for n in range(session.seq):
        i = v.next_index(data)
        equal((i.status, i.begin), (OK, 1000 * n + 1), f"index {n}")
        seen += v.packet(data, i.offset, i.size // 8)[1]
    check(seen == session.written, "the packets differ")
    equal(v.next_index(data).status, HUP, "the end of the stream")
    equal(v.new_streams(ident), (STREAMS_HUP, []), "the end of the session")


def _check(daemon, session, seek):
    v = viewer.greeted(daemon)
    ident = v.find(session.name).id
    _read(v, ident, v.ready(ident, seek), session)
    v.close()


def an_ended_session_can_be_read():
    """From its oldest packet on, wherever the viewer wants to begin: one after
    the other, and two at once."""
    with relay.Daemon("--live-linger=1m", *HTTP) as daemon:
        session = _ended(daemon)
        for seek in (viewer.BEGINNING, LAST):
            _check(daemon, session, seek)
        a, ident, of_a = viewer.attached(daemon, "live")
        b, _, of_b = viewer.attached(daemon, "live")
        equal(a.list()[0].clients, 2, "viewers")
        _read(b, ident, of_b, session)
        _read(a, ident, of_a, session)
        equal(metrics(daemon)["tracepulse_lingering_sessions"], 1, "metric")


def by_default_it_is_gone():
    with relay.Daemon(*HTTP) as daemon:
        session = viewer.Live(daemon)
        session.packets(3)
        _end(session)
        wait_until("it is listed", lambda: _titles(daemon) == [])
        equal(metrics(daemon)["tracepulse_lingering_sessions"], 0, "metric")


def its_time_ends():
    """Those who read it then read on; its directory is closed after them."""
    with relay.Daemon("--live-linger=700ms") as daemon:
        session = _ended(daemon)
        v, ident, streams = viewer.attached(daemon, "live")
        wait_until("it is listed", lambda: _titles(daemon) == [])
        open_then = daemon.folders()
        _read(v, ident, streams, session)
        v.close()
        wait_until("its directory is open",
                   lambda: daemon.folders() < open_then)


def closed_streams_of_a_session_that_goes_on():
    """A process that was short, and a viewer that came after it. One that wants
    only what is new does not get it."""
    with relay.Daemon("--live-linger=1m") as daemon:
        session = viewer.Live(daemon)
        path = "ust/pid/short"
        meta, data = (session.add(c, path=path) for c in ("metadata", "ch_0"))
        session.control.code(relay.STREAMS_SENT)
        session.control.metadata(meta, b"of a short process")
        session.put(data, 0, bytes(512), begin=10, end=20)
        session.control.wait_written(data, 0)
        session.control.close_stream(data, 0)
        session.control.close_stream(meta)
        session.packets(2)
        _wait_streams(daemon, "live", 2)
        v, ident, streams = viewer.attached(daemon, "live", count=4)
        short = [s for s in streams if s.path == path]
        stream, _ = viewer.ids(short)
        i = v.next_index(stream)
        equal((i.status, i.begin), (OK, 10), "its packet")
        equal(v.next_index(stream).status, HUP, "its end")
        equal(v.new_streams(ident), (STREAMS_OK, []), "the session goes on")
        v.close()
        v = viewer.greeted(daemon)
        streams = v.ready(v.find("live").id, LAST)
        equal({s.path for s in streams}, {"ust/uid/0/64-bit"}, "paths")
        _end(session)


def the_name_is_used_again():
    """Both are listed, and each has its own packets."""
    with relay.Daemon("--live-linger=1m") as daemon:
        first = _ended(daemon, packets=2)
        second = viewer.Live(daemon, created=1_800_000_100)
        second.packets(4)
        _wait_streams(daemon, "live", 0)
        v = viewer.greeted(daemon)
        wait_until("two", lambda: len(v.list()) == 2)
        a, b = v.list()
        equal((a.streams, b.streams), (0, 2), "streams")
        _read(v, a.id, v.ready(a.id), first)
        _end(second)
        _read(v, b.id, v.ready(b.id), second)


def too_many():
    """The oldest gives way."""
    with relay.Daemon("--live-linger=1m", "--fd-pool-size=200") as daemon:
        for n in range(33):
            session = viewer.Live(daemon, f"s{n:02}")
            session.packets(1)
            _end(session)
        wait_until("32 are left", lambda: _titles(daemon) == [
            f"s{n:02}" for n in range(1, 33)])
        daemon.wait_log("is not shown to later viewers any more: more than 32 "
                        "sessions")
        _check(daemon, session, LAST)


def a_restart_keeps_it():
    """With a viewer that reads it, and for one that comes later."""
    with relay.Daemon("--live-linger=1m", *HTTP) as daemon:
        session = _ended(daemon)
        v, ident, streams = viewer.attached(daemon, "live")
        for options in ((), ("--live-workers=2",)):
            daemon.take_over(*options)
            equal(_titles(daemon), ["live"], "listed")
            for _ in range(2):      # at each live worker
                _check(daemon, session, LAST)
            equal(metrics(daemon)["tracepulse_lingering_sessions"], 1, "metric")
        _read(v, ident, streams, session)
        daemon.take_over("--live-linger=100ms")
        wait_until("it is listed", lambda: _titles(daemon) == [])


def retention_waits_for_it():
    with relay.Daemon("--live-linger=700ms", "--max-age=1ms",
                      "--keep-at-least=0") as daemon:
        session = _ended(daemon)
        check(session.dir.exists(), "it was deleted")
        _check(daemon, session, LAST)
        wait_until("it is there", lambda: not session.dir.exists(), 30)
        equal(_titles(daemon), [], "listed")


if __name__ == "__main__":
    sys.exit(relay.main(at_once=4))
