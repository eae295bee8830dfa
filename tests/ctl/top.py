#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tracepulse top, and colours, on a terminal."""
import os
import re
import signal
import sys
import termios
import time

sys.dont_write_bytecode = True
import program
import relay
from program import Terminal, run, url_of
from relay import check, equal
sys.path.insert(0, os.path.dirname(os.path.abspath(relay.__file__)))
import looking


def last_picture(t):
    """The lines of the last one that is whole, without colours."""
    text = t.text.decode(errors="replace")
    whole = text[:text.rindex("\033[J")]
    lines = whole[whole.rindex("\033[H") + 3:].split("\r\n")
    return [re.sub(r"\033\[[0-9;]*[mK]", "", line).rstrip("\r")
            for line in lines]


def wait_picture(t, what, is_right):
    """Until the last picture is right."""
    until = time.monotonic() + relay.TIMEOUT
    while not (re.search(rb"\033\[H.*\033\[J", t.text, re.S) and
               is_right(last_picture(t))):
        check(time.monotonic() < until, f"never {what}: {t.text[-4000:]!r}")
        check(t.read(0.05), "it ended")


def row_is(number, name):
    """Is the session in that line of the picture this one?"""
    return lambda lines: lines[number].split()[2:3] == [name]


def q_ends_it():
    """The screen is put back, and so is the terminal; rates are shown."""
    with relay.Daemon() as daemon:
        c, d, handle = looking.record(daemon, name="web", host="box")
        t = Terminal(url_of(daemon), "top", "-i", "0.3")
        t.wait_for("web")
        check(t.text.startswith(b"\033[?1049h"), "another screen")
        check(not termios.tcgetattr(t.fd)[3] & termios.ECHO, "echo")
        seq, until = 3, time.monotonic() + relay.TIMEOUT
        while not re.search(rb"web +[\d.]+ [KM]iB/s", t.text):
            check(time.monotonic() < until, f"no rate: {t.text[-4000:]!r}")
            d.packet(handle, seq, b"x" * 300_000)
            equal(c.index(handle, seq, 300_000), relay.OK, "index")
            seq += 1
            check(t.read(0.4), "it ended")
        t.type("q")
        equal(t.end(), 0, "status")
        check(t.text.endswith(b"\033[?1049l"), t.text[-40:])
        check(t.has_echo, "no echo after the end")
        looking.end(c, d, handle, seq)


def keys_sort_and_move():
    """Each picture has the height and width of the terminal."""
    with relay.Daemon() as daemon:
        kept = [looking.record(daemon, name=f"s{i:02}", packets=i + 1,
                               uuid=bytes([i + 1]) * 16) for i in range(20)]
        t = Terminal(url_of(daemon), "top", "-i", "30", rows=15)
        t.wait_for("by rate")
        t.type("n")
        t.wait_for("by name")
        rows = last_picture(t)
        equal(len(rows), 15, rows)
        equal([r.split()[2] for r in rows[7:-1]],
              [f"s{i:02}" for i in range(7)], "names")
        t.type("\033[B")
        wait_picture(t, "one down", row_is(7, "s01"))
        t.type("b")
        t.wait_for("by received")
        t.type("\033[H")
        wait_picture(t, "the most first", row_is(7, "s19"))
        t.type(" " * 9)
        wait_picture(t, "the end", row_is(-2, "s00"))
        t.type("q")
        equal(t.end(), 0, "status")
        for i, one in enumerate(kept):
            looking.end(*one, packets=i + 1)


def any_size():
    """It follows the size of the terminal, down to hardly any."""
    with relay.Daemon() as daemon:
        kept = looking.record(daemon, name="n" * 200, host="h" * 60)
        t = Terminal(url_of(daemon), "top", "-i", "30")
        t.wait_for("by rate")
        for columns, rows in ((132, 40), (40, 12), (20, 8), (5, 3), (1, 1),
                              (300, 100)):
            t.text = b""
            t.resize(columns, rows)
            wait_picture(t, f"{columns}x{rows}", lambda lines, c=columns,
                         r=rows: (r <= 9 or len(lines) == r) and
                         (c < 40 or all(len(x) <= c for x in lines)))
        t.type("q")
        equal(t.end(), 0, "status")
        looking.end(*kept)


def signals_put_the_terminal_back():
    """SIGTERM, Ctrl-C; Ctrl-Z and back."""
    with relay.Daemon() as daemon:
        for how in ("term", "\003"):
            t = Terminal(url_of(daemon), "top", "-i", "0.3")
            t.wait_for("by rate")
            if how == "term":
                os.kill(t.pid, signal.SIGTERM)
            else:
                t.type(how)
            equal(t.end(), 0, how)
            check(t.text.endswith(b"\033[?1049l"), how)
        t = Terminal(url_of(daemon), "top", "-i", "0.3")
        t.wait_for("by rate")
        os.kill(t.pid, signal.SIGTSTP)
        t.wait_for("\033[?1049l")
        looking.wait_until("it stops", lambda: relay.state_of(
            f"/proc/{t.pid}/stat") == "T")
        t.text = b""
        os.kill(t.pid, signal.SIGCONT)
        t.wait_for("\033[?1049h")
        t.wait_for("by rate")
        t.type("q")
        equal(t.end(), 0, "after a stop")


def a_relay_that_goes():
    """It says so, and goes on when it is there again; q is taken meanwhile."""
    with relay.Daemon() as daemon:
        daemon.command.append(f"--http=tcp://127.0.0.1:{daemon.http_port}")
        t = Terminal(url_of(daemon), "top", "-i", "0.3")
        t.wait_for("ready")
        daemon.kill()
        t.wait_for("no relay here")
        daemon.start_again()
        t.text = b""
        t.wait_for("ready, up")
        daemon.pause()
        t.read(1)
        begin = time.monotonic()
        t.type("q")
        equal(t.end(), 0, "status")
        check(time.monotonic() - begin < 8, "q was late")
        daemon.resume()


def without_a_screen():
    """In a pipe and on a dumb terminal there are pictures without controls."""
    with relay.Daemon() as daemon:
        kept = looking.record(daemon, name="web")
        out, _ = run(url_of(daemon), "top", "-n2", "-i", "0.2")
        equal((out.count("NUMBER"), "\033" in out), (2, False), out)
        t = Terminal(url_of(daemon), "top", "-i", "0.2", TERM="dumb")
        equal(t.end(), 0, "status")
        check(b"\033" not in t.text and b"web" in t.text, t.text)
        _, err = run("http://127.0.0.1:1", "top", status=1)
        check("no relay here" in err, err)
        looking.end(*kept)


def colours():
    """On a terminal only, and not with NO_COLOR; the width is the terminal's;
    names and JSON are harmless."""
    with relay.Daemon() as daemon:
        kept = looking.record(daemon, name="x" * 100 + "\u202e", host="h" * 30)
        for more, has in (({}, True), ({"NO_COLOR": "1"}, False),
                          ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)):
            t = Terminal(url_of(daemon), "status", **more)
            equal(t.end(), 0, "status")
            equal(b"\033[32m" in t.text, has, f"{more}: {t.text!r}")
        t = Terminal(url_of(daemon), "sessions", columns=60, NO_COLOR="1")
        equal(t.end(), 0, "status")
        for line in t.text.decode().splitlines():
            check(len(line) <= 60, line)
        t = Terminal(url_of(daemon), "sessions", "--json")
        equal(t.end(), 0, "status")
        check(b"\\u202E" in t.text and "\u202e".encode() not in t.text, t.text)
        looking.end(*kept)


CASES = [q_ends_it, keys_sort_and_move, any_size,
         signals_put_the_terminal_back, a_relay_that_goes, without_a_screen,
         colours]


if __name__ == "__main__":
    sys.exit(relay.run(CASES, sys.argv[1:]))
