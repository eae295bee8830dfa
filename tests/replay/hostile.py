#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What peers should not do, and a good session that must not notice.

One case per row of the tables streaming 3.1 and 9, and a few more. Arguments:
cases by name, all if none.
"""
import os
import struct
import sys
import time

import relay
from relay import NONE, check, equal

MIB = 1 << 20
NONE32 = 0xffffffff


def u32(n):
    return struct.pack(">I", n)


def u64(*n):
    return struct.pack(f">{len(n)}Q", *n)


def announce(command, size):
    """A header alone."""
    return struct.pack(">QQII", 0, size, command, 0)


# Rows of streaming 3.1 -----------------------------------------------------
#
# Each: what happens on a connection, what must come back, does it stay open.
# NEW rows come before a session exists, the others in one.

REFUSED_SESSION = u64(0) + u32(relay.FATAL) + u32(0)
REFUSED_STREAM = u64(NONE) + u32(relay.UNKNOWN)
LONG = "x" * 240


def version(major=2, minor=13):
    return relay.frame(relay.VERSION, struct.pack(">II", major, minor))


def session(**fields):
    return version() + relay.session_request(**fields)


RELAY_VERSION = struct.pack(">II", 2, 15)
NEW = {
    "unknown_command": (relay.frame(99), u32(11), False),
    "unknown_command_with_payload": (
        relay.frame(15, b"x" * 100), u32(11), False),
    "reserved_command_4": (relay.frame(4), u32(11), False),
    "payload_above_128_MiB": (
        announce(relay.SEND_METADATA, 128 * MIB + 1), b"", False),
    "unknown_command_above_128_MiB": (announce(99, 128 * MIB + 1), b"", False),
    "session_above_its_limit": (
        version() + announce(relay.CREATE_SESSION, 8193), RELAY_VERSION,
        False),
    "unknown_command_above_its_limit": (announce(99, 8193), u32(11), False),
    "payload_of_2_to_the_64": (announce(relay.VERSION, NONE), b"", False),
    "version_short": (relay.frame(relay.VERSION, u32(2) + b"\0\0\0"), b"",
                      False),
    "version_of_another_major": (version(3, 0), RELAY_VERSION, False),
    "configuration_short": (
        relay.frame(relay.GET_CONFIGURATION, b"\0" * 7), b"", False),
    "configuration_with_flags": (
        version() + relay.frame(relay.GET_CONFIGURATION, u64(1)),
        RELAY_VERSION + u32(152) + u64(0), True),
    "resume_short": (version() + relay.frame(relay.RESUME, b"k" * 15),
                     RELAY_VERSION, False),
    "resume_without_a_key": (version() + relay.frame(relay.RESUME, bytes(16)),
                             RELAY_VERSION + u32(97), False),
    "resume_without_version": (relay.frame(relay.RESUME, b"k" * 16), b"",
                               False),
    "session_without_version": (
        relay.session_request(), u64(0) + u32(relay.FATAL), False),
    "session_short": (version() + relay.frame(relay.CREATE_SESSION, b"\0" * 8),
                      RELAY_VERSION + REFUSED_SESSION, False),
    "session_without_payload_2_13": (
        version() + relay.frame(relay.CREATE_SESSION),
        RELAY_VERSION + REFUSED_SESSION, False),
}
# Sessions that are refused for one field.
BAD_SESSIONS = {
    "session_of_nil_uuid": {"uuid": bytes(16)},
    "session_name_empty": {"name": ""},
    "session_name_slash": {"name": "a/b"},
    "session_name_with_nul": {"name": "a\0b"},
    "session_name_dots": {"name": ".."},
    "session_name_hidden": {"name": ".x"},
    "session_name_control": {"name": "a\nb"},
    "session_name_too_long": {"name": LONG},
    "hostname_empty": {"host": ""},
    "hostname_dots": {"host": ".."},
    "hostname_slash": {"host": "/etc"},
    "base_path_climbs": {"base": "../x"},
    "base_path_climbs_inside": {"base": "x/../../y"},
    "base_path_ends_in_dots": {"base": "x/.."},
    "base_path_absolute": {"base": "/tmp/x"},
    "path_of_4096_bytes": {"base": "/".join(["y" * 203] * 20 + ["z" * 14])},
    "session_of_unknown_chunk": {"chunk": 7},
    "creation_time_no_date": {"created": NONE},
    "creation_time_year_10000": {"created": 253402300800},
}
for _name, _fields in BAD_SESSIONS.items():
    NEW[_name] = session(**_fields), RELAY_VERSION + REFUSED_SESSION, False
# All others of proto/relay.tbl.h are refused; so is one that is added.
BEFORE_A_SESSION = {relay.VERSION, relay.GET_CONFIGURATION,
                    relay.CREATE_SESSION, relay.RESUME}
for _number in sorted(relay.commands() - BEFORE_A_SESSION):
    NEW[f"command_{_number}_without_session"] = (
        version() + relay.frame(_number, b"\0" * 128), RELAY_VERSION, False)
    NEW[f"command_{_number}_without_session_nor_payload"] = (
        version() + announce(_number, 128), RELAY_VERSION, False)


def lengths(channel, path):
    """ADD_STREAM whose lengths lie."""
    return struct.pack(">IIQQQ", channel, path, 0, 0, 0) + b"c\0p\0"


def closing(chunk, has_command, command):
    return struct.pack(">QQBI", chunk, 0, has_command, command)


# A request in a session, its payload (of the session), and the codes that come
# back before the end of the connection.
REFUSED = {
    "second_version": (relay.VERSION, struct.pack(">II", 2, 13)),
    "metadata_of_unknown_stream": (relay.SEND_METADATA,
                                   u64(4711) + u32(0) + b"m"),
    "metadata_on_a_data_stream": (relay.SEND_METADATA,
                                  lambda s: u64(s.stream) + u32(0) + b"m"),
    "metadata_short": (relay.SEND_METADATA, bytes(11)),
    "close_of_unknown_stream": (relay.CLOSE_STREAM, u64(4711, 0), 11),
    "close_short": (relay.CLOSE_STREAM, bytes(15)),
    "pending_of_unknown_stream": (relay.DATA_PENDING, u64(4711, 0), NONE32),
    "pending_short": (relay.DATA_PENDING, bytes(15)),
    "begin_of_unknown_session": (relay.BEGIN_DATA_PENDING, u64(4711), 11),
    "end_of_unknown_session": (relay.END_DATA_PENDING, u64(4711), NONE32),
    "index_of_unknown_stream": (relay.SEND_INDEX,
                                relay.index_request(4711, 0, 4096), 11),
    "index_short": (relay.SEND_INDEX, bytes(79)),
    "index_of_metadata": (relay.SEND_INDEX, lambda s: relay.index_request(
        s.meta, 0, 4096), 11),
    "reset_of_unknown_stream": (relay.RESET_METADATA, u64(4711, 1), 11),
    "reset_of_a_data_stream": (relay.RESET_METADATA,
                               lambda s: u64(s.stream, 1), 11),
    "rotate_size_mismatch": (
        relay.ROTATE_STREAMS,
        lambda s: relay.rotate_request(None, (s.stream, 0)) + b"\0"),
    "rotate_count_without_positions": (relay.ROTATE_STREAMS,
                                       u32(NONE32) + bytes(16)),
    "rotate_to_unknown_chunk": (
        relay.ROTATE_STREAMS,
        lambda s: relay.rotate_request(77, (s.stream, 0)), 152),
    "rotate_of_unknown_stream": (relay.ROTATE_STREAMS,
                                 relay.rotate_request(None, (4711, 0)), 97),
    "chunk_name_unterminated": (relay.CREATE_CHUNK,
                                struct.pack(">QQI", 1, 0, 2) + b"ab", 97),
    "chunk_name_beyond_the_payload": (
        relay.CREATE_CHUNK, struct.pack(">QQI", 1, 0, 200) + b"a\0"),
    "chunk_time_no_date": (relay.CREATE_CHUNK, relay.chunk_request(1, NONE),
                           26),
    "chunk_that_is_current": (relay.CREATE_CHUNK, relay.chunk_request(0), 152),
    "close_of_unknown_chunk": (relay.CLOSE_CHUNK, closing(9, 0, 0), 26, 0),
    "close_command_3": (relay.CLOSE_CHUNK, closing(0, 1, 3), 97, 0),
    "close_chunk_short": (relay.CLOSE_CHUNK, bytes(20)),
    "exists_short": (relay.CHUNK_EXISTS, bytes(7)),
    "written_of_unknown_stream": (relay.STREAM_WRITTEN, u64(4711), 11, *[0] * 6),
    "written_short": (relay.STREAM_WRITTEN, bytes(7)),
    "resume_in_a_session": (relay.RESUME, b"k" * 16),
}
for _name, _chunk in {"slash": "a/b", "c1_control": "a\x9b", "dot": "a.b",
                      "empty": "", "too_long": "n" * 255}.items():
    REFUSED[f"chunk_name_{_name}"] = (
        relay.CREATE_CHUNK, relay.chunk_request(1, name=_chunk), 97)


def codes(*numbers):
    return b"".join(map(u32, numbers))


def refused(command, payload, *numbers):
    """The same, as a row of IN_SESSION."""
    return (lambda s: relay.frame(command, payload(s) if callable(payload)
                                  else payload), codes(*numbers), False)


# What comes, of the session, what comes back, does the connection stay open.
IN_SESSION = {
    **{name: refused(*row) for name, row in REFUSED.items()},
    "second_session": (lambda s: relay.session_request(), REFUSED_SESSION,
                       False),
    **{name: (lambda s, payload=payload: relay.frame(
        relay.ADD_STREAM, payload), REFUSED_STREAM, False)
       for name, payload in (("stream_short", bytes(31)),
                             ("stream_lengths_beyond", lengths(2, 3)),
                             ("stream_lengths_huge", lengths(NONE32, 2)),
                             ("stream_length_zero", lengths(0, 2)))},
    "quiescent_of_unknown_stream": (
        lambda s: relay.frame(relay.QUIESCENT_CONTROL, u64(4711)), u32(10),
        True),
    "index_above_its_limit": (
        lambda s: announce(relay.SEND_INDEX, 8193), b"", False),
    "rotate_above_its_limit": (
        lambda s: announce(relay.ROTATE_STREAMS, MIB + 1), b"", False),
    "index_twice": (
        lambda s: 2 * relay.frame(relay.SEND_INDEX, relay.index_request(
            s.stream, s.seq + 5, 4096)), codes(10, 11), False),
    "rotate_twice": (
        lambda s: 2 * relay.frame(relay.ROTATE_STREAMS, relay.rotate_request(
            None, (s.stream, 1000))), codes(10, 153), False),
    "rotate_of_no_stream": (
        lambda s: relay.frame(relay.ROTATE_STREAMS,
                              relay.rotate_request(None)), u32(10), True),
    "chunk_while_one_is_pending": (
        lambda s: relay.frame(relay.CREATE_CHUNK, relay.chunk_request(1))
        + relay.frame(relay.CREATE_CHUNK, relay.chunk_request(2)),
        codes(10, 11), False),
    "close_of_another_chunk_than_the_pending": (
        lambda s: relay.frame(relay.CREATE_CHUNK, relay.chunk_request(1))
        + relay.frame(relay.CLOSE_CHUNK, closing(1, 0, 0)),
        codes(10, 152, 0), False),
}
# Streams that are refused for a name: channel, path, does the session go on.
BAD_STREAMS = {
    "stream_path_climbs": ("c", "../x", True),
    "stream_path_climbs_inside": ("c", "a/../../x", True),
    "stream_path_ends_in_dots": ("c", "x/..", True),
    "stream_path_absolute": ("c", "//etc", True),
    "stream_path_empty": ("c", "", True),
    "stream_path_control": ("c", "a\x07b", True),
    "stream_path_not_utf8": ("c", b"a\xff", True),
    "stream_path_with_nul": ("c", "a\0/../b", False),
    "channel_climbs": ("../c", "a", False),
    "channel_dots": ("..", "a", False),
    "channel_slash": ("a/b", "a", False),
    "channel_control": ("a\x1b[2J", "a", False),
    "channel_c1_control": ("a\x9b2J", "a", False),
}
for _name, (_channel, _path, _stays) in BAD_STREAMS.items():
    IN_SESSION[_name] = (lambda s, blob=relay.stream_request(_channel, _path):
                         blob, REFUSED_STREAM, _stays)

ALIVE = relay.frame(relay.GET_CONFIGURATION, u64(0))
ALIVE_REPLY = u32(10) + u64(1)


def expect(conn, blob, reply, stays, how):
    how(conn, blob)
    got = conn.read(len(reply))
    equal(got.hex(), reply.hex(), "reply")
    if stays:
        conn.send(ALIVE)
        equal(conn.read(12), ALIVE_REPLY, "reply afterwards")
        conn.close()
    else:
        equal(conn.ends().hex(), "", "bytes before the end")


def at_once(conn, blob):
    conn.send(blob)


def bytewise(conn, blob):
    for i in range(len(blob)):
        try:
            conn.send(blob[i:i + 1])
        except ConnectionError:
            return  # refused at its header


def rows(table, act):
    """Every row at once and byte by byte; all failures together."""
    wrong = []
    for name in table:
        for how in at_once, bytewise:
            try:
                act(name, how)
            except relay.Failed as e:
                wrong.append(f"{name} ({how.__name__}): {e}")
    check(not wrong, "\n  ".join(wrong))


def rows_before_a_session():
    check(BEFORE_A_SESSION < relay.commands(), "the table has no rows")
    with relay.Daemon() as daemon, relay.bystander(daemon):
        def act(name, how):
            blob, reply, stays = NEW[name]
            expect(daemon.control(), blob, reply, stays, how)
        rows(NEW, act)
        equal({p.name for p in daemon.out.iterdir() if p.is_dir()}, {"h"},
              "directories made")
        equal(len(list((daemon.out / "h").iterdir())), 1, "sessions made")


def rows_in_a_session():
    with relay.Daemon() as daemon, relay.bystander(daemon):
        def act(name, how):
            make, reply, stays = IN_SESSION[name]
            s = relay.Session(daemon, f"{name[:40]}-{how.__name__}")
            s.packet()
            s.packet()
            expect(s.control, make(s), reply, stays, how)
            s.data.close()
            whole_files(s)
        rows(IN_SESSION, act)


def whole_files(s):
    """Whatever ended the session, what was written is there, whole."""
    def found():
        return list((s.daemon.out / s.path).rglob("ch_0"))
    relay.wait_until("the data file is not whole", lambda: [
        p.stat().st_size for p in found()] == [len(s.written)])
    check(found()[0].read_bytes() == s.written, "the data file is not whole")


def old_peers():
    """Before 2.11 there are no chunks, before 2.8 no RESET_METADATA."""
    with relay.Daemon() as daemon, relay.bystander(daemon):
        for minor, command in ((7, relay.RESET_METADATA),
                               (10, relay.CREATE_CHUNK),
                               (10, relay.ROTATE_STREAMS),
                               (10, relay.CLOSE_CHUNK),
                               (10, relay.CHUNK_EXISTS)):
            c = daemon.peer(minor)
            name = (b"old".ljust(255, b"\0") + b"h".ljust(64, b"\0")
                    + bytes(8))
            ident, code = struct.unpack(
                ">QI", c.ask(relay.CREATE_SESSION, name, 12))
            equal(code, relay.OK, f"session of 2.{minor}")
            expect(c, relay.frame(command, b"\0" * 80), b"", False, at_once)


def clear_disallowed():
    with relay.Daemon("--disallow-clear") as daemon:
        c = daemon.control()
        equal(c.ask(relay.GET_CONFIGURATION, u64(0), 12), u32(10) + u64(0),
              "configuration")
        c.close()
        s = relay.Session(daemon)
        expect(s.control, relay.frame(relay.CLOSE_CHUNK, struct.pack(
            ">QQBI", 0, 0, 1, 2)), u32(152) + u32(0), False, at_once)


def stream_without_chunk():
    with relay.Daemon() as daemon:
        c = daemon.peer()
        c.create_session()
        handle, _ = c.add_stream("ch_0", want=relay.UNKNOWN)
        check(handle not in (0, NONE), "the handle is burnt, not -1")
        c.create_chunk(0)
        c.add_stream("ch_0")


# Streaming 9 ----------------------------------------------------------------

def ring_of_size_without_count():
    """Streaming 9.2: files grow in number without end."""
    with relay.Daemon() as daemon, relay.bystander(daemon):
        s = relay.Session(daemon, "ring")
        ring = s.add("ring_0", size=4096, count=0)
        for seq in range(5):
            s.put(ring, seq, bytes([seq]) * 4096)
        s.control.wait_written(ring, 4)
        for seq in range(5):
            equal((s.dir / f"ring_0_{seq}").read_bytes(),
                  bytes([seq]) * 4096, f"file {seq}")
            equal((s.dir / f"index/ring_0_{seq}.idx").stat().st_size, 16 + 72,
                  f"index {seq}")
        s.finish()


def named_chunk_is_archived():
    """Streaming 9.4: close command 0 on a chunk with an override name."""
    with relay.Daemon() as daemon, relay.bystander(daemon):
        s = relay.Session(daemon, "named")
        s.control.rotate(None, (s.stream, 0), (s.meta, 0))
        s.control.close_chunk(0)
        s.control.create_chunk(1, name="mine")
        s.control.add_stream("x")
        s.control.close_chunk(1, 0)
        s.control.send(ALIVE)
        equal(s.control.read(12), ALIVE_REPLY, "alive")
        s.control.close()


def data_beyond_the_rotation_point():
    """Streaming 9.5: bytes first, the records after ROTATE_STREAMS."""
    with relay.Daemon() as daemon, relay.bystander(daemon):
        s = relay.Session(daemon, "straddle")
        for seq in range(4):
            s.data.packet(s.stream, seq, bytes([seq]) * 4096)
        time.sleep(0.05)
        s.control.next_chunk(1, 0, (s.stream, 2), (s.meta, 0))
        for seq in range(4):
            s.control.index(s.stream, seq, 4096)
        s.control.wait_written(s.stream, 3)
        s.control.wait_gone(0)
        top = daemon.out / s.path
        (old,) = (top / "archives").iterdir()
        (new,) = [p for p in top.iterdir() if p.name.endswith("-1")]
        for folder, seqs in (old, (0, 1)), (new, (2, 3)):
            where = folder / "ust/uid/0/64-bit"
            equal((where / "ch_0").read_bytes(),
                  b"".join(bytes([n]) * 4096 for n in seqs), folder.name)
            equal((where / "index/ch_0.idx").stat().st_size, 16 + 2 * 72,
                  f"{folder.name}: index")


def headers_cost_nothing():
    """Streaming 9.8: 40 headers that announce 128 MiB."""
    with relay.Daemon() as daemon, relay.bystander(daemon):
        sessions = [relay.Session(daemon, f"big{i}") for i in range(40)]
        before = daemon.rss()
        for s in sessions:
            s.control.send(announce(relay.SEND_METADATA, 128 * MIB)
                           + u64(s.meta) + u32(0) + b"m" * 1000)
            s.data.send(struct.pack(">QQQII", 0, s.stream, 0, 200 * MIB, 0)
                        + b"d" * 1000)
        time.sleep(0.3)
        grown = daemon.rss() - before
        check(grown < 16 * MIB, f"{grown >> 20} MiB for 40 headers")
        for s in sessions:
            s.leave()


def padding_costs_nothing():
    """Streaming 9.9: near --max-packet-size a hole, above it refused."""
    with relay.Daemon() as daemon, relay.bystander(daemon):
        s = relay.Session(daemon, "padded")
        padding = 256 * MIB - 4096
        s.data.packet(s.stream, 0, b"x" * 4096, padding)
        s.control.index(s.stream, 0, 256 * MIB, content=4096)
        s.control.wait_written(s.stream, 0)
        stat = (s.dir / "ch_0").stat()
        equal(stat.st_size, 256 * MIB, "size")
        check(stat.st_blocks * 512 < MIB, f"{stat.st_blocks} blocks")
        for size, more in ((16, 0xffffffff), (16, 0xfffffff0),
                           (0, 256 * MIB + 1), (4096, 256 * MIB - 4095)):
            other = relay.Session(daemon, f"refused{size}-{more}")
            other.data.packet(other.stream, 0, b"x" * size, more)
            equal(other.data.ends(), b"", "refused")
            equal((other.dir / "ch_0").stat().st_size, 0, "written")
        s.control.metadata(s.meta, b"", 0xffffffff)
        equal(s.control.ends(), b"", "metadata padding refused")


def foreign_handles():
    """Streaming 9.13: a handle is good on its session's connections only."""
    with relay.Daemon() as daemon, relay.bystander(daemon) as good:
        def thief(do, reply):
            s = relay.Session(daemon, "thief")
            do(s)
            equal(s.control.read(len(reply)), reply, "reply")
            equal(s.control.ends(), b"", "end")
        h = good.stream
        thief(lambda s: s.control.send(relay.frame(
            relay.SEND_INDEX, relay.index_request(h, good.seq, 4096))),
            u32(11))
        thief(lambda s: s.control.send(relay.frame(
            relay.CLOSE_STREAM, u64(h, 0))), u32(11))
        thief(lambda s: s.control.send(relay.frame(
            relay.DATA_PENDING, u64(h, 0))), u32(0xffffffff))
        thief(lambda s: s.control.send(relay.frame(
            relay.RESET_METADATA, u64(good.meta, 1))), u32(11))
        thief(lambda s: s.control.metadata(good.meta, b"stolen"), b"")
        thief(lambda s: s.control.send(relay.frame(
            relay.ROTATE_STREAMS, relay.rotate_request(None, (h, 0)))),
            u32(97))
        s = relay.Session(daemon, "thief")
        s.packet()
        s.data.packet(h, good.seq, b"stolen")
        equal(s.data.ends(), b"", "data connection")
        # A quiet one, bound to the thief's session first, then back.
        lone = daemon.data()
        lone.packet(4711 << 8, 0, b"?")
        equal(lone.ends(), b"", "unknown stream")


def failing_rename_is_told():
    """Streaming 9.21, 9.27: a directory in the way of the first rotation."""
    with relay.Daemon() as daemon, relay.bystander(daemon):
        s = relay.Session(daemon, "blocked")
        s.packet()
        for name in ".tmp_old_chunk", ".tmp_old_chunk-0":
            (daemon.out / s.path / name).mkdir()
            (daemon.out / s.path / name / "foreign").write_text("mine")
        expect(s.control, relay.frame(
            relay.CREATE_CHUNK, relay.chunk_request(1)), u32(11), False,
            at_once)
        equal((daemon.out / s.path / ".tmp_old_chunk/foreign").read_text(),
              "mine", "foreign file")


def empty_packet_is_complete():
    """Streaming 9.23: data_size 0 needs no more bytes."""
    with relay.Daemon() as daemon, relay.bystander(daemon):
        s = relay.Session(daemon, "empty")
        s.data.packet(s.stream, 0, b"", 4096)
        s.control.index(s.stream, 0, 4096, content=0)
        s.control.wait_written(s.stream, 0)
        equal((s.dir / "ch_0").read_bytes(), bytes(4096), "content")


def same_directory_twice():
    """Streaming 9.15: nothing that exists is truncated."""
    with relay.Daemon() as daemon:
        first = relay.Session(daemon, "same", base="place")
        first.packet()
        second = relay.Session(daemon, "same", base="place", uuid=b"v" * 16)
        second.packet()
        equal((first.path, second.path), ("h/place", "h/place-1"), "paths")
        second.finish()
        first.finish()
        third = relay.Session(daemon, "same", base="place")
        equal(third.path, "h/place-2", "a later one")
        third.packet()
        third.finish()
        first.check()


# Files ----------------------------------------------------------------------

def planted_links():
    """A link in the output directory is never followed."""
    with relay.Daemon() as daemon, relay.bystander(daemon):
        outside = daemon.top / "outside"
        outside.mkdir()
        (outside / "precious").write_text("precious")
        # The host's directory is a link.
        (daemon.out / "evil").symlink_to(outside)
        c = daemon.peer()
        _, code, path = c.create_session(host="evil")
        equal((code, path[:7]), (relay.OK, "evil-1/"), "host is a link")
        c.close()
        # The session's directory is one: another is taken.
        (daemon.out / "ho").mkdir()
        (daemon.out / "ho/place").symlink_to(outside)
        s = relay.Session(daemon, "linked", host="ho", base="place")
        equal(s.path, "ho/place-1", "path")
        # A folder of a stream, and a file.
        where = daemon.out / s.path
        (where / "kernel").symlink_to(outside)
        s.control.add_stream("precious", path="kernel", want=relay.UNKNOWN)
        (s.dir / "link").symlink_to(outside / "precious")
        s.control.add_stream("link", want=relay.UNKNOWN)
        (s.dir / "index").symlink_to(outside)
        s.put(s.stream, 0, b"x" * 4096)
        s.control.wait_written(s.stream, 0)
        s.leave()
        equal(sorted(p.name for p in outside.iterdir()), ["precious"],
              "outside")
        equal((outside / "precious").read_text(), "precious", "content")


def refused_stream_does_not_stop_a_rotation():
    """A folder that could not be made is not part of the chunk."""
    with relay.Daemon() as daemon, relay.bystander(daemon):
        s = relay.Session(daemon, "refused")
        s.packets(1)
        (daemon.out / s.path / "kernel").write_text("a file in the way")
        s.control.add_stream("c", path="kernel", want=relay.UNKNOWN)
        s.control.next_chunk(1, 0, (s.stream, 1), (s.meta, 0))
        equal((daemon.out / s.path / "kernel").read_text(),
              "a file in the way", "foreign file")


def foreign_files_outlive_a_clear():
    with relay.Daemon() as daemon, relay.bystander(daemon):
        s = relay.Session(daemon, "cleared")
        s.packets(1)
        (s.dir / "mine").write_text("mine")
        (s.dir / "theirs").write_text("theirs")
        # Its file cannot be made: it is not its file.
        s.control.add_stream("theirs", want=relay.UNKNOWN)
        s.control.rotate(None, (s.stream, 1), (s.meta, 0))
        s.control.close_chunk(0, 2)
        s.control.wait_gone(0)
        equal(sorted(p.name for p in s.dir.rglob("*")), ["mine", "theirs"],
              "what is left")


# Time -----------------------------------------------------------------------

def silence_in_mid_message():
    """Half a message, then nothing: closed. Between messages: never."""
    env = {"LTTNG_NETWORK_SOCKET_TIMEOUT": "300"}
    with relay.Daemon(env=env) as daemon, relay.bystander(daemon):
        idle = daemon.peer()
        new = daemon.control()
        new.send(version()[:30])
        header = daemon.control()
        header.send(version()[:10])
        first = daemon.data()
        first.send(b"\0" * 31)
        s = relay.Session(daemon, "stalls")
        s.packet()
        s.control.send(relay.frame(relay.SEND_METADATA, b"\0" * 50)[:40])
        t = relay.Session(daemon, "stalls-data")
        t.packet()
        t.data.send(struct.pack(">QQQII", 0, t.stream, 1, 4096, 0) + b"x")
        for conn, what in ((s.control, "metadata"), (t.data, "packet"),
                           (new, "payload before a session"),
                           (header, "header before a session"),
                           (first, "first data header")):
            try:
                equal(conn.ends(), b"", what)
            except relay.Failed as e:
                raise relay.Failed(f"{what}: {e}")
        idle.send(ALIVE)
        equal(idle.read(12), ALIVE_REPLY, "idle connection")


def refused_and_lingering():
    """After a last reply a peer cannot keep its descriptor for ever."""
    with relay.Daemon(workers=1) as daemon, relay.bystander(daemon) as good:
        good.wait_written()
        time.sleep(0.1)
        before = daemon.descriptors()
        quiet = [daemon.control() for _ in range(10)]
        for conn in quiet:
            conn.send(relay.frame(99))
            equal(conn.read(4), u32(11), "reply")
        chatty = daemon.control()
        chatty.send(relay.frame(99))
        s = relay.Session(daemon, "chatty")
        s.control.send(relay.frame(99))
        until = time.monotonic() + 20
        while time.monotonic() < until:
            for conn in chatty, s.control:
                try:
                    conn.send(b"more ")
                except OSError:
                    pass
            time.sleep(0.1)
            # the session's data connection may stay until its peer closes
            if daemon.descriptors() <= before + 1:
                break
        else:
            left = daemon.descriptors() - before
            raise relay.Failed(f"{left} descriptors are still held")


def dribble():
    """One byte at a time, from a session that is otherwise good."""
    with relay.Daemon() as daemon, relay.bystander(daemon):
        s = relay.Session(daemon, "dribble")
        for seq in range(3):
            payload = os.urandom(300)
            bytewise(s.data, struct.pack(">QQQII", 0, s.stream, seq, 300, 3796)
                     + payload)
            bytewise(s.control, relay.frame(
                relay.SEND_INDEX, relay.index_request(
                    s.stream, seq, 4096, content=300)))
            equal(s.control.read(4), u32(10), "SEND_INDEX")
            s.offsets.append(len(s.written))
            s.written += payload + bytes(3796)
            s.seq += 1
        s.finish()


def flood_of_requests():
    """Requests pipelined faster than replies are read: all are answered."""
    with relay.Daemon() as daemon, relay.bystander(daemon):
        for in_session in False, True:
            conn = (relay.Session(daemon, "flood").control if in_session
                    else daemon.control())
            n, sent = 200_000, 0
            blob = memoryview(ALIVE * n)
            conn.sock.setblocking(False)
            got = 0
            until = time.monotonic() + 60
            while got < 12 * n and time.monotonic() < until:
                try:
                    if sent < len(blob):
                        sent += conn.sock.send(blob[sent:])
                except BlockingIOError:
                    pass
                try:
                    part = conn.sock.recv(1 << 20)
                    check(part != b"", "closed")
                    got += len(part)
                except BlockingIOError:
                    time.sleep(0.001)
            equal(got, 12 * n, f"bytes of replies, in_session={in_session}")
            conn.close()


def stop_with_halves_pending():
    """SIGTERM is obeyed at once, whatever is half here."""
    with relay.Daemon() as daemon:
        good = relay.Session(daemon)
        for _ in range(3):
            good.packet()
        halves = []
        for i in range(8):
            s = relay.Session(daemon, f"half{i}")
            s.packets(1)
            s.data.send(struct.pack(">QQQII", 0, s.stream, 1, 4096, 0)
                        + b"x" * (i * 500))
            s.control.send(announce(relay.SEND_METADATA, 100 * MIB)
                           + b"y" * (i * 1000))
            c = daemon.control()
            c.send(version()[:3 * i])
            d = daemon.data()
            d.send(b"\0" * (4 * i - 1 if i else 0))
            halves.append((s, c, d))
        began = time.monotonic()
        daemon.stop()
        took = time.monotonic() - began
        check(took < 8, f"{took:.1f} s")
        good.check()
        for s, _, _ in halves:
            s.check()
        equal([p.name for p in daemon.out.iterdir()
               if p.name.startswith(".tracepulse")], [], "journals left")


def connect_and_vanish():
    with relay.Daemon() as daemon, relay.bystander(daemon):
        for i in range(300):
            conn = daemon.control() if i % 2 else daemon.data()
            if i % 3:
                conn.send(session()[:i])
            if i % 5 == 0:
                conn.sock.setsockopt(relay.socket.SOL_SOCKET,
                                     relay.socket.SO_LINGER,
                                     struct.pack("ii", 1, 0))
            conn.close()


def nothing_behind_a_refusal():
    """A refused session and more requests, in one segment; then another
    connection, which is served."""
    with relay.Daemon(workers=4) as daemon, relay.bystander(daemon):
        for i in range(40):
            c = daemon.control()
            bad = relay.session_request(name="a/b")
            good = relay.session_request(name=f"late{i}",
                                         uuid=bytes([i + 1]) * 16)
            c.send(version() + bad + good + bad)
            equal(c.ends(), RELAY_VERSION + REFUSED_SESSION, "refusal")
            c.close()
            c = daemon.control()
            c.send(version() + good)
            equal(c.read(8), RELAY_VERSION, "version")
            equal(struct.unpack(">QII", c.read(16))[1], relay.OK, "session")
            c.close()


if __name__ == "__main__":
    sys.exit(relay.main(at_once=4))
