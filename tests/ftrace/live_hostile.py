#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recorders whose metadata is as bad as it may be, where others are live on a
relay, too: what one costs is bounded."""
import contextlib

import dat_file
from sender import Sender, check, listening, run, wait_until
from relay import Daemon


@contextlib.contextmanager
def live(*options, **more):
    """A relay, and a listener that sends to it."""
    with Daemon() as relay, listening(
            f"--relay=net://127.0.0.1:{relay.control_port}:{relay.data_port}",
            *options, **more) as listener:
        yield relay, listener


def names_again_and_again():
    """As many events and fields as there may be, all of one name, do not hold up
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


CASES = (names_again_and_again,)

if __name__ == "__main__":
    run(CASES)
