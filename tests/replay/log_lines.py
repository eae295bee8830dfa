#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One line of log per event, and it says whose. Starts daemons of its own."""
import re
import struct
import sys
import time

import relay
import udp
import viewer
from relay import check, equal

STREAM = "ust/uid/0/64-bit/ch_0"


def new_lines(daemon, before):
    """Without what a busy machine causes."""
    return [line for line in daemon.log_text()[len(before):].splitlines()
            if "a cycle of the loop took" not in line]


def only(daemon, before, *parts):
    """One line, with all of these."""
    lines = new_lines(daemon, before)
    equal(len(lines), 1, f"lines {lines}")
    for part in parts:
        check(part in lines[0], f"no {part} in {lines[0]}")


def refused_requests():
    """On a connection that goes on, or is closed."""
    with relay.Daemon(workers=1) as daemon:
        c = daemon.peer()
        before = daemon.log_text()
        c.create_session(created=1 << 63, want=relay.FATAL)
        only(daemon, before, "peer=127.0.0.1:", "create_session: refused")
        c.close()
        for blob in (struct.pack(">QQII", 0, 1 << 40, relay.CREATE_SESSION, 0),
                     relay.frame(relay.VERSION, b"short"),
                     relay.frame(relay.ADD_STREAM, b"early")):
            c = daemon.peer()
            before = daemon.log_text()
            c.send(blob)
            c.ends()
            only(daemon, before, "peer=127.0.0.1:", "connection closed")
        s = relay.Session(daemon, "lines")
        before = daemon.log_text()
        for _ in range(2):
            s.control.send(relay.frame(relay.SEND_INDEX, relay.index_request(
                s.stream, 0, 4096)))
        s.control.ends()
        only(daemon, before, f"/lines stream={STREAM} send_index: ",
             "connection closed")
        s.data.close()


def places():
    """What store/ says names the session's directory."""
    with relay.Daemon("--verbose", workers=1) as daemon:
        s = relay.Session(daemon, "place")
        s.packets(1)
        (daemon.out / s.path / "archives").write_text("mine")
        s.control.create_chunk(1)
        s.control.send(relay.frame(relay.CLOSE_CHUNK, struct.pack(
            ">QQBI", 0, 1_800_000_001, 1, 0)))
        s.control.ends()
        s.data.close()
        check(f"error {s.path}: trace chunk 0: cannot create the directory "
              "for archived chunks: Not a directory\n" in daemon.log_text(),
              "archives")
        s = relay.Session(daemon, "deleted")
        s.control.next_chunk(1, 2, (s.stream, 0), (s.meta, 0))
        s.packets(1)
        s.control.wait_gone(0)
        check(f" {s.path}: trace chunk 0 deleted\n" in daemon.log_text(),
              "deleted")
        daemon.kill()
        with open(s.dir / "ch_0", "ab") as data:
            data.write(bytes(10))
        daemon.start_again()
        daemon.recovered()
        check(f"recovery: file={s.path}/{STREAM} cut from 4106 to 4096 "
              in daemon.log_text(), "recovery")


FLOOD = 2000
# What common/log.h allows about peers in a second, of information and of
# warnings, and the lines that say how many more there were.
A_SECOND = 2 * 52


def floods_write_few_lines():
    """A mistake that is repeated as fast as can be."""
    def gaps(s):
        for seq in range(0, 2 * FLOOD, 2):
            s.put(s.stream, seq, b"x" * 8)
        s.control.close_stream(s.stream, 2 * FLOOD)

    def paths(s):
        for _ in range(FLOOD):
            s.control.add_stream("x", path="../x", want=relay.UNKNOWN)

    def files_in_the_way(s):
        (daemon.out / s.path / "kernel").write_text("mine")
        for _ in range(FLOOD):
            s.control.add_stream("x", path="kernel", want=relay.UNKNOWN)

    def taken_names(s):
        (s.dir / "x").write_text("mine")
        for _ in range(FLOOD):
            s.control.add_stream("x", want=relay.UNKNOWN)

    def wrong_sizes(s):
        for i in range(FLOOD):
            stream = s.add(f"x{i}")
            s.data.packet(stream, 0, b"x" * 8)
            s.control.index(stream, 0, 999)
            s.control.close_stream(stream, 0)

    def gaps_of_datagrams(s):
        for i in range(FLOOD):
            stream = s.add(f"x{i}")
            s.throw(udp.datagram(s.token, stream, 1, b"x" * 8, 8, 0))
            s.control.close_stream(stream, 1)

    def wrong_datagrams(_):
        for i in range(FLOOD // 5):
            s = udp.UdpSession(daemon, f"wrong{i}")
            s.throw(udp.datagram(s.token, s.stream, 0, b"x" * 8, 8, 9))
            s.control.pending(s.stream, 0)
            s.control.close()

    def unknown_commands_of_viewers(_):
        for _ in range(FLOOD // 2):
            v = viewer.greeted(daemon)
            v.send(viewer.frame(99))
            v.ends()

    wrong = []
    for flood in (gaps, paths, files_in_the_way, taken_names, wrong_sizes,
                  gaps_of_datagrams, wrong_datagrams,
                  unknown_commands_of_viewers):
        is_udp = "datagrams" in flood.__name__
        with relay.Daemon(udp.UDP if is_udp else "-v", workers=1) as daemon:
            s = (udp.UdpSession(daemon, gap_us=1000) if is_udp else
                 relay.Session(daemon, flood.__name__))
            before, began = daemon.log_text(), time.monotonic()
            flood(s)
            s.leave()
            time.sleep(0.1)
            most = A_SECOND * (int(time.monotonic() - began) + 2)
            n = len(new_lines(daemon, before))
            if n > most:
                wrong.append(f"{flood.__name__}: {n} lines, {most} allowed")
            check(n > 0, f"{flood.__name__}: not a word")
    check(not wrong, "\n  ".join(wrong))


SUPPRESSED = re.compile(r"(\w+) lines about peers suppressed: (\d+)")


def make_mistakes(daemon, n):
    """N requests that are refused, a line of information each."""
    s = relay.Session(daemon, "mistakes")
    for _ in range(n):
        s.control.add_stream("x", path="../x", want=relay.UNKNOWN)


def suppressed_lines_are_reported():
    """Within a second, without another line; and at exit."""
    def told():
        """(lines and those reported, levels of these)"""
        log = daemon.log_text()
        found = SUPPRESSED.findall(log)
        return (log.count("add_stream: ") + sum(int(n) for _, n in found),
                {level for level, _ in found})

    for stops in False, True:
        with relay.Daemon("-v", workers=1) as daemon:
            make_mistakes(daemon, FLOOD)
            if stops:
                daemon.stop()
            relay.wait_until(lambda: f"{told()} of {FLOOD}",
                             lambda: told() == (FLOOD, {"info"}),
                             0 if stops else relay.TIMEOUT)


if __name__ == "__main__":
    sys.exit(relay.main())
