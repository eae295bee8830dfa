#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Guests by name: a broker, connect, reach and list, with an agent and a
controller that say what recorded ones said."""
import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time

from sender import (HEADER, PAGE, PROGRAM, check, directory, equal, has, part,
                    run, wait_until)
from relay import Daemon

TOKEN = "0123456789abcdef-secret"
OPEN, DATA, CLOSE, RESET = range(4)
FRAME = struct.Struct(">IBI")
METADATA_MAX = 64 << 20         # METADATA_BYTES_MAX
AGENT_EVENTS = 5        # in the pages of the recorded agent


def read_all(sock, count):
    out = b""
    while len(out) < count:
        got = sock.recv(count - len(out))
        if not got:
            break
        out += got
    return out


class Agent:
    """A recorded agent: TRACE_RESP with ports of its own, metadata, pages."""

    def __init__(self, pages=None, port=0):
        self.pages = pages or [part("agent", f"cpu{n}") for n in (0, 1)]
        self.socket = socket.create_server(("127.0.0.1", port))
        self.port = self.socket.getsockname()[1]
        self.asked = b""
        self.served = 0
        self.is_told = False    # that it is enough
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            control, _ = self.socket.accept()
            self.asked, self.is_told = b"", False
            with contextlib.suppress(OSError):
                self._session(control)
            control.close()
            self.served += 1

    def _session(self, control):
        self.asked = read_all(control, HEADER.size)
        if len(self.asked) < HEADER.size:
            return
        self.asked += read_all(control, HEADER.unpack(self.asked)[0]
                               - HEADER.size)
        said = part("agent", "agent2host")
        size = HEADER.unpack_from(said)[0]
        servers = [socket.create_server(("127.0.0.1", 0)) for _ in self.pages]
        ports = self.named([d.getsockname()[1] for d in servers])
        resp = said[12:16] + struct.pack(">I", len(ports)) + said[20:52] \
            + b"".join(b"%d\0" % port for port in ports)
        control.sendall(HEADER.pack(12 + len(resp), 7, 40) + resp)
        control.sendall(self.told(said[size:-12]))
        for server, pages in zip(servers, self.pages):
            data, _ = server.accept()
            threading.Thread(target=self.send, args=(data, pages),
                             daemon=True).start()
            server.close()
        self.asked += read_all(control, 12)
        self.is_told = True
        control.sendall(said[-12:])

    def send(self, data, pages):
        """All pages of a CPU."""
        with contextlib.suppress(OSError):
            data.sendall(pages)
        data.close()

    @staticmethod
    def named(ports):
        """The ports that it names."""
        return ports

    def told(self, said):
        """The messages with its metadata."""
        return said


class LargePages(Agent):
    """An agent whose pages need more memory than a guest may use."""
    SIZE = 1 << 20
    CPUS = 44

    def __init__(self):
        super().__init__([bytes(range(256)) * (self.SIZE // 256)] * self.CPUS)

    def told(self, said):
        blob = bytearray(agent_metadata())
        struct.pack_into("<I", blob, 14, self.SIZE)
        struct.pack_into("<I", blob, blob.index(b"options  \0") - 4, self.CPUS)
        pieces = [blob[at:at + 8000] for at in range(0, len(blob), 8000)]
        # Behind its metadata is only that it is whole.
        return b"".join(HEADER.pack(12 + len(p), 3, 0) + p
                        for p in pieces) + said[-12:]


class Hasty(Agent):
    """It says that its metadata is whole when it is not."""

    def told(self, said):
        return HEADER.pack(12 + 100, 3, 0) + agent_metadata()[:100] + said[-12:]


class Patient(Agent):
    """An agent that answers when the test allows it."""

    def __init__(self, *args):
        super().__init__(*args)
        self.may_answer = threading.Event()

    def _session(self, control):
        self.may_answer.wait(60)
        super()._session(control)


class Talkative(Agent):
    """An agent that sends more metadata than is accepted."""

    def told(self, said):
        piece = HEADER.pack(8192, 3, 0) + bytes(8192 - 12)
        return piece * (METADATA_MAX // (8192 - 12) + 1)


class Guests:
    """The programs."""

    def __init__(self, base, guest_list=None):
        self.base = base
        self.children = []
        self.token_file = self.write_token("token", TOKEN)
        self.broker = self.start(
            "broker", "-p", "0", "--bind", "127.0.0.1",
            *(["--guests", self.write_token("guests", guest_list)]
              if guest_list else []))
        self.broker_port = self.port_of(self.broker)

    def write_token(self, name, text, mode=0o600):
        path = f"{self.base}/{name}"
        with open(path, "w", encoding="ascii") as f:
            f.write(text + "\n")
        os.chmod(path, mode)
        return path

    def start(self, command, *options, token=None):
        log = f"{self.base}/{command}{len(self.children)}.log"
        with open(log, "wb") as f:
            child = subprocess.Popen(
                [PROGRAM, command, *options, "--token-file",
                 token or self.token_file], stdin=subprocess.DEVNULL,
                stdout=f, stderr=f)
        child.log_path = log
        self.children.append(child)
        return child

    @staticmethod
    def log(child):
        with open(child.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def port_of(self, child):
        wait_until("a port", lambda: "listening on port" in self.log(child)
                   or child.poll() is not None)
        return int(re.search(r"on port (\d+)", self.log(child)).group(1))

    def address(self):
        return f"127.0.0.1:{self.broker_port}"

    def connect(self, name, agent, *options, token=None):
        child = self.start("connect", name, "--broker", self.address(),
                           "--agent", f"127.0.0.1:{agent.port}", *options,
                           token=token)
        wait_until(f"{name} is known", lambda: "registered with the broker" in
                   self.log(child))
        return child

    def reach(self, name):
        child = self.start("reach", name, "--broker", self.address())
        return self.port_of(child)

    def list(self, token=None):
        return subprocess.run(
            [PROGRAM, "list", "--broker", self.address(), "--token-file",
             token or self.token_file], capture_output=True, timeout=20,
            check=False)

    def states(self):
        """What list prints: {name: (state, CPUs)}."""
        done = self.list()
        equal(done.returncode, 0, done.stderr)
        return {line.split()[0]: tuple(line.split()[1:3])
                for line in done.stdout.decode().splitlines()}

    def stop(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
                equal(child.wait(20), 0, self.log(child)[-2000:])
            check("Sanitizer" not in self.log(child) and "runtime error"
                  not in self.log(child), self.log(child)[-3000:])


@contextlib.contextmanager
def guests(guest_list=None):
    with directory() as base:
        all_of_them = Guests(base, guest_list)
        try:
            yield all_of_them
            all_of_them.stop()
        finally:
            for child in all_of_them.children:
                if child.poll() is None:
                    child.kill()
                    child.wait()


def controller(port):
    """A controller whose agent records: its control connection, the fixed part of
    the answer, and a connection for each CPU."""
    control = socket.create_connection(("127.0.0.1", port), timeout=20)
    control.sendall(part("agent", "host2agent")[:-12])
    size, number, fixed = HEADER.unpack(read_all(control, HEADER.size))
    equal((number, fixed), (7, 40), "TRACE_RESP")
    resp = read_all(control, size - HEADER.size)
    ports = [int(p) for p in resp[40:].split(b"\0")[:-1]]
    return control, resp[:40], [socket.create_connection(
        ("127.0.0.1", p), timeout=20) for p in ports]


def control_session(port, pages):
    """A controller, to the end of a session."""
    said, asks = part("agent", "agent2host"), part("agent", "host2agent")
    control, fixed, data = controller(port)
    equal(fixed, said[12:52], "the fixed part")
    rest = said[HEADER.unpack_from(said)[0]:-12]
    check(read_all(control, len(rest)) == rest, "metadata")
    for sock, want in zip(data, pages):
        check(read_all(sock, len(want) + 1) == want, "pages")
        sock.close()
    control.sendall(asks[-12:])
    equal(read_all(control, 12), said[-12:], "CLOSE_RESP")
    control.close()


def a_session():
    """Everything that a controller and an agent send arrives, in several sessions; list
    shows which guests are busy."""
    with guests() as g:
        agent, other = Agent(), Agent()
        g.connect("web1", agent)
        g.connect("db-1.example", other, "--cpus", "7")
        port = g.reach("web1")
        for n in range(3):
            wait_until("ready", lambda: g.states() == {
                "web1": ("ready", str(os.cpu_count())),
                "db-1.example": ("ready", "7")})
            control_session(port, agent.pages)
            wait_until("the agent's end", lambda n=n: agent.served == n + 1)
            equal(agent.asked, part("agent", "host2agent"), "what was asked")


def agent_metadata():
    """The metadata of the recorded agent."""
    blob, out = part("agent", "agent2host"), b""
    while blob:
        size, number, _ = HEADER.unpack_from(blob)
        out += blob[HEADER.size:size] if number == 3 else b""
        blob = blob[size:]
    return out


def start_record(g, *names, options=()):
    """tracepulse-ftrace record, with files in a directory of its own."""
    os.makedirs(f"{g.base}/out", exist_ok=True)
    return g.start("record", *names, "-e", "sched", "--broker", g.address(),
                   "-d", f"{g.base}/out", *options)


def recorded(*names, stop=signal.SIGINT, wanted=0, options=(), agents=None):
    """Records guests; returns the files."""
    with guests() as g:
        agents = agents or [Agent() for _ in names]
        for name, agent in zip(names, agents):
            g.connect(name, agent)
        out = f"{g.base}/out"
        child = start_record(g, *names, options=("-C", "local", *options))
        wait_until("all record", lambda: g.log(child).count("2 CPUs")
                   == len(names))
        for name, state in g.states().items():
            check(name not in names or state[0] == "busy", f"{name}: {state}")
        time.sleep(0.2)
        child.send_signal(stop)
        equal(child.wait(20), wanted, g.log(child)[-2000:])
        for agent in agents:
            check(b"-C\0local\0-e\0sched\0" in agent.asked, agent.asked)
        files = {}
        for name in sorted(os.listdir(out)):
            if name.endswith(".dat"):
                with open(f"{out}/{name}", "rb") as f:
                    files[name] = f.read()
        if stop == signal.SIGKILL:
            again = g.start("record", "nobody", "-e", "x", "--broker",
                            g.address(), "-d", out)
            equal(again.wait(20), 1, "a guest that is not there")
            equal(sorted(os.listdir(out)), [f"trace.{n}.dat" for n in names],
                  "files of the next start")
        return files


def several_at_once():
    """One command writes a file for each guest, with its metadata and its pages."""
    files = recorded("web1", "web2", "db")
    equal(list(files), ["trace.db.dat", "trace.web1.dat", "trace.web2.dat"],
          "files")
    for blob in files.values():
        check(blob.startswith(agent_metadata()), "metadata")
        for cpu in (0, 1):
            check(part("agent", f"cpu{cpu}") in blob, f"pages of CPU {cpu}")
    if has("trace-cmd", "the report of a guest's file"):
        with directory() as base:
            path = f"{base}/x.dat"
            said = []
            for blob in (files["trace.web1.dat"], part("agent", "result")):
                with open(path, "wb") as f:
                    f.write(blob)
                said.append(subprocess.run(
                    ["trace-cmd", "report", "-R", "-t", path],
                    capture_output=True, check=False).stdout)
            equal(said[0], said[1], "trace-cmd report")


def pages_that_are_too_large():
    """They are stored as they arrive."""
    agent = LargePages()
    with guests() as g:
        g.connect("web1", agent)
        child = start_record(g, "web1")
        wait_until("it is told", lambda: "no memory is left for its pages" in
                   g.log(child))
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        equal(child.wait(20), 0, g.log(child)[-2000:])
        with open(f"{g.base}/out/trace.web1.dat", "rb") as f:
            equal(f.read().count(agent.pages[0]), LargePages.CPUS, "pages")


def a_killed_recording():
    """The next start makes its file."""
    recorded("web1", stop=signal.SIGKILL, wanted=-signal.SIGKILL)


def live_of_several():
    """A session on the relay for each of them, with all their events."""
    if not has("babeltrace2", "live_of_several"):
        return
    with Daemon() as relay:
        files = recorded(
            "web1", "web2", options=(
                "--no-file", "--relay=net://localhost:%d:%d" % (
                    relay.control_port, relay.data_port)))
        equal(files, {}, "files")
        # Both agents say that they are the same trace, so one at a time.
        sessions = list((relay.out / "target").iterdir())
        for session in sessions:
            done = subprocess.run(["babeltrace2", str(session)],
                                  capture_output=True, check=False)
            lines = done.stdout.count(b"\n")
            check(done.returncode == 0 and lines == AGENT_EVENTS,
                  f"{session}: {lines} events: {done.stderr[-300:]!r}")
        equal(sorted(re.sub("-.*", "", s.name) for s in sessions),
              ["web1", "web2"], "sessions")


def a_relay_that_hangs_costs_a_guest_the_live_part_only():
    """Its file does not wait for the relay, which is given up; what is lost is
    counted."""
    with Daemon() as relay, guests() as g:
        g.connect("web1", Agent())
        relay.pause()
        try:
            child = start_record(g, "web1", options=(
                "--relay=net://127.0.0.1:%d:%d" % (
                    relay.control_port, relay.data_port),))
            wait_until("it records", lambda: "2 CPUs" in g.log(child))
            child.send_signal(signal.SIGINT)
            equal(child.wait(60), 0, g.log(child))
        finally:
            relay.resume()
        log = g.log(child)
        check(0 < log.find("pages in trace.web1.dat")
              < log.find("no longer sending to the relay"), log)
        check(f" {AGENT_EVENTS} after the relay had failed" in log, log)


def an_agent_that_talks_nonsense():
    """The other guests are recorded; the exit status reports the failure."""
    class Bad(Agent):
        def _session(self, control):
            self.asked = read_all(control, 40)
            control.sendall(HEADER.pack(12, 3, 0) * 5)
            read_all(control, 1)

    with guests() as g:
        good, bad = Agent(), Bad()
        g.connect("good", good)
        g.connect("bad", bad)
        child = start_record(g, "good", "bad")
        wait_until("its failure", lambda: "guest=bad: invalid message" in
                   g.log(child))
        wait_until("the other", lambda: "guest=good: 2 CPUs" in g.log(child))
        time.sleep(0.2)
        child.send_signal(signal.SIGTERM)
        equal(child.wait(20), 1, g.log(child))
        equal(os.listdir(f"{g.base}/out"), ["trace.good.dat"], "files")


def metadata_that_is_not_whole():
    """The recording does not wait for the rest, and ends by itself."""
    with guests() as g:
        g.connect("web1", Hasty())
        child = start_record(g, "web1")
        equal(child.wait(20), 1, g.log(child))
        check("guest=web1: not the metadata of a trace.dat" in
              g.log(child), g.log(child))
        equal(os.listdir(f"{g.base}/out"), [], "files")


def failures_of_our_own():
    """A failure of this machine is not reported as one of the agent."""
    with guests() as g:
        agent = Patient()
        g.connect("web1", agent)
        child = start_record(g, "web1")
        wait_until("it is asked", lambda: g.states()["web1"][0] == "busy")
        os.rmdir(f"{g.base}/out")
        agent.may_answer.set()
        equal(child.wait(20), 1, g.log(child))
        check("guest=web1: cannot create its files" in g.log(child),
              g.log(child))
        g.connect("web2", Talkative())
        child = start_record(g, "web2")
        equal(child.wait(60), 1, g.log(child))
        check("guest=web2: its metadata is too large" in g.log(child),
              g.log(child))
        equal(os.listdir(f"{g.base}/out"), [], "files")


class Steady(Agent):
    """An agent that sends more pages of each CPU when the test wants them."""

    def __init__(self):
        super().__init__()
        self.wanted = threading.Event()

    def _session(self, control):
        self.control = control
        super()._session(control)

    def send(self, data, pages):
        data.sendall(pages)
        self.wanted.wait(60)
        super().send(data, pages)


def a_file_that_takes_long():
    """While the files of one guest are joined, pages of others arrive, and their files
    are joined too."""
    def size(name):
        path = f"{g.base}/out/.trace.{name}.recording/cpu0"
        return os.path.exists(path) and os.stat(path).st_size

    with guests() as g:
        early, late = Steady(), Steady()
        g.connect("early", early)
        g.connect("late", late)
        child = start_record(g, "early", "late")
        wait_until("pages", lambda: size("early") == size("late") == PAGE)
        # The FIFO blocks whatever opens it, as a slow disk would.
        work = f"{g.base}/out/.trace.early.recording"
        os.rename(f"{work}/cpu0", f"{work}/kept")
        os.mkfifo(f"{work}/cpu0")
        early.control.shutdown(socket.SHUT_RDWR)
        wait_until("its file is begun",
                   lambda: os.path.exists(f"{work}/joined"))
        late.wanted.set()
        wait_until("pages of the other", lambda: size("late") == 2 * PAGE)
        child.send_signal(signal.SIGTERM)
        wait_until("the file of the other", lambda: os.path.exists(
            f"{g.base}/out/trace.late.dat"))
        with open(f"{work}/cpu0", "wb"):
            pass
        equal(child.wait(20), 1, g.log(child))
        check("does not end" not in g.log(child), g.log(child))


def guests_of_the_list():
    """The broker connects to the agents of its list, without connect; no other
    connection can take such a name, and an agent that was away is found when it is
    back."""
    agent = Agent()
    away = socket.create_server(("127.0.0.1", 0))
    away_port = away.getsockname()[1]
    away.close()
    with guests(f"near agent=127.0.0.1:{agent.port}\n"
                f"away agent=127.0.0.1:{away_port}\n") as g:
        wait_until("both", lambda: g.states() == {
            "near": ("ready", "-"), "away": ("ready", "-")})
        line = g.list().stdout.decode()
        check(f"near ready - 127.0.0.1:{agent.port}\n" in line, line)
        port = g.reach("near")
        for _ in range(2):
            control_session(port, agent.pages)
            wait_until("ready, with CPUs", lambda: g.states()["near"]
                       == ("ready", "2"))
        equal(raw(g, b"connect - near 1")[1], b"error wrong token\n", "another")
        equal(raw(g, b"connect  near 1")[1], b"error wrong token\n", "another")
        sock = reaching(g, "away")
        sock.sendall(frame(OPEN, 0, b"\0\0"))
        equal(read_all(sock, 9), frame(CLOSE, 0), "an agent that is away")
        sock.close()
        back = Agent(port=away_port)
        wait_until("ready", lambda: g.states()["away"][0] == "ready")
        control_session(g.reach("away"), back.pages)


def files_that_are_read_again():
    """On SIGHUP the files are read again: new guests may connect, those that are no
    longer allowed are closed, others continue, also their sessions. A file that cannot
    be read changes nothing."""
    agents = [Agent() for _ in range(3)]
    word = {n: f"the-token-of-{n}-itself" for n in ("web1", "web2", "web3")}
    near = f"near agent=127.0.0.1:{agents[1].port}\n"

    def lines(*names):
        return "".join(f"{n} {word[n]}\n" for n in names)

    def reads(g, token, guest_list, said="tokens reloaded"):
        before = g.log(g.broker).count(said)
        g.write_token("token", token)
        g.write_token("guests", guest_list)
        g.broker.send_signal(signal.SIGHUP)
        wait_until(said, lambda: g.log(g.broker).count(said) > before)

    with guests(lines("web1", "web2") + near) as g:
        web1, web2 = (g.connect(n, a, token=g.write_token(n, word[n]))
                      for n, a in zip(("web1", "web2"), agents))
        wait_until("three", lambda: set(g.states()) == {"web1", "web2", "near"})
        sock = reaching(g)
        gone = reaching(g, "web2")
        near = f"near agent=127.0.0.1:{agents[2].port}\n"
        reads(g, TOKEN, lines("web1", "web3") + near)
        wait_until("the others", lambda: {
            name: state[0] for name, state in g.states().items()} == {
                "web1": "busy", "near": "ready"})
        check(f"near ready - 127.0.0.1:{agents[2].port}\n" in
              g.list().stdout.decode(), "its new agent")
        equal(read_all(gone, 1), b"", "the session of who is cut off")
        wait_until("it is refused", lambda: "wrong token" in g.log(web2))
        web3 = g.connect("web3", agents[2],
                         token=g.write_token("web3", word["web3"]))
        control_session(g.reach("near"), agents[2].pages)
        sock.sendall(frame(OPEN, 0, b"\0\0"))
        sock.sendall(frame(DATA, 0, part("agent", "host2agent")[:-12]))
        equal(len(read_all(sock, 1000)), 1000, "web1's session goes on")
        for guest_list in ("web1 short\n", "web1\n", near * 2):
            reads(g, TOKEN, guest_list, "tokens not reloaded")
            equal(set(g.states()), {"web1", "web3", "near"}, guest_list)
        reads(g, TOKEN + "-new", lines("web1", "web3"))
        while sock.recv(65536):
            pass                # its session ends
        equal(g.list(g.write_token("old", TOKEN)).returncode, 1, "the old one")
        g.token_file = g.write_token("token", TOKEN + "-new")
        wait_until("guests", lambda: {
            name: state[0] for name, state in g.states().items()} == {
                "web1": "ready", "web3": "ready"})
        check(web1.poll() is None and web3.poll() is None, "connects go on")


def busy_and_gone():
    """A guest has one session at a time; a guest that is not connected cannot be
    reached; one that vanishes ends its session, and may connect again."""
    with guests() as g:
        agent = Agent()
        child = g.connect("web1", agent)
        port, second = g.reach("web1"), g.reach("web1")
        nobody = g.reach("nobody")
        first = socket.create_connection(("127.0.0.1", port), timeout=20)
        wait_until("busy", lambda: g.states()["web1"][0] == "busy")
        for refused in (second, nobody):
            sock = socket.create_connection(("127.0.0.1", refused), timeout=20)
            equal(read_all(sock, 1), b"", "an answer")
        child.kill()
        child.wait()
        equal(read_all(first, 1), b"", "an answer")
        wait_until("gone", lambda: g.states() == {})
        g.connect("web1", agent)
        control_session(port, agent.pages)


def a_broker_that_comes_again():
    """connect tries again until the broker is back."""
    with guests() as g:
        agent = Agent()
        child = g.connect("web1", agent)
        g.broker.terminate()
        g.broker.wait(20)
        g.broker = g.start("broker", "-p", str(g.broker_port), "--bind",
                           "127.0.0.1")
        g.port_of(g.broker)
        wait_until("known again", lambda: g.log(child).count(
            "registered with the broker") == 2)
        control_session(g.reach("web1"), agent.pages)


def tokens():
    """Without the token everything is refused; a token file that others can read is
    refused too."""
    with guests() as g:
        wrong = g.write_token("wrong", TOKEN + "x")
        done = g.list(wrong)
        check(done.returncode == 1 and b"wrong token" in done.stderr,
              done.stderr)
        for name, text, mode in (("open", TOKEN, 0o644), ("short", "x", 0o600),
                                 ("blank", "0123456789 abcdef", 0o600)):
            equal(g.list(g.write_token(name, text, mode)).returncode, 1, name)
        for text, said in (("x" * 127, b"one word of"), ("", b"one word of")):
            done = g.list(g.write_token("odd", text))
            check(done.returncode == 1 and said in done.stderr, done.stderr)
        g.write_token("empty", "")
        os.truncate(f"{g.base}/empty", 0)
        done = g.list(f"{g.base}/empty")
        check(done.returncode == 1 and b"is empty" in done.stderr, done.stderr)
        for line in (b"list", b"list ", b"connect x web1 2", b"",
                     b"reach " + TOKEN.encode() + b"x web1"):
            sock = socket.create_connection(("127.0.0.1", g.broker_port))
            sock.sendall(line + b"\n")
            equal(read_all(sock, 100), b"error wrong token\n", line)


def addresses():
    """HOST:PORT, also with brackets around an IPv6 address."""
    with guests() as g:
        for host in ("127.0.0.1", "[127.0.0.1]", "localhost"):
            done = subprocess.run(
                [PROGRAM, "list", "--broker", f"{host}:{g.broker_port}",
                 "--token-file", g.token_file], capture_output=True,
                timeout=20, check=False)
            equal(done.returncode, 0, done.stderr)


def raw(g, line):
    """A connection to the broker, and its answer to LINE."""
    sock = socket.create_connection(("127.0.0.1", g.broker_port), timeout=20)
    sock.sendall(line.replace(b"TOKEN", TOKEN.encode()) + b"\n")
    return sock, sock.recv(1000)


def reaching(g, name="web1", role="reach"):
    """A connection that the broker accepts."""
    sock, answer = raw(g, f"{role} TOKEN {name}".encode())
    equal(answer, b"ok\n", f"{role} {name}")
    return sock


def frame(kind, stream, data=b""):
    return FRAME.pack(5 + len(data), kind, stream) + data


def ports_that_nobody_named():
    """A session reaches the agent of the guest, and no other port."""
    with guests() as g:
        agent = Agent()
        secret = socket.create_server(("127.0.0.1", 0))
        secret.settimeout(0.5)
        child = g.connect("web1", agent)
        sock = reaching(g)
        port = struct.pack(">H", secret.getsockname()[1])
        for stream, data in ((1, port), (0, port), (1, b""), (1, b"\0\0")):
            sock.sendall(frame(OPEN, stream, data))
            equal(read_all(sock, 9), frame(CLOSE, stream), "answer")
        with contextlib.suppress(socket.timeout):
            secret.accept()
            check(False, "somebody was let in")
        sock.close()
        check("has not named" in g.log(child), g.log(child))


def bad_frames_and_lines():
    """Each of these connections is closed; other sessions continue."""
    with guests() as g:
        agent = Agent()
        g.connect("web1", agent)
        for line, want in (
                (b"nonsense TOKEN", b"error unknown request\n"),
                (b"reach TOKEN", b"error no guest of this name is connected\n"),
                (b"connect TOKEN web1 1",
                 b"error a guest of this name is connected\n"),
                (b"connect TOKEN ../x 1", b"error invalid name of a guest\n"),
                (b"connect TOKEN x", b"error invalid name of a guest\n"),
                (b"connect TOKEN x -1", b"error invalid name of a guest\n")):
            equal(raw(g, line)[1], want, line)
        sock = socket.create_connection(("127.0.0.1", g.broker_port))
        with contextlib.suppress(OSError):
            sock.sendall(b"x" * 5000)
            equal(read_all(sock, 1), b"", "a long line")
        for blob in (frame(RESET, 0), frame(9, 0), struct.pack(">I", 4) + bytes(5),
                     struct.pack(">I", 0xffffffff) + bytes(5),
                     frame(DATA, 1602), frame(OPEN, 0xffffffff)):
            wait_until("ready", lambda: g.states()["web1"][0] == "ready")
            sock = reaching(g)
            sock.sendall(blob)
            with contextlib.suppress(ConnectionResetError):
                equal(read_all(sock, 1), b"", repr(blob))
        wait_until("ready", lambda: g.states()["web1"][0] == "ready")
        control_session(g.reach("web1"), agent.pages)


def what_is_left_of_a_session():
    """What a guest sends before it learns of the end of a session does not reach the
    next session."""
    with guests() as g:
        guest = reaching(g, "web1 1", "connect")
        for count in (1, 2):
            for _ in range(count):
                sock = reaching(g)
                sock.close()
                wait_until("the session's end",
                           lambda: g.states()["web1"][0] == "ready")
            sock = reaching(g)
            equal(read_all(guest, 9 * count), frame(RESET, 0) * count, "ends")
            guest.sendall((frame(DATA, 0, b"secret") + frame(RESET, 0)) * count
                          + frame(DATA, 0, b"news"))
            equal(read_all(sock, 13), frame(DATA, 0, b"news"), "its bytes")
            sock.close()
            equal(read_all(guest, 9), frame(RESET, 0), "its end")
            guest.sendall(frame(RESET, 0))
        guest.sendall(frame(RESET, 0) + frame(DATA, 0, b"x"))
        wait_until("ready", lambda: g.states()["web1"][0] == "ready")


CASES = (a_session, several_at_once,
         pages_that_are_too_large, a_killed_recording, live_of_several,
         a_relay_that_hangs_costs_a_guest_the_live_part_only,
         an_agent_that_talks_nonsense, metadata_that_is_not_whole,
         failures_of_our_own, a_file_that_takes_long, guests_of_the_list,
         files_that_are_read_again, busy_and_gone, addresses,
         a_broker_that_comes_again, tokens, ports_that_nobody_named,
         bad_frames_and_lines, what_is_left_of_a_session)

if __name__ == "__main__":
    run(CASES, at_once=3)
