#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Restarts with --take-over: peers and viewers go on, and a take-over that fails
changes nothing. Also the next and the last process of a relay in person, to give
it damaged states. Starts daemons of its own."""
import contextlib
import fcntl
import json
import os
import random
import socket
import stat
import struct
import subprocess
import sys
import time
import zlib

import relay
import viewer
from relay import Failed, check, equal, wait_until

# relayd/net/take_over.h, relayd/handover.h
HELLO = "=QIIQQHHHH"
GIVE, READY, TAKEN, YOURS, REFUSED = range(1, 6)
HEAD = ">QIIQIIIHHHQII"
HEAD_LEN = struct.calcsize(HEAD)
PORTS_AT = struct.calcsize(">QIIQIII")
# A new version adds the file that _record() writes, and keeps the others.
KEPT = str(relay.SOURCE / "tests/replay/state_%d.json")
VERSIONS = (1,)
TOOL = os.path.abspath("tests/replay/nth_file_call")
TAKEN_OVER = "taken over from the process before"
MUTATIONS = 120
HOSTILE = 200


def a_session_goes_on():
    """Byte for byte as without restarts, also over rotations."""
    with relay.Daemon(workers=2) as daemon:
        sessions = [relay.Session(daemon, f"s{i}") for i in range(4)]
        for chunk in range(1, 6):
            for s in sessions:
                s.packet()
            daemon.take_over()
            for s in sessions:
                s.packet()
            if chunk == 3:
                daemon.take_over()
        for s in sessions:
            s.finish()
        check("cut" not in daemon.log_text(), daemon.log_text())


def chunks_go_on():
    """In the middle of a rotation; the archives are as without a restart."""
    with relay.Daemon() as daemon:
        s = relay.Session(daemon)
        s.packets(3)
        s.control.create_chunk(1)
        daemon.take_over()
        s.control.rotate(1, (s.stream, 5), (s.meta, 0))
        daemon.take_over()
        for _ in range(4):
            s.packet()
        daemon.take_over()
        code, path = s.control.close_chunk(0, 0)
        s.control.wait_gone(0)
        daemon.take_over()
        s.wait_written()
        where = daemon.out / path / "ust/uid/0/64-bit/ch_0"
        equal(where.read_bytes(), s.written[:5 * 4096], "the archive")
        s.control.close_chunk(1, 2)
        s.leave()


def halves_go_on():
    """What was read and not used yet: half a request, half a packet."""
    with relay.Daemon() as daemon:
        s = relay.Session(daemon)
        s.packets(2)
        request = relay.frame(relay.SEND_INDEX, relay.index_request(
            s.stream, 2, 4096))
        packet = struct.pack(">QQQII", 0, s.stream, 2, 4096, 0) + b"p" * 4096
        s.control.send(request[:11])
        s.data.send(packet[:7])
        time.sleep(0.05)
        daemon.take_over()
        s.control.send(request[11:50])
        s.data.send(packet[7:1000])
        time.sleep(0.05)
        daemon.take_over()
        s.control.send(request[50:])
        equal(struct.unpack(">I", s.control.read(4))[0], relay.OK, "index")
        daemon.take_over()
        s.data.send(packet[1000:])
        s.offsets.append(len(s.written))
        s.written += b"p" * 4096
        s.seq = 3
        s.packet()
        s.finish()


def packets_that_wait_go_on():
    """Bytes without a record, a record without bytes, a gap; and if no next
    process comes, whole packets are in the file."""
    for is_taken in True, False:
        with relay.Daemon() as daemon:
            s = relay.Session(daemon)
            s.packets(1)
            s.data.packet(s.stream, 1, b"w" * 4096)
            s.control.index(s.stream, 2, 4096)
            time.sleep(0.1)
            if is_taken:
                daemon.take_over()
                time.sleep(0.1)
                equal((s.dir / "ch_0").read_bytes()[:4096], s.written, "file")
                s.data.packet(s.stream, 2, b"x" * 4096)
                s.control.index(s.stream, 1, 4096)
                s.offsets += [4096, 8192]
                s.written += b"w" * 4096 + b"x" * 4096
                s.seq = 3
                daemon.take_over()
                s.finish()
                continue
            daemon.stop()
            equal((s.dir / "ch_0").read_bytes(), s.written + b"w" * 4096,
                  "what had arrived")


def viewers_go_on():
    """Attached, in the middle of a stream, while half a request is there."""
    with relay.Daemon() as daemon, viewer.bystanders(daemon) as good:
        for _ in range(3):
            daemon.take_over()
            good.step()
        good.session.packet()
        daemon.take_over()
        good.read()


class Next:
    """The next process, in person."""

    def __init__(self, daemon):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(relay.TIMEOUT)
        self.sock.connect(str(daemon.rundir / "relayd/take-over"))
        self.hello = self.sock.recv(struct.calcsize(HELLO))
        self.fds = []

    def ask(self):
        """The state, its descriptors and listeners."""
        self.memfd = os.memfd_create("state", os.MFD_ALLOW_SEALING)
        pack, fill = socket.socketpair()
        socket.send_fds(self.sock, [struct.pack("=I", GIVE)],
                        [self.memfd, fill.fileno()])
        fill.close()
        word, self.listeners, _, _ = socket.recv_fds(self.sock, 4, 80)
        equal(struct.unpack("=I", word)[0], READY, "the answer")
        self.state = os.pread(self.memfd, os.fstat(self.memfd).st_size, 0)
        pack.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                data, fds, _, _ = socket.recv_fds(pack, 1, 253)
                if not data:
                    break
                self.fds += fds
        pack.close()

    def close(self):
        self.sock.close()
        for fd in self.fds + self.listeners + [self.memfd]:
            os.close(fd)


def a_take_over_that_ends_changes_nothing():
    """The next process goes before it has taken everything."""
    with relay.Daemon() as daemon:
        s = relay.Session(daemon)
        s.packets(2)
        Next(daemon).sock.close()
        s.packets(1)
        for _ in range(3):
            other = Next(daemon)
            other.ask()
            other.close()
            daemon.wait_log("did not take over; this one goes on")
            s.packets(2)
        s.data.packet(s.stream, s.seq, b"w" * 4096)
        time.sleep(0.05)
        other = Next(daemon)
        other.ask()
        other.close()
        last_half(s)
        s.packets(2)
        daemon.take_over()
        s.finish()


def whole_and_acked(s, acked):
    """After a crash: all that was acknowledged, and no record ahead of it."""
    data = (s.dir / "ch_0").read_bytes()
    equal(data, (s.written + b"w" * 4096)[:len(data)], "data")
    check(len(data) >= acked, f"{len(data)} bytes, {acked} acknowledged")
    for offset, size, _ in relay.records(s.dir / "index/ch_0.idx"):
        check(offset + size <= len(data), "a record ahead of its packet")


def last_half(s):
    """The record of the packet whose bytes wait."""
    s.control.index(s.stream, s.seq, 4096)
    s.seq, s.offsets = s.seq + 1, s.offsets + [len(s.written)]
    s.written += b"w" * 4096
    s.wait_written()


def killed_at(n):
    """The next process is killed at file-changing call N. False: it makes
    fewer of them."""
    with relay.Daemon(workers=1) as daemon:
        s = relay.Session(daemon)
        s.packets(3)
        s.data.packet(s.stream, 3, b"w" * 4096)
        time.sleep(0.02)
        successor = daemon.next_process(prefix=[
            TOOL, str(daemon.out), str(daemon.top / "calls"), str(n), "kill"])
        ended = [daemon.process, successor]
        wait_until("neither goes on", lambda: any(
            p.poll() is not None for p in ended))
        has_taken_over = successor.poll() is None
        if has_taken_over:
            equal(daemon.process.wait(relay.TIMEOUT), 0, "the first one")
            daemon.process = successor
        else:
            check(successor.returncode != 77, "seccomp")
        acked = len(s.written)
        with contextlib.suppress(Failed, OSError):
            last_half(s)
            acked = len(s.written)
            s.packets(2)
            acked = len(s.written)
            s.finish()
            return not has_taken_over
        # It was killed when the first one had given it the connections.
        if not has_taken_over:
            equal(daemon.process.wait(relay.TIMEOUT), 0, "the first one")
        daemon.kill()
        daemon.start_again()
        daemon.recovered()
        whole_and_acked(s, acked)
        return True


def the_next_process_is_killed_at_each_call():
    """At each system call that changes a file, until it has taken over."""
    n = 1
    while killed_at(n):
        n += 1
    check(n > 1, "it changed no file")
    print(f"{n - 1} calls")


def refused(daemon, why, *options):
    """The next process ends with status 1, and says why; the relay goes on."""
    successor = daemon.next_process(*options)
    equal(successor.wait(relay.TIMEOUT), 1, "its status")
    check(why in daemon.log_text(), f"{why!r} not in {daemon.log_text()}")
    check(daemon.process.poll() is None, "the relay has ended")


def others_are_refused():
    """Other ports, another output directory, no relay at all."""
    with relay.Daemon() as daemon:
        s = relay.Session(daemon)
        s.packet()
        refused(daemon, "it has other ports", "-C", "tcp://127.0.0.1:1")
        refused(daemon, "it has another output directory", "-o",
                str(daemon.top / "elsewhere"))
        s.packet()
        s.finish()
        daemon.environment["LTTNG_RUNDIR"] = str(daemon.top / "nowhere")
        refused(daemon, "cannot reach the relay that runs")


class Last:
    """The process before, in person: gives a state that was recorded, with
    changes, to a next process."""

    def __init__(self, daemon, given):
        self.daemon, self.given = daemon, given
        self.path = daemon.rundir / "relayd/take-over"

    def offer(self, state, is_kept=False):
        """The status of the process that gets STATE; None: it serves, and is
        the daemon's from now on if IS_KEPT."""
        self.path.unlink(missing_ok=True)
        server = socket.socket(socket.AF_UNIX)
        server.settimeout(relay.TIMEOUT)
        server.bind(str(self.path))
        server.listen(1)
        taken = self.daemon.log_text().count(TAKEN_OVER)
        child = self.daemon.next_process()
        try:
            sock, _ = server.accept()
            server.close()
            sock.settimeout(relay.TIMEOUT)
            sock.sendall(self.given.hello)
            with contextlib.suppress(OSError):
                self.give(sock, state)
            sock.close()
            status = self.status(child, taken)
            if is_kept and status is None:
                self.daemon.process, child = child, None
            return status
        finally:
            if child is not None:
                child.kill()
                child.wait()

    def fill(self, sock, state):
        """All but the word that the next process waits for."""
        _, (memfd, fill), _, _ = socket.recv_fds(sock, 4, 2)
        os.pwrite(memfd, state, 0)
        fcntl.fcntl(memfd, fcntl.F_ADD_SEALS, 15)
        with socket.socket(fileno=fill) as pack:
            for fd in self.given.fds:
                socket.send_fds(pack, [b"\0"], [fd])
        os.close(memfd)

    def give(self, sock, state):
        self.fill(sock, state)
        socket.send_fds(sock, [struct.pack("=I", READY)], self.given.listeners)
        word = sock.recv(4)
        if word and struct.unpack("=I", word)[0] == TAKEN:
            sock.sendall(struct.pack("=I", YOURS))

    def status(self, child, before):
        end = time.monotonic() + relay.TIMEOUT
        while time.monotonic() < end:
            if child.poll() is not None:
                return child.returncode
            if self.daemon.log_text().count(TAKEN_OVER) > before:
                return None
            time.sleep(0.002)
        raise Failed("it neither serves nor ends")


class Impatient(Last):
    """It goes on by the time the next process has restored everything."""

    def give(self, sock, state):
        self.fill(sock, state)
        socket.send_fds(sock, [struct.pack("=II", READY, REFUSED)],
                        self.given.listeners)


def a_late_process_does_not_take_over():
    """The process that runs has waited long enough, and goes on."""
    with relay.Daemon("--http", "none") as daemon:
        s = relay.Session(daemon)
        s.packets(2)
        given = Next(daemon)
        given.ask()
        equal(Impatient(daemon, given).offer(given.state), 1, "its status")
        check("the running relay goes on" in daemon.log_text(),
              daemon.log_text())
        given.close()
        s.packets(2)
        s.finish()


def is_locked(path):
    """Has a relay claimed the directory?"""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)


def a_take_over_that_fails_unlocks_nothing():
    """It finds damage late, but has given up the session before that."""
    with relay.Daemon("--http", "none", workers=1) as daemon, \
            viewer.bystanders(daemon) as good:
        s = good.session
        s.packets(2)
        good.read()
        given = Next(daemon)
        given.ask()
        last = Last(daemon, given)
        body, end = len(given.state) - HEAD_LEN, len(given.state) * 9 // 10
        for part in range(40):
            state = bytearray(given.state)
            state[HEAD_LEN + body * part // 50] ^= 0xff
            equal(last.offer(with_sum(bytes(state[:end]))), 1,
                  f"status of {part}")
            check(is_locked(daemon.out / s.path), f"{part} has unlocked it")
        given.close()
        good.step()


def with_sum(state):
    """With the checksum that its bytes have."""
    head = list(struct.unpack(HEAD, state[:HEAD_LEN]))
    head[3] = len(state) - HEAD_LEN
    head[4] = zlib.crc32(state[HEAD_LEN:])
    return struct.pack(HEAD, *head) + state[HEAD_LEN:]


def changes(state, seed):
    """STATE with one change."""
    chance = random.Random(seed)
    body = bytearray(state)
    at = chance.randrange(HEAD_LEN, len(body))
    kind = seed % 4
    if kind == 0:
        body[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        body[at:at + 4] = chance.choice(
            [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff"])
    elif kind == 2:
        del body[at:]
    else:
        other = chance.randrange(HEAD_LEN, len(body))
        body[at:at + 64] = body[other:other + 64]
    return with_sum(bytes(body[:len(state)]))


def damaged_states_do_no_harm():
    """They are refused, or what can be read goes on; it never crashes."""
    with relay.Daemon("--http", "none") as daemon:
        s = relay.Session(daemon, live=1_000_000)
        s.packets(2)
        s.data.packet(s.stream, 2, b"w" * 4096)
        s.control.send(relay.frame(relay.SEND_INDEX)[:9])
        idle = daemon.control()
        time.sleep(0.1)
        given = Next(daemon)
        given.ask()
        daemon.kill()
        last = Last(daemon, given)
        equal(last.offer(given.state), None, "the state as it is")
        counts = {None: 0, 1: 0}
        for seed in range(MUTATIONS):
            try:
                status = last.offer(changes(given.state, seed))
            except Failed as failure:
                raise Failed(f"seed {seed}: {failure}") from None
            check(status in counts, f"seed {seed}: status {status}: "
                  + daemon.log_text()[-3000:])
            counts[status] += 1
        check(counts[None] > 0 and counts[1] > 0, f"{counts}")
        # Versions, and a wrong sum.
        for at, value in ((8, 99), (12, 99)):
            state = bytearray(given.state)
            struct.pack_into(">I", state, at, value)
            last.offer(bytes(state))
        equal(last.offer(given.state[:-1] + b"?"), 1, "a wrong sum")
        given.close()
        idle.close()
        daemon.is_stopped = True


def identity(path):
    """(device, inode, ns of birth), as struct dir_id has them."""
    born = subprocess.run(["stat", "-c", "%.9W", str(path)], check=True,
                          capture_output=True, text=True).stdout.strip()
    st = os.stat(path)
    device = os.major(st.st_dev) << 32 | os.minor(st.st_dev)
    return device, st.st_ino, int(born.replace(".", ""))


def _record():
    """Writes the file of the version that this is; see kept()."""
    with relay.Daemon("--http", "none", workers=1) as daemon:
        s = relay.Session(daemon)
        s.packets(3)
        s.data.packet(s.stream, 3, b"w" * 4096)
        s.control.metadata(s.meta, b"meta", 4092)
        time.sleep(0.1)
        given = Next(daemon)
        given.ask()
        state, ids, tree, fds = given.state, [], {}, []
        for path in [daemon.out, *sorted(daemon.out.rglob("*"))]:
            name = str(path.relative_to(daemon.out))
            if ".tracepulse" in name:
                continue
            tree[name] = None if path.is_dir() else path.read_bytes().hex()
            for wanted in struct.pack(">QQQ", *identity(path)), \
                    struct.pack(">QQ", *identity(path)[1:]):
                at = state.find(wanted)
                while at >= 0:
                    ids.append([at, len(wanted), name])
                    at = state.find(wanted, at + 1)
        for fd in given.fds:
            if not stat.S_ISSOCK(os.fstat(fd).st_mode):
                fds.append(str(os.path.relpath(
                    os.readlink(f"/proc/self/fd/{fd}"), daemon.out)))
                continue
            with socket.socket(fileno=os.dup(fd)) as peer:
                fds.append(":control" if peer.getpeername() ==
                           s.control.sock.getsockname() else ":data")
        version = struct.unpack_from(">I", state, 8)[0]
        with open(KEPT % version, "w", encoding="utf-8") as f:
            json.dump({"hello": given.hello.hex(), "state": state.hex(),
                       "ids": ids, "tree": tree, "fds": fds, "path": s.path,
                       "stream": s.stream, "meta": s.meta,
                       "offsets": s.offsets}, f, indent=1)
            f.write("\n")
        given.close()


class Kept:
    """A process of an earlier version, of which the state was kept: its files,
    sockets and session are made again."""

    def __init__(self, daemon, version):
        with open(KEPT % version, encoding="utf-8") as f:
            kept = json.load(f)
        for name, content in kept["tree"].items():
            path = daemon.out / name
            if content is None:
                path.mkdir(exist_ok=True, parents=True)
            else:
                path.write_bytes(bytes.fromhex(content))
        state = bytearray.fromhex(kept["state"])
        for at, n, name in kept["ids"]:
            state[at:at + n] = struct.pack(
                ">QQQ", *identity(daemon.out / name))[24 - n:]
        socks = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
        ports = [sock.getsockname()[1] for sock in socks]
        struct.pack_into(">HHH", state, PORTS_AT, *ports)
        self.state = with_sum(bytes(state))
        hello = list(struct.unpack(HELLO, bytes.fromhex(kept["hello"])))
        st = os.stat(daemon.out)
        hello[3:5] = st.st_dev, st.st_ino
        hello[5:8] = ports
        self.hello = struct.pack(HELLO, *hello)
        self.session = s = object.__new__(relay.Session)
        ends = {}
        with socket.create_server(("127.0.0.1", 0)) as server:
            for name in ":control", ":data":
                ours = socket.create_connection(server.getsockname(),
                                                relay.TIMEOUT)
                ends[name] = ours, server.accept()[0].detach()
        s.control = relay.Control(ends[":control"][0])
        s.data = relay.Data(ends[":data"][0])
        s.path, s.stream, s.meta = (kept[k] for k in ("path", "stream",
                                                      "meta"))
        s.seq, s.offsets = 3, kept["offsets"]
        s.dir = daemon.out / s.path / "ust/uid/0/64-bit"
        s.written = (s.dir / "ch_0").read_bytes()[:3 * 4096]
        flags = os.O_RDONLY | os.O_DIRECTORY
        self.fds = [ends[name][1] if name in ends else
                    os.open(daemon.out / name, flags) for name in kept["fds"]]
        self.listeners = [sock.detach() for sock in socks]


def states_of_earlier_versions():
    """The state of each version is restored, and its session goes on."""
    for version in VERSIONS:
        with relay.Daemon("--http", "none", workers=1) as daemon:
            daemon.kill()
            kept = Kept(daemon, version)
            last = Last(daemon, kept)
            equal(last.offer(kept.state, is_kept=True), None, "its status")
            for fd in kept.fds + kept.listeners:
                os.close(fd)
            s = kept.session
            last_half(s)
            s.packets(2)
            s.wait_written()
            s.control.close_stream(s.meta)
            s.control.close_stream(s.stream, s.seq - 1)
            s.check()
            s.leave()


def hostile_connections():
    """Many connections in all states: nothing leaks, the session goes on."""
    with relay.Daemon() as daemon:
        s = relay.Session(daemon)
        s.packet()
        many = []
        for i in range(HOSTILE):
            c = daemon.data() if i % 3 == 0 else daemon.control()
            if i % 3 == 0:
                c.send(bytes(i % 25))
            elif i % 3 == 1:
                c.send(relay.frame(relay.VERSION)[:i % 17])
            else:
                c.send(relay.frame(relay.CREATE_SESSION, bytes(i % 40)))
            many.append(c)
        time.sleep(0.2)
        before = daemon.descriptors()
        for _ in range(3):
            daemon.take_over()
            s.packet()
        wait_until("the descriptors", lambda:
                   daemon.descriptors() <= before + 2)
        for c in many:
            c.close()
        wait_until("connections stay", lambda:
                   daemon.descriptors() <= before - HOSTILE // 2)
        s.finish()


if __name__ == "__main__":
    sys.exit(relay.main(at_once=4))
