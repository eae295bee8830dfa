#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recorded refusals (live 7, 1) over the sockets of a daemon: sessions are
made again, each recorded request is sent, in the order of the recording, and
each reply compared byte by byte. Ids of sessions, streams and traces are the
daemon's own and are translated."""
import struct
import sys

import relay
import viewer
from relay import equal
from viewer import Viewer

DIALOGUES = relay.VECTORS / "live-dialogues"
SESSION_RECORD, STREAM_RECORD = 339, 4371

# What differs on purpose: (file, number of the reply) -> what to change in the
# recorded one.
DIFFERENCES = {
    ("live-errors-1", 0): "version",            # we say 2.15
    ("live-errors-2", 0): "version",
    ("live-errors-1", 18): "no new stream",     # doc/compat.md
    ("live-errors-1", 23): "nobody attached",   # doc/compat.md
}


class Dialogue:
    """A recorded connection: [(microseconds, request, reply)]."""

    def __init__(self, name):
        self.name = name
        blob, at, parts = (DIALOGUES / f"{name}.bin").read_bytes(), 0, []
        while at < len(blob):
            is_reply, when, size = struct.unpack_from(">BQI", blob, at)
            parts.append((is_reply, when, blob[at + 13:at + 13 + size]))
            at += 13 + size
        equal([p[0] for p in parts], [0, 1] * (len(parts) // 2), name)
        self.steps = [(ask[1], ask[2], reply[2])
                      for ask, reply in zip(parts[::2], parts[1::2])]
        self.done = 0

    def replies(self, command):
        """The recorded replies to COMMAND."""
        return [reply for _, ask, reply in self.steps
                if number_of(ask) == command]


def number_of(ask):
    return struct.unpack_from(">I", ask, 8)[0]


def records(blob, start, size):
    """The records of a list."""
    return [blob[at:at + size] for at in range(start, len(blob), size)]


def c_string(field):
    return field.rstrip(b"\0").decode()


class Stage:
    """The sessions of the recording, made again, and the recorded ids
    (session or stream) -> ours."""

    def __init__(self, daemon, dialogue):
        self.sessions, self.streams = {}, {}
        listing = dialogue.replies(viewer.LIST)[0]
        self.layout = [r for r in dialogue.replies(viewer.ATTACH)
                       if len(r) > 8][0]
        self.kept = []
        watch = viewer.greeted(daemon)
        for record in sorted(records(listing, 4, SESSION_RECORD)):
            ident, timer = struct.unpack_from(">QI", record)
            name = c_string(record[84:])
            self._session(daemon, dialogue, name, timer,
                          is_read=not self.kept)
            relay.wait_until("streams are not listed", lambda:
                             watch.find(name).streams == 3)
            self.sessions[ident] = watch.find(name).id
        watch.close()

    def _session(self, daemon, dialogue, name, timer, is_read):
        control, data = daemon.control(), daemon.data()
        control.version()
        control.create_session(name=name, host="vm", live=timer,
                               uuid=name.encode().ljust(16))
        control.create_chunk(0)
        handles = {}
        for record in records(self.layout, 8, STREAM_RECORD):
            channel = c_string(record[4116:])
            handles[channel], _ = control.add_stream(
                channel, path=c_string(record[20:4116]))
        control.code(relay.STREAMS_SENT)
        if is_read:
            self._fill(control, data, dialogue, handles)
        self.kept += [control, data]

    @staticmethod
    def _fill(control, data, dialogue, handles):
        """Metadata, and the recorded packet in the stream channel0_1."""
        (index,) = [i for i in (
            viewer.Index(*struct.unpack(">7QII", r))
            for r in dialogue.replies(viewer.NEXT_INDEX))
                    if i.status == viewer.OK]
        (packet,) = [r for r in dialogue.replies(viewer.PACKET)
                     if len(r) > 12]
        stream = handles["channel0_1"]
        data.packet(stream, 0, packet[12:])
        control.index(stream, 0, len(packet) - 12, content=index.content // 8,
                      begin=index.begin, end=index.end, ctf=index.ctf)
        control.metadata(handles["metadata"], b"x")
        control.ask(relay.GET_CONFIGURATION, bytes(8), 12)
        control.wait_written(stream, 0)

    def ours(self, ask):
        """A recorded request, with our ids."""
        known = {viewer.ATTACH: self.sessions,
                 viewer.NEW_STREAMS: self.sessions,
                 viewer.DETACH: self.sessions,
                 viewer.NEXT_INDEX: self.streams,
                 viewer.PACKET: self.streams,
                 viewer.METADATA: self.streams}.get(number_of(ask))
        if known is None:
            return ask
        (ident,) = struct.unpack_from(">Q", ask, 16)
        return (ask[:16] + struct.pack(">Q", known.get(ident, ident))
                + ask[24:])

    def compare_streams(self, what, want, got):
        """All but the ids, in any order; the ids are learnt."""
        equal(got[:8], want[:8], what)
        wanted, given = (sorted(records(blob, 8, STREAM_RECORD),
                                key=lambda r: r[16:]) for blob in (want, got))
        equal([r[16:] for r in given], [r[16:] for r in wanted], what)
        equal(len({r[8:16] for r in given}), 1, f"{what}: traces")
        for recorded, mine in zip(wanted, given):
            (self.streams[struct.unpack_from(">Q", recorded)[0]],) = \
                struct.unpack_from(">Q", mine)

    def compare_sessions(self, what, want, got):
        """With our ids, in any order."""
        equal(got[:4], want[:4], f"{what}: count")
        equal(sorted(records(got, 4, SESSION_RECORD)),
              sorted(struct.pack(">Q", self.sessions[
                  struct.unpack_from(">Q", r)[0]]) + r[8:]
                  for r in records(want, 4, SESSION_RECORD)), what)

    def compare(self, command, what, want, got):
        """WANT is the recorded reply."""
        if command == viewer.LIST:
            self.compare_sessions(what, want, got)
        elif command == viewer.ATTACH and len(want) > 8:
            self.compare_streams(what, want, got)
        elif command == viewer.CONNECT:     # the id counts CONNECTs
            equal(got[8:], want[8:], what)
        else:
            equal(got.hex(), want.hex(), what)


def changed(difference, want):
    """A recorded reply as we mean to give it."""
    out = bytearray(want)
    if difference == "version":
        struct.pack_into(">I", out, 12, 15)
    elif difference == "no new stream":
        out[63] &= ~2
    elif difference == "nobody attached":
        for at in range(4, len(out), SESSION_RECORD):
            struct.pack_into(">I", out, at + 12, 0)
    return bytes(out)


def recorded_refusals():
    """Live 7, 1: both connections of live-errors, in the order of their
    requests; one viewer per session, as the reference."""
    with relay.Daemon("--max-viewers-per-session", "1") as daemon:
        dialogues = [Dialogue("live-errors-1"), Dialogue("live-errors-2")]
        stage = Stage(daemon, dialogues[0])
        conns = {d.name: Viewer(daemon) for d in dialogues}
        while any(d.done < len(d.steps) for d in dialogues):
            d = min((d for d in dialogues if d.done < len(d.steps)),
                    key=lambda d: d.steps[d.done][0])
            _, ask, want = d.steps[d.done]
            what = f"{d.name} reply {d.done}"
            want = changed(DIFFERENCES.get((d.name, d.done)), want)
            d.done += 1
            conns[d.name].send(stage.ours(ask))
            got = conns[d.name].read(len(want))
            stage.compare(number_of(ask), what, want, got)
        equal([d.done for d in dialogues], [25, 5], "replies")
        equal(conns["live-errors-1"].ends(), b"", "after command 77")


if __name__ == "__main__":
    sys.exit(relay.main())
