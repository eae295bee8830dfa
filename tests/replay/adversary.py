#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Floods that cost a peer little, beside a bystander on the same worker. Starts
daemons of its own. TP_TEST_LONG=1: sizes at which each of them held the worker
for seconds once."""
import fcntl
import resource
import signal
import socket
import struct
import sys
import termios
import time

import relay
import udp
import viewer
from flood import (LONG, MANY, MIB, SANITIZERS, SERVED, STOP, TRIES, Jet,
                   Visits, ended_after, flood, idle, logged, packets, queued,
                   records, repeated, send_all, served, size, spraying, u64,
                   with_streams)
from relay import check, equal


# So that a session may have so many streams (STREAM_MEMORY): half of the memory
# is for streams, and a session gets them while half of that is free.
MANY_STREAMS = ("--max-memory", "192M")


# What replies that nobody reads may take. AddressSanitizer keeps up to 256 MiB
# of what was freed.
FEW = (272 if relay.has_sanitizer("address") else 16) * MIB


# The table ------------------------------------------------------------------

@flood(*MANY_STREAMS)
def begin_data_pending(daemon):
    s = with_streams(daemon, size(10_000, 1500))
    blob = (relay.frame(relay.BEGIN_DATA_PENDING, u64(s.id)) +
            relay.frame(relay.END_DATA_PENDING, u64(s.id))) * 20_000
    return [Jet(s.control.sock, blob)], repeated


@flood(*MANY_STREAMS)
def add_stream(daemon):
    """Each in a folder of its own."""
    s = relay.Session(daemon, "adds")
    n = size(15_000, 2000)
    blob = b"".join(relay.stream_request("c", f"f/{i}") for i in range(n))
    return ([Jet(s.control.sock, blob, once=True)],
            served(idle(s.control)))


@flood(*MANY_STREAMS)
def add_stream_live(daemon):
    """Into one folder, beside a viewer's worker that hears of each."""
    s = relay.Session(daemon, "adds", live=1_000_000)
    n = size(15_000, 2000)
    blob = b"".join(relay.stream_request(f"c{i}", "ust") +
                    relay.frame(relay.STREAMS_SENT) for i in range(n))
    return ([Jet(s.control.sock, blob, once=True)],
            served(idle(s.control)))


@flood()
def ring_of_tiny_files(daemon):
    """All records are there; then come the packets of all."""
    s = relay.Session(daemon, "ring")
    stream = s.add("ring", size=2, count=2)
    n = size(60_000, 8000)
    send_all(s.control, records(stream, range(n)))
    return ([Jet(s.data.sock, packets(stream, range(n)), once=True)],
            served(idle(s.data)))


@flood()
def ring_without_records(daemon):
    s = relay.Session(daemon, "ring", snapshot=1)
    stream = s.add("ring", size=2, count=2)
    return ([Jet(s.data.sock, packets(stream, range(size(200_000, 60_000))),
                 once=True)], repeated)


@flood()
def gaps_tcp(daemon):
    """Records of all, bytes of every other packet: each is a gap."""
    s = relay.Session(daemon, "gaps")
    n = size(60_000, 20_000)
    send_all(s.control, records(s.stream, range(1, n)))
    s.data.send(packets(s.stream, [0]))
    return ([Jet(s.data.sock, packets(s.stream, range(1, n, 2)),
                 once=True)], served(idle(s.data)))


@flood()
def gaps_udp(daemon):
    """The same with datagrams and a sender that says it will resend."""
    s = udp.UdpSession(daemon, "gaps", flags=udp.RESENDS, gap_us=300_000)
    daemon.kept.append(s)
    s.sock.connect(s.address)
    n = size(120_000, 30_000)
    blob = [udp.datagram(s.token, s.stream, seq, b"xy", 2, 0)
            for seq in range(1, n, 2)]
    for at in range(0, len(blob), 200):
        for piece in blob[at:at + 200]:
            s.sock.send(piece)
        s.calm()
    return [Jet(s.sock, [b""])], repeated


@flood()
def pieces_udp(daemon):
    """Packets of which a piece is there, and pieces of them that come on."""
    s = udp.UdpSession(daemon, "pieces", flags=udp.RESENDS, gap_us=1000,
                       fragment=512)
    daemon.kept.append(s)
    s.sock.connect(s.address)
    blob = [udp.datagram(s.token, s.stream, seq, bytes(512), 1 << 16, at)
            for at in range(0, 1 << 16, 512) for seq in range(0, 2000, 2)]
    return [Jet(s.sock, blob)], repeated


@flood()
def streams_udp(daemon):
    """Memory is short all the time, and many streams use it."""
    s = udp.UdpSession(daemon, "many", flags=udp.RESENDS, fragment=512,
                       gap_us=5_000_000, streams=size(5000, 800))
    daemon.kept.append(s)
    s.sock.connect(s.address)
    blob = [udp.datagram(s.token, t, seq, bytes(512), 1 << 16, 0)
            for seq in range(1, 20) for t in s.others]
    return [Jet(s.sock, blob)], repeated


@flood(*MANY_STREAMS)
def only_packets_udp(daemon):
    """Memory is short, and each datagram costs another stream the only packet
    that it has. 64 of them come as one message."""
    s = udp.UdpSession(daemon, "only", flags=udp.RESENDS, fragment=512,
                       gap_us=5_000_000, streams=size(15_000, 4000))
    daemon.kept.append(s)
    s.sock.connect(s.address)
    head = udp.HEADER.size
    s.sock.setsockopt(socket.IPPROTO_UDP, udp.UDP_SEGMENT, head + 1)
    last = 64 * 512
    blob = [b"".join(udp.datagram(s.token, t, seq, b"x", last + 1, last)
                     for t in s.others[at:at + 64])
            for seq in range(size(100, 50)) for at in range(0, len(s.others), 64)]
    return [Jet(s.sock, blob)], repeated


@flood()
def deletion(daemon):
    """CREATE_TRACE_CHUNK, when a chunk of many files is being deleted."""
    s = relay.Session(daemon, "deleted")
    n = size(60_000, 6000)
    stream = s.add("files", size=2)
    s.data.send(packets(stream, range(n)))
    send_all(s.control, records(stream, range(n)))
    last = s.dir / f"files_{n - 1}"
    relay.wait_until("no files", lambda: last.exists(), SERVED)
    time.sleep(0.1)
    blob = (relay.frame(relay.ROTATE_STREAMS, relay.rotate_request(
        None, (stream, n), (s.stream, 0), (s.meta, 0))) +
        relay.frame(relay.CLOSE_CHUNK, struct.pack(
            ">QQBI", 0, 1_800_000_001, 1, 2)) +
        relay.frame(relay.CREATE_CHUNK, relay.chunk_request(1)))
    first = s.dir / "files_0"
    return ([Jet(s.control.sock, blob, once=True)],
            served(lambda: not first.exists() and idle(s.control)()))


@flood(*MANY_STREAMS)
def rotation_of_many(daemon):
    """One ROTATE_STREAMS for all streams."""
    s = with_streams(daemon, size(10_000, 2000))
    every = [(t, 0) for t in [s.stream, s.meta, *s.many]]
    blob = (relay.frame(relay.CREATE_CHUNK, relay.chunk_request(1)) +
            relay.frame(relay.ROTATE_STREAMS,
                        relay.rotate_request(1, *every)))
    return ([Jet(s.control.sock, blob, once=True)],
            served(idle(s.control)))


@flood(*MANY_STREAMS)
def end_of_many_streams(daemon):
    s = with_streams(daemon, size(10_000, 2000))
    jet = Jet(s.control.sock, relay.frame(relay.STREAMS_SENT), once=True,
              reads=False, closes=True)
    s.control.sock = s.control.sock.dup()
    jet.sock.close()
    jet.sock = s.control.sock
    return [jet], repeated


@flood()
def empty_datagrams(daemon):
    daemon.kept.append(udp.UdpSession(daemon, "empty"))
    socks = []
    for _ in range(4):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect(("127.0.0.1", daemon.data_port))
        socks.append(sock)
    return [Jet(sock, [b""] * 100) for sock in socks], repeated


@flood()
def lies_udp(daemon):
    """Datagrams without the token, for streams that are there or not."""
    s = udp.UdpSession(daemon, "lies")
    daemon.kept.append(s)
    s.sock.connect(s.address)
    blob = [udp.datagram(b"?" * 16, stream, seq, bytes(1000), 1000, 0)
            for seq in range(100) for stream in (s.stream, 4711 << 8)]
    return [Jet(s.sock, blob)], repeated


@flood(memory=FEW, env={"LTTNG_NETWORK_SOCKET_TIMEOUT": "2000"})
def unread_replies(daemon):
    """Few of the large replies are kept, the other requests wait; a peer that
    reads none for long is closed."""
    s = udp.UdpSession(daemon, "deaf", streams=size(4000, 400))
    ask = relay.frame(udp.UDP_STATUS, u64(relay.NONE))
    return ([Jet(s.control.sock, ask * 13_000, once=True, reads=False)],
            logged("stopped reading its replies"))


@flood(memory=FEW)
def unread_before_a_session(daemon):
    ask = relay.frame(relay.GET_CONFIGURATION, u64(0))
    return [Jet(daemon.control().sock, ask * 20_000, reads=False)], repeated


@flood()
def holes_udp(daemon):
    """UDP_STATUS of a stream with many holes, of which all are asked for."""
    s = udp.UdpSession(daemon, "holes", flags=udp.RESENDS,
                       gap_us=5_000_000)
    s.sock.connect(s.address)
    blob = [udp.datagram(s.token, s.stream, seq, b"xy", 2, 0)
            for seq in range(1, size(100_000, 20_000))]
    for at in range(0, len(blob), 200):
        for piece in blob[at:at + 200]:
            s.sock.send(piece)
        s.calm()
    ask = relay.frame(udp.UDP_STATUS, u64(relay.NONE))
    return [Jet(s.control.sock, ask * 10_000)], repeated


@flood()
def full_sockets_at_the_end(daemon):
    """The control connection ends when many data sockets are full."""
    s = with_streams(daemon, size(100, 30), snapshot=1)
    jets = []
    for stream in s.many:
        data = daemon.data()
        blob = packets(stream, range(100_000))
        jets.append(Jet(data.sock, blob, once=True, reads=False))
    jets.append(Jet(s.control.sock, relay.frame(relay.STREAMS_SENT),
                    once=True, reads=False, closes=True))
    s.control.sock = s.data.sock
    return jets, repeated


def of_many_sessions(daemon, sessions, n, is_ring=True):
    """N packets of each, whose records are there; in a ring each packet is a
    file."""
    jets = []
    for i in range(sessions):
        s = relay.Session(daemon, f"one{i}")
        stream = s.add("ring", size=2, count=2) if is_ring else s.stream
        send_all(s.control, records(stream, range(n)))
        jets.append(Jet(s.data.sock, packets(stream, range(n)), once=True))
    return jets, repeated


@flood()
def many_rings(daemon):
    """As ring_of_tiny_files, on many sessions: as much as may wait."""
    return of_many_sessions(daemon, size(20, 8), size(20_000, 2000))


@flood("--sync=packet")
def synced_packets(daemon):
    """Packets that come as fast as they are written; each has to be on the
    disk."""
    return of_many_sessions(daemon, 12, size(2000, 400), is_ring=False)


@flood("--sync=packet")
def synced_files(daemon):
    """The same, where each packet is a file of its own."""
    return of_many_sessions(daemon, 12, size(2000, 200))


@flood("--max-memory", "32M")
def packets_begun(daemon):
    """Large packets of many sessions, each without its last byte."""
    nearly, jets = bytes(16 * MIB - 1), []
    for i in range(size(100, 40)):
        s = relay.Session(daemon, f"begun{i}")
        s.data.send(struct.pack(">QQQII", 0, s.stream, 0, 16 * MIB, 0))
        jets.append(Jet(s.data.sock, nearly, once=True))
        daemon.kept.append(s)
    return jets, repeated


@flood()
def large_metadata(daemon):
    s = relay.Session(daemon, "metadata")
    blob = relay.frame(relay.SEND_METADATA, struct.pack(
        ">QI", s.meta, 0) + b"/* */ \n" * (size(16, 4) * MIB // 8))
    return [Jet(s.control.sock, blob)], repeated


@flood(*MANY_STREAMS)
def end_of_many_that_wait(daemon):
    """The session ends when each of its streams waits for bytes: all are closed
    together when they did not come."""
    s = with_streams(daemon, size(10_000, 2000))
    send_all(s.control, b"".join(records(t, [0]) for t in s.many))
    s.control.sock.close()
    s.control.sock = s.data.sock
    return ([Jet(socket.socketpair()[0], b"", once=True)],
            logged("gave up waiting for the bytes", MANY))


@flood(memory=FEW)
def viewers(daemon):
    """Viewers that read no replies, and viewers that send a request byte by
    byte; the bystander has another thread, but the same acceptor."""
    daemon.kept = [viewer.Live(daemon, f"live{i}") for i in range(20)]
    daemon.kept[0].packets(1)
    jets = []
    for i in range(size(50, 20)):
        v, _, streams = viewer.attached(daemon, "live0")
        data, meta = viewer.ids(streams)
        equal(v.next_index(data).status, viewer.OK, "index")
        daemon.kept.append(v)
        ask = (viewer.frame(viewer.LIST),
               viewer.id_request(viewer.NEXT_INDEX, meta),
               viewer.packet_request(data, 0, 4096))[i // 2 % 3]
        if i % 2 == 0:
            jets.append(Jet(v.sock, ask * 10_000, reads=False))
        else:
            jets.append(Jet(v.sock, ask[:1], once=True))
    return jets, repeated


@flood()
def large_replies_to_viewers(daemon):
    """ATTACH_SESSION of many streams, by viewers that read no reply and by
    some that read all."""
    # With sanitizers the end takes 2.4 s with 2,000, 0.3 s with 500.
    s = with_streams(daemon, 500 if SANITIZERS else 2000, "streams",
                     live=1_000_000)
    s.control.metadata(s.meta, b"metadata")
    daemon.kept.append(s)
    jets = []
    one = viewer.greeted(daemon)
    ident = one.find("streams").id
    for i in range(size(80, 50)):
        v = viewer.greeted(daemon)
        v.create()
        daemon.kept.append(v)
        jets.append(Jet(v.sock, (
            viewer.attach_request(ident) +
            viewer.id_request(viewer.DETACH, ident)) * 100,
            reads=i % 10 == 0))
    return jets, repeated


@flood()
def requests_of_who_leaves(daemon):
    """By HTTP: as many requests for a thousand sessions as somebody can send who
    waits for no answer; each is a question to the worker."""
    place = "/".join(["x" * 250] * 15)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE,
                       (max(soft, min(hard, 4096)), hard))
    for i in range(1000):
        c = daemon.peer()
        c.create_session(name=f"s{i}", base=f"{i}/{place}")
        daemon.kept.append(c)
    return [Visits(daemon.http_port,
                   b"GET /api/v1/sessions?limit=1000 HTTP/1.1\r\n"
                   b"Host: localhost\r\n\r\n")], repeated


def taken_folders(daemon, depth, n):
    """A base path of DEPTH components of which each looks like a session's, as
    the first suffixes do; N directories beside them."""
    host = daemon.out / "h"
    place = host
    for _ in range(depth):
        for name in "a", "a-1", "a-2", "a-3", "a-4":
            (place / name / "ust").mkdir(parents=True)
        place /= "a"
    for i in range(n):
        (host / f"other-{i}").mkdir()
    return "/".join("a" * depth)


@flood()
def sessions_of_taken_paths(daemon):
    """Sessions whose paths lead through others' directories, by 160 bytes
    each."""
    base = taken_folders(daemon, 20, 100_000 if LONG else 1000)
    return [Visits(daemon.control_port,
                   relay.frame(relay.VERSION, struct.pack(">II", 2, 13)) +
                   relay.session_request(base=base))], repeated


@flood()
def sessions_of_one_name(daemon):
    """Each gets a directory, and none makes the next one slower."""
    n = 10_000 if LONG else 1000
    blob = (relay.frame(relay.VERSION, struct.pack(">II", 2, 13)) +
            relay.session_request(base="one/name"))
    places = set()

    def visit(i):
        c = daemon.peer()
        _, _, path = c.create_session(base="one/name",
                                      uuid=struct.pack(">QQ", 1, i))
        places.add(path)
        (daemon.out / path / "x").touch()
        c.close()
    for i in range(n):
        visit(i)
    equal(len(places), n, "directories")
    return [Visits(daemon.control_port, blob)], repeated


def _sessions_begun_first():
    """For each request of a bystander: how many sessions of deep paths began
    before its reply was read."""
    with relay.Daemon(workers=1) as daemon:
        good = relay.Session(daemon)
        flood = daemon.out / "flood"
        flood.mkdir()
        peers = [daemon.control() for _ in range(60)]
        for c in peers:
            c.version()
        daemon.pause()
        for i, c in enumerate(peers):
            c.send(relay.session_request(host="flood", base="/".join(
                f"{i}.{k}" for k in range(31))))
        began = [0]
        while began[-1] < len(peers):
            good.control.send(relay.frame(relay.CHUNK_EXISTS, u64(1)))
            daemon.resume()
            good.control.read(5)
            daemon.pause()
            began.append(len(list(flood.iterdir())))
        daemon.resume()
        for c in peers:
            c.read(16)
    return sorted(b - a for a, b in zip(began, began[1:]))


def sessions_of_deep_paths():
    """A peer may ask for 32 folders at once: a bystander's request waits for
    one such session in each turn, not for several. On a busy machine the relay
    runs on before it is paused: one good try is enough."""
    for _ in range(TRIES):
        waits = _sessions_begun_first()
        if waits[len(waits) // 2] < 4:
            return
    raise relay.Failed(f"sessions that began first: {waits}")


def every_request(s):
    """One blob per kind of request that leaves the session as it was."""
    pos = u64(s.stream, 0)
    return {
        "add_stream again": relay.stream_request("ch_0", "ust/uid/0/64-bit"),
        "add_stream refused": relay.stream_request("c", "../../x"),
        "start_data": relay.frame(relay.START_DATA, bytes(12)),
        "metadata": relay.frame(
            relay.SEND_METADATA, struct.pack(">QI", s.meta, 0) + b"//\n"),
        "data_pending": relay.frame(relay.DATA_PENDING, pos),
        "quiescent_control": relay.frame(relay.QUIESCENT_CONTROL,
                                         u64(s.stream)),
        "beacon": relay.frame(relay.SEND_INDEX,
                              relay.index_request(s.stream, 0, 0)),
        "streams_sent": relay.frame(relay.STREAMS_SENT),
        "reset_metadata": relay.frame(relay.RESET_METADATA, u64(s.meta, 1)),
        "rotation": relay.frame(
            relay.CREATE_CHUNK, relay.chunk_request(1)) + relay.frame(
                relay.ROTATE_STREAMS, relay.rotate_request(
                    1, (s.stream, 0), (s.meta, 0))) + relay.frame(
                relay.CLOSE_CHUNK, struct.pack(
                    ">QQBI", 0, 1_800_000_001, 1, 2)) + relay.frame(
                relay.CREATE_CHUNK, relay.chunk_request(0)) + relay.frame(
                relay.ROTATE_STREAMS, relay.rotate_request(
                    0, (s.stream, 0), (s.meta, 0))) + relay.frame(
                relay.CLOSE_CHUNK, struct.pack(
                    ">QQBI", 1, 1_800_000_001, 1, 2)),
        "chunk_exists": relay.frame(relay.CHUNK_EXISTS, u64(0)),
        "get_configuration": relay.frame(relay.GET_CONFIGURATION, u64(0)),
        "udp_open": relay.frame(udp.UDP_OPEN, struct.pack(
            ">IIIIQ", 99, 0, 0, 0, 0)),
    }


@flood()
def every_command(daemon):
    """Each kind of request on a session of its own, all at the same time."""
    kinds = every_request(relay.Session(daemon, "kinds"))
    jets = []
    for i, kind in enumerate(kinds):
        s = relay.Session(daemon, f"kind{i}")
        blob = every_request(s)[kind]
        jets.append(Jet(s.control.sock, blob * (MIB // len(blob))))
        daemon.kept.append(s)
    return jets, repeated


# The end --------------------------------------------------------------------

def taken(sock, sent):
    """How many of the SENT bytes the daemon has read, at least."""
    unsent = struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))
    return sent - unsent[0] - queued(sock)


def files_of(s):
    """How many files there are of the stream "f", each with one packet."""
    for n in range(1 << 20):
        path = s.dir / f"f_{n}"
        if not path.exists():
            return n
        equal(path.read_bytes(), b"xy", f"{path}")
    return 0


def ends_in_time(measure, *arguments):
    """MEASURE gives the seconds of an end, of which the best of some tries
    counts; what else is wrong fails at once."""
    for _ in range(TRIES):
        took = measure(*arguments)
        if took < STOP:
            return
    raise relay.Failed(f"{took:.2f} s")


def whole_packets(n_sessions, *options):
    """The seconds that the end of so many sessions took."""
    n = size(6000, 3000)
    with relay.Daemon(*options, workers=1) as daemon:
        sessions = []
        for i in range(n_sessions):
            s = relay.Session(daemon, f"s{i}")
            s.f, s.has_records = s.add("f", size=2), i % 2 == 0
            if s.has_records:
                send_all(s.control, records(s.f, range(n)))
            sessions.append(s)
        jets = [Jet(s.data.sock, packets(s.f, range(n)), once=True)
                for s in sessions]
        with spraying(jets) as sent:
            sessions[0].control.wait_written(sessions[0].f, 20)
            check(sent.wait(60), "it is not sent")
            sessions[0].acknowledged = max(
                seq for seq in (20, 50, 100, 200, 400) if
                seq == 20 or sessions[0].control.pending(
                    sessions[0].f, seq) == 0)
            daemon.pause()
            for s in sessions:
                s.whole = taken(s.data.sock, n * 34) // 34
            daemon.process.send_signal(signal.SIGTERM)
            took = ended_after(daemon, daemon.resume)
        files = [files_of(s) for s in sessions]
        print(f"    {sum(s.whole for s in sessions)} packets were read, "
              f"{sum(files)} are on disk, end {took:.2f} s", flush=True)
        check(files[0] > sessions[0].acknowledged, "acknowledged, but lost")
        for s, there in zip(sessions, files):
            check(there >= s.whole, f"{s.path}: {there} of {s.whole}")
        return took


def whole_packets_are_written_at_the_end():
    """Each packet is a file, so that much waits when the daemon is stopped.
    What it has read is written, also packets whose records did not arrive, or
    that it did not process because the session held too much."""
    ends_in_time(whole_packets, size(16, 8), "--max-memory", "64M")


def many_write_little_at_the_end():
    """The same of more sessions, with more memory: the time is not longer."""
    ends_in_time(whole_packets, size(60, 40), "--max-memory", "8G")


def files_of_datagrams_at_the_end():
    """Packets over UDP, each a file, after one that is missing."""
    ends_in_time(_files_of_datagrams)


def _files_of_datagrams():
    """The seconds that their end took."""
    n = 900
    with relay.Daemon("--udp-port=data", workers=1) as daemon:
        sessions = []
        for i in range(size(40, 20)):
            s = udp.UdpSession(daemon, f"u{i}", flags=udp.RESENDS,
                               gap_us=5_000_000)
            s.f = s.add("f", size=2)
            s.sock.connect(s.address)
            send_all(s.control, records(s.f, range(1, n)))
            sessions.append(s)
        for s in sessions:
            for seq in range(1, n):
                s.sock.send(udp.datagram(s.token, s.f, seq, b"xy", 2, 0))
                if seq % 100 == 0:
                    s.calm()
        sessions[0].calm(0)
        took = ended_after(daemon, daemon.process.terminate)
        print(f"    end {took:.2f} s", flush=True)
        return took


if __name__ == "__main__":
    sys.exit(relay.main())
