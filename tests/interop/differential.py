# SPDX-License-Identifier: MIT
"""Dialogues made from seeds, the same for our relay and for lttng-relayd: what
is answered, and what is on disk at the end, must agree. What differs on purpose
stands in compare.py, like the rest.

A dialogue is a peer of some version that records, rotates, clears and closes in
random order, and now and then says something that no tracer says. Its text,
with one line per answer and per file, takes the place of what `lttng` prints.

TP_SEED=N plays that seed alone; TP_TEST_LONG=1 plays many.
"""
import hashlib
import os
import random
import re
import struct
import sys
import time

from story import register
from world import Failure, check

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "replay"))
import relay                                            # noqa: E402

PER_SCENARIO = 40
CREATED = 1_800_000_000
MINORS = (4, 5, 7, 8, 9, 10, 11, 11, 12, 12, 13, 13, 13, 14, 15)
STREAM_COMMANDS = {"close-stream": relay.CLOSE_STREAM,
                   "data-pending": relay.DATA_PENDING,
                   "quiescent": relay.QUIESCENT_CONTROL,
                   "reset-metadata": relay.RESET_METADATA}
NOWHERE = 0x7fffffffffff        # no stream, session or chunk has this id
PATIENCE = 20.0                 # seconds for an answer
SETTLE = 0.25                   # what is quiet for so long has ended


# Host, name and base path of a session, as nobody names them.
ODD_SESSIONS = {
    "with blanks": ("a host", "%(s)s- a  b", ""),
    "of Europe": ("höst", "%(s)s-ünï", ""),
    "with a date": ("host", "%(s)s-20200101-000000", ""),
    "named by dots": ("host", "%(s)s-..", ""),
    "with a deep base": ("host", "%(s)s", "%(s)s-a/b/c/d"),
    "with slashes": ("host", "%(s)s", "%(s)s-a//b/"),
    "with an absolute base": ("host", "%(s)s", "/%(s)s-a"),
    "above": ("host", "%(s)s", "../%(s)s-a"),
    "of a host above": ("../host", "%(s)s", ""),
    "of no host": ("", "%(s)s", ""),
    "of a long name": ("host", "%(s)s-" + "n" * 200, ""),
    "of a longer name": ("host", "%(s)s-" + "n" * 260, ""),
    "of a long host": ("h" * 255, "%(s)s", ""),
    "of a longer host": ("h" * 300, "%(s)s", ""),
    "with a slash in its name": ("host", "%(s)s-a/b", ""),
}
ODD_PLACES = ["/ust/uid/0/64-bit", "ust//uid/0/64-bit", "ust/uid/0/64-bit/",
              "ust/./uid", "kernel", "ust/pid/app-1-20270101-000000"]


class Stream:
    """What the peer knows of one of its streams."""

    def __init__(self, label, handle, is_metadata):
        self.label, self.handle = label, handle
        self.is_metadata = is_metadata
        self.seq = 0
        self.is_open = True


class Dialogue:
    """One peer; LINES are its results."""

    def __init__(self, w, seed):
        self.random = random.Random(seed)
        self.w, self.seed = w, seed
        self.name = "s%d" % seed
        self.is_mine = re.compile(r"(^|/)%s(-|/|$)" % self.name)
        self.lines = []
        self.streams = []
        self.chunk = None       # the id of the current one
        self.chunks = 0         # how many there were
        self.control = self.data = None
        self.session = 0

    # What is said, and what is heard.

    def note(self, label, text):
        """One line of the dialogue."""
        self.lines.append("%s: %s" % (label, text))

    def read(self, size):
        """SIZE bytes of an answer."""
        return self.control.read(size)

    def ask(self, label, command, payload=b"", size=4):
        """Send, and note the answer; the answer."""
        self.control.send(relay.frame(command, payload))
        answer = self.read(size)
        self.note(label, answer.hex())
        return answer

    def connect(self, port):
        """As relay.Daemon.connect()."""
        sock = relay.socket.create_connection(("127.0.0.1", port),
                                              timeout=PATIENCE)
        sock.setsockopt(relay.socket.IPPROTO_TCP, relay.socket.TCP_NODELAY, 1)
        return sock

    # The beginning.

    def begin(self):
        """VERSION, CREATE_SESSION, a chunk, streams."""
        self.control = relay.Control(self.connect(self.w.ports[0]))
        self.data = relay.Data(self.connect(self.w.ports[1]))
        minor = self.random.choice(MINORS)
        # Which one a relay has is not compared: the peer takes the lower one.
        self.minor = min(minor, self.control.version(minor)[1])
        self.is_snapshot = self.minor >= 11 and self.random.random() < 0.15
        self.live = self.random.choice((0, 0, 1_000_000))
        if self.is_snapshot:
            self.live = 0
        if self.minor >= 12 and self.random.random() < 0.5:
            self.ask("configuration", relay.GET_CONFIGURATION,
                     struct.pack(">Q", 0), 12)
        self.create_session()
        if self.minor >= 11:
            self.new_chunk("chunk 0")
        for number in range(self.random.randint(1, 3)):
            self.add_stream("ch%d_%d" % (number % 2, number))
        self.add_stream("metadata")
        self.ask("streams-sent", relay.STREAMS_SENT)

    def create_session(self):
        """Creates a session by the protocol of the peer's version."""
        if self.minor < 11:
            blob = relay.text(self.name).ljust(255, b"\0") \
                + b"host".ljust(64, b"\0") \
                + struct.pack(">II", self.live, self.is_snapshot)
            answer = self.old_answer("session", relay.CREATE_SESSION, blob)
            self.session = answer
            return
        base = self.random.choice(("", "", "", "lab/" + self.name))
        host, name = "host", self.name
        if self.random.random() < 0.15:
            kind = self.random.choice(sorted(ODD_SESSIONS))
            host, name, base = (part % {"s": self.name}
                                for part in ODD_SESSIONS[kind])
            self.note("odd session " + kind, "asked")
        fields = {"ctf": 1} if self.minor >= 15 else {}
        blob = relay.session_request(
            name=name, host=host, base=base, live=self.live,
            created=CREATED + self.seed, snapshot=int(self.is_snapshot),
            uuid=hashlib.md5(self.name.encode()).digest(), peer=self.seed,
            **fields)
        self.control.send(blob)
        ident, code, size = struct.unpack(">QII", self.read(16))
        self.note("session", "%d %s" % (code, self.read(size)))
        self.session = ident

    def old_answer(self, label, command, blob):
        """An id and a code; the id, which is not compared."""
        self.control.send(relay.frame(command, blob))
        ident, code = struct.unpack(">QI", self.read(12))
        self.note(label, code)
        return ident

    def place(self):
        """The path of its streams."""
        where = "ust/uid/0/64-bit"
        if self.minor >= 11:
            return self.random.choice([where] * 6 + ODD_PLACES)
        return "host/%s-20270115-080000/%s" % (self.name, where)

    def add_stream(self, channel, path=None, ring=None):
        """A stream; sometimes with a ring of files."""
        if ring is None:
            ring = (0, 0)
            if channel != "metadata" and self.random.random() < 0.3:
                ring = (self.random.choice((4096, 8192, 10000)),
                        self.random.randint(1, 3))
        path = self.place() if path is None else path
        if self.minor >= 11:
            blob = relay.stream_request(channel, path, *ring)[24:]
        else:
            blob = relay.text(channel).ljust(264, b"\0") \
                + relay.text(path).ljust(4096, b"\0") + struct.pack(">QQ", *ring)
        handle = self.old_answer("add " + channel, relay.ADD_STREAM, blob)
        self.streams.append(Stream(channel, handle, channel == "metadata"))

    # Its actions after that.

    def some(self, is_metadata=False):
        """One of its open streams, at random."""
        return self.random.choice([s for s in self.streams if s.is_open
                                   and s.is_metadata == is_metadata])

    def index_blob(self, stream, seq, size, **fields):
        """An index record, with the length of the peer's version."""
        blob = relay.index_request(stream, seq, size, ctf=1, instance=0,
                                   packet_seq=seq, **fields)
        return blob if self.minor >= 8 else blob[:64]

    def packet(self, stream=None):
        """A packet, and its record before or after it."""
        stream = stream or self.some()
        size = self.random.choice((512, 4000, 4096, 9000))
        padding = self.random.choice((0, 96, 4096 - size % 4096))
        parts = ["data", "index"]
        if self.is_snapshot:
            parts.remove("index")
        self.random.shuffle(parts)
        for part in parts:
            if part == "data":
                self.data.packet(stream.handle, stream.seq, hashlib.sha256(
                    b"%d %d" % (self.seed, stream.seq)).digest()
                    * (size // 32) + bytes(size % 32), padding)
            else:
                self.ask("index", relay.SEND_INDEX, self.index_blob(
                    stream.handle, stream.seq, size + padding, content=size,
                    begin=1000 * stream.seq, end=1000 * stream.seq + 999))
        stream.seq += 1
        self.wait_written(stream)

    def wait_written(self, stream):
        """Until the relay has it, so that time does not matter."""
        until = time.monotonic() + PATIENCE
        while True:
            self.control.send(relay.frame(relay.DATA_PENDING, struct.pack(
                ">QQ", stream.handle, stream.seq - 1)))
            if struct.unpack(">I", self.read(4))[0] != 1:
                return
            if time.monotonic() > until:
                self.note("data-pending " + stream.label, "without end")
                return
            time.sleep(0.002)

    def beacon(self):
        """A time without a packet."""
        if self.live and not self.is_snapshot:
            stream = self.some()
            self.ask("beacon", relay.SEND_INDEX, self.index_blob(
                stream.handle, stream.seq, 0, end=1000 * stream.seq))

    def metadata(self):
        """More of it, which is not answered; the next answer comes after it."""
        blob = hashlib.sha256(b"%d" % len(self.lines)).digest() * 4
        self.control.metadata(self.some(True).handle, blob,
                              self.random.choice((0, 4096 - len(blob))))

    def reset_metadata(self):
        """From 2.8 on."""
        if self.minor >= 8:
            self.ask("reset-metadata", relay.RESET_METADATA, struct.pack(
                ">QQ", self.some(True).handle, 1))

    def look(self):
        """Questions without effect."""
        kind = self.random.choice(("quiescent", "begin-end", "exists"))
        if kind == "quiescent":
            self.ask(kind, relay.QUIESCENT_CONTROL,
                     struct.pack(">Q", self.some().handle))
        elif kind == "begin-end":
            self.ask(kind, relay.BEGIN_DATA_PENDING,
                     struct.pack(">Q", self.session))
            for stream in self.streams:
                if stream.is_open and not stream.is_metadata \
                        and stream.seq > 0:
                    self.ask(kind, relay.DATA_PENDING, struct.pack(
                        ">QQ", stream.handle, stream.seq - 1))
            self.ask(kind, relay.END_DATA_PENDING,
                     struct.pack(">Q", self.session))
        elif self.minor >= 11:
            self.ask(kind, relay.CHUNK_EXISTS,
                     struct.pack(">Q", NOWHERE), 5)

    def new_chunk(self, label):
        """CREATE_TRACE_CHUNK with the next id."""
        name = "named-%d" % self.chunks if self.is_snapshot else None
        self.ask(label, relay.CREATE_CHUNK, relay.chunk_request(
            self.chunks, CREATED + 60 * self.chunks, name))
        self.chunk, self.chunks = self.chunks, self.chunks + 1

    def rotate(self):
        """All streams go to a new chunk, and the old one is closed."""
        if self.minor < 11 or self.is_snapshot:
            return
        # With a stream that had no packet the reference does other things each
        # time: doc/compat.md, "First packet after an early clear".
        for stream in self.streams:
            if stream.seq == 0 and not stream.is_metadata:
                self.packet(stream)
        old = self.chunk
        self.new_chunk("rotate: create")
        self.ask("rotate", relay.ROTATE_STREAMS, relay.rotate_request(
            self.chunk, *((s.handle, s.seq) for s in self.streams
                          if s.is_open)))
        # None: kept; 0: moved away; 2: deleted (a clear).
        command = self.random.choice((None, 0, 0, 2))
        answer = self.ask("rotate: close", relay.CLOSE_CHUNK, struct.pack(
            ">QQBI", old, CREATED + 60 * self.chunks, command is not None,
            command or 0), 8)
        size = struct.unpack(">II", answer)[1]
        # The length of a path says what the path is: doc/compat.md.
        self.lines.pop()
        self.note("rotate: close", answer[:4].hex())
        self.note("rotate: path %s" % command, self.read(size))
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            self.control.send(relay.frame(relay.CHUNK_EXISTS,
                                          struct.pack(">Q", old)))
            if self.read(5)[4] == 0:
                break
            time.sleep(0.005)

    # What no tracer says.

    def nonsense(self):
        """One thing, with a name of its own for compare.py."""
        data = self.some()
        meta = self.some(True)
        pair = struct.pack(">QQ", NOWHERE, 0)
        odd = {
            "unknown command": (99, b"", 4),
            "unknown command with bytes": (4711, b"x" * 40, 4),
            "unknown stream: close": (relay.CLOSE_STREAM, pair, 4),
            "unknown stream: pending": (relay.DATA_PENDING, pair, 4),
            "unknown stream: quiescent": (relay.QUIESCENT_CONTROL, pair[:8], 4),
            "unknown stream: index": (relay.SEND_INDEX, self.index_blob(
                NOWHERE, 0, 4096), 4),
            "more bytes than it has": (relay.QUIESCENT_CONTROL, struct.pack(
                ">Q", data.handle) + b"more", 4),
            "no bytes: pending": (relay.DATA_PENDING, b"", 4),
            "cut short: index": (relay.SEND_INDEX, struct.pack(
                ">Q", data.handle), 4),
            "cut short: add": (relay.ADD_STREAM, b"\0\0", 12),
            "pending of what was never sent": (relay.DATA_PENDING, struct.pack(
                ">QQ", data.handle, data.seq + 5), 4),
            "streams sent again": (relay.STREAMS_SENT, b"", 4),
            "start data": (relay.START_DATA, b"", 4),
            "begin: unknown session": (relay.BEGIN_DATA_PENDING, pair[:8], 4),
            "end: unknown session": (relay.END_DATA_PENDING, pair[:8], 4),
            "index of metadata": (relay.SEND_INDEX, self.index_blob(
                meta.handle, 0, 4096), 4),
            "version": (relay.VERSION, struct.pack(">II", 2, self.minor), 8),
            "close with a wrong end": (relay.CLOSE_STREAM, struct.pack(
                ">QQ", meta.handle, 7), 4),
            "pending of metadata": (relay.DATA_PENDING, struct.pack(
                ">QQ", meta.handle, 0), 4),
            "quiescent of metadata": (relay.QUIESCENT_CONTROL, struct.pack(
                ">Q", meta.handle), 4),
            "configuration: bits": (relay.GET_CONFIGURATION, struct.pack(
                ">Q", 6), 12),
            "major version": (relay.VERSION, struct.pack(">II", 3, 1), 8),
            "the same stream": (relay.QUIESCENT_CONTROL, struct.pack(
                ">Q", data.handle), 4),
        }
        if self.minor >= 8:
            odd["unknown stream: reset"] = (relay.RESET_METADATA, pair, 4)
            odd["reset of data"] = (relay.RESET_METADATA, struct.pack(
                ">QQ", data.handle, 1), 4)
        if self.minor >= 11:
            odd.update({
                "path: above": (relay.ADD_STREAM, relay.stream_request(
                    "x", "../x")[24:], 12),
                "path: none": (relay.ADD_STREAM, relay.stream_request(
                    "x", "")[24:], 12),
                "channel: none": (relay.ADD_STREAM, relay.stream_request(
                    "", "ust")[24:], 12),
                "channel: slash": (relay.ADD_STREAM, relay.stream_request(
                    "a/b", "ust")[24:], 12),
                "length beyond the end": (relay.ADD_STREAM, struct.pack(
                    ">IIQQQ", 300, 300, 0, 0, 0) + b"a\0b\0", 12),
                "rotate: unknown stream": (
                    relay.ROTATE_STREAMS, relay.rotate_request(
                        self.chunk, (NOWHERE, 0)), 4),
                "rotate: unknown chunk": (
                    relay.ROTATE_STREAMS, relay.rotate_request(
                        NOWHERE, (data.handle, data.seq)), 4),
                "rotate: no streams": (
                    relay.ROTATE_STREAMS, relay.rotate_request(self.chunk), 4),
                "close: unknown chunk": (relay.CLOSE_CHUNK, struct.pack(
                    ">QQBI", NOWHERE, CREATED, 0, 0), 8),
                "close: unknown command": (relay.CLOSE_CHUNK, struct.pack(
                    ">QQBI", self.chunk, CREATED, 1, 77), 8),
                "rotate: twice the same": (
                    relay.ROTATE_STREAMS, relay.rotate_request(
                        self.chunk, (data.handle, data.seq),
                        (data.handle, data.seq)), 4),
                "rotate: to the same": (
                    relay.ROTATE_STREAMS, relay.rotate_request(
                        self.chunk, (data.handle, data.seq)), 4),
                "rotate: cut short": (relay.ROTATE_STREAMS, struct.pack(
                    ">IB7sQ", 5, 1, b"", self.chunk), 4),
                "close: current chunk": (relay.CLOSE_CHUNK, struct.pack(
                    ">QQBI", self.chunk, CREATED, 0, 0), 8),
                "exists: current": (relay.CHUNK_EXISTS, struct.pack(
                    ">Q", self.chunk), 5),
                "exists: cut short": (relay.CHUNK_EXISTS, b"", 5),
                "chunk: cut short": (relay.CREATE_CHUNK, b"\0" * 8, 4),
                "chunk: name cut short": (relay.CREATE_CHUNK, struct.pack(
                    ">QQI", 900, CREATED, 40) + b"ab\0", 4),
                "chunk: empty name": (relay.CREATE_CHUNK, relay.chunk_request(
                    901, name=""), 4),
                "path: dots in it": (relay.ADD_STREAM, relay.stream_request(
                    "x", "ust/../../x")[24:], 12),
                "path: long": (relay.ADD_STREAM, relay.stream_request(
                    "x", "a/" * 127)[24:], 12),
                "channel: long": (relay.ADD_STREAM, relay.stream_request(
                    "c" * 263, "ust")[24:], 12),
                "chunk: bad name": (relay.CREATE_CHUNK, relay.chunk_request(
                    500, name="a/b"), 4),
                "chunk: same id": (relay.CREATE_CHUNK, relay.chunk_request(
                    self.chunk), 4),
            })
        label = self.random.choice(sorted(odd))
        command, payload, size = odd[label]
        self.note("odd " + label, "asked")
        answer = self.ask("answer", command, payload, size)
        if command == relay.ADD_STREAM:     # a handle is not compared
            self.lines[-1] = "answer: " + answer[8:].hex()
        elif command == relay.CLOSE_CHUNK:
            self.note("path", self.read(struct.unpack(">II", answer)[1]))

    # The end.

    def close_streams(self):
        """In some order, each with the number of its last packet."""
        streams = [s for s in self.streams if s.is_open]
        self.random.shuffle(streams)
        for stream in streams:
            last = relay.NONE if stream.is_metadata or stream.seq == 0 \
                else stream.seq - 1
            self.ask("close " + stream.label, relay.CLOSE_STREAM,
                     struct.pack(">QQ", stream.handle, last))
            stream.is_open = False

    def play(self):
        """All of it; a relay that closes ends it."""
        steps = [self.packet] * 8 + [self.metadata, self.beacon,
                                     self.reset_metadata, self.look,
                                     self.rotate, self.rotate]
        if self.random.random() < 0.6:
            steps += [self.nonsense] * 2
        try:
            self.begin()
            for _ in range(self.random.randint(3, 25)):
                self.random.choice(steps)()
            self.close_streams()
        except (relay.Failed, OSError):
            # Whether this shows when it is asked, or when it answers, is a
            # matter of time.
            self.lines.append("over")
        for connection in (self.control, self.data):
            if connection is not None:
                connection.close()

    def files(self):
        """The lines of what it left on disk, once that is quiet."""
        seen, since = None, time.monotonic()
        until = since + 10
        while time.monotonic() < until:
            now = self.tree()
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > SETTLE and not self.is_held():
                break
            time.sleep(0.02)
        return seen

    def is_held(self):
        """Has the relay anything of this session open?"""
        top = "/proc/%d/fd" % self.w.relay.pid
        try:
            return any(self.is_mine.search(os.path.relpath(
                os.readlink(os.path.join(top, fd)), self.w.relay.output))
                       for fd in os.listdir(top))
        except OSError:
            return False

    def tree(self):
        """name, size and digest of every file of this session."""
        found = []
        base = self.w.relay.output
        for folder, folders, names in os.walk(base):
            for name in folders + names:
                path = os.path.join(folder, name)
                short = os.path.relpath(path, base)
                if not self.is_mine.search(short) or name.startswith("."):
                    continue
                if os.path.isdir(path):
                    found.append("on disk %s/" % short)
                    continue
                try:
                    with open(path, "rb") as handle:
                        blob = handle.read()
                except FileNotFoundError:
                    continue
                found.append("on disk %s %d %s" % (
                    short, len(blob), hashlib.sha256(blob).hexdigest()[:12]))
        return sorted(found)


def play_seeds(w, seeds):
    """Each into a session of its own; a relay that dies is started again."""
    for seed in seeds:
        dialogue = Dialogue(w, seed)
        dialogue.play()
        lines = dialogue.lines + dialogue.files()
        if not w.relay.is_alive():
            check(w.is_reference, f"the relay died of seed {seed}")
            lines.append("the relay died")
            w.relay.start()
        w.commands.append({"argv": "dialogue %d" % seed, "status": 0,
                           "output": "\n".join(lines), "compare": True,
                           "seconds": 0})
    if w.is_reference:      # after some of them it aborts at SIGTERM
        try:
            w.relay.stop()
        except Failure:
            w.relay.child = w.relay.pid = None


def seeds_of(number):
    """The seeds of a scenario."""
    only = os.environ.get("TP_SEED")
    if only:
        return [int(only)]
    return range(number * PER_SCENARIO, (number + 1) * PER_SCENARIO)


def differential(number):
    """A scenario of PER_SCENARIO seeds."""
    def play(w):
        play_seeds(w, seeds_of(number))
    seeds = seeds_of(number)
    play.__doc__ = "dialogues from the seeds %d to %d: the same answers, the " \
        "same tree" % (seeds[0], seeds[-1])
    register(play, "differential-%d" % number, needs_sessiond=False,
             compare_tree=False)


for n in range(50 if os.environ.get("TP_TEST_LONG") else 2):
    differential(n)
