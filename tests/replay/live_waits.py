#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long others wait while viewers misbehave (live 5, W2; live 7, 5 and 6):
a good writer and a good viewer are at work all the time, in a thread of their
own, and each of their waits is measured.

Arguments: cases by name, all if none.
"""
import contextlib
import os
import random
import signal
import statistics
import sys
import threading
import time

import relay
import viewer
from relay import check, equal
from viewer import Live, Watched, clients, greeted, ids

BIG = 16 << 20  # more than the sockets between hold
# On two busy cores and with sanitizers, where threads stand still for seconds;
# who waits for somebody else's silence waits longer.
MEDIAN_S, WORST_S = 0.25, 10.0


class AtWork:
    """Packet after packet is written, read by a viewer, and the sessions are
    listed; how long each took."""

    def __init__(self, daemon):
        self.good = Watched(daemon, "at-work")
        self.took, self.failure = [], None
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def _work(self):
        try:
            while not self.is_over.wait(0.003):
                began = time.monotonic()
                self.good.step(1)
                self.good.viewer.find("at-work")
                self.took.append(time.monotonic() - began)
        except (relay.Failed, OSError) as e:
            self.failure = e

    def goes_on(self, steps=30):
        """Until so many more are done, whatever the others do."""
        wanted = len(self.took) + steps
        until = time.monotonic() + relay.TIMEOUT
        while len(self.took) < wanted:
            check(self.failure is None, f"the bystanders: {self.failure!r}")
            check(time.monotonic() < until,
                  f"{wanted - len(self.took)} of {steps} packets are missing")
            time.sleep(0.002)

    def stop(self):
        self.is_over.set()
        self.thread.join(3 * relay.TIMEOUT)
        check(not self.thread.is_alive(), "the bystanders hang")
        check(self.failure is None, f"the bystanders: {self.failure!r}")

    def finish(self):
        self.stop()
        median, worst = statistics.median(self.took), max(self.took)
        print(f"  {len(self.took)} times, median {1000 * median:.1f} ms, "
              f"worst {1000 * worst:.1f} ms")
        check(median < MEDIAN_S and worst < WORST_S,
              f"median {median:.3f} s, worst {worst:.3f} s")
        self.good.finish()


@contextlib.contextmanager
def at_work(daemon):
    bystanders = AtWork(daemon)
    try:
        yield bystanders
    except BaseException:
        bystanders.is_over.set()
        bystanders.thread.join()
        raise
    bystanders.finish()


def data_stream(v, title):
    """Attached to the session of that name, with an index: its stream."""
    stream, _ = ids(v.ready(v.find(title).id))
    equal(v.next_index(stream).status, viewer.OK, "index")
    return stream


def no_client(daemon, title):
    relay.wait_until(f"still a client: {title}",
                     lambda: clients(daemon, title) <= 0)


def big_session(daemon):
    s = Live(daemon, "big")
    s.packets(1, BIG, 0)
    return s


def some_stand_still(daemon):
    """Half requests, and big packets and listings that nobody reads."""
    crowd = []
    for n in range(30):
        v = greeted(daemon)
        if n % 3 == 0:
            v.send(viewer.packet_request(data_stream(v, "big"), 0, BIG))
        elif n % 3 == 1:
            v.send(viewer.packet_request(1, 0, 1)[:1 + n])
        else:
            v.sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                v.sock.send(viewer.frame(viewer.LIST) * 50_000)
        crowd.append(v)
    return crowd


def nobody_waits_for_the_still():
    with relay.Daemon() as daemon, at_work(daemon) as work:
        s = big_session(daemon)
        crowd = some_stand_still(daemon)
        work.goes_on()
        for v in crowd:
            v.reset()
        no_client(daemon, "big")
        s.finish()


def nobody_waits_for_the_busy():
    """Listings, attachments, packets of 16 MiB as fast as they come, and
    connections that come and go."""
    with relay.Daemon() as daemon, at_work(daemon) as work:
        s = big_session(daemon)
        reader = greeted(daemon)
        stream = data_stream(reader, "big")
        before, until = len(work.took), time.monotonic() + 1.5
        while time.monotonic() < until or len(work.took) < before + 20:
            check(time.monotonic() < until + relay.TIMEOUT,
                  "the bystanders stand still")
            equal(reader.packet(stream, 0, BIG)[0], viewer.PACKET_OK, "big")
            for _ in range(10):
                v = greeted(daemon)
                data_stream(v, "big")
                v.reset()
        reader.close()
        no_client(daemon, "big")
        s.finish()


def read_for_ever(daemon):
    while True:
        v = greeted(daemon)
        stream = data_stream(v, "big")
        v.packet(stream, 0, BIG)
        for _ in range(4):
            v.next_index(stream)    # the last one is held
        v.close()


def in_a_process(work, *arguments):
    """Its pid."""
    pid = os.fork()
    if pid == 0:
        try:
            work(*arguments)
        finally:
            os._exit(1)
    return pid


def killed(pid):
    os.kill(pid, signal.SIGKILL)
    equal(os.waitpid(pid, 0)[1], signal.SIGKILL, "it ended by itself")


def killed_at_any_moment():
    """kill -9 of a viewer: its place is free at once, nothing is left."""
    with relay.Daemon() as daemon, at_work(daemon) as work:
        s = big_session(daemon)
        work.goes_on(2)         # all that it needs is open
        clients(daemon, "big")
        before = daemon.descriptors()
        chance = random.Random(11)
        for _ in range(40):
            pid = in_a_process(read_for_ever, daemon)
            time.sleep(chance.random() * 0.06)
            killed(pid)
            no_client(daemon, "big")
            work.goes_on(1)
        relay.wait_until(lambda: f"{daemon.descriptors() - before} "
                         "descriptors are left",
                         lambda: daemon.descriptors() <= before)
        s.finish()


def stopped_in_mid_packet():
    """SIGSTOP of viewers that read all the time: memory is bounded, no other client
    waits, and they continue where they were."""
    with relay.Daemon() as daemon, at_work(daemon) as work:
        s = big_session(daemon)
        pids = [in_a_process(read_for_ever, daemon) for _ in range(8)]
        try:
            time.sleep(0.5)
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            work.goes_on()
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
            time.sleep(0.5)
            for pid in pids:
                equal(os.waitpid(pid, os.WNOHANG), (0, 0), "ended by itself")
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    killed(pid)
        no_client(daemon, "big")
        s.finish()


if __name__ == "__main__":
    sys.exit(relay.main())
