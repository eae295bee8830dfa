#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tracepulse-send from the live sessions of one relay to another one.
chain.py --long, as root, also breaks a link behind NAT for half a minute."""
import contextlib
import ctypes
import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(os.environ.get("srcdir", ".")).resolve()
sys.path.insert(0, str(SOURCE / "tests/replay"))
import relay
import viewer
from relay import check, equal, wait_until

PROGRAM = os.path.abspath(os.environ.get("SEND", "./tracepulse-send"))
PERIOD_US = 100_000
CREATED = 1_800_000_000
METADATA = """/* CTF 1.8 */
typealias integer { size = 64; align = 8; } := u64;
clock { name = c; freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := stamp;
trace { major = 1; minor = 8; byte_order = le;
  uuid = "4f2a0c5e-6a5c-4d0e-9d3e-%012d";
  packet.header := struct { integer { size = 32; align = 8; } magic;
    integer { size = 32; align = 8; } stream_id; u64 stream_instance_id; }; };
env { %s };
stream { id = 0; packet.context := struct { stamp timestamp_begin;
  stamp timestamp_end; u64 packet_seq_num; u64 content_size;
  u64 packet_size; }; event.header := struct { stamp timestamp; }; };
event { id = 0; name = first; stream_id = 0; fields := struct { u64 n; }; };
"""
DATED = 'trace_creation_datetime = "20270115T080000+0000";'
MORE = "event { id = 1; name = second; stream_id = 0; };\n"


class Edge(relay.Peer):
    """A live session at the first relay, with its metadata."""

    def __init__(self, daemon, name="edge", env=DATED, path="ust/uid/0/64-bit",
                 live=PERIOD_US, created=CREATED, number=1, first=None,
                 **fields):
        super().__init__(daemon)
        self.daemon, self.tracepath = daemon, path
        self.id, _, self.path = self.control.create_session(
            name=name, live=live, created=created, uuid=os.urandom(16),
            **fields)
        self.control.create_chunk(0)
        self.meta = self.add("metadata", path=path)
        self.text = METADATA % (number, env)
        self.control.metadata(self.meta, self.text[:first].encode())
        self.streams, self.next, self.time = [], [], 1000

    def stream(self, **fields):
        """One more; its number here."""
        number = len(self.streams)
        self.streams.append(
            self.add(f"ch_{number}", path=self.tracepath, **fields))
        self.next.append(0)
        self.control.code(relay.STREAMS_SENT)
        return number

    def packet(self, number=0, size=512, seq=None):
        net = self.next[number]
        seq = net if seq is None else seq
        head = struct.pack("<II8Q", 0xC1FC1FC1, 0, number, self.time,
                           self.time + 50, seq, 8 * 72, 8 * size,
                           self.time + 10, net)
        body = struct.pack("<Q", net) * size
        self.put(self.streams[number], net, (head + body)[:size],
                 begin=self.time, end=self.time + 50, instance=number,
                 packet_seq=seq)
        self.next[number] = net + 1
        self.time += 100

    def beacon(self, number=0):
        self.control.index(self.streams[number], self.next[number] - 1, 0,
                           end=self.time)
        self.time += 100

    def more_metadata(self, text):
        self.text += text
        self.control.metadata(self.meta, text.encode())

    def close_stream(self, number):
        self.control.wait_written(self.streams[number], self.next[number] - 1)
        self.control.close_stream(self.streams[number], self.next[number] - 1)

    def end(self):
        for number in range(len(self.streams)):
            self.close_stream(number)
        self.control.close_stream(self.meta)
        self.leave()


def _url(daemon):
    return f"net://127.0.0.1:{daemon.control_port}:{daemon.data_port}"


def _live(daemon):
    return f"net://127.0.0.1:{daemon.live_port}"


@contextlib.contextmanager
def _sending(*arguments, limit=None):
    """The program, until it ends or is told to; then p.summary, p.complaint."""
    p = subprocess.Popen([PROGRAM, "--json", *arguments],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, preexec_fn=limit)
    try:
        yield p
        out, p.complaint = p.communicate(timeout=60)
        p.summary = json.loads(out)
    finally:
        if p.poll() is None:
            p.kill()
        p.wait()


@contextlib.contextmanager
def _all(first, second):
    """All of the first relay's sessions to the second one; ends by a signal."""
    with _sending("--all", _live(first), _url(second)) as p:
        yield p
        p.send_signal(signal.SIGTERM)
    equal((p.returncode, p.summary["interrupted"]), (143, "SIGTERM"),
          p.complaint)


def _tree(daemon, path):
    """{name: bytes} of the files of a session, except the relay's own."""
    top = daemon.out / path
    return {str(f.relative_to(top)): f.read_bytes()
            for f in top.rglob("*") if f.is_file() and f.name[0] != "."}


def _is_same(first, second, path):
    return lambda: _tree(first, path) == _tree(second, path) != {}


def grows():
    """Packets, streams and metadata that come later; then the end. The tree is
    the same, with the name and the time of the first one's."""
    with relay.Daemon() as first, relay.Daemon() as second:
        edge = Edge(first)
        edge.stream()
        edge.packet()
        with _all(first, second) as p:
            wait_until("the first", _is_same(first, second, edge.path))
            for _ in range(50):
                edge.packet()
            wait_until("fifty", _is_same(first, second, edge.path))
            edge.more_metadata(MORE)
            edge.packet(size=100_000)
            edge.stream()
            edge.packet(1)
            wait_until("a stream", _is_same(first, second, edge.path))
            edge.end()
            wait_until("the end", lambda: not viewer.greeted(second).list())
        equal(edge.path, "h/edge-20270115-080000", "path")
        check(_is_same(first, second, edge.path)(), "at the end")
        equal((p.summary["packets"], p.summary["streams"],
               p.summary["sessions"], p.summary["missing"]), (53, 2, 1, 0),
              "summary")


def metadata_in_pieces():
    """The first piece ends within a declaration."""
    with relay.Daemon() as first, relay.Daemon() as second:
        edge = Edge(first, first=-30)
        edge.stream()
        edge.packet()
        with _all(first, second):
            time.sleep(0.5)
            edge.control.metadata(edge.meta, edge.text[-30:].encode())
            wait_until("all", _is_same(first, second, edge.path))
        edge.leave()


def _beacon_of(v, stream):
    """The next index of a stream, which is not a packet."""
    i = v.next_index(stream)
    return i.end if i.status == viewer.INACTIVE else None


def beacons():
    """A stream without packets: viewers of the second relay get its time, and
    learn that a stream has ended while the session goes on."""
    with relay.Daemon() as first, relay.Daemon() as second:
        edge = Edge(first)
        edge.stream()
        edge.stream()
        edge.packet(0)
        edge.packet(1)
        with _all(first, second):
            wait_until("the first", _is_same(first, second, edge.path))
            v, ident, streams = viewer.attached(second, "edge", count=3)
            equal(v.list()[0].timer, PERIOD_US, "live timer")
            a, b = sorted(s.id for s in streams if not s.is_metadata)
            equal([v.next_index(s).status for s in (a, b)], [viewer.OK] * 2,
                  "packets")
            at = edge.time
            edge.beacon(0)
            edge.beacon(1)
            wait_until("beacons", lambda: {
                _beacon_of(v, a), _beacon_of(v, b)} == {at, at + 100})
            edge.close_stream(0)
            wait_until("the end of a stream", lambda: viewer.HUP in (
                v.next_index(a).status, v.next_index(b).status))
            equal(v.new_streams(ident)[0], viewer.STREAMS_OK, "the session")
            edge.packet(1)
            edge.leave()


def several():
    """Those that were there, and those that come; one ends, and its name is
    used again; sessions that are not live are left out."""
    with relay.Daemon() as first, relay.Daemon() as second:
        edges = [Edge(first, name=f"s{n}", host=f"h{n % 2}") for n in range(6)]
        recorded = Edge(first, name="recorded", live=0)
        for e in edges:
            e.stream()
            e.packet()
        with _all(first, second) as p:
            for e in edges:
                wait_until(e.path, _is_same(first, second, e.path))
            edges[0].end()
            again = Edge(first, name="s0", host="h0", created=CREATED + 60,
                         env=DATED.replace("080000", "080100"))
            again.stream()
            again.packet()
            wait_until("again", _is_same(first, second, again.path))
            for e in [again, *edges[1:]]:
                e.packet()
                e.end()
            wait_until("the end", lambda: not viewer.greeted(second).list())
            recorded.leave()
        for e in [again, *edges]:
            check(_is_same(first, second, e.path)(), e.path)
        equal(p.summary["sessions"], 7, "sessions")
        check("h/recorded: not sent: it is not a live session"
              in p.complaint, p.complaint)


def many():
    """More sessions than the soft limit has descriptors for."""
    def limit():
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, hard))
    with relay.Daemon() as first, relay.Daemon() as second:
        edges = [Edge(first, name=f"s{n}") for n in range(20)]
        for e in edges:
            e.stream()
            e.packet()
        with _sending("--all", _live(first), _url(second), limit=limit) as p:
            for e in edges:
                wait_until(e.path, _is_same(first, second, e.path))
            p.send_signal(signal.SIGTERM)
        equal((p.summary["sessions"], p.summary["error"]), (20, None),
              p.complaint)
        for e in edges:
            e.leave()


def parts():
    """The domains of a session are sessions of the relay: here they are one
    again. Another user's session with the same name is not."""
    with relay.Daemon() as first, relay.Daemon() as second:
        edge = Edge(first)
        edge.stream()
        edge.packet()
        with _all(first, second) as p:
            wait_until("user space", _is_same(first, second, edge.path))
            kernel = Edge(first, path="kernel", number=2)
            other = Edge(first, created=CREATED + 1, number=3,
                         env=DATED.replace("080000", "080001"))
            for e in (kernel, other):
                e.stream()
                e.packet()
            wait_until("another", _is_same(first, second, other.path))
            copy = f"{edge.path}/kernel/ch_0"
            wait_until("kernel", lambda: (second.out / copy).exists() and len(
                (second.out / copy).read_bytes()) == 512)
            for e in (edge, kernel, other):
                e.end()
            wait_until("the end", lambda: not viewer.greeted(second).list())
        equal(sorted(str(d.relative_to(second.out))
                     for d in second.out.glob("*/*")),
              sorted([edge.path, other.path]), "sessions")
        equal(p.summary["packets"], 3, "packets")


def one():
    """A single session: it is waited for, and with it the program ends."""
    with relay.Daemon() as first, relay.Daemon() as second:
        other = Edge(first, name="other")
        other.stream()
        with _sending(f"{_live(first)}/host/h/edge", _url(second)) as p:
            time.sleep(1.5)
            edge = Edge(first)
            edge.stream()
            edge.packet()
            wait_until("the first", _is_same(first, second, edge.path))
            edge.end()
        equal((p.returncode, p.summary["packets"]), (0, 1), p.complaint)
        check("no session yet" in p.complaint, p.complaint)
        equal([str(d.relative_to(second.out))
               for d in second.out.glob("*/*")], [edge.path], "sessions")


def _ports(daemon):
    """Options: the same ports for the next process."""
    return ["-C", f"tcp://127.0.0.1:{daemon.control_port}",
            "-D", f"tcp://127.0.0.1:{daemon.data_port}",
            "-L", f"tcp://127.0.0.1:{daemon.live_port}"]


def second_is_away():
    """The relay that is sent to is killed and comes back: the session goes on
    where it was, and nothing is there twice."""
    with relay.Daemon() as first, relay.Daemon() as second:
        edge = Edge(first)
        edge.stream()
        edge.packet()
        with _all(first, second) as p:
            wait_until("the first", _is_same(first, second, edge.path))
            second.kill()
            edge.packet()
            edge.more_metadata(MORE)
            time.sleep(1)
            second.command += _ports(second)
            second.start_again()
            edge.packet()
            wait_until("all", _is_same(first, second, edge.path))
            edge.end()
            wait_until("the end", lambda: not viewer.greeted(second).list())
        check(_is_same(first, second, edge.path)(), "at the end")
        equal([d.name for d in second.out.glob("h/*")],
              [edge.path.split("/")[1]], "sessions")
        check("h/edge: " in p.complaint and "trying again" in p.complaint,
              p.complaint)


def sender_is_killed():
    """Another sender goes on where the one before was; a viewer of the second
    relay only notices a pause."""
    with relay.Daemon() as first, relay.Daemon() as second:
        edge = Edge(first)
        edge.stream()
        edge.packet()
        with _sending("--all", _live(first), _url(second)) as p:
            wait_until("the first", _is_same(first, second, edge.path))
            v, _, streams = viewer.attached(second, "edge")
            stream, _ = viewer.ids(streams)
            p.kill()
            p.wait()
            p.communicate = lambda timeout: ("{}", "")
        edge.packet()
        edge.more_metadata(MORE)
        with _all(first, second) as p:
            edge.packet()
            wait_until("all", _is_same(first, second, edge.path))
            seen = []
            wait_until("three packets seen", lambda: seen.append(
                v.next_index(stream).status) or seen.count(viewer.OK) == 3)
            check(viewer.HUP not in seen, "the session ended for viewers")
            edge.end()
            wait_until("the end", lambda: v.next_index(stream).status
                       == viewer.HUP)
        equal(p.summary["packets"], 2, p.complaint)


def _is_copy(daemon, directory, path):
    return lambda: _tree(daemon, path) == {
        str(f.relative_to(directory / path)): f.read_bytes()
        for f in (directory / path).rglob("*") if f.is_file()} != {}


def to_a_directory():
    """The same files as the relay's; a sender that is killed leaves some that
    are cut to what is whole, and continued."""
    with relay.Daemon() as first:
        edge = Edge(first)
        edge.stream()
        edge.packet()
        copy = first.top / "copy"
        arguments = ["--all", _live(first), str(copy)]
        with _sending(*arguments) as p:
            wait_until("the first", _is_copy(first, copy, edge.path))
            edge.packet()
            edge.more_metadata(MORE)
            edge.packet(size=100_000)
            wait_until("more", _is_copy(first, copy, edge.path))
            p.kill()
            p.wait()
            p.communicate = lambda timeout: ("{}", "")
        folder = copy / edge.path / edge.tracepath
        with open(folder / "index/ch_0.idx", "ab") as f:
            size = (folder / "ch_0").stat().st_size
            f.write(struct.pack(">9Q", size, 8 * 512, *[0] * 6, 3))
            f.write(bytes(72 + 30))
        with open(folder / "ch_0", "ab") as f:
            f.write(b"half a packet")
        with _sending(*arguments) as p:
            edge.packet()
            edge.stream()
            edge.packet(1)
            wait_until("all", _is_copy(first, copy, edge.path))
            edge.end()
            time.sleep(1)
            p.send_signal(signal.SIGTERM)
        check(_is_copy(first, copy, edge.path)(), "at the end")
        equal((p.summary["packets"], p.summary["missing"],
               p.summary["error"]), (2, 0, None), p.complaint)


def a_directory_has_one_writer():
    with relay.Daemon() as first:
        edge = Edge(first)
        edge.stream()
        edge.packet()
        copy = first.top / "copy"
        arguments = ["--all", _live(first), str(copy)]
        with _sending(*arguments) as p:
            wait_until("the first", _is_copy(first, copy, edge.path))
            with _sending(*arguments) as other:
                time.sleep(1)
                other.send_signal(signal.SIGTERM)
            check("h/edge: " in other.complaint and
                  "another program writes to it" in other.complaint,
                  other.complaint)
            edge.packet()
            wait_until("more", _is_copy(first, copy, edge.path))
            p.send_signal(signal.SIGTERM)
        equal(p.summary["error"], None, p.complaint)


def unreadable():
    """A packet that the first relay cannot read is lost, once; the next one is
    sent. Another sender does not count what the second relay has."""
    with relay.Daemon() as first, relay.Daemon() as second:
        def has(packets):
            return lambda: len(_tree(second, edge.path).get(
                f"{edge.tracepath}/ch_0", b"")) == packets * 512
        edge = Edge(first)
        edge.stream(size=512)
        edge.packet()
        with _all(first, second) as p:
            wait_until("the first", has(1))
            p.send_signal(signal.SIGSTOP)
            edge.packet()
            edge.packet()
            edge.control.wait_written(edge.streams[0], 2)
            os.truncate(first.out / edge.path / edge.tracepath / "ch_0_1", 0)
            p.send_signal(signal.SIGCONT)
            wait_until("the third", has(2))
        equal((p.summary["packets"], p.summary["missing"]), (2, 1), p.complaint)
        edge.packet()
        edge.packet()
        edge.control.wait_written(edge.streams[0], 4)
        os.truncate(first.out / edge.path / edge.tracepath / "ch_0_3", 0)
        with _all(first, second) as p:
            wait_until("the fifth", has(3))
        equal((p.summary["packets"], p.summary["missing"]), (1, 1), p.complaint)
        edge.leave()


def _short_process(edge, number):
    """Buffers of a process, which ends: two packets."""
    path = f"ust/pid/short-{number}"
    meta, data = (edge.add(c, path=path) for c in ("metadata", "ch_0"))
    edge.control.code(relay.STREAMS_SENT)
    edge.control.metadata(meta, (METADATA % (100 + number, DATED)).encode())
    for n in range(2):
        head = struct.pack("<IIQQQQ", 0xC1FC1FC1, 0, 0, edge.time,
                           edge.time + 50, n)
        edge.put(data, n, head.ljust(512, b"."), begin=edge.time,
                 end=edge.time + 50, packet_seq=n)
        edge.time += 100
    edge.control.wait_written(data, 1)
    edge.control.close_stream(data, 1)
    edge.control.close_stream(meta)


def _away(first, arguments, is_copied):
    """A sender is killed. Meanwhile its session goes on, with processes that
    end, and ends; so does another one, which it never saw; a third one has
    closed streams, and goes on. Another sender sends the rest, once; one after
    it sends nothing."""
    edge, third = (Edge(first, name=n) for n in ("edge", "third"))
    for e in (edge, third):
        e.stream()
        e.packet()
        _short_process(e, 0)
    with _sending(*arguments) as p:
        for e in (edge, third):
            wait_until(f"the first of {e.path}", is_copied(e))
        p.kill()
        p.wait()
        p.communicate = lambda timeout: ("{}", "")
    unseen = Edge(first, name="unseen")
    unseen.stream()
    for e in (edge, unseen, third):
        e.packet(size=100_000)
        e.more_metadata(MORE)
        for number in range(1, 40):
            _short_process(e, number)
        e.stream()
        e.packet(1)
        if e != third:
            e.end()
    with _sending(*arguments) as p:
        for e in (edge, unseen, third):
            wait_until(e.path, is_copied(e), 60)
        wait_until("the ends", lambda: p.poll() is not None or
                   viewer.greeted(first).find("edge").clients +
                   viewer.greeted(first).find("unseen").clients == 0)
        p.send_signal(signal.SIGTERM)
    equal((p.summary["packets"], p.summary["missing"], p.summary["error"]),
          (3 * (39 * 2 + 2), 0, None), p.complaint)
    with _sending(*arguments) as p:
        third.packet(1)
        wait_until("the third", is_copied(third))
        time.sleep(1)
        p.send_signal(signal.SIGTERM)
    equal((p.summary["packets"], p.summary["missing"], p.summary["error"]),
          (1, 0, None), p.complaint)
    third.end()
    return edge, unseen, third


def what_ended_while_the_sender_was_away():
    with relay.Daemon("--live-linger=5m") as first, relay.Daemon() as second:
        edges = _away(first, ["--all", _live(first), _url(second)],
                      lambda e: _is_same(first, second, e.path))
        equal(sorted(str(d.relative_to(second.out))
                     for d in second.out.glob("*/*")),
              sorted(e.path for e in edges), "sessions")
        for e in edges:
            check(_is_same(first, second, e.path)(), e.path)


def what_ended_while_the_sender_to_a_directory_was_away():
    with relay.Daemon("--live-linger=5m") as first:
        copy = first.top / "copy"
        edges = _away(first, ["--all", _live(first), str(copy)],
                      lambda e: _is_copy(first, copy, e.path))
        equal(sorted(str(d.relative_to(copy)) for d in copy.glob("*/*")),
              sorted(e.path for e in edges), "sessions")


def what_was_sent_while_it_lingers():
    """A sender that stays sends it once, and what has its name later, too."""
    with relay.Daemon("--live-linger=5m") as first, relay.Daemon() as second:
        edge = Edge(first)
        edge.stream()
        edge.packet()
        with _all(first, second) as p:
            wait_until("the first", _is_same(first, second, edge.path))
            edge.end()
            time.sleep(2.5)
            again = Edge(first, created=CREATED + 60,
                         env=DATED.replace("080000", "080100"))
            again.stream()
            again.packet()
            wait_until("again", _is_same(first, second, again.path))
            again.end()
            time.sleep(2.5)
        equal((p.summary["packets"], p.summary["sessions"]), (2, 2),
              p.complaint)
        with _all(first, second) as p:
            time.sleep(2.5)
        equal((p.summary["packets"], p.summary["missing"]), (0, 0),
              p.complaint)
        for e in edge, again:
            check(_is_same(first, second, e.path)(), e.path)
        equal(len(list(second.out.glob("*/*"))), 2, "sessions")


RULES = """table ip nat { chain leaving {
  type nat hook postrouting priority 100; oifname "out" masquerade; }; };
table ip pass { chain passing {
  type filter hook forward priority 0; policy drop;
  iifname "in" accept; ct state established,related accept; }; };
"""


def _ip(*words, netns=None):
    subprocess.run(["ip", *(["-n", netns] if netns else []), *words],
                   check=True)


def _enter(namespace):
    check(ctypes.CDLL(None).setns(namespace, 0) == 0, "setns")


@contextlib.contextmanager
def _nat():
    """Namespaces: the edge, a router that lets connections out only, and the
    centre, at 203.0.113.2. Within it this process is at the edge."""
    names = edge, router, centre = [f"tp{os.getpid()}{n}" for n in "erc"]
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        for name in names:
            _ip("netns", "add", name)
            _ip("link", "set", "lo", "up", netns=name)
        for host, at, side, net in ((edge, "e", "in", "192.168.7"),
                                    (centre, "c", "out", "203.0.113")):
            _ip("link", "add", at, "netns", host, "type", "veth", "peer",
                "name", side, "netns", router)
            for where, link, last in ((router, side, 1), (host, at, 2)):
                _ip("addr", "add", f"{net}.{last}/24", "dev", link,
                    netns=where)
                _ip("link", "set", link, "up", netns=where)
        _ip("route", "add", "default", "via", "192.168.7.1", netns=edge)
        inside = ["ip", "netns", "exec", router]
        subprocess.run([*inside, "sysctl", "-qw", "net.ipv4.ip_forward=1"],
                       check=True)
        subprocess.run([*inside, "nft", "-f", "-"], input=RULES, text=True,
                       check=True)
        with open(f"/run/netns/{edge}", "rb") as f:
            _enter(f.fileno())
        yield router, centre
    finally:
        _enter(home)
        os.close(home)
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


def _link_is_down():
    """Behind NAT, with the link down for half a minute: nothing is missing."""
    with _nat() as (router, centre), relay.Daemon() as first, relay.Daemon(
            "-C", "tcp://203.0.113.2:5342", "-D", "tcp://203.0.113.2:5343",
            "--http=none", prefix=("ip", "netns", "exec", centre)) as second:
        edge = Edge(first)
        edge.stream()
        edge.packet()
        with _sending("--all", _live(first), "net://203.0.113.2") as p:
            wait_until("the first", _is_same(first, second, edge.path))
            _ip("link", "set", "out", "down", netns=router)
            for _ in range(300):
                edge.packet()
                time.sleep(0.1)
            check(not _is_same(first, second, edge.path)(), "it is not down")
            _ip("link", "set", "out", "up", netns=router)
            until = time.monotonic() + 60
            while not _is_same(first, second, edge.path)():
                check(time.monotonic() < until, "it does not go on")
                time.sleep(0.1)
            p.send_signal(signal.SIGTERM)
        equal([d.name for d in second.out.glob("h/*")],
              [edge.path.split("/")[1]], "sessions")
        edge.leave()


def one_that_is_not_live():
    with relay.Daemon() as first, relay.Daemon() as second:
        edge = Edge(first, live=0)
        with _sending(f"{_live(first)}/host/h/edge", _url(second)) as p:
            pass
        check(p.returncode == 1 and "it is not a live session" in p.complaint,
              p.complaint)
        edge.leave()


def refusals():
    rows = [
        (["--all", "DIR", "net://b"], "--all is for the sessions of a relay"),
        (["--all", "net://a/host/h/s", "net://b"], "--all means all"),
        (["net://a", "net://b"], "which session?"),
        (["net://a/host/h", "net://b"], "which session?"),
        (["net://a/host/h/", "net://b"], "which session?"),
        (["net://a/host/h/s/x", "net://b"], "which session?"),
        (["net://a:1:2/host/h/s", "net://b"], "the live port is the only one"),
        (["--all", "--loop=2", "net://a", "net://b"], "--loop is for a TRACE-DIR"),
        (["--all", "net://a", "net://b", "net://c"], "unexpected argument"),
        (["DIR", "relay"], "traces in directories go to net://"),
        (["DIR", "http://b"], "is required"),
        (["--all", "--udp", "net://a", "DIR"], "--udp is for a relay"),
    ]
    for arguments, text in rows:
        done = subprocess.run([PROGRAM, *arguments], capture_output=True,
                              text=True)
        check(done.returncode == 2 and text in done.stderr,
              f"{arguments}: {done.returncode}: {done.stderr}")


if __name__ == "__main__":
    if "--long" in sys.argv:
        sys.exit(relay.run([_link_is_down]))
    sys.exit(relay.main(at_once=4))
