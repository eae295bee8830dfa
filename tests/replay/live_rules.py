#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rules of the live port over the daemon's sockets that well-behaved viewers
live by (live 1, 2, 5, 6). Starts daemons of its own."""
import sys
import threading
import time

import old_peers
import relay
import viewer
from relay import check, equal
from viewer import Live, Watched, greeted

METADATA = b"/* CTF 1.8 */\nstream { id = 0; };\n"


def expect(v, stream, content, offset=0):
    """The next index of STREAM, whose packet is CONTENT."""
    i = v.next_index(stream)
    equal((i.status, i.offset, i.size), (viewer.OK, offset, 8 * len(content)),
          "index")
    equal(v.packet(stream, i.offset, i.size // 8),
          (viewer.PACKET_OK, content), "packet")
    return i


def until(ask, want, what):
    end = time.monotonic() + relay.TIMEOUT
    while (got := ask()) != want:
        check(time.monotonic() < end, f"{what}: {got!r} for {want!r}")


def split(streams):
    """{path: (data stream, metadata stream)}"""
    return {s.path: (next(d for d in streams
                          if d.path == s.path and not d.is_metadata), s)
            for s in streams if s.is_metadata}


def peers_before_2_11():
    """W21: no chunks, whole paths, index records of 2.4 and of 2.8."""
    where = f"oldhost/oldsess-{old_peers.STAMP}/ust/uid/0/64-bit"
    for minor in 4, 8, 10:
        with relay.Daemon() as daemon:
            peer = old_peers.Old(daemon, minor, "oldsess", "/" + where,
                                 live=200_000)
            peer.control.metadata(peer.meta, b"old metadata")
            peer.control.code(relay.START_DATA)
            v = greeted(daemon)
            listed = v.find("oldsess")
            equal((listed.timer, listed.host), (200_000, "oldhost"), "list")
            streams = split(v.ready(listed.id))
            equal(list(streams), [where], "paths")
            data, meta = streams[where]
            equal((data.channel, meta.channel), ("ch0_0", "metadata"),
                  "channels")
            equal(v.metadata(meta.id)[1], b"old metadata", "metadata")
            peer.packets(3)
            for n in range(3):
                i = expect(v, data.id, bytes([n]) * 4000 + bytes(96),
                           4096 * n)
                equal(i.ctf, 3, "class")
            beacon = relay.index_request(peer.stream, 2, 0, end=9, ctf=3)
            peer.control.code(relay.SEND_INDEX,
                              beacon if minor >= 8 else beacon[:64])
            i = v.next_index(data.id)
            equal((i.status, i.end, i.ctf), (viewer.INACTIVE, 9, 3),
                  "after a beacon")
            peer.finish(2)
            until(lambda: v.next_index(data.id).status, viewer.HUP, "stream")
            until(lambda: v.new_streams(listed.id)[0], viewer.STREAMS_HUP,
                  "session")
            v.close()


def sessions_of_one_name():
    """P15, P22: one per domain and bitness; ids count over all of them."""
    with relay.Daemon() as daemon:
        writers = [Live(daemon, f"same{n}") for n in range(2)]
        # Same host, name and path; another peer.
        writers += [Live(daemon, "one", uuid=u * 16) for u in (b"a", b"b")]
        v = greeted(daemon)
        v.create()
        until(lambda: len(v.list()), 4, "sessions")
        numbers, attached = set(), []
        for listed in sorted(v.list()):
            status, streams = v.attach(listed.id)
            equal(status, viewer.ATTACHED, listed.name)
            while len(streams) < 2:
                streams += v.new_streams(listed.id)[1]
            numbers |= {s.id for s in streams}
            equal(len({s.trace for s in streams}), 1, "traces of one path")
            attached.append((listed, split(streams)["ust/uid/0/64-bit"]))
        equal([a.name for a, _ in attached],
              ["same0", "same1", "one", "one"], "names")
        equal(len(numbers), 8, "stream ids")
        check(not numbers & {0, relay.NONE}, "an id that stands for none")
        equal(len({data.trace for _, (data, _) in attached}), 4, "trace ids")
        for n, w in enumerate(writers):
            w.packet(size=1000 + n, padding=24 - n)
        for w, (_, (data, meta)) in zip(writers, attached):
            w.wait_written()
            expect(v, data.id, w.written)
            equal(v.metadata(meta.id)[1], b"metadata of " + w.name.encode(),
                  "metadata")
        writers[2].finish()
        _, (data, _) = attached[2]
        until(lambda: v.next_index(data.id).status, viewer.HUP, "its stream")
        until(lambda: v.new_streams(attached[2][0].id)[0],
              viewer.STREAMS_HUP, "its session")
        for n in 0, 1, 3:
            check(v.next_index(attached[n][1][0].id).status
                  in (viewer.RETRY, viewer.INACTIVE), "the others go on")
            equal(v.new_streams(attached[n][0].id)[0], viewer.STREAMS_OK,
                  "the others go on")
            writers[n].finish()
        v.close()


def replies_wait_for_no_acknowledgement():
    """W6: 40 ms each, were they sent in two parts."""
    with relay.Daemon() as daemon:
        w = Watched(daemon)
        v = greeted(daemon)
        v.create()
        took = []
        for _ in range(60):
            began = time.monotonic()
            equal(len(v.list()), 1, "LIST_SESSIONS")
            equal(len(v.attach(w.id)[1]), 2, "ATTACH_SESSION")
            equal(v.metadata(w.meta)[0], viewer.METADATA_OK, "GET_METADATA")
            equal(v.detach(w.id), 1, "DETACH_SESSION")
            took.append(time.monotonic() - began)
        median = sorted(took)[30]
        check(median < 0.1, f"{median:.3f} s for four requests")
        v.close()
        w.finish()


def requests_in_any_order():
    """P20: an index is not followed by its packet, a packet is read in parts,
    again, and in any order."""
    with relay.Daemon() as daemon:
        w = Watched(daemon)
        for n in range(4):
            w.session.packet()
        w.session.wait_written()
        written = w.session.written
        v = greeted(daemon)
        equal(len(v.ready(w.id)), 2, "without LIST_SESSIONS")
        for n in range(4):
            equal(v.next_index(w.stream).offset, 4096 * n, "index")
        for offset, length in ((3 * 4096, 4096), (0, 4096), (0, 1), (1, 4095),
                               (4096, 2 * 4096), (0, 4096), (4000, 200)):
            equal(v.packet(w.stream, offset, length),
                  (viewer.PACKET_OK, written[offset:offset + length]),
                  f"{length} bytes at {offset}")
        equal(v.metadata(w.meta)[0], viewer.METADATA_OK, "late metadata")
        equal(v.metadata(w.meta)[0], viewer.METADATA_NO_NEW, "no more")
        v.close()
        w.read()
        w.finish()


def what_is_listed():
    """P19: sessions that are not live are listed; sessions that have ended are
    not, even while a viewer reads them."""
    with relay.Daemon() as daemon:
        plain = relay.Session(daemon, "plain")
        snapshot = relay.Session(daemon, "snapshot", snapshot=1)
        w = Watched(daemon)
        w.session.packet()
        v = greeted(daemon)
        v.create()
        until(lambda: sorted(s.name for s in v.list()),
              ["good", "plain", "snapshot"], "listed")
        for s in v.list():
            equal((s.clients, s.streams),
                  (1 if s.name == "good" else 0, 2), s.name)
            if s.name != "good":
                equal((s.timer, v.attach(s.id)), (0, (viewer.NOT_LIVE, [])),
                      s.name)
        w.session.finish()
        until(lambda: sorted(s.name for s in v.list()), ["plain", "snapshot"],
              "while it is read")
        equal(v.attach(w.id), (viewer.UNKNOWN, []), "ended")
        equal(w.viewer.new_streams(w.id)[0], viewer.STREAMS_OK,
              "not HUP before its packets are read")
        expect(w.viewer, w.stream, w.session.written)
        equal(w.viewer.next_index(w.stream).status, viewer.HUP, "stream")
        equal(w.viewer.new_streams(w.id)[0], viewer.STREAMS_HUP, "session")
        plain.finish()
        for conn in snapshot.control, snapshot.data, v, w.viewer:
            conn.close()


def a_publication_lets_go_at_once():
    """A viewer asks while streams are added; it is answered with their
    publication, not a second later."""
    with relay.Daemon() as daemon:
        w = Watched(daemon)
        slow = 0
        for n in range(40):
            w.session.packets(1)
            path = f"ust/pid/{n}"
            new = w.session.add("c", path=path)
            meta = w.session.add("metadata", path=path)
            w.session.control.metadata(meta, b"meta")
            w.session.control.index(new, 0, 0, end=n)
            w.viewer.send(viewer.id_request(viewer.NEXT_INDEX, w.stream))
            time.sleep(0.002)
            began = time.monotonic()
            w.session.control.code(relay.STREAMS_SENT)
            equal(viewer.Index(*w.viewer.unpack(">7QII")).status, viewer.OK,
                  "index")
            slow += time.monotonic() - began > 0.9
            equal(len(w.viewer.new_streams(w.id)[1]), 2, "new streams")
            for handle in (new, meta):
                w.session.control.close_stream(handle)
        # A machine that stands still makes few of them slow.
        check(slow < 5, f"{slow} answers took a second")
        w.session.finish()
        w.viewer.close()


def listed_and_attached_at_once():
    """What LIST counts, ATTACH has, from the first moment on: no index, no
    metadata is needed for it."""
    with relay.Daemon() as daemon:
        took = []
        for n in range(20):
            v = greeted(daemon)
            session = relay.Session(daemon, f"new-{n}", live=1000000)
            began = time.monotonic()
            until(lambda: v.find(session_name(n)).streams, 2, "listed")
            equal(v.create(), 1, "CREATE_SESSION")
            status, streams = v.attach(v.find(session_name(n)).id)
            equal((status, len(streams)), (viewer.ATTACHED, 2), "attached")
            (meta,) = [t.id for t in streams if t.is_metadata]
            equal(v.metadata(meta), (viewer.METADATA_NO_NEW, b""), "metadata")
            took.append(time.monotonic() - began)
            for conn in session.control, session.data, v:
                conn.close()
        check(sorted(took)[10] < 0.5, f"it took {sorted(took)[10]:.2f} s")


def session_name(number):
    """Of listed_and_attached_at_once()."""
    return f"new-{number}"


def in_turn(greet, pause):
    """A viewer asks 8 streams in turn; one of them has 100 packets a second,
    the others nothing. How late each packet comes to it, s."""
    with relay.Daemon() as daemon:
        session = Live(daemon, timer=1000000)
        others = [session.add(f"ch_{n}") for n in range(1, 8)]
        session.control.code(relay.STREAMS_SENT)
        v = greeted(daemon)
        greet(v)
        ident = v.find("live").id
        _, streams = v.attach(ident)
        data = [s.id for s in streams if not s.is_metadata]
        equal(len(data), 8, "streams")
        for other in others:
            session.control.index(other, 0, 0, end=1)
        sent, late = [], []
        writer = threading.Thread(target=lambda: [
            (time.sleep(0.01), session.packet(), sent.append(time.monotonic()))
            for _ in range(100)])
        writer.start()
        end = time.monotonic() + relay.TIMEOUT
        while len(late) < 100 and time.monotonic() < end:
            for stream in data:
                while v.next_index(stream).status == viewer.OK:
                    late.append(time.monotonic())
            time.sleep(pause)
        writer.join()
        equal(len(late), 100, "packets")
        for conn in session.control, session.data, v:
            conn.close()
        return sorted(b - a for a, b in zip(sent, late))


def create_first(v):
    """As babeltrace2 does."""
    v.create()
    v.list()


def list_first(v):
    """As babeltrace 1.5 does, and Trace Compass."""
    v.list()
    v.create()


def who_asks_in_turn_is_not_late():
    """live 4.8: at no stream it waits for another. Held for the period it
    would be seconds behind."""
    for greet in (create_first, list_first):
        for pause in (0.001, 0.1):
            late = in_turn(greet, pause)
            print(f"  {greet.__name__}, pause of {pause} s: median "
                  f"{1000 * late[50]:.1f} ms, worst {1000 * late[-1]:.1f} ms")
            check(late[50] < pause + 1, "it is behind")


def bare_session(daemon, title):
    """A live session without any stream; its control and data connection."""
    control, data = daemon.control(), daemon.data()
    control.version()
    control.create_session(name=title, live=viewer.PERIOD_US)
    control.create_chunk(0)
    return control, data


def added(control, channel, path="ust/uid/0/64-bit"):
    handle, _ = control.add_stream(channel, path=path)
    return handle


def metadata_waits_for_a_data_stream():
    """babeltrace2 2.0 that has read metadata of a trace without a data stream
    asks for new streams without end, and for nothing else, once there is
    one. So metadata is announced with the first data stream, however long
    that takes, also to who attaches meanwhile; and nothing waits for it."""
    with relay.Daemon() as daemon:
        control, data = bare_session(daemon, "bare")
        early = greeted(daemon)
        equal(early.create(), 1, "CREATE_SESSION")
        ident = early.find("bare").id
        equal(early.attach(ident), (viewer.ATTACHED, []), "early")
        paths = [f"ust/uid/{n}/64-bit" for n in range(3)]
        handles = [added(control, "metadata", path) for path in paths]
        for meta in handles:
            control.metadata(meta, METADATA)
        control.code(relay.STREAMS_SENT)
        until(lambda: early.find("bare").streams, 3, "listed")
        late = greeted(daemon)
        equal(late.create(), 1, "CREATE_SESSION")
        equal(late.attach(ident), (viewer.ATTACHED, []), "late")
        end = time.monotonic() + 2.5    # a trace that is not heard: 1.2 s
        while time.monotonic() < end:
            for v in early, late:
                equal(v.new_streams(ident), (viewer.STREAMS_OK, []), "alone")
        # Another trace of the session is seen meanwhile, up to its bound.
        other = [added(control, name, "ust/pid/1")
                 for name in ("c", "metadata")]
        control.metadata(other[1], METADATA)
        control.index(other[0], 0, 0, end=5_000_000)
        control.code(relay.STREAMS_SENT)
        for v in early, late:
            streams = []
            until(lambda: streams.extend(v.new_streams(ident)[1]) or
                  {s.path for s in streams}, {"ust/pid/1"}, "the other trace")
            stream = split(streams)["ust/pid/1"][0].id
            until(lambda: v.next_index(stream).end, 5_000_000, "its bound")
        control.index(other[0], 1, 0, end=9_000_000)
        for v in early, late:
            until(lambda: v.next_index(stream).end, 9_000_000, "its bound")
        took = []
        for path, bound in zip(paths, (10_000_000, 11_000_000, 12_000_000)):
            began = time.monotonic()
            handles.append(added(control, "ch_0", path))
            control.index(handles[-1], 0, 0, end=bound)
            control.code(relay.STREAMS_SENT)
            for v in early, late:
                streams = []
                until(lambda: streams.extend(v.new_streams(ident)[1]) or
                      len(streams), 2, "both")
                got, found = split(streams)[path]
                equal(v.metadata(found.id), (viewer.METADATA_OK, METADATA),
                      "text")
                equal(v.next_index(got.id).end, bound, "a bound")
            took.append(time.monotonic() - began)
        check(min(took) < 1, "it took a second")
        for handle in (*handles, *other):
            control.close_stream(handle)
        for conn in control, data, early, late:
            conn.close()


def metadata_alone_ends_unseen():
    """A trace that never has a data stream is not announced to viewers, and does
    not delay the end of a session for its viewers."""
    with relay.Daemon() as daemon:
        control, data = bare_session(daemon, "bare")
        meta = added(control, "metadata")
        control.metadata(meta, METADATA)
        control.code(relay.STREAMS_SENT)
        v = greeted(daemon)
        equal(v.create(), 1, "CREATE_SESSION")
        ident = v.find("bare").id
        equal(v.attach(ident), (viewer.ATTACHED, []), "attached")
        equal(v.new_streams(ident), (viewer.STREAMS_OK, []), "alone")
        control.close_stream(meta)
        equal(v.new_streams(ident), (viewer.STREAMS_OK, []), "closed")
        control.close()
        until(lambda: v.new_streams(ident), (viewer.STREAMS_HUP, []), "end")
        data.close()
        v.close()


if __name__ == "__main__":
    sys.exit(relay.main(at_once=4))
