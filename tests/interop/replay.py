# SPDX-License-Identifier: MIT
"""Play a recorded streaming session (tests/vectors) to a relay.

A recording has, per connection, the bytes from the peer (NAME.c2s.bin) and to
it (NAME.s2c.bin), and timeline.tsv: when which part of them went by. Requests
are sent in that order, every reply is waited for and compared. The relay may
hand out other session ids and stream handles than the recorded ones: they are
translated. Times and lengths stay, so the relay must run with TZ=UTC.

usage: replay.py DIRECTORY HOST CONTROL_PORT DATA_PORT
"""
import os
import socket
import struct
import sys
import time

REPLY_SIZES = {1: 12, 3: 4, 5: 8, 6: 0, 7: 4, 8: 4, 9: 4, 10: 4, 11: 4, 13: 4,
               16: 4, 17: 4, 18: 4, 19: 4, 21: 5, 22: 12}
ADD_STREAM, CREATE_SESSION, VERSION = 1, 2, 5
DATA_PENDING, END_DATA_PENDING, CLOSE_CHUNK, CHUNK_EXISTS = 8, 11, 20, 21
ROTATE_STREAMS = 18
# Requests that begin with a stream handle or with a session id.
NAMES_STREAM = {6, 7, 8, 9, 13, 17}
NAMES_SESSION = {10, 11}
# How fast data was served, and when an archive was ready, decides these.
DEPENDS_ON_TIME = {DATA_PENDING, END_DATA_PENDING, CHUNK_EXISTS}
# "Is it so?": asked until it is not.
POLLED = {DATA_PENDING, CHUNK_EXISTS}
POLL_TIMEOUT = 5.0
CONTROL_HEADER = struct.Struct(">QQII")
DATA_HEADER = struct.Struct(">QQQII")


class ReplayError(Exception):
    """The relay answered otherwise than the recording."""


def requests(blob):
    """(offset of the payload, its size, command) of control requests."""
    at = 0
    while at + CONTROL_HEADER.size <= len(blob):
        _, size, command, _ = CONTROL_HEADER.unpack_from(blob, at)
        at += CONTROL_HEADER.size
        yield at, size, command
        at += size


def control_ids(blob):
    """(kind, offset) of every id in recorded control requests."""
    for at, size, command in requests(blob):
        if command in NAMES_STREAM:
            yield "stream", at
        elif command in NAMES_SESSION:
            yield "session", at
        elif command == ROTATE_STREAMS:
            count = struct.unpack_from(">I", blob, at)[0]
            for n in range(count):
                yield "stream", at + size - 16 * (count - n)


def data_ids(blob):
    """(kind, offset) of every id on a recorded data connection."""
    at = 0
    while at + DATA_HEADER.size <= len(blob):
        yield "stream", at + 8
        at += DATA_HEADER.size + DATA_HEADER.unpack_from(blob, at)[3]


class Reply:
    """A recorded reply, and where the request stands that it answers."""

    def __init__(self, at, size, command, request):
        self.at, self.end = at, at + size
        self.size, self.command, self.request = size, command, request


def replies(blob, recorded):
    """Every recorded reply to the requests BLOB."""
    at = 0
    for payload, payload_size, command in requests(blob):
        if command == CREATE_SESSION:
            size = 16 + struct.unpack_from(">I", recorded, at + 12)[0]
        elif command == CLOSE_CHUNK:
            size = 8 + struct.unpack_from(">I", recorded, at + 4)[0]
        else:
            size = REPLY_SIZES[command]
        yield Reply(at, size, command,
                    (payload - CONTROL_HEADER.size,
                     CONTROL_HEADER.size + payload_size))
        at += size


class Ids:
    """Recorded ids -> those of this relay."""

    def __init__(self):
        self.known = {}

    def learn(self, kind, recorded, actual):
        """Both begin with the id."""
        self.known[kind, struct.unpack_from(">Q", recorded)[0]] = \
            struct.unpack_from(">Q", actual)[0]

    def translated(self, blob, places):
        """BLOB with the known ids in place of the recorded ones."""
        out = bytearray(blob)
        for kind, at in places:
            recorded = struct.unpack_from(">Q", blob, at)[0]
            struct.pack_into(">Q", out, at,
                             self.known.get((kind, recorded), recorded))
        return bytes(out)


class Connection:
    """One recorded connection, played to a real socket."""

    def __init__(self, directory, name, address, ids):
        self.name, self.ids = name, ids
        self.sent = read(os.path.join(directory, name + ".c2s.bin"))
        self.got = read(os.path.join(directory, name + ".s2c.bin"))
        is_control = name.startswith("ctl")
        self.places = list((control_ids if is_control else data_ids)
                           (self.sent))
        self.replies = list(replies(self.sent, self.got)) if is_control else []
        self.sock = socket.create_connection(address, timeout=10.0)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, at, size):
        """The recorded bytes from AT on."""
        blob = self.ids.translated(self.sent, self.places)
        self.sock.sendall(blob[at:at + size])

    def receive(self, end):
        """Every reply that the recording had whole at END; how many."""
        count = 0
        while self.replies and self.replies[0].end <= end:
            reply = self.replies.pop(0)
            wanted = self.got[reply.at:reply.end]
            got = self.read_reply(reply)
            give_up = time.monotonic() + POLL_TIMEOUT
            while reply.command in POLLED and got > wanted \
                    and time.monotonic() < give_up:
                time.sleep(0.02)        # a peer asks again, too
                self.send(*reply.request)
                got = self.read_reply(reply)
            self.compare(reply.command, wanted, got)
            count += 1
        return count

    def read_exactly(self, size):
        """SIZE bytes."""
        out = b""
        while len(out) < size:
            part = self.sock.recv(size - len(out))
            if not part:
                raise ReplayError("%s: closed by the relay" % self.name)
            out += part
        return out

    def read_reply(self, reply):
        """One reply; those with a path say themselves how long they are."""
        if reply.command not in (CREATE_SESSION, CLOSE_CHUNK):
            return self.read_exactly(reply.size)
        head = self.read_exactly(16 if reply.command == CREATE_SESSION else 8)
        return head + self.read_exactly(struct.unpack(">I", head[-4:])[0])

    def compare(self, command, wanted, got):
        """Learn ids; complain of any difference that time does not explain."""
        if command in (ADD_STREAM, CREATE_SESSION):
            kind = "stream" if command == ADD_STREAM else "session"
            self.ids.learn(kind, wanted, got)
            wanted, got = wanted[8:], got[8:]
        elif command == VERSION:
            wanted, got = wanted[:4], got[:4]       # the major version
        elif command == CLOSE_CHUNK:
            # The place of the first archive: doc/compat.md.
            wanted, got = wanted[:4], got[:4]
        if wanted != got and command not in DEPENDS_ON_TIME:
            raise ReplayError("%s: command %d: %s instead of %s"
                              % (self.name, command, got.hex(), wanted.hex()))


def read(path):
    """The bytes of a file; none when there is none."""
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as handle:
        return handle.read()


def timeline(directory):
    """(seconds, connection, event, offset, length), in order."""
    with open(os.path.join(directory, "timeline.tsv")) as lines:
        next(lines)
        for line in lines:
            when, name, event, at, size = line.rstrip("\n").split("\t")
            yield float(when), name, event, int(at), int(size)


def replay(directory, host, control_port, data_port, pause=0.0,
           before_data=None):
    """Play it all; how many replies there were. PAUSE: recorded pauses are
    kept up to so many seconds. BEFORE_DATA() comes before the first packet."""
    ports = {"ctl": control_port, "dat": data_port}
    ids, connections, count, now = Ids(), {}, 0, 0.0
    try:
        for when, name, event, at, size in timeline(directory):
            time.sleep(max(0.0, min(when - now, pause)))
            now = when
            if before_data is not None and name.startswith("dat"):
                before_data()
                before_data = None
            if event == "open":
                connections[name] = Connection(
                    directory, name, (host, ports[name[:3]]), ids)
            elif event == "c2s":
                connections[name].send(at, size)
            elif event == "s2c":
                count += connections[name].receive(at + size)
            elif event == "c2s-fin" and name in connections:
                connections.pop(name).sock.close()
    finally:
        for connection in connections.values():
            connection.sock.close()
    return count


def main():
    """Exit status 0 when every reply was as recorded."""
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    try:
        count = replay(sys.argv[1], sys.argv[2], int(sys.argv[3]),
                       int(sys.argv[4]))
    except (ReplayError, OSError) as error:
        sys.exit("replay: %s" % error)
    print("replay: %d replies as recorded" % count)


if __name__ == "__main__":
    main()
