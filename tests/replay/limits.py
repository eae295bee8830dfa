#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What one peer may make the daemon keep: halves of packets, small and many.
Starts daemons of its own."""
import contextlib
import socket
import struct
import sys
import threading
import time

import relay
import viewer
from flood import TRIES, WORST, Bystander
from relay import check, equal

MIB = 1024 * 1024
MEMORY = "128M"


def packets_without_records():
    """They are bounded, whatever their size: their peer waits, and it does not
    hold all the memory there is."""
    for size, count, most, grows in ((0, 2_000_000, 40, 100),
                                     (1, 600_000, 16, 100),
                                     (MIB, 512, 200, 128)):
        with relay.Daemon("--max-memory", MEMORY) as daemon, \
                relay.bystander(daemon) as good:
            hoard = relay.Session(daemon, "hoard")
            before = daemon.rss()
            sent = send_packets(hoard, size, count)
            grown = daemon.rss() - before
            check(sent < most * MIB, f"{sent >> 20} MiB of {size} were taken")
            check(grown < grows * MIB, f"{grown >> 20} MiB are held")
            good.packets(10)
            hoard.leave()


def send_packets(session, size, count):
    """Until the daemon reads no more; the bytes of them that it, and the
    sockets between, took."""
    body, sent, at = bytes(size), 0, 0
    session.data.sock.settimeout(1)
    some = max(1, min(count, MIB // (size + 32)))
    with contextlib.suppress(TimeoutError):
        while at < count:
            blob = b"".join(struct.pack(
                ">QQQII", 0, session.stream, seq, size, 0) + body
                for seq in range(at, at + some))
            at += some
            while blob:
                n = session.data.sock.send(blob)
                sent, blob = sent + n, blob[n:]
    return sent


def records_of_many_streams():
    """Of one stream 65,536 may wait; of all of a session twice as many."""
    with relay.Daemon("--max-memory", MEMORY) as daemon, \
            relay.bystander(daemon):
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
        # The last one may be cut.
        codes = struct.unpack(f">{len(replies) // 4}I",
                              replies[:len(replies) // 4 * 4])
        check(len(codes) <= 131_073, f"{len(codes)} records were taken")
        equal(set(codes[:100_000]), {relay.OK}, "the first")


def hoard_of(daemon, i):
    """A session that sends packets without records until nothing is read."""
    s = relay.Session(daemon, f"hoard{i}")
    s.data.sock.settimeout(0.2)
    with contextlib.suppress(TimeoutError):
        for seq in range(64):
            s.data.packet(s.stream, seq, bytes(MIB))
    return s


def _fill_memory():
    """What a packet of a bystander took at most, without waits for a CPU."""
    with relay.Daemon("--max-memory", "32M", workers=1) as daemon:
        bystander = Bystander(daemon)
        good = bystander.session
        before, hoards, began = daemon.rss(), [], time.monotonic()
        while len(hoards) < 6 or "memory is short" not in daemon.log_text():
            check(time.monotonic() < began + relay.TIMEOUT, "nothing was logged")
            hoards.append(hoard_of(daemon, len(hoards)))
        worst = 0
        until = time.monotonic() + 2.5
        while time.monotonic() < until:
            waited, at = bystander.waited(), time.monotonic()
            good.packets(1)
            took = time.monotonic() - at
            worst = max(worst, took - (bystander.waited() - waited))
        relay.recorded(daemon, "late")
        good.finish()
        lines = daemon.log_text().count("memory is short")
        check(lines < 10 + time.monotonic() - began, "a flood of lines")
        check(daemon.rss() - before < 96 * MIB, "memory")
        for s in hoards:
            s.leave()
        return worst


def memory_that_others_fill():
    """Sessions that hold packets without records do not prevent others from
    recording, and lose the oldest of them. The best of some tries counts."""
    for _ in range(TRIES):
        worst = _fill_memory()
        if worst < WORST:
            return
    raise relay.Failed(f"a packet of the bystander took {worst:.2f} s")


def begin_packets(daemon, session, count):
    """So many connections, each in the middle of a large packet, until they are
    closed or nothing more is read."""
    for _ in range(count):
        data = daemon.data()
        data.sock.settimeout(0.3)
        with contextlib.suppress(OSError):
            data.send(struct.pack(">QQQII", 0, session.stream, session.seq,
                                  200 * MIB, 0) + bytes(100 * MIB))
        data.close()


def halves_that_others_have_begun():
    """A peer that fills the memory with incomplete messages is closed, and no
    other peer, on any worker."""
    with relay.Daemon("--max-memory", "32M", workers=2) as daemon:
        good = [relay.Session(daemon, f"good{i}") for i in range(4)]
        for s in good:
            s.data.send(struct.pack(">QQQII", 0, s.stream, 0, 4000, 96)
                        + bytes(2000))
        bad = [relay.Session(daemon, f"bad{i}") for i in range(2)]
        threads = [threading.Thread(target=begin_packets, args=(daemon, s, 12))
                   for s in bad]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            for s in good:
                s.control.pending(s.stream, 0)
        check("closed in the middle of a message" in daemon.log_text(),
              "nobody was closed")
        for s in good:
            s.data.send(bytes(2000 + 96))
            s.control.index(s.stream, 0, 4096, content=4000)
            s.seq, s.written, s.offsets = 1, bytes(4096), [0]
            s.finish()
        for s in bad:
            s.leave()


def streams_that_no_viewer_reads():
    """Viewers that ask for many streams and read nothing: a reply is encoded
    as it is read, and what it lists is whole."""
    with relay.Daemon("--max-memory=32M", workers=1) as daemon:
        s = relay.Session(daemon, "big", live=1_000_000)
        s.control.metadata(s.meta, b"metadata")
        names = [s.add(f"x_{n}") and f"x_{n}" for n in range(2000)]
        s.control.code(relay.STREAMS_SENT)
        slow = viewer.greeted(daemon)
        slow.create()
        ident = slow.find("big").id
        before, peak, deaf = daemon.rss(), 0, []
        slow.send(viewer.attach_request(ident))
        relay.wait_until("it is not attached",
                         lambda: viewer.clients(daemon, "big") == 1)
        for _ in range(60):
            v = viewer.greeted(daemon)
            v.create()
            v.send(viewer.attach_request(ident))
            deaf.append(v)
            peak = max(peak, daemon.rss())
        until = time.monotonic() + 1
        while time.monotonic() < until:
            peak = max(peak, daemon.rss())
            time.sleep(0.02)
        # Its red zones are several times the memory of a viewer's places.
        most = 32 if relay.has_sanitizer("address") else 12
        check(peak - before < most * MIB,
              f"{(peak - before) >> 20} MiB are kept")
        check(peak < 128 * MIB or relay.has_sanitizer("address"),
              f"{peak >> 20} MiB")
        status, streams = slow._streams()
        equal(status, viewer.ATTACHED, "ATTACH_SESSION")
        equal([t.channel for t in streams], ["ch_0", "metadata"] + names,
              "the streams")
        for v in deaf:
            v.close()


def reset_in_metadata(s):
    """Is all of it sent? Of a peer that reads nothing the kernel may drop the
    acknowledgements, too; then it sends no more."""
    s.control.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.control.metadata(s.meta, b"before; ")
    s.control.sock.settimeout(5)
    path, until = s.dir / "metadata", time.monotonic() + relay.TIMEOUT
    try:
        s.control.send(relay.frame(relay.DATA_PENDING, struct.pack(
            ">QQ", s.stream, 0)) * 60_000)
        s.control.metadata(s.meta, b"/* */ \n\n" * (2 * MIB))
        is_sent = True
        while path.stat().st_size < 9:
            check(time.monotonic() < until, "nothing is written")
    except TimeoutError:
        is_sent = False
    s.control.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              struct.pack("ii", 1, 0))
    s.leave()
    while path.stat().st_size not in (8, 8 + 16 * MIB):
        check(time.monotonic() < until, f"{path.stat().st_size} bytes stay")
        time.sleep(0.05)
    return is_sent


def metadata_of_a_peer_that_resets():
    """It is written in parts, between which the peer resets its connection,
    with replies that it did not read: all of it is there, or nothing."""
    with relay.Daemon(workers=1) as daemon:
        sent = [reset_in_metadata(relay.Session(daemon, f"reset{i}"))
                for i in range(6)]
        check(any(sent), "metadata is never read")


def streams_without_end():
    """A peer that adds too many gets no more; a peer with few still gets some."""
    with relay.Daemon("--max-memory=32M", workers=1) as daemon, \
            relay.bystander(daemon):
        hoard = relay.Session(daemon, "hoard")
        for n in range(20_000):
            _, code = hoard.control.add_stream(f"x_{n}", want=None)
            if code != relay.OK:
                break
        check(1000 < n < 6000, f"{n} streams were added")
        check("too many streams" in daemon.log_text(), "the reason")
        relay.recorded(daemon, "few")
        hoard.finish()
        again = relay.Session(daemon, "again")
        for m in range(200):
            again.control.add_stream(f"y_{m}")


def closed_streams_without_end():
    """What is kept of closed streams is memory, too: for the names of files that
    a clear deletes, and that are not used again. A rotation frees it."""
    with relay.Daemon("--max-memory=8M", workers=1) as daemon, \
            relay.bystander(daemon):
        s = relay.Session(daemon, "short")
        for n in range(20_000):
            handle, code = s.control.add_stream("c", f"ust/pid/app-{n}",
                                                want=None)
            if code != relay.OK:
                break
            s.control.close_stream(handle)
        check(1000 < n < 8000, f"{n} streams were added and closed")
        check("closed streams in open trace chunks" in daemon.log_text(),
              "the reason")
        relay.recorded(daemon, "few")
        s.control.next_chunk(1, 0, (s.stream, 0), (s.meta, 0))
        for n in range(500):
            handle, _ = s.control.add_stream("c", f"ust/pid/app-{n}")
            s.control.close_stream(handle)


def folders_without_end():
    """A chunk has some top-level folders, as one request moves them all; who
    asks for too many may go on with those that are there."""
    with relay.Daemon(workers=1) as daemon, relay.bystander(daemon):
        s = relay.Session(daemon, "tops")
        codes = [s.control.add_stream("c", f"t{n}/x", want=None)[1]
                 for n in range(100)]
        n = codes.count(relay.OK)
        equal(codes, [relay.OK] * n + [relay.UNKNOWN] * (100 - n),
              "ADD_STREAM")
        check(2 < n <= 64, f"{n} folders")
        check("refused: the chunk has 64 top-level folders" in daemon.log_text(),
              "the reason")
        for chunk in (1, 2):
            s.control.create_chunk(chunk)
            s.control.close_chunk(chunk - 1, 0)
            s.control.add_stream("c", "ust/more")


if __name__ == "__main__":
    sys.exit(relay.main())
