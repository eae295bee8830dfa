#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Guests by name, with agents, controllers, guests and brokers that are slow, silent,
greedy or gone. Nobody else is harmed, and each is closed in time."""
import concurrent.futures
import contextlib
import os
import random
import re
import resource
import signal
import socket
import struct
import subprocess
import threading
import time

from guests import (CLOSE, DATA, OPEN, RESET, TOKEN, Agent, control_session,
                    controller, frame, guests, raw, reaching, read_all,
                    start_record)
from sender import (HEADER, PROGRAM, check, equal, hears, part, run,
                    wait_until)

TAKEN = 4
WINDOW = 256 << 10      # LINK_WINDOW
HELLO_S = 5             # LINK_HELLO_S
DIAL_S = 10             # DIAL_MS
STALL_S = 30            # LINK_STALL_S
PEER_LINES = 55         # LOG_PEER_LINES in a second, and a few
MANY_CPUS = 1200
MUCH = 16 << 20
# Memory is measured: what is free is not kept to look for its use.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") \
    + ":quarantine_size_mb=4"


class Deaf(Agent):
    """An agent that accepts connections and reads nothing while IS_DEAF."""
    is_deaf = True

    def _session(self, control):
        if not self.is_deaf:
            super()._session(control)
            return
        self.kept = control.dup()


@contextlib.contextmanager
def full_port():
    """A port that does not answer: its queue is full, and no connection is accepted."""
    with socket.socket() as server, contextlib.ExitStack() as stack:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            sock = stack.enter_context(socket.socket())
            sock.setblocking(False)
            sock.connect_ex(server.getsockname())
        time.sleep(0.2)
        yield server.getsockname()[1]


def flood(sock, blob, seconds=1.0):
    """Sends as much of BLOB as is accepted; returns how much."""
    sock.setblocking(False)
    sent, end = 0, time.monotonic() + seconds
    while sent < len(blob) and time.monotonic() < end:
        try:
            sent += sock.send(blob[sent:sent + (1 << 20)])
        except BlockingIOError:
            time.sleep(0.01)
        except OSError:
            break
    sock.setblocking(True)
    return sent


def is_flooded(log, what, began):
    """Are there more such lines since BEGAN than the log allows?"""
    count = log.count(what)
    return count > (time.monotonic() - began + 2) * PEER_LINES


def memory_kib(child):
    with open(f"/proc/{child.pid}/status", encoding="ascii") as f:
        return int(re.search(r"RssAnon:\s+(\d+)", f.read()).group(1))


def an_agent_that_does_not_read():
    """Its session ends normally, and the next one is complete."""
    with guests() as g:
        agent = Deaf()
        child = g.connect("web1", agent)
        for _ in range(2):
            sock = reaching(g)
            sock.sendall(frame(OPEN, 0, b"\0\0"))
            flood(sock, frame(DATA, 0, bytes(32 << 10)) * (MUCH >> 15))
            check(memory_kib(child) < 64 << 10, memory_kib(child))
            sock.close()
            wait_until("ready", lambda: g.states()["web1"][0] == "ready")
        agent.is_deaf = False
        control_session(g.reach("web1"), agent.pages)


def a_channel_that_is_not_read():
    """A controller that does not read one CPU gets the others, and its answers;
    sessions of others go on."""
    pages = [bytes(MUCH), os.urandom(MUCH)]
    said, asks = part("agent", "agent2host"), part("agent", "host2agent")
    with guests() as g:
        other = Agent()
        g.connect("web1", Agent(pages))
        g.connect("quick", other)
        control, _, data = controller(g.reach("web1"))
        control_session(g.reach("quick"), other.pages)
        check(read_all(data[1], MUCH + 1) == pages[1], "pages of CPU 1")
        rest = said[HEADER.unpack_from(said)[0]:-12]
        check(read_all(control, len(rest)) == rest, "metadata")
        control.sendall(asks[-12:])
        equal(read_all(control, 12), said[-12:], "CLOSE_RESP")
        for child in g.children:
            check(memory_kib(child) < 64 << 10,
                  f"{child.args[1]}: {memory_kib(child)} KiB")
        check(read_all(data[0], MUCH + 1) == pages[0], "pages of CPU 0")
        for sock in data + [control]:
            sock.close()


def more_than_there_is_room_for():
    """A stream with more bytes than its window is closed."""
    with guests() as g:
        agent = Deaf()
        child = g.connect("web1", agent)
        sock = reaching(g)
        sock.sendall(frame(OPEN, 0, b"\0\0"))
        flood(sock, frame(DATA, 0, bytes(32 << 10)) * (MUCH >> 15),
              seconds=20)
        sock.settimeout(20)
        answer = b""
        while not answer.endswith(frame(CLOSE, 0)):
            got = sock.recv(1 << 16)
            check(got, "no end of the stream")
            answer += got
        check("more bytes than its window" in g.log(child),
              g.log(child))
        sock.close()


def is_served(port, pages):
    """Does a controller get a whole session? The guest may connect again first."""
    with contextlib.suppress(OSError, struct.error):
        control_session(port, pages)
        return True
    return False


def answers_that_nobody_takes():
    """A controller sends frames that are answered, and reads no answer."""
    with guests() as g:
        agent, began = Agent(), time.monotonic()
        child = g.connect("web1", agent)
        sock = reaching(g)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        flood(sock, frame(OPEN, 1, b"\0\1") * (4 << 20), seconds=4)
        for one in (child, g.broker):
            check(memory_kib(one) < 100 << 10, memory_kib(one))
        sock.close()
        port = g.reach("web1")
        wait_until("a session", lambda: is_served(port, agent.pages))
        check(not is_flooded(g.log(child), "has not named", began),
              "a flood of lines")


def a_guest_that_does_not_read():
    """It is closed after a while, and so is the session that reached it."""
    with guests() as g:
        guest = reaching(g, "web1 1", "connect")
        sock = reaching(g)
        flood(sock, frame(DATA, 0, bytes(32 << 10)) * (4 * MUCH >> 15))
        check(memory_kib(g.broker) < 64 << 10, memory_kib(g.broker))
        began = time.monotonic()
        wait_until("it is gone", lambda: g.states() == {},
                   timeout=STALL_S + 10)
        check(time.monotonic() - began > STALL_S / 2, "too early")
        guest.close()
        sock.close()


class Slow(Agent):
    """An agent that sends its last pages slowly once it is asked to stop."""

    def send(self, data, pages):
        while not self.is_told:
            time.sleep(0.05)
        with contextlib.suppress(OSError):
            for at in range(0, len(pages), 200):
                data.sendall(pages[at:at + 200])
                time.sleep(0.7)
        data.close()


class Lasting(Agent):
    """An agent that does not close its data sockets."""

    def send(self, data, pages):
        data.sendall(pages)
        self.kept = [*getattr(self, "kept", ()), data]


def stopped_recording(agent, wanted):
    """Records the agent and stops; returns the log. The file has all pages."""
    with guests() as g:
        g.connect("web1", agent)
        child = start_record(g, "web1")
        wait_until("it records", lambda: "2 CPUs" in g.log(child))
        child.send_signal(signal.SIGTERM)
        equal(child.wait(60), wanted, g.log(child))
        with open(f"{g.base}/out/trace.web1.dat", "rb") as f:
            blob = f.read()
        for pages in agent.pages:
            check(pages in blob, g.log(child))
        return g.log(child)


def an_agent_whose_last_pages_are_slow():
    """record waits for them as long as they arrive."""
    said = stopped_recording(Slow(), 0)
    check("does not end" not in said, said)


def an_agent_that_does_not_end():
    """What has arrived is in the file; the exit status says that it may not be
    everything."""
    said = stopped_recording(Lasting(), 1)
    check("guest=web1: its agent does not end" in said, said)


def a_byte_a_second():
    """A connection that sends its line slowly gets no more time than a silent one."""
    with guests() as g:
        began = time.monotonic()
        sock = socket.create_connection(("127.0.0.1", g.broker_port))
        with contextlib.suppress(OSError):
            while time.monotonic() - began < 3 * HELLO_S:
                sock.sendall(b"x")
                sock.settimeout(0.5)
                with contextlib.suppress(socket.timeout):
                    if sock.recv(1) == b"":
                        break
        took = time.monotonic() - began
        check(HELLO_S - 1 < took < 3 * HELLO_S - 1, f"{took:.1f} s")


def start_at(g, command, *options, port):
    """The command with a broker at another port."""
    return g.start(command, *options, "--broker", f"127.0.0.1:{port}")


def ends_at_once(g, child):
    """SIGTERM ends it without waiting for what it has begun."""
    wait_until("it hears SIGTERM", lambda: hears(child.pid))
    child.send_signal(signal.SIGTERM)
    began = time.monotonic()
    child.wait(20)
    took = time.monotonic() - began
    check(took < DIAL_S - 2, f"{child.args[1]}: {took:.1f} s: {g.log(child)}")


def nobody_answers_the_dial():
    """connect and list wait no longer for a broker than the limit, and SIGTERM ends
    them meanwhile."""
    with guests() as g, full_port() as port:
        dying = start_at(g, "connect", "web1", port=port)
        patient = start_at(g, "connect", "web1", port=port)
        listing = start_at(g, "list", port=port)
        time.sleep(0.5)
        ends_at_once(g, dying)
        equal(listing.wait(2 * DIAL_S), 1, g.log(listing))
        g.children.remove(listing)
        wait_until("the reason", lambda: "cannot connect: Connection timed out"
                   in g.log(patient), timeout=30)
        ends_at_once(g, patient)


def an_agent_that_is_not_there():
    """Its stream is closed; other streams are not delayed."""
    with guests() as g, full_port() as port:
        agent = Agent()
        agent.port = port
        child = g.connect("web1", agent)
        sock = reaching(g)
        began = time.monotonic()
        sock.sendall(frame(OPEN, 0, b"\0\0") + frame(DATA, 0, b"x" * 1000))
        time.sleep(0.2)
        sock.sendall(frame(OPEN, 1, b"\0\1"))
        equal(read_all(sock, 9), frame(CLOSE, 1), "a stream beside")
        check(time.monotonic() - began < DIAL_S - 2, "it waits for the agent")
        equal(read_all(sock, 9), frame(CLOSE, 0), "its end")
        check(time.monotonic() - began < DIAL_S + 8, "too late")
        wait_until("the reason",
                   lambda: "Connection timed out" in g.log(child))
        sock.close()
        sock, answer = raw(g, b"reach TOKEN web1")
        sock.sendall(frame(OPEN, 0, b"\0\0"))
        time.sleep(0.2)
        sock.close()
        wait_until("ready", lambda: g.states()["web1"][0] == "ready")
        ends_at_once(g, child)


def a_broker_that_says_nothing():
    """No command waits longer for its answer than the limit."""
    with guests() as g, socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        child = start_at(g, "connect", "web1", port=port)
        listing = start_at(g, "list", port=port)
        recording = start_at(g, "record", "web1", "-e", "x", "-d", g.base,
                             port=port)
        reaching = start_at(g, "reach", "web1", port=port)
        controller = socket.create_connection(
            ("127.0.0.1", g.port_of(reaching)), timeout=4 * HELLO_S)
        began = time.monotonic()
        equal(listing.wait(4 * HELLO_S), 1, g.log(listing))
        equal(recording.wait(4 * HELLO_S), 1, g.log(recording))
        equal(read_all(controller, 1), b"", "an answer")
        wait_until("it is tried again", lambda: "does not answer"
                   in g.log(child))
        check(time.monotonic() - began < HELLO_S + 12, "too late")
        g.children.remove(listing)
        g.children.remove(recording)


def names_of_hosts():
    """A name is looked up without blocking: one that exists, and one that does not,
    which does not delay SIGTERM."""
    with guests() as g:
        child = g.start("connect", "web1", "--broker", "nobody.invalid:5367")
        time.sleep(0.3)
        ends_at_once(g, child)
        done = subprocess.run(
            [PROGRAM, "list", "--broker", f"localhost:{g.broker_port}",
             "--token-file", g.token_file], capture_output=True, timeout=20,
            check=False)
        equal(done.returncode, 0, done.stderr)
        g.broker.terminate()
        g.broker.wait(20)
        done = g.list()
        equal(done.stderr.count(b"\n"), 1, done.stderr)
        check(b"cannot connect: Connection refused" in done.stderr,
              done.stderr)


def a_port_of_reach_is_used_once():
    """Like an agent's own port, a port of reach accepts one connection."""
    with guests() as g:
        g.connect("web1", Agent([bytes(MUCH), b""]))
        control, _, data = controller(g.reach("web1"))
        check(len(read_all(data[0], 1000)) == 1000, "pages")
        second = socket.create_connection(data[0].getpeername(), timeout=20)
        data[0].close()
        with contextlib.suppress(ConnectionResetError):
            equal(read_all(second, 1), b"", "pages of another")
        second.close()
        control.close()


def tokens_of_their_own():
    """With a list, a guest's token is valid for its name only and reaches no guest; the
    broker's token registers no guest."""
    one, two = "web1-0123456789abcdef", "web2-0123456789abcdef"
    with guests("# who may come\n\nweb1 %s  # rack 3\n\tweb2\t%s\n"
                % (one, two)) as g:
        agent = Agent()
        g.connect("web1", agent, token=g.write_token("one", one))
        control_session(g.reach("web1"), agent.pages)
        for line in ("connect %s web2 1" % one, "connect TOKEN web2 1",
                     "connect %s web3 1" % one, "connect %s" % one,
                     "reach %s web1" % two, "list %s" % two):
            sock, answer = raw(g, line.encode())
            equal(answer, b"error wrong token\n", line)
            sock.close()
        sock, answer = raw(g, b"connect %s web1 1" % one.encode())
        equal(answer, b"error a guest of this name is connected\n", "twice")
        sock.close()
        sock, answer = raw(g, b"connect %s web2 1" % two.encode())
        equal(answer, b"ok\n", "the other")
        wait_until("both", lambda: sorted(g.states()) == ["web1", "web2"])
        sock.close()


def lists_that_are_none():
    """Errors in a list are reported with their line."""
    good = "web1 0123456789abcdef\n"
    with guests() as g:
        for text, mode, said in (
                (good, 0o644, "chmod 600"), (good + "web2", 0o600,
                                             ":2: expected NAME TOKEN"),
                (good + "web2 short", 0o600, ":2: invalid token"),
                (good + "../x 0123456789abcdef", 0o600, ":2: invalid name"),
                (good + good, 0o600, ":2: this name is listed twice"),
                ("a b 0123456789abcdef", 0o600, ":1: expected NAME TOKEN"),
                ("x" * 600, 0o600, ":1: the line is too long"),
                ("x agent=web1", 0o600, ":1: expected NAME agent=HOST:PORT"),
                ("x agent=%s:1" % ("y" * 130), 0o600, ":1: expected NAME agent"),
                ("".join(f"g{n} agent=h:1\n" for n in range(129)), 0o600,
                 "more than 128 agents"),
                ("".join(f"g{n} 0123456789abcdef\n" for n in range(4097)),
                 0o600, ":4097: too many guests")):
            child = g.start("broker", "-p", "0", "--guests",
                            g.write_token("list", text, mode))
            equal(child.wait(20), 1, said)
            check(said in g.log(child), g.log(child))
            g.children.remove(child)
        child = g.start("broker", "-p", "0", "--guests", g.base)
        equal(child.wait(20), 1, "a directory")
        g.children.remove(child)


def newcomer(g, host):
    """A connection from HOST that has sent nothing yet."""
    return socket.create_connection(("127.0.0.1", g.broker_port), timeout=20,
                                    source_address=(host, 0))


def has_its_time(g, says):
    """Is a connection that was made before a thousand others, which send SAYS,
    answered? None: they came too slowly to tell."""
    began, others = time.monotonic(), []
    with contextlib.ExitStack() as stack:
        patient = stack.enter_context(newcomer(g, "127.0.0.2"))
        while len(others) < 1000 and time.monotonic() - began < 2:
            others.append(stack.enter_context(newcomer(g, "127.0.0.1")))
            others[-1].sendall(says)
        answer = b""
        with contextlib.suppress(ConnectionError):
            patient.sendall(b"list " + TOKEN.encode() + b"\n")
            answer = read_all(patient, 3)
        if len(others) <= 513:
            return None
        if answer != b"ok\n" and time.monotonic() - began > HELLO_S - 1:
            return None
    return answer == b"ok\n"


def a_flood_of_one_host():
    """A thousand connections of one host, again and again, only close each other: one
    from another host has its time, and the log stays short."""
    with guests() as g:
        began = time.monotonic()
        for says in (b"", b"x", b"list wrong\n", b"connect a b c d e\n"):
            for _ in range(5):
                answered = has_its_time(g, says)
                if answered is not None:
                    break
            check(answered, f"{says}: {answered}")
        check(not is_flooded(g.log(g.broker), "\n", began), "a flood of lines")
        check(memory_kib(g.broker) < 64 << 10, memory_kib(g.broker))


def names_that_are_none():
    """None of these names becomes a guest, and none is logged unchanged."""
    with guests() as g:
        for name in (b"", b".", b"..", b"-x", b"a/b", b"a\x1b[31m", b"\xc3\xa4",
                     b"x" * 64, b"a%n", b"$(id)", b"a\0b"):
            for order in (b"connect TOKEN %s 1", b"reach TOKEN %s"):
                sock, answer = raw(g, order % name)
                check(answer.startswith(b"error ")
                      or answer == b"", f"{name}: {answer}")
                sock.close()
        check("\x1b" not in g.log(g.broker), g.log(g.broker))
        sock, answer = raw(g, b"connect TOKEN %s 1" % (b"x" * 63))
        equal(answer, b"ok\n", "63 letters")
        sock.close()


def some_frames(rng, kinds):
    """Random frames, mostly of these kinds; some are damaged."""
    out = b""
    for _ in range(rng.randrange(1, 40)):
        kind = rng.choice(kinds if rng.random() < 0.98 else range(6))
        data = rng.choice((
            b"", b"\0\0", rng.randbytes(2), b"\xff" * 4, rng.randbytes(4),
            part("agent", "host2agent"), part("agent", "agent2host"),
            rng.randbytes(rng.randrange(40000))))
        blob = frame(kind, rng.choice((0, 0, 1, 2, 3, 1601)), data)
        if rng.random() < 0.02:
            at = rng.randrange(len(blob))
            blob = blob[:at] + rng.randbytes(1) + blob[at + 1:]
        out += blob
    return out


def part_of_agent(rng):
    """What an agent sends first, so that reach opens ports; sometimes nothing."""
    said = part("agent", "agent2host")
    return rng.choice((b"", frame(DATA, 0, said), frame(DATA, 0, said[:62])))


def any_frames():
    """Random frames of a controller and of a guest: sessions of others are complete."""
    rng = random.Random(20261122)
    count = 2000 if os.environ.get("TP_TEST_LONG") else 100
    with guests() as g:
        agent = Agent()
        g.connect("good", agent)
        g.connect("web1", Deaf())
        port, opened = g.reach("odd"), 0
        for _ in range(count):
            # The guest dials again if what came was no frame.
            wait_until("web1", lambda: g.states().get("web1", "-")[0] == "ready")
            sock, _ = raw(g, b"reach TOKEN web1")
            flood(sock, some_frames(rng, (OPEN, DATA, CLOSE, TAKEN)), seconds=0.1)
            sock.close()
            guest, _ = raw(g, b"connect TOKEN odd 1")
            with contextlib.suppress(OSError), socket.create_connection(
                    ("127.0.0.1", port), timeout=5) as controller:
                controller.sendall(part("agent", "host2agent")[:-12])
                guest.settimeout(5)
                equal(read_all(guest, 11), frame(OPEN, 0, b"\0\0"), "OPEN")
                opened += 1
                flood(guest, part_of_agent(rng)
                      + some_frames(rng, (DATA, CLOSE, TAKEN)), seconds=0.1)
            guest.close()
        check(opened >= count // 2, f"only {opened} of {count} were reached")
        control_session(g.reach("good"), agent.pages)


def any_frames_for_record():
    """Random frames of a guest that is recorded: the recording ends, and its files are
    complete."""
    rng = random.Random(20261123)
    with guests() as g:
        out = f"{g.base}/out"
        for _ in range(200 if os.environ.get("TP_TEST_LONG") else 15):
            guest = reaching(g, "odd 1", "connect")
            child = start_record(g, "odd")
            equal(read_all(guest, 11), frame(OPEN, 0, b"\0\0"), "OPEN")
            flood(guest, part_of_agent(rng)
                  + some_frames(rng, (DATA, CLOSE, TAKEN)), seconds=0.2)
            guest.close()
            equal(child.wait(20), 1, g.log(child))
            check("Sanitizer" not in g.log(child), g.log(child)[-3000:])
            g.children.remove(child)
            wait_until("odd is gone", lambda: g.states() == {})
        check(all(name.endswith(".dat") for name in os.listdir(out)),
              os.listdir(out))


class Large(Agent):
    """Of a machine with many CPUs, of which two have pages."""

    @staticmethod
    def named(ports):
        return ports + [1] * (MANY_CPUS - len(ports))


def a_machine_of_many_cpus():
    """More CPUs than the soft limit of descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2 * MANY_CPUS:
        print("SKIP a_machine_of_many_cpus: too few descriptors")
        return
    with guests() as g:
        agent = Large()
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        try:
            g.connect("web1", agent)
            port = g.reach("web1")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        control, _, data = controller(port)
        equal(len(data), MANY_CPUS, "ports")
        for sock, want in zip(data, agent.pages):
            check(read_all(sock, len(want) + 1) == want, "pages")
        for sock in data + [control]:
            sock.close()


class TooLarge(Agent):
    """An agent with so many CPUs that ports of five digits fit in no message."""

    @staticmethod
    def named(ports):
        return ports + [1] * (1600 - len(ports))


def a_machine_of_too_many_cpus():
    """Its session ends, and reach goes on."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2000:
        print("SKIP a_machine_of_too_many_cpus: too few descriptors")
        return
    with guests() as g:
        g.connect("web1", TooLarge())
        port = g.reach("web1")
        with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
            sock.sendall(part("agent", "host2agent")[:-12])
            equal(read_all(sock, 1), b"", "an answer")
        wait_until("the reason", lambda: "too many CPUs" in
                   g.log(g.children[-1]))
        wait_until("ready", lambda: g.states()["web1"][0] == "ready")


class BadBroker:
    """Sends SAYS to each connection, then BEHIND again and again."""

    def __init__(self, says, behind=b"", pause=0.0):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.says, self.behind, self.pause = says, behind, pause
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            sock, _ = self.socket.accept()
            threading.Thread(target=self._talk, args=(sock,),
                             daemon=True).start()

    def _talk(self, sock):
        with contextlib.suppress(OSError):
            sock.sendall(self.says)
            while self.behind:
                sock.sendall(self.behind)
                time.sleep(self.pause)
            sock.recv(1000)
            sock.recv(1000)
        sock.close()


def brokers_that_are_none():
    """Whatever a broker sends, nothing of it controls a terminal or takes much memory,
    connect tries again, and all commands can be ended."""
    with guests() as g:
        for says, behind in (
                (b"\x1b]0;owned\x07\n", b""), (b"ok\n", b"\xff" * 4096),
                (b"ok\n" + frame(9, 0), b""), (b"x" * 4096, b""),
                (b"ok\n", frame(TAKEN, 0, b"\xff" * 4)),
                (b"ok\n", frame(DATA, 7, bytes(60000))),
                (b"ok\n", frame(OPEN, 0, b"\0\0") + frame(RESET, 0))):
            bad = BadBroker(says, behind)
            child = start_at(g, "connect", "web1", "--agent", "127.0.0.1:1",
                             port=bad.port)
            listing = start_at(g, "list", port=bad.port)
            recording = start_at(g, "record", "web1", "-e", "x", "-d", g.base,
                                 "--duration", "1s", port=bad.port)
            time.sleep(1.5)
            check(memory_kib(child) < 64 << 10, memory_kib(child))
            ends_at_once(g, child)
            check(child.returncode == 0, g.log(child)[-2000:])
            recording.wait(20)
            listing.wait(4 * HELLO_S)
            for one in (child, listing, recording):
                check("\x1b" not in g.log(one) and "Sanitizer"
                      not in g.log(one), g.log(one)[-2000:])
            g.children.remove(listing)
            g.children.remove(recording)


WAITING = (a_byte_a_second, nobody_answers_the_dial,
           an_agent_that_is_not_there, a_broker_that_says_nothing,
           a_guest_that_does_not_read, an_agent_whose_last_pages_are_slow,
           an_agent_that_does_not_end, brokers_that_are_none)


def limits_of_time():
    """Cases that wait for a limit run at the same time."""
    with concurrent.futures.ThreadPoolExecutor(len(WAITING)) as pool:
        for case in [pool.submit(case) for case in WAITING]:
            case.result()


CASES = (limits_of_time, an_agent_that_does_not_read, a_channel_that_is_not_read,
         more_than_there_is_room_for, answers_that_nobody_takes,
         names_of_hosts, a_port_of_reach_is_used_once, tokens_of_their_own,
         lists_that_are_none, a_flood_of_one_host, names_that_are_none,
         a_machine_of_many_cpus, a_machine_of_too_many_cpus, any_frames,
         any_frames_for_record)

if __name__ == "__main__":
    run(CASES, at_once=3)
