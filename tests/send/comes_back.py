#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tracepulse-send --follow goes on after kill -9 of itself, of the relay, or of
both, at any time: each packet once, in one trace. comes_back.py --long does it
more often."""
import os
import pathlib
import random
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(os.environ.get("srcdir", ".")).resolve()
sys.path[:0] = [str(SOURCE / "tests/replay"), str(SOURCE / "tests/send")]
import ctf
import follow
import relay
import viewer
from relay import check, equal, wait_until

STREAMS = 2
KILLS = 100 if "--long" in sys.argv else 6


class Recording:
    """It grows by itself: a packet of each stream, again and again."""

    def __init__(self, top, pause=0.004):
        self.dir = top / "recorded"
        folder = self.dir / follow.TRACE
        folder.mkdir(parents=True)
        (folder / "metadata").write_bytes(ctf.METADATA)
        self.files = [follow.File(folder, f"ch_{i}", i)
                      for i in range(STREAMS)]
        self.count, self.pause = 0, pause
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._grow)
        self.thread.start()

    def step(self):
        data = ctf.packet(self.count)
        for f in self.files:
            f.data.write(data)
            f.index.write(struct.pack(
                ">9Q", f.size, 8 * len(data), 8 * len(data),
                1000 * self.count, 1000 * self.count + 10, 0, 0, f.instance,
                self.count))
            f.size += len(data)
        self.count += 1

    def _grow(self):
        while not self.is_over.wait(self.pause):
            self.step()

    def end(self):
        if not self.is_over.is_set():
            self.is_over.set()
            self.thread.join()
            for f in self.files:
                f.close()


class Sender:
    """Started again when it ends by a failure, as a service manager does."""

    def __init__(self, daemon, recording, state):
        self.command = [
            follow.PROGRAM, "--follow", "--quiet", "--session=copy",
            "--hostname=h", f"--state={state}", str(recording.dir),
            follow.url(daemon)]
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def keep(self):
        if self.process.poll() is not None:
            self.start()

    def wait(self):
        """Until it ends without a failure."""
        def has_ended():
            if self.process.poll() in (0, None):
                return self.process.poll() == 0
            time.sleep(0.1)
            self.start()
            return False
        wait_until("the sender does not end", has_ended, 60)


def _fix_ports(daemon):
    """The next process of the relay has the same."""
    for letter, port in zip("CDL", (daemon.control_port, daemon.data_port,
                                    daemon.live_port)):
        daemon.command[daemon.command.index(f"-{letter}") + 1] = \
            f"tcp://127.0.0.1:{port}"


def _check_copy(daemon, count):
    """One trace, each packet once; babeltrace2 reads it."""
    (copy,) = follow.copies(daemon)
    folder = copy / follow.TRACE
    want = b"".join(map(ctf.packet, range(count)))
    for i in range(STREAMS):
        numbers = [n for _, _, n in relay.records(folder / f"index/ch_{i}.idx")]
        equal(numbers, list(range(count)), f"records of ch_{i}")
        check((folder / f"ch_{i}").read_bytes() == want,
              f"the packets of ch_{i}")
    equal((folder / "metadata").read_bytes(), ctf.METADATA, "metadata")
    found = ctf.read(copy)
    if found is not None:
        equal(found, (sorted(list(range(count)) * STREAMS), ""), "events")


def _killed(kills, what, options=()):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with relay.Daemon(*options) as daemon:
        _fix_ports(daemon)
        r = Recording(daemon.top)
        s = Sender(daemon, r, daemon.top / "position")
        try:
            for _ in range(kills):
                time.sleep(chance.uniform(0, 0.5))
                victims = chance.choice(what)
                if "relay" in victims:
                    daemon.kill()
                if "sender" in victims:
                    s.kill()
                if "relay" in victims:
                    daemon.start_again()
                s.keep()
            r.end()
            s.wait()
        finally:
            r.end()
            s.kill()
        _check_copy(daemon, r.count)


def sender_is_killed():
    _killed(KILLS, [["sender"]])


def relay_is_killed():
    _killed(KILLS, [["relay"]])


def any_is_killed():
    _killed(KILLS, [["sender"], ["relay"], ["relay", "sender"]])


def any_is_killed_and_nothing_kept():
    """Each time it goes on in the files."""
    _killed(KILLS, [["sender"], ["relay"], ["relay", "sender"]],
            ["--resume-timeout=0"])


def a_viewer_stays():
    """It sees each packet once, though the sender is killed."""
    with relay.Daemon() as daemon:
        r = Recording(daemon.top, 0.02)
        s = Sender(daemon, r, daemon.top / "position")
        try:
            v, _, streams = viewer.attached(
                daemon, "copy", count=STREAMS + 1)
            stream = next(x.id for x in streams if x.channel == "ch_0")
            seen = []
            for kill in 20, 40, 60, 80:
                while len(seen) < kill:
                    index = v.next_index(stream)
                    check(index.status not in (viewer.HUP, viewer.ERR),
                          f"{index}")
                    if index.status == viewer.OK:
                        seen.append(index.begin // 1000)
                s.kill()
                s.start()
            equal(seen, list(range(seen[0], seen[0] + len(seen))), "packets")
            v.close()
            r.end()
            s.wait()
        finally:
            r.end()
            s.kill()
        _check_copy(daemon, r.count)


def a_link_fails():
    """Without a state file, too, it goes on when its connection ends."""
    with relay.Daemon() as daemon:
        _fix_ports(daemon)
        r = Recording(daemon.top)
        with follow._following(daemon, r.dir) as p:
            wait_until("nothing comes", lambda: any(
                (copy / follow.TRACE / "index/ch_0.idx").exists()
                for copy in follow.copies(daemon)))
            daemon.kill()
            time.sleep(0.2)
            daemon.start_again()
            time.sleep(1.5)
            r.end()
        equal(p.returncode, 0, p.complaint)
        check("trying again" in p.complaint, p.complaint)
        equal((p.summary["error"], p.summary["missing"]), (None, 0), "summary")
        _check_copy(daemon, r.count)


if __name__ == "__main__":
    sys.exit(relay.main([n for n in sys.argv[1:] if n != "--long"], at_once=2))
