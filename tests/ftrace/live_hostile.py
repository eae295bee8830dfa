#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recorders with the worst metadata that is accepted, while others are live on a relay:
what one costs is bounded."""
import contextlib

import dat_file
from sender import Sender, check, listening, run, wait_until
from relay import Daemon

# A text of 54 MB needs 64 MiB, of which one host has 512.
TEXT, HALF = 50 * 10 ** 6, 7


@contextlib.contextmanager
def live(*options, **more):
    """A relay, and a listener that sends to it."""
    with Daemon() as relay, listening(
            f"--relay=net://127.0.0.1:{relay.control_port}:{relay.data_port}",
            *options, **more) as listener:
        yield relay, listener


def names_again_and_again():
    """As many events and fields as are allowed, all of one name, do not delay
    others."""
    m = dat_file.Maker()
    whole = m.metadata_v6(
        [], {"a": m.many(512, "__data_loc u8[] " + 127 * "x")}, 1)
    with live() as (relay, listener):
        before = listener.cpu_seconds()
        bad = Sender(listener).begin_with(whole, 1, dat_file.PAGE)
        bad.pages(0, m.page(1000, m.entry(m.event(1511, bytes(4)), 1)))
        wait_until("an event", lambda: any(
            p.stat().st_size > 0 for p in relay.out.glob(
                "target/*/kernel/cpu_0")), 60)
        used = listener.cpu_seconds() - before
        check(used < 15, f"{used:.1f} s of CPU")
        bad.close()
        listener.wait_files(1)


def memory_of_metadata():
    """The largest text that metadata can become, which stays in memory for another
    session: one host gets half of the memory, others are live, and a recorder
    that ends leaves its part."""
    m = dat_file.Maker()
    page = m.page(1000, m.entry(m.event(1511, bytes(4)), 1))
    whole = m.file_v7([], {"a": m.many(512, "__data_loc u8[] " + 123 * "x" +
                                       "%d")}, {"": [[]]}, packing="zlib")
    with live() as (relay, listener):
        def begin(source="127.0.0.1"):
            sender = Sender(listener, source).begin_with(
                whole, 1, dat_file.PAGE)
            wait_until("its metadata", lambda:
                       told(sender, "metadata of"), 60)
            return sender

        def told(sender, words):
            port = sender.name.partition(":")[2]
            return f":{port}: {words}" in listener.log()

        def is_live(sender):
            return not told(sender, "no memory is left for its metadata")

        senders = [begin() for _ in range(HALF)]
        check(all(map(is_live, senders)), "they are live")
        senders.append(begin())
        check(not is_live(senders[-1]), "one more is live, too")
        senders.append(begin("127.0.0.2"))
        check(is_live(senders[-1]), "another host is live")
        for sender in senders:
            sender.pages(0, page)
        wait_until("the relay has them", lambda: sum(
            p.stat().st_size > TEXT for p in relay.out.glob(
                "target/*/kernel/metadata")) == HALF + 1, 60)
        senders[0].close()
        wait_until("its session's end", lambda: told(
            senders[0], "1 events live in"))
        senders[0] = begin()
        check(is_live(senders[0]), "there is room again")
        for sender in senders:
            sender.close()
        listener.wait_files(HALF + 3)


CASES = (names_again_and_again, memory_of_metadata)

if __name__ == "__main__":
    run(CASES, at_once=2)
