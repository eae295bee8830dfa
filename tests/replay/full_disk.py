#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A full disk ends no session: losses are reported, no peer waits forever, and
recording continues when there is space. Each case has a small file system.

Arguments: cases by name, all if none.
"""
import json
import struct
import subprocess
import sys
import time

import looking
import relay
import small_disk
import viewer
from relay import check, equal
from viewer import Live, attached, ids

HTTP = ("--http", "tcp://127.0.0.1:0")


def get(daemon, path):
    """(status, text)"""
    status, _, body = looking.get(daemon, path)
    return status, body.decode()


def lost(daemon):
    return looking.metrics(daemon)[
        'tracepulse_lost_packets_total{cause="disk_full"}']


def names(daemon):
    """What is in the output directory, except the notes of retention."""
    return {p.name for p in daemon.out.iterdir()}


def until(true, what, limit=relay.TIMEOUT):
    relay.wait_until(what, true, limit)


class Peer(Live):
    """Packets that may be lost: each contains its number."""

    def numbered(self, size=65536):
        seq, self.seq = self.seq, self.seq + 1
        payload = struct.pack(">Q", seq) * (size // 8)
        self.put(self.stream, seq, payload, begin=1000 * seq + 1,
                 end=1000 * seq + 999)

    def settle(self):
        """DATA_PENDING does not stay, whatever is lost."""
        self.control.wait_written(self.stream, self.seq - 1)

    def found(self, where=None):
        """The numbers that are on the disk; everything is whole."""
        data = (where or self.dir) / "ch_0"
        index = data.parent / "index/ch_0.idx"
        bytes_, numbers, end = data.read_bytes(), [], 0
        for offset, size, seq in relay.records(index) if index.exists() else ():
            end = offset + size
            check(bytes_[offset:end] == struct.pack(">Q", seq) * (size // 8),
                  f"packet {seq} differs")
            numbers.append(seq)
        equal(len(bytes_), end, "bytes that no record names")
        return numbers

    def end(self):
        self.settle()
        self.control.close_stream(self.stream, self.seq - 1)
        self.control.close_stream(self.meta)
        self.control.close()
        self.data.close()

    def losses(self):
        path = self.dir / ".loss.jsonl"
        return [json.loads(line) for line in
                path.read_text().splitlines()] if path.exists() else []


class Watch:
    """A viewer of one session, read by hand."""

    def __init__(self, daemon, title):
        self.viewer, _, streams = attached(daemon, title)
        self.stream, self.meta = ids(streams)

    def next(self):
        """The number of the next packet; None: there is none now."""
        i = self.viewer.next_index(self.stream)
        if i.status in (viewer.RETRY, viewer.INACTIVE):
            return None
        equal(i.status, viewer.OK, "the viewer's index")
        status, data = self.viewer.packet(self.stream, i.offset, i.size // 8)
        equal(status, viewer.PACKET_OK, "the viewer's packet")
        return struct.unpack_from(">Q", data)[0]

    def all(self, wanted):
        seen = []
        end = time.monotonic() + relay.TIMEOUT
        while len(seen) < len(wanted):
            n = self.next()
            if n is not None:
                seen.append(n)
            check(time.monotonic() < end, f"the viewer saw only {seen}")
        equal(seen, wanted, "packets that the viewer saw")


def goes_on(daemon):
    """Packets and a listing while there is room, none, and room again."""
    peer = Peer(daemon, "full")
    watch = Watch(daemon, "full")
    for _ in range(5):
        peer.numbered()
    peer.settle()
    equal(get(daemon, "/readyz")[0], 200, "/readyz")
    small_disk.fill(daemon)
    for _ in range(40):
        peer.numbered()
    peer.settle()
    before = peer.found()
    equal(before, list(range(len(before))), "what is there")
    check(5 <= len(before) <= 6, f"{len(before)} packets fit")
    until(lambda: lost(daemon) == 45 - len(before), "not all losses are told")
    # The page asks the relay's threads once a second.
    until(lambda: get(daemon, "/readyz") == (503, "disk full\n"),
          f"/readyz says {get(daemon, '/readyz')}")
    # A session is admitted nevertheless, and its peer gets no error.
    other = daemon.peer()
    other.create_session(name="other")
    other.close()
    text = json.loads(get(daemon, "/api/v1/status")[1])["state_text"]
    check("are admitted" in text and "disk is full" in text, text)
    until(lambda: json.loads(get(daemon, "/api/v1/status")[1])["disk"][
        "free_bytes"] < 1 << 20, "what is free is told as it was before", 4)
    # A trace on a full disk can be read.
    big = bytes(range(256)) * 80
    for _ in range(4):
        peer.control.metadata(peer.meta, big)
    peer.settle()
    text = (peer.dir / "metadata").read_bytes()
    equal(text, b"metadata of full" + 4 * big, "metadata on a full disk")
    small_disk.make_room(daemon)
    began = time.monotonic()
    first = peer.seq
    while lost(daemon) == 0 or peer.found()[-1] < first:
        check(time.monotonic() < began + 10, "not recorded 10 s after there was "
              "room")
        peer.numbered()
        peer.settle()
    for _ in range(5):
        peer.numbered()
    peer.settle()
    found = peer.found()
    equal(found[-6:], list(range(peer.seq - 6, peer.seq)), "afterwards")
    watch.all(found)
    until(lambda: get(daemon, "/readyz")[0] == 200, "/readyz stays")
    peer.end()
    gaps = peer.losses()
    equal([g["why"] for g in gaps], ["disk full"] * len(gaps), "why")
    equal(sum(g["lost"] for g in gaps), peer.seq - len(found), "lost")
    equal(gaps[0]["first"], len(before), "the first that was lost")
    lines = daemon.log_text().count("No space left")
    check(0 < lines < 3, f"{lines} lines of log for one full disk")
    check(daemon.log_text().count("packets are lost: there is no space") == 1,
          "losses are not logged once")


def a_full_disk_ends_no_session():
    small_disk.run(goes_on, *HTTP, mount="size=16m")


def begins_full(daemon):
    """Sessions and streams begin on a disk without blocks and inodes."""
    peer = Peer(daemon, "early")
    peer.numbered()
    peer.settle()
    inodes = 0
    (daemon.out / "many").mkdir()
    try:
        while True:
            (daemon.out / f"many/{inodes}").touch()
            inodes += 1
    except OSError:
        pass
    second = peer.add("ch_1")       # its file cannot be made
    third = peer.add("ch_2", path="ust/uid/1/64-bit")   # nor its folder
    meta = peer.add("metadata", path="ust/uid/1/64-bit")
    peer.control.code(relay.STREAMS_SENT)
    peer.control.metadata(meta, b"waits")
    for stream in (second, third):
        peer.put(stream, 0, b"1" * 4096)
        peer.control.wait_written(stream, 0)
    for i in range(inodes):
        (daemon.out / f"many/{i}").unlink()
    peer.control.metadata(meta, b" and comes")
    for stream in (second, third):
        peer.put(stream, 1, b"2" * 4096)
        peer.control.wait_written(stream, 1)
    other = peer.dir.parent.parent / "1/64-bit"
    equal((peer.dir / "ch_1").read_bytes(), b"2" * 4096, "the second stream")
    equal((other / "ch_2").read_bytes(), b"2" * 4096, "the third stream")
    until(lambda: (other / "metadata").read_bytes() == b"waits and comes",
          "its metadata")
    peer.numbered()
    peer.end()


def streams_without_inodes():
    small_disk.run(begins_full, workers=1, mount="size=8m,nr_inodes=64")


def owes(daemon):
    """More metadata than the reserve has waits in memory."""
    peer = Peer(daemon, "owes")
    watch = Watch(daemon, "owes")
    small_disk.fill(daemon)
    peer.numbered()
    parts = [bytes([65 + i]) * 100_000 for i in range(5)]
    for part in parts:
        peer.control.metadata(peer.meta, part)
    peer.settle()
    size = (peer.dir / "metadata").stat().st_size
    check(size < 400_000, f"{size} bytes of metadata had room")
    small_disk.make_room(daemon)
    whole = b"metadata of owes" + b"".join(parts)
    until(lambda: (peer.dir / "metadata").read_bytes() == whole,
          "metadata that waited is not written")
    got = b""
    while len(got) < len(whole):
        got += watch.viewer.metadata(watch.meta)[1]
    check(got == whole, "the viewer's metadata")
    peer.numbered()
    peer.end()


def metadata_waits():
    small_disk.run(owes, workers=1)


def written(daemon):
    """How often the relay called write(2) and the like."""
    with open(f"/proc/{daemon.process.pid}/io", encoding="ascii") as f:
        fields = dict(line.split(": ") for line in f)
    return int(fields["syscw"])


def owe(daemon):
    """Many streams wait for room: they are not all tried each time that somebody
    else sends something, and do not fill the log when they end."""
    peer, n, times = Peer(daemon, "owe"), 600, 100
    metas = [peer.add("metadata", path=f"p/{i}") for i in range(n)]
    peer.control.code(relay.STREAMS_SENT)
    small_disk.fill(daemon)
    for meta in metas:
        peer.control.metadata(meta, bytes(6000))
    good = relay.Session(daemon, "good")
    good.control.code(relay.STREAMS_SENT)
    before = written(daemon)
    for _ in range(times):
        good.control.code(relay.STREAMS_SENT)
        time.sleep(0.001)
    calls = (written(daemon) - before) / times
    check(calls < 20, f"{calls} writes for each request of another")
    peer.leave()
    until(lambda: [looking.metrics(daemon)['tracepulse_sessions{state="%s"}' % s]
                   for s in ("active", "ending")] == [1, 0], "it does not end")
    lines = daemon.log_text().count("\n")
    check(lines < 200, f"{lines} lines in the log")


def many_streams_wait():
    small_disk.run(owe, *HTTP, "--max-memory", "192M", workers=1, mount="size=16m")


def rotates(daemon):
    """Rotations while there is no space."""
    peer = Peer(daemon, "rotates")
    peer.numbered()
    peer.settle()
    small_disk.fill(daemon)
    peer.numbered()
    peer.control.create_chunk(1)
    peer.control.rotate(1, (peer.meta, 0), (peer.stream, peer.seq))
    peer.control.metadata(peer.meta, b"again")
    peer.control.close_chunk(0, 0)
    peer.control.wait_gone(0)
    peer.numbered()
    peer.settle()
    small_disk.make_room(daemon)
    peer.numbered()
    peer.settle()
    (now,) = [p.parent for p in (daemon.out / peer.path).rglob("ch_0")
              if "archives" not in p.parts]
    equal(peer.found(now), [3], "in the new chunk")
    equal((now / "metadata").read_bytes(), b"again", "its metadata")
    (then,) = (daemon.out / peer.path).rglob("archives/*/ust/uid/0/64-bit")
    equal(peer.found(then), [0], "in the archive")
    peer.leave()


def a_rotation():
    small_disk.run(rotates)


def crashes(daemon):
    """kill -9 while the disk is full; the next start, too, has no room."""
    for size in (4096, 65536):
        peer = Peer(daemon, f"crash{size}")
        peer.numbered(size)
        peer.settle()
        small_disk.fill(daemon)
        peer.control.metadata(peer.meta, b"x" * 5000)
        for _ in range(30):
            peer.numbered(size)
        peer.settle()
        late = Peer(daemon, f"late{size}")
        late.numbered(64)
        late.settle()
        daemon.kill()
        daemon.start_again()
        daemon.recovered()
        for p in (peer, late):
            p.found()
        check(0 in peer.found(), "what was there before")
        equal((peer.dir / "metadata").stat().st_size,
              len(f"metadata of crash{size}") + 5000, "metadata")
        small_disk.make_room(daemon)
    equal(names(daemon), {"h"}, "left in the output directory")


def a_crash():
    small_disk.run(crashes)


def leaves_nothing(daemon):
    """The reserve is not visible, and does not exist after the relay has ended."""
    all_ = 8 << 20
    before = all_ - 2 * all_ // 64      # of two workers
    until(lambda: small_disk.free(daemon) == before, "no reserve")
    peer = Peer(daemon, "short")
    peer.numbered()
    peer.end()
    until(lambda: names(daemon) == {"h"}, "a name of its own stays")
    daemon.stop()
    subprocess.run(["rm", "-r", str(daemon.out / "h")], check=True)
    equal(small_disk.free(daemon), all_, "room at the end")
    daemon.start_again()
    until(lambda: small_disk.free(daemon) == before, "no reserve again")
    daemon.kill()
    until(lambda: small_disk.free(daemon) == all_, "a crash leaves it")
    daemon.start_again()


def nothing_is_left():
    small_disk.run(leaves_nothing)


if __name__ == "__main__":
    sys.exit(relay.main())
