#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tracepulse-send --follow: a trace that is recorded is sent on, as it grows."""
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(os.environ.get("srcdir", ".")).resolve()
sys.path[:0] = [str(SOURCE / "tests/replay"), str(SOURCE / "tests/plugin")]
import ctf_trace
import relay
import viewer
from relay import check, equal, wait_until

PROGRAM = os.path.abspath(os.environ.get("SEND", "./tracepulse-send"))
METADATA = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le;
  packet.header := struct { integer { size = 32; align = 8; } magic;
    integer { size = 32; align = 8; } stream_id; }; };
clock { name = c; freq = 1000000000; offset = 0; };
stream { id = 0; packet.context := struct {
  integer { size = 64; align = 8; } timestamp_begin; }; };
event { id = 0; name = first; stream_id = 0; };
"""
U8 = list(ctf_trace.KINDS).index("u8")
MORE = "event { id = 1; name = second; stream_id = 0; };\n"
TRACE = "ust/uid/0/64-bit"
CHUNKS = ("20261127T142414+0000-20261127T142416+0000-0",
          "20261127T142416+0000-1")


class File:
    """A stream file and its index file."""

    def __init__(self, folder, name, instance=0):
        (folder / "index").mkdir(parents=True, exist_ok=True)
        self.instance, self.size = instance, 0
        self.data = open(folder / name, "wb", buffering=0)
        self.index = open(folder / f"index/{name}.idx", "wb", buffering=0)
        self.index.write(struct.pack(">IIII", 0xC1F1DCC1, 1, 1, 72))

    def record(self, seq, size=512):
        return struct.pack(">9Q", self.size, size * 8, size * 8, seq * 100,
                           seq * 100 + 50, 0, 0, self.instance, seq)

    def packet(self, seq, size=512):
        record = self.record(seq, size)
        data = payload(self.instance, seq, size)
        self.data.write(data)
        self.index.write(record)
        self.size += size

    def close(self):
        self.data.close()
        self.index.close()


def payload(instance, seq, size=512):
    return struct.pack("<QQ", instance, seq) * (size // 16)


class Recording:
    """A directory in which LTTng records without a relay."""

    def __init__(self, top):
        self.dir = top / "recorded"
        self.folder = self.dir / TRACE
        self.folder.mkdir(parents=True)
        (self.folder / "metadata").write_text(METADATA)
        self.files = []

    def file(self, name, instance=0, folder=None):
        f = File(folder or self.folder, name, instance)
        self.files.append(f)
        return f

    def end(self):
        for f in self.files:
            f.close()


class OldRelay:
    """The relay DAEMON without RESUME, as a stock one answers."""

    def __init__(self, daemon):
        self.daemon, self.data_port = daemon, daemon.data_port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.control_port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            peer, _ = self.listener.accept()
            to = self.daemon.connect(self.daemon.control_port)
            for pump in self._requests, self._replies:
                threading.Thread(target=pump, args=(peer, to),
                                 daemon=True).start()

    @staticmethod
    def _requests(peer, to):
        peer, to = relay.Connection(peer), relay.Connection(to)
        with contextlib.suppress(relay.Failed, OSError):
            while True:
                head = peer.read(24)
                size, command = struct.unpack_from(">QI", head, 8)
                body = peer.read(size)
                if command == relay.GET_CONFIGURATION:
                    peer.send(struct.pack(">IQ", relay.PROTOCOL, 0))
                else:
                    to.send(head + body)
        to.sock.shutdown(socket.SHUT_WR)

    @staticmethod
    def _replies(peer, to):
        with contextlib.suppress(OSError):
            while part := to.recv(65536):
                peer.sendall(part)
            peer.close()


@contextlib.contextmanager
def _following(daemon, directory, *options):
    """The program; its end is waited for, and its summary is P.summary."""
    p = subprocess.Popen(
        [PROGRAM, "--follow", "--json", "--session=copy", "--hostname=h",
         *options, str(directory), url(daemon)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    try:
        yield p
        out, err = p.communicate(timeout=60)
        p.complaint = err.decode()
        p.summary = json.loads(out)
    finally:
        if p.poll() is None:
            p.kill()
        p.wait()


def url(daemon):
    return f"net://127.0.0.1:{daemon.control_port}:{daemon.data_port}"


def copies(daemon):
    return sorted(daemon.out.glob("h/copy-*"))


def packets(folder, name):
    """(instance, seq) of each packet of 512 bytes, which is whole."""
    blob = (folder / TRACE / name).read_bytes() \
        if (folder / TRACE / name).exists() else b""
    found = []
    for at in range(0, len(blob), 512):
        found.append(struct.unpack_from("<QQ", blob, at))
        equal(blob[at:at + 512], payload(*found[-1]), f"{name} at {at}")
    return found


def has(daemon, name, seqs, instance=0):
    def has_now():
        found = copies(daemon)
        return found and packets(found[-1], name) == [
            (instance, s) for s in seqs]
    return has_now


def grows():
    """Packets, streams and metadata that come later; half a record waits."""
    with relay.Daemon() as daemon:
        r = Recording(daemon.top)
        a = r.file("a_0")
        a.packet(0)
        with _following(daemon, r.dir) as p:
            wait_until("the first", has(daemon, "a_0", [0]))
            for seq in range(1, 20):
                a.packet(seq)
            wait_until("more", has(daemon, "a_0", range(20)))
            # The data is there before its record is whole.
            record = a.record(20)
            a.data.write(payload(0, 20))
            a.index.write(record[:40])
            time.sleep(0.3)
            check(has(daemon, "a_0", range(20))(), "half a record counts")
            a.index.write(record[40:])
            a.size += 512
            wait_until("the other half", has(daemon, "a_0", range(21)))
            b = r.file("b_1", 1)
            b.packet(0)
            wait_until("a stream", has(daemon, "b_1", [0], 1))
            with open(r.folder / "metadata", "a", encoding="utf-8") as f:
                f.write(MORE[:20])
                f.flush()
                time.sleep(0.7)
                f.write(MORE[20:])
            metadata = copies(daemon)[0] / TRACE / "metadata"
            wait_until("metadata", lambda: metadata.read_text()
                       == METADATA + MORE)
            r.end()
        equal((p.returncode, p.complaint), (0, ""), "the end")
        equal((p.summary["packets"], p.summary["streams"],
               p.summary["missing"]), (22, 2, 0), "summary")
        equal(len(copies(daemon)), 1, "sessions")


def locked():
    """While the recorder has the lock of the index file, it is not read."""
    with relay.Daemon() as daemon:
        r = Recording(daemon.top)
        a = r.file("a_0")
        a.packet(0)
        with _following(daemon, r.dir) as p:
            wait_until("the first", has(daemon, "a_0", [0]))
            fcntl.flock(a.index, fcntl.LOCK_EX)
            a.packet(1)
            time.sleep(0.3)
            check(has(daemon, "a_0", [0])(), "it was read")
            fcntl.flock(a.index, fcntl.LOCK_UN)
            wait_until("then", has(daemon, "a_0", [0, 1]))
            r.end()
        equal(p.returncode, 0, p.complaint)


def rotates():
    """Files move to an archive, others follow in a new chunk, which has its
    metadata again: it is one stream."""
    with relay.Daemon() as daemon:
        r = Recording(daemon.top)
        a = r.file("a_0")
        a.packet(0)
        with _following(daemon, r.dir) as p:
            wait_until("the first", has(daemon, "a_0", [0]))
            new = r.dir / CHUNKS[1] / TRACE
            new.mkdir(parents=True)
            (new / "metadata").write_text(METADATA)
            b = r.file("a_0", folder=new)
            p.send_signal(signal.SIGSTOP)
            a.packet(1)
            a.packet(2)
            b.packet(3)
            p.send_signal(signal.SIGCONT)
            (r.dir / "archives" / CHUNKS[0]).mkdir(parents=True)
            (r.dir / "ust").rename(r.dir / "archives" / CHUNKS[0] / "ust")
            b.packet(4)
            wait_until("all", has(daemon, "a_0", range(5)))
            r.end()
        equal((p.returncode, p.complaint), (0, ""), "the end")
        equal((p.summary["packets"], p.summary["missing"]), (5, 0), "packets")
        equal(sorted(str(f.relative_to(copies(daemon)[0]))
                     for f in copies(daemon)[0].rglob("[!.]*") if f.is_file()),
              [f"{TRACE}/a_0", f"{TRACE}/index/a_0.idx", f"{TRACE}/metadata"],
              "one trace")


def rings():
    """Tracefiles that are begun anew, in place or under the same name; what
    the ring has overtaken is counted."""
    with relay.Daemon() as daemon:
        r = Recording(daemon.top)
        files = [r.file(f"a_0_{i}") for i in range(2)]
        files[0].packet(0)
        files[1].packet(1)
        with _following(daemon, r.dir) as p:
            wait_until("both", has(daemon, "a_0_0", [0, 1]))
            for seq in range(2, 20):
                f = files[seq % 2]
                if seq % 3 == 0:    # as open(2) with O_TRUNC does it
                    f.index.truncate(16)
                    f.data.truncate(0)
                    f.index.seek(16)
                    f.data.seek(0)
                    f.size = 0
                else:
                    name = pathlib.Path(f.data.name).name
                    f.close()
                    (r.folder / name).unlink()
                    (r.folder / f"index/{name}.idx").unlink()
                    files[seq % 2] = f = r.file(name)
                f.packet(seq)
                wait_until(f"packet {seq}", has(
                    daemon, "a_0_0", range(seq + 1)))
            p.send_signal(signal.SIGSTOP)
            files[0].packet(20)
            files[1].packet(25)
            p.send_signal(signal.SIGCONT)
            wait_until("after the gap", has(
                daemon, "a_0_0", [*range(21), 25]))
            r.end()
        equal(p.returncode, 0, p.complaint)
        equal((p.summary["packets"], p.summary["missing"]), (22, 4), "counts")


def _in_parts(daemon, to):
    """In three runs to TO, a relay: two end by signals. What they said."""
    r = Recording(daemon.top)
    a = r.file("a_0")
    state = daemon.top / "position"

    def more(*seqs):
        for seq in seqs:
            a.packet(seq)

    more(0, 1, 2)
    with _following(to, r.dir, f"--state={state}") as p:
        wait_until("three", lambda: _all(daemon, 3))
        p.send_signal(signal.SIGTERM)
        p.wait()
    equal(p.returncode, 128 + signal.SIGTERM, p.complaint)
    more(3, 4, 5)
    with _following(to, r.dir, f"--state={state}") as p:
        wait_until("three more", lambda: _all(daemon, 6))
        wait_until("in the state file",
                   lambda: "\n6 0 0 " in state.read_text())
        p.kill()
        p.wait()
        p.communicate = lambda timeout: (b"{}", b"")
    equal(state.stat().st_mode & 0o777, 0o600, "its mode")
    more(6)
    r.end()
    with _following(to, r.dir, f"--state={state}") as p:
        pass
    equal((p.returncode, p.summary["packets"]), (0, 1), p.complaint)
    return state, r, p.complaint


def _all(daemon, count):
    return sum(len(packets(c, "a_0")) for c in copies(daemon)) == count


def resumes():
    """With a state file the next run goes on in the same session."""
    with relay.Daemon() as daemon:
        state, r, complaint = _in_parts(daemon, daemon)
        equal(complaint, "", "complaint")
        equal([packets(c, "a_0") for c in copies(daemon)],
              [[(0, seq) for seq in range(7)]], "one trace")
        state.write_text("something else\n")
        with _following(daemon, r.dir, f"--state={state}") as p:
            pass
        check(p.returncode == 1 and "not a state file" in p.complaint,
              p.complaint)


def resumes_at_a_relay_that_cannot():
    """It goes on where the relay's disk was, in another session."""
    with relay.Daemon() as daemon:
        complaint = _in_parts(daemon, OldRelay(daemon))[2]
        check("cannot resume sessions" in complaint, complaint)
        equal([packets(c, "a_0") for c in copies(daemon)],
              [[(0, 0), (0, 1), (0, 2)], [(0, 3), (0, 4), (0, 5)], [(0, 6)]],
              "each once")


def beacons():
    """A quiet stream gets beacons, if the user says after which time; a packet
    that began before one is counted."""
    now = time.time_ns
    with relay.Daemon() as daemon:
        r = Recording(daemon.top)
        a = r.file("a_0")
        a.packet(0)
        with _following(daemon, r.dir, "--quiet-after=0.5",
                        "--live-timer=100000") as p:
            wait_until("the first", has(daemon, "a_0", [0]))
            began = now()
            time.sleep(1.5)
            a.packet(1)     # of 1970
            wait_until("the second", has(daemon, "a_0", [0, 1]))
            r.end()
        equal(p.returncode, 0, p.complaint)
        check(p.summary["beacons"] >= 5, str(p.summary))
        equal(p.summary["late"], 1, "late")
        check(now() > began, "time")
        with _following(daemon, r.dir, "--live-timer=100000") as p:
            pass
        equal((p.summary["beacons"], p.summary["packets"]), (0, 2), "none")


def what_a_relay_records():
    """From one relay to the next, until the first one's session ends."""
    with relay.Daemon() as first, relay.Daemon() as second:
        s = relay.Session(first, "good")
        s.control.metadata(s.meta, METADATA.encode())
        s.packets(3, 416, 96)
        with _following(second, first.out / s.path) as p:
            wait_until("three", lambda: copies(second) and (
                copies(second)[0] / TRACE / "ch_0").exists() and (
                copies(second)[0] / TRACE / "ch_0").read_bytes() == s.written)
            s.packets(5, 416, 96)
            wait_until("eight", lambda: (
                copies(second)[0] / TRACE / "ch_0").read_bytes() == s.written)
            time.sleep(3)       # longer than it takes to see an end
            check(p.poll() is None, "it has ended before the session")
            s.packets(1, 416, 96)
            s.wait_written()
            s.control.close_stream(s.meta)
            s.control.close_stream(s.stream, s.seq - 1)
            s.leave()
        equal((p.returncode, p.complaint), (0, ""), "the end")
        equal((copies(second)[0] / TRACE / "ch_0").read_bytes(), s.written,
              "all")


class TwoStreams(relay.Session):
    """A live session whose second stream is idle after its first packet."""

    def __init__(self, daemon):
        super().__init__(daemon, "good", live=200_000)
        self.idle = self.add("idle")
        self.control.code(relay.STREAMS_SENT)
        self.control.metadata(self.meta,
                              "".join(ctf_trace.metadata(True)).encode())
        self.now = 10 ** 9
        self.event(self.idle, 1, 0)
        self.event(self.stream, 0, 0)

    def event(self, stream, instance, seq):
        body = ctf_trace.packet(seq, 0, [U8], self.now)
        self.put(stream, seq, body, begin=self.now, end=self.now + 2_000_000,
                 instance=instance)
        self.now += 10_000_000

    def beacon(self, stream):
        self.control.index(stream, 1, 0, end=self.now)
        self.now += 10_000_000

    def end(self, seq, *others):
        self.control.close_stream(self.meta)
        self.control.close_stream(self.stream, seq)
        for stream in others:
            self.control.close_stream(stream, 0)
        self.leave()


@contextlib.contextmanager
def _printing(daemon):
    """The lines of babeltrace2, which views the copy on DAEMON."""
    p = subprocess.Popen(
        ["babeltrace2", "-i", "lttng-live",
         f"net://127.0.0.1:{daemon.live_port}/host/h/copy"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    lines = []

    def read():
        for line in p.stdout:
            lines.append(line)
    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield lines
        equal(p.wait(60), 0, f"babeltrace2: {lines}")
    finally:
        if p.poll() is None:
            p.kill()
        p.wait()
        reader.join()
        p.stdout.close()


@contextlib.contextmanager
def _watched(first, s, second):
    """The program, and what a viewer of the copy on SECOND prints."""
    with _following(second, first.out / s.path) as p:
        wait_until("the copy", lambda: copies(second) and (
            copies(second)[-1] / TRACE / "idle").exists())
        with _printing(second) as lines:
            wait_until("a viewer", lambda: viewer.clients(second, "copy"))
            yield p, lines
    equal((p.returncode, p.complaint), (0, ""), "the end")


def _expect(lines, count):
    wait_until(lambda: f"event {count}: {lines}",
               lambda: len(lines) == count)


def beacons_of_a_relay():
    """An idle stream does not hold the events of the other one, behind the
    second relay, either; nor does one that has ended."""
    if not relay.has("babeltrace2", "beacons_of_a_relay"):
        return
    with relay.Daemon() as first, relay.Daemon() as second:
        s = TwoStreams(first)
        with _watched(first, s, second) as (p, lines):
            for seq in range(1, 7):
                s.event(s.stream, 0, seq)
                if seq < 4:
                    s.beacon(s.idle)
                elif seq == 4:
                    s.control.close_stream(s.idle, 0)
                _expect(lines, seq)
            s.end(6)
        check(p.summary["beacons"] >= 3, p.summary)
        equal((p.summary["packets"], p.summary["late"]), (8, 0), "packets")


def streams_that_ended_before():
    """The file of beacons never named them, while it was read."""
    if not relay.has("babeltrace2", "streams_that_ended_before"):
        return
    with relay.Daemon() as first, relay.Daemon() as second:
        s = TwoStreams(first)
        more = s.add("more")
        s.control.code(relay.STREAMS_SENT)
        s.event(more, 2, 0)
        s.control.close_stream(s.idle, 0)
        with _watched(first, s, second) as (p, lines):
            s.event(s.stream, 0, 1)
            for _ in range(3):      # texts without it
                s.beacon(more)
                time.sleep(1)
            _expect(lines, 1)
            s.end(1, more)
        equal((p.summary["packets"], p.summary["late"]), (4, 0), "packets")


def refusals():
    with relay.Daemon() as daemon:
        r = Recording(daemon.top)
        with _following(daemon, daemon.top / "nowhere") as p:
            pass
        check(p.returncode == 1 and "No such file" in p.complaint, p.complaint)
        folder = r.folder / "index"
        folder.mkdir()
        (r.folder / "a_0").write_bytes(b"x")
        (folder / "a_0.idx").write_bytes(
            struct.pack(">IIII", 0xC1F1DCC1, 1, 0, 56) + bytes(56))
        with _following(daemon, r.dir) as p:
            pass
        check(p.returncode == 1 and "version 1.1" in p.complaint, p.complaint)
        for options in (["--loop=2"], ["--realtime"], [str(r.dir)]):
            done = subprocess.run(
                [PROGRAM, "--follow", *options, str(r.dir), url(daemon)],
                capture_output=True)
            check(done.returncode == 2 and b"--follow" in done.stderr,
                  done.stderr.decode())
        done = subprocess.run([PROGRAM, "--state=x", str(r.dir), url(daemon)],
                              capture_output=True)
        check(done.returncode == 2 and b"--follow" in done.stderr,
              done.stderr.decode())


if __name__ == "__main__":
    sys.exit(relay.main(at_once=4))
