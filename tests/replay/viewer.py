# SPDX-License-Identifier: MIT
"""The viewer's side of the live port (live 1), byte for byte, and a good
viewer of a good session, which notices when it is harmed."""
import collections
import contextlib
import socket
import struct
import time

import relay
from relay import check, equal

(CONNECT, LIST, ATTACH, NEXT_INDEX, PACKET, METADATA, NEW_STREAMS, CREATE,
 DETACH) = range(1, 10)
BEGINNING, LAST = 1, 2
ATTACHED, ALREADY, UNKNOWN, NOT_LIVE, SEEK_ERR, NO_SESSION = range(1, 7)
OK, RETRY, HUP, ERR, INACTIVE = range(1, 6)       # of an index
PACKET_OK, PACKET_ERR = 1, 3
METADATA_OK, METADATA_NO_NEW, METADATA_ERR = 1, 2, 3
STREAMS_OK, STREAMS_ERR, STREAMS_HUP = 1, 3, 4
NONE = relay.NONE
PERIOD_US = 200_000

Listed = collections.namedtuple(
    "Listed", "id timer clients streams host name")
Stream = collections.namedtuple(
    "Stream", "id trace is_metadata path channel")
Index = collections.namedtuple(
    "Index", "offset size content begin end lost ctf status flags")


def frame(command, payload=b"", data_size=None):
    size = len(payload) if data_size is None else data_size
    return struct.pack(">QII", size, command, 0) + payload


def connect_request(minor=4, major=2, kind=1):
    return frame(CONNECT, struct.pack(">QIII", NONE, major, minor, kind))


def attach_request(session, seek=BEGINNING):
    return frame(ATTACH, struct.pack(">QQI", session, 0, seek))


def packet_request(stream, offset, length):
    return frame(PACKET, struct.pack(">QQI", stream, offset, length))


def id_request(command, ident):
    return frame(command, struct.pack(">Q", ident))


def name(field):
    return field.split(b"\0", 1)[0].decode()


class Viewer(relay.Connection):
    """One connection. Each method is a request and its reply."""

    def __init__(self, daemon, minor=4):
        super().__init__(daemon.connect(daemon.live_port))
        self.minor = minor

    def unpack(self, layout):
        return struct.unpack(layout, self.read(struct.calcsize(layout)))

    def connect(self, major=2, kind=1):
        """(viewer session, major, minor, type)"""
        self.send(connect_request(self.minor, major, kind))
        return self.unpack(">QIII")

    def list(self):
        self.send(frame(LIST))
        (count,) = self.unpack(">I")
        return [self._listed() for _ in range(count)]

    def _listed(self):
        if self.minor < 15:
            *numbers, host, title = self.unpack(">QIII64s255s")
            return Listed(*numbers, name(host), name(title))
        *numbers, host, title, _ = self.unpack(">QIIIIII")
        return Listed(*numbers, self.read(host).decode(),
                      self.read(title).decode())

    def find(self, title):
        """The session of that name; it may be on its way."""
        until = time.monotonic() + relay.TIMEOUT
        while time.monotonic() < until:
            for s in self.list():
                if s.name == title:
                    return s
            time.sleep(0.01)
        raise relay.Failed(f"{title} is not listed")

    def create(self):
        self.send(frame(CREATE))
        return self.unpack(">I")[0]

    def _streams(self):
        """(status, streams)"""
        status, count = self.unpack(">II")
        found = []
        for _ in range(count):
            *numbers, path, channel = self.unpack(">QQI4096s255s")
            found.append(Stream(*numbers, name(path), name(channel)))
        return status, found

    def attach(self, session, seek=BEGINNING):
        self.send(attach_request(session, seek))
        return self._streams()

    def new_streams(self, session):
        self.send(id_request(NEW_STREAMS, session))
        return self._streams()

    def next_index(self, stream):
        self.send(id_request(NEXT_INDEX, stream))
        return Index(*self.unpack(">7QII"))

    def packet(self, stream, offset, length):
        """(status, data)"""
        self.send(packet_request(stream, offset, length))
        status, size, flags = self.unpack(">III")
        equal(flags, 0, "flags of GET_PACKET")
        check(size == (length if status == PACKET_OK else 0),
              f"GET_PACKET of {length}: status {status}, {size} bytes")
        return status, self.read(size)

    def metadata(self, stream):
        """(status, data)"""
        self.send(id_request(METADATA, stream))
        size, status = self.unpack(">QI")
        check((size > 0) == (status == METADATA_OK),
              f"GET_METADATA: status {status}, {size} bytes")
        return status, self.read(size)

    def detach(self, session):
        self.send(id_request(DETACH, session))
        return self.unpack(">I")[0]

    def ready(self, session, seek=BEGINNING, count=2):
        """Everything up to the first index: COUNT streams, which may be on
        their way."""
        equal(self.create(), 1, "CREATE_SESSION")
        status, streams = self.attach(session, seek)
        equal(status, ATTACHED, "ATTACH_SESSION")
        until = time.monotonic() + relay.TIMEOUT
        while len(streams) < count:
            check(time.monotonic() < until, "streams are not announced")
            streams += self.new_streams(session)[1]
        return streams

    def reset(self):
        """Close as a process that is killed does with bytes unread."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.close()


def greeted(daemon, minor=4):
    v = Viewer(daemon, minor)
    equal(v.connect()[1:], (2, 15, 0), "CONNECT")
    return v


def attached(daemon, title, minor=4, count=2):
    """(viewer, session id, streams)"""
    v = greeted(daemon, minor)
    ident = v.find(title).id
    return v, ident, v.ready(ident, count=count)


def ids(streams):
    """(data stream, metadata stream)"""
    (data,) = [s.id for s in streams if not s.is_metadata]
    (meta,) = [s.id for s in streams if s.is_metadata]
    return data, meta


def clients(daemon, title, minor=4):
    v = greeted(daemon, minor)
    found = v.find(title).clients
    v.close()
    return found


class Live(relay.Session):
    """A live session: metadata at once, times that go on."""

    def __init__(self, daemon, title="live", timer=PERIOD_US, **fields):
        super().__init__(daemon, title, live=timer, **fields)
        self.name = title
        self.control.metadata(self.meta, b"metadata of " + title.encode())
        self.control.code(relay.START_DATA)

    def packet(self, size=4000, padding=96):
        super().packet(size, padding, begin=1000 * self.seq + 1,
                       end=1000 * self.seq + 999)


class Watched:
    """A live session and its good viewer."""

    def __init__(self, daemon, title="good"):
        self.session = Live(daemon, title)
        self.viewer, self.id, streams = attached(daemon, title)
        self.stream, self.meta = ids(streams)
        self.seen = b""

    def step(self, count=3):
        """Writes COUNT packets and reads them."""
        for _ in range(count):
            self.session.packet()
        self.read()

    def read(self):
        until = time.monotonic() + relay.TIMEOUT
        while len(self.seen) < len(self.session.written):
            check(time.monotonic() < until,
                  f"the good viewer has {len(self.seen)} bytes of "
                  f"{len(self.session.written)}")
            i = self.viewer.next_index(self.stream)
            if i.status in (RETRY, INACTIVE):
                continue
            equal(i.status, OK, "the good viewer's index")
            status, data = self.viewer.packet(self.stream, i.offset,
                                              i.size // 8)
            equal(status, PACKET_OK, "the good viewer's packet")
            self.seen += data
        check(self.seen == self.session.written,
              "the good viewer read something else than was written")

    def finish(self):
        self.session.finish()
        self.read()
        self._until(lambda: self.viewer.next_index(self.stream).status, HUP,
                    "of the stream")
        self._until(lambda: self.viewer.new_streams(self.id)[0], STREAMS_HUP,
                    "of the session")
        self.viewer.close()

    def _until(self, ask, want, what):
        until = time.monotonic() + relay.TIMEOUT
        while (got := ask()) != want:
            check(time.monotonic() < until, f"no HUP {what}, but {got}")


@contextlib.contextmanager
def bystanders(daemon):
    """A good session and its good viewer beside whatever happens inside."""
    good = Watched(daemon)
    good.step()
    equal(good.viewer.metadata(good.meta), (METADATA_OK, b"metadata of good"),
          "metadata")
    yield good
    good.step()
    good.finish()
