#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What one session, and one host, may take of the daemon's descriptors.
Starts daemons of its own."""
import sys
import time

import relay
import viewer
from relay import check, equal
from viewer import PERIOD_US

MANY = 250


def is_served(daemon, name):
    try:
        session = relay.Session(daemon, name)
    except (relay.Failed, OSError):
        return False
    session.packet()
    session.finish()
    return True


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
        before = daemon.descriptors()
        many = relay.Session(daemon, "many", live=PERIOD_US)
        paths = [f"ust/pid/app-{n}" for n in range(MANY)]
        metas = [many.add("metadata", path=p) for p in paths]
        streams = [many.add("c", path=p) for p in paths]
        equal(many.control.code(relay.STREAMS_SENT), relay.OK, "STREAMS_SENT")
        for n in range(20):
            check(is_served(daemon, f"other{n}"), f"other{n} is refused")
        grown = daemon.descriptors() - before
        # Trace files are open as long as there is room for them.
        check(grown < 130, f"{grown} descriptors more are open")
        for meta in metas:
            many.control.metadata(meta, b"stream { id = 0; };")
        watch = viewer.Viewer(daemon)
        watch.connect()
        watch.create()
        status, shown = watch.attach(watch.find("many").id)
        equal(status, viewer.ATTACHED, "ATTACH")
        for n, stream in enumerate(streams):
            many.data.packet(stream, 0, b"a" * 64)
            equal(many.control.index(stream, 0, 64), relay.OK, "SEND_INDEX")
        apps = [s for s in shown if "pid" in s.path and not s.is_metadata]
        equal(len(apps), MANY, "streams")
        apps = apps[:40]
        read_all(watch, apps[:20], b"a" * 64)
        equal(many.control.create_chunk(1), relay.OK, "CREATE_TRACE_CHUNK")
        equal(many.control.rotate(1, (many.stream, 0), (many.meta, 0),
                                  *((s, 0) for s in metas),
                                  *((s, 1) for s in streams)), relay.OK,
              "ROTATE_STREAMS")
        equal(many.control.close_chunk(0, 0)[0], relay.OK,
              "CLOSE_TRACE_CHUNK")
        for stream in streams:
            many.data.packet(stream, 1, b"b" * 64)
            equal(many.control.index(stream, 1, 64), relay.OK, "SEND_INDEX")
        until = time.monotonic() + relay.TIMEOUT
        while not list(daemon.out.glob("h/many*/archives/*")):
            check(time.monotonic() < until, "no archive")
            time.sleep(0.01)
        read_all(watch, apps[20:], b"a" * 64)
        read_all(watch, apps, b"b" * 64)
        watch.close()
        many.control.close()
        many.data.close()


CASES = [many_folders_take_no_descriptors]

if __name__ == "__main__":
    sys.exit(relay.run(CASES, sys.argv[1:]))
