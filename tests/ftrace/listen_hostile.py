#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recorders that break rules and limits: each is closed, with one line, and a
bystander's file is whole."""
import contextlib
import os
import random
import re
import select
import socket
import struct
import time

from sender import (CLOSE, FIN_DATA, GREETING, HEADER, PAGE, PLAIN, SEND_DATA,
                    Failed, Sender, check, equal, listening, message, metadata,
                    part, private_file, run, tinit, wait_until)

SEED = int(os.environ.get("TP_SEED", "1"))
MUTATIONS = 3000 if os.environ.get("TP_TEST_LONG") else 150
GREETING_S = 5
OF_HOST = 64


@contextlib.contextmanager
def bystander(listener):
    """A good recorder meanwhile, whose file must be that of the stock listener."""
    good = Sender(listener).begin("v6-tcp")
    yield good
    for cpu in (0, 1):
        good.pages(cpu, part("v6-tcp", f"cpu{cpu}"))
    good.close()
    name = f"trace.{good.name}.dat"
    wait_until("the bystander's file", lambda: name in listener.files())
    check(listener.read(name) == part("v6-tcp", "result"), "the bystander")


def closed(listener, blob, what):
    """A connection that sends BLOB is closed at once."""
    sender = Sender(listener)
    with contextlib.suppress(OSError):
        sender.send(blob)
    check(sender.is_closed(4), f"{what}: not closed")


def rules():
    """Connections that are not recorders, or broken ones."""
    with listening() as listener, bystander(listener):
        for what, blob in (
                ("HTTP", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 3),
                ("too large", GREETING + HEADER.pack(8193, SEND_DATA, 0)),
                ("4 billion CPUs", GREETING + tinit(0xffffffff)),
                ("no metadata", GREETING + tinit() + message(FIN_DATA)),
                ("other metadata", GREETING + tinit() +
                 message(SEND_DATA, data=b"x" * 5000) + message(FIN_DATA)),
                ("half metadata", GREETING + tinit() +
                 message(SEND_DATA, data=metadata("v6-tcp")[:5000]) +
                 message(FIN_DATA)),
                ("other CPUs", GREETING + tinit(3) + part(
                    "v6-tcp", "c2s")[13 + 28:])):
            closed(listener, blob, what)
        wait_until("nothing is left", lambda: all(
            "recording" not in n or len(listener.files()) == 1
            for n in listener.files()))


def who_says_nothing():
    """A silent recorder is closed after 5 seconds, wherever it stops."""
    first = metadata("v6-tcp")
    with listening() as listener, bystander(listener):
        senders, began = [], time.monotonic()
        for blob in (b"", b"-1V3", GREETING, GREETING + b"\0\0",
                     GREETING + tinit(2, b"tcp"),
                     GREETING + tinit(2, b"tcp") +
                     message(SEND_DATA, data=first[:8000])):
            senders.append(Sender(listener))
            senders[-1].send(blob)
        for sender in senders:
            check(sender.is_closed(GREETING_S + 25), "not closed")
        check(time.monotonic() - began > GREETING_S - 2, "closed too early")


def metadata_by_the_byte():
    """V1 metadata has no stated end: a recorder that sends much of it, then single
    bytes, does not delay others."""
    much = (b"\x17\x08\x44tracing6\0\0\x08" + struct.pack("<I", PAGE) +
            b"header_page\0" + bytes(8) + b"header_event\0" + bytes(8) +
            struct.pack("<I", 0xffffffff) + bytes(48 << 20))
    with listening() as listener:
        bad = Sender(listener)
        bad.send(b"1\0" b"4096\0" b"0\0")
        bad.send(much)
        bad.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        bad.socket.setblocking(False)
        before = listener.cpu_seconds()
        began = time.monotonic()
        while time.monotonic() - began < 3:
            with contextlib.suppress(BlockingIOError):
                bad.socket.send(b"\0")
            time.sleep(0.005)
        used = listener.cpu_seconds() - before
        check(used < 1, f"{used:.1f} s of CPU in 3 s")
        Sender(listener).play("v6-tcp")
        wait_until("its file", lambda: any(
            n.endswith(".dat") for n in listener.files()))
        bad.socket.close()


def many_of_one_host():
    """One host gets no more than its share; another host is served."""
    with listening() as listener:
        senders = [Sender(listener) for _ in range(OF_HOST)]
        for sender in senders:
            sender.send(GREETING + tinit(1, b"tcp"))
            equal(sender.receive(8), b"tracecmd", "greeting")
        wait_until("all have begun", lambda: len(listener.files()) == OF_HOST)
        check(Sender(listener).is_closed(), "one more is served")
        wait_until("the reason", lambda: "too many recorders of its host"
                   in listener.log())
        other = Sender(listener, "127.0.0.2")
        other.play("v6-tcp")
        wait_until("its file", lambda: any(
            n.endswith(".dat") for n in listener.files()))
        del senders


def idle_connections_give_way():
    """Connections that do not state their CPUs do not keep out a recorder of
    their host."""
    with listening() as listener:
        idle = [Sender(listener) for _ in range(2 * OF_HOST + 4)]
        Sender(listener).play("v6-tcp")
        wait_until("its file", lambda: any(
            n.endswith(".dat") for n in listener.files()))
        check(idle[0].is_closed(), "the oldest is still there")
        check("not stated its CPUs" in listener.log(), "the reason")


def descriptors():
    """Recorders with many CPUs get half of all descriptors at most, also when there are
    few."""
    with listening(under=["prlimit", "--nofile=512:512"]) as listener, \
            bystander(listener):
        closed(listener, GREETING + tinit(500), "500 CPUs")
        taken = []
        for _ in range(30):
            sender = Sender(listener)
            sender.send(GREETING + tinit(20))
            taken.append(sender)
        wait_until("the reason", lambda: "its host uses half of all descriptors"
                   in listener.log())
        for sender in taken:
            sender.socket.close()


def free_range(n, begin=20000, end=26000):
    """The first of N free ports from BEGIN on, below those that the system
    hands out. Cases at the same time have ranges of their own."""
    for first in range(begin + os.getpid() % 50 * 100, end, n):
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + n):
                s = stack.enter_context(socket.socket())
                s.bind(("", port))
            return first
    check(False, f"no {n} ports are free")
    return None


def ports():
    """One host takes half of the ports for pages, if it has more than one
    recorder; another host gets the others."""
    first = free_range(40)
    with listening("--data-ports", f"{first}-{first + 39}") as listener:
        taken = []
        for source, cpus, is_taken in (
                ("127.0.0.1", 12, True), ("127.0.0.1", 8, True),
                ("127.0.0.1", 1, False), ("127.0.0.2", 12, True)):
            sender = Sender(listener, source)
            sender.send(GREETING + tinit(cpus, b"tcp"))
            taken.append(sender)
            if is_taken:
                equal(sender.receive(13), b"tracecmdV3\0OK", "greeting")
                equal(len(sender.receive_ports()), cpus, "ports")
            else:
                check(sender.is_closed(), "one more is served")
        wait_until("the reason", lambda: "half of all ports" in listener.log())
    with listening("--data-ports", f"{first}-{first + 1}") as listener:
        Sender(listener).play("v6-tcp")
        listener.wait_files(1)


def many_cpus():
    """A recorder of many CPUs does not delay one of two."""
    n = 502 + 50
    first = free_range(n, 26000, 32000)
    with listening("--data-ports", f"{first}-{first + n - 1}") as listener:
        for _ in range(10):
            large, small = Sender(listener), Sender(listener, "127.0.0.2")
            large.greet()
            small.greet()
            large.send(tinit(500, b"tcp"))
            small.send(tinit(2, b"tcp"))
            equal(len(small.receive_ports()), 2, "ports")
            is_first = not select.select([large.socket], [], [], 0)[0]
            equal(len(large.receive_ports()), 500, "ports of the large one")
            large.socket.close()
            small.socket.close()
            if is_first:
                return
        check(False, "the small one is always served last")


def pages_of_others():
    """Only the recorder's host may send its pages."""
    for name in ("v6-tcp", "v6-udp"):
        with listening() as listener:
            sender = Sender(listener)
            sender.greet()
            whole = part(name, "c2s")
            first = HEADER.unpack_from(whole, 13)[0]
            sender.send(whole[13:13 + first])
            ports = sender.receive_ports()
            kind = socket.SOCK_STREAM if name == "v6-tcp" \
                else socket.SOCK_DGRAM
            strangers = []
            sender.send(whole[13 + first:-12])
            for port in ports:
                stranger = socket.socket(socket.AF_INET, kind)
                stranger.bind(("127.0.0.9", 0))
                stranger.connect(("127.0.0.1", port))
                with contextlib.suppress(OSError):
                    stranger.send(b"!" * PAGE)
                strangers.append(stranger)
            time.sleep(0.2)
            sender.connect_data(ports, kind == socket.SOCK_STREAM)
            for cpu in (0, 1):
                sender.pages(cpu, part(name, f"cpu{cpu}"))
                if kind == socket.SOCK_DGRAM:
                    sender.data[cpu].send(b"?" * 100)
                    sender.data[cpu].send(b"?" * (PAGE + 1))
            sender.close()
            got, = listener.wait_files(1)
            check(got == part(name, "result"), name)
            if kind == socket.SOCK_DGRAM:
                wait_until("the counts", lambda: re.search(
                    "ignored 4 datagrams that are not pages, and 2 from other",
                    listener.log()))


def with_page_size(blob, size):
    """The metadata of a machine with pages of this size."""
    return blob[:14] + struct.pack("<I", size) + blob[18:]


def pages_that_no_datagram_holds():
    """Over UDP a recorder with larger pages is refused, whether its TINIT or its
    metadata states them; pages of 32 KiB are stored."""
    plain = metadata("v6-udp")
    with listening() as listener, bystander(listener):
        for size in (64 << 10, 256 << 10, 512 << 10, 1 << 20):
            closed(listener, GREETING + tinit(page=size), f"{size} in TINIT")
            sender = Sender(listener)
            sender.greet()
            sender.send(tinit())
            ports = sender.receive_ports()
            sender.send_metadata(with_page_size(plain, size))
            sender.connect_data(ports, False)
            with contextlib.suppress(OSError):
                sender.pages(0, b"!" * 100)
            check(sender.is_closed(20), f"{size}: not closed")
            name = f"trace.{sender.name}.dat"
            wait_until("its end", lambda: name in listener.files())
        equal(listener.log().count("do not fit in datagrams"), 8, "lines")
        sender = Sender(listener)
        sender.greet()
        sender.send(tinit())
        ports = sender.receive_ports()
        sender.send_metadata(with_page_size(plain, 32 << 10))
        sender.connect_data(ports, False)
        for cpu in (0, 1):
            sender.data[cpu].send(bytes([65 + cpu]) * (32 << 10))
        sender.close()
        name = f"trace.{sender.name}.dat"
        wait_until("its file", lambda: name in listener.files())
        got = listener.read(name)
        for cpu in (0, 1):
            equal(got.count(bytes([65 + cpu]) * (32 << 10)), 1, "pages")


def who_sends_junk_delays_no_file():
    """Others that still send to the ports of an ended recorder do not delay its
    file."""
    with listening() as listener:
        sender = Sender(listener).begin("v6-udp")
        ports = [sock.getpeername() for sock in sender.data]
        # No page of CPU 1 comes, so its port is open to anybody.
        sender.pages(0, part("v6-udp", "cpu0"))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            stranger.bind(("127.0.0.9", 0))
            other.bind(("127.0.0.1", 0))

            def is_there():
                with contextlib.suppress(OSError):
                    stranger.sendto(b"!" * PAGE, ports[1])
                    other.sendto(b"!", ports[1])
                return len(listener.files()) == 1 and \
                    listener.files()[0].endswith(".dat")
            sender.close()
            wait_until("its file", is_there, 30)
        check(part("v6-udp", "cpu0") in listener.read(listener.files()[0]),
              "its pages")


@contextlib.contextmanager
def silent_name_server():
    """A command prefix under which no name server answers within 10 seconds; None: not
    possible here."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        try:
            server.bind(("127.0.53.1", 53))
        except OSError:
            yield None
            return
        yield stack.enter_context(private_file(
            "/etc/resolv.conf",
            "nameserver 127.0.53.1\noptions timeout:5 attempts:2\n"))


def names_of_those_that_are_gone():
    """The names of closed recorders are not looked up, however slow the name server is:
    a later recorder waits only for the lookups that have begun."""
    with silent_name_server() as under:
        if under is None:
            print("SKIP names_of_those_that_are_gone: no mount namespace, or "
                  "port 53 is not free")
            return
        with listening(under=under) as listener:
            served, end = 0, time.monotonic() + 60
            while served < 150:
                check(time.monotonic() < end, f"{served} were served")
                senders = [Sender(listener, "127.0.0.2") for _ in range(OF_HOST)]
                for sender in senders:
                    with contextlib.suppress(Failed, OSError):
                        served += sender.receive(8) == b"tracecmd"
                for sender in senders:
                    sender.socket.close()
                time.sleep(0.5)
            sender = Sender(listener).begin("v6-tcp")
            wait_until("its name", lambda: f"named {sender.name}" in
                       listener.log(), 60)
            sender.close()
            wait_until("its file", lambda: f"trace.{sender.name}.dat" in
                       listener.files())


def too_much_metadata():
    """64 MiB, and no more."""
    body = message(SEND_DATA, data=bytes(8180)) * 100
    with listening() as listener, bystander(listener):
        sender = Sender(listener)
        sender.greet()
        sender.send(tinit(2, b"tcp"))
        sender.receive_ports()
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 100 << 20:
                sender.send(body)
                sent += len(body)
        check(60 << 20 < sent < 90 << 20, f"{sent} bytes were taken")


def planted_links():
    """No link in the directory leads a write out of it."""
    with listening() as listener:
        outside = os.path.dirname(listener.output) + "/outside"
        os.mkdir(outside)
        for name in ("metadata", "cpu0", "cpu1", "whole"):
            with open(f"{outside}/{name}", "wb") as f:
                f.write(b"untouched")
        sender = Sender(listener)
        for name in (f".trace.{sender.name}.recording",
                     f".trace.127.0.0.1:{sender.name[10:]}.recording",
                     f"trace.{sender.name}.dat"):
            os.symlink(outside, f"{listener.output}/{name}")
        sender.play("v6-tcp")
        wait_until("its file", lambda: f"trace.{sender.name}-1.dat"
                   in listener.files())
        equal(len(os.listdir(outside)), 4, "files outside")
        for name in os.listdir(outside):
            with open(f"{outside}/{name}", "rb") as f:
                equal(f.read(), b"untouched", name)


def mutated():
    """Any length, count or string: no crash, nothing left over, and few log lines."""
    chance = random.Random(SEED)
    with listening() as listener, bystander(listener):
        for _ in range(MUTATIONS):
            name = chance.choice(PLAIN + ("v7-tcp",))
            whole = bytearray(part(name, "c2s"))
            for _ in range(chance.randrange(1, 4)):
                at = chance.randrange(
                    80 if chance.random() < 0.5 else len(whole))
                whole[at] = chance.choice((0, 1, 0x7f, 0x80, 0xff,
                                           chance.randrange(256)))
            if chance.random() < 0.2:
                at = chance.randrange(13, 60) // 4 * 4 + 1
                struct.pack_into(">I", whole, at,
                                 chance.choice((0, 12, 8192, 0xffffffff)))
            sender = Sender(listener)
            with contextlib.suppress(OSError):
                sender.send(bytes(whole) + message(CLOSE))
                sender.socket.shutdown(socket.SHUT_WR)
                sender.socket.close()
        wait_until("all have ended", lambda: sum(
            "recording" in n for n in listener.files()) <= 1, 60)
    lines = listener.log().count("\n")
    check(lines < 8 * MUTATIONS, f"{lines} lines")


def memory_for_pages():
    """A recorder with many CPUs and large pages gets no memory for checking them: they
    are stored as they arrive, and those of a bystander are still checked."""
    cpus, large = 200, 1 << 20
    whole = part("v1-tcp", "conn2-c2s")
    about = bytearray(whole[15:])
    about[14:18] = struct.pack("<I", large)
    sent = bytes(range(256)) * (3 * large // 512)
    with listening(under=["prlimit", "--nofile=4096:4096"]) as listener, \
            bystander(listener):
        sender = Sender(listener).begin_v1(
            b"%d\0%d\0" % (cpus, large) + whole[7:15])
        sender.send(bytes(about))
        sender.pages(0, sent)
        wait_until("no memory", lambda: "no memory is left for its pages" in
                   listener.log())
        sender.end_data()
        sender.socket.close()
        name = f"trace.{sender.name}.dat"
        wait_until("its file", lambda: name in listener.files())
        check(sent[:large] in listener.read(name), "its pages")


CASES = (rules, who_says_nothing, many_of_one_host,
         idle_connections_give_way, descriptors, ports, many_cpus,
         pages_of_others, pages_that_no_datagram_holds,
         who_sends_junk_delays_no_file, names_of_those_that_are_gone,
         memory_for_pages, too_much_metadata, planted_links, mutated,
         metadata_by_the_byte)

if __name__ == "__main__":
    run(CASES, at_once=3)
