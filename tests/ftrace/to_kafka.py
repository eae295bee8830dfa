#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A kernel trace is converted to a topic of a mock cluster; what a directory
has from there is the same as what is converted to a directory."""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
import convert
from sender import equal, part, run
from relay import wait_until

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "send"))
from kafka import Cluster, Sender

NAME = "v6-tcp-missed"


def contents(folder):
    """path -> bytes of each file below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes()
            for p in folder.rglob("*") if p.is_file()}


def a_topic_has_the_same():
    with convert.converted(part(NAME, "result")) as (top, _), \
            Cluster() as cluster:
        convert.convert(convert.recording(NAME), "--session=kernels",
                        f"--relay={cluster.url()}")
        config = top / "member.conf"
        config.write_text("session.timeout.ms=6000\nfetch.wait.max.ms=50\n")
        archive = top / "archive"
        want = contents(top / "out")

        def has_all():
            return [contents(f / "kernel") for f in
                    archive.glob("target/kernels-*")] == [want]
        with Sender("--group=archive", f"--kafka-config={config}",
                    cluster.url(), archive) as sender:
            wait_until("the archive", has_all, 60)
            sender.stop()


def what_is_refused():
    base = convert.recording(NAME)
    for arguments, words in (
            ([base, "kafka://localhost/t"], "a directory is required"),
            ([base, "--relay=kafka://localhost"], "kafka://localhost: "),
            ([base, "--relay=net://localhost", "--kafka-config=f"],
             "--kafka-config requires a kafka:// URL")):
        done = convert.convert(*arguments, status=2)
        equal(words in done.stderr, True, done.stderr)


CASES = a_topic_has_the_same, what_is_refused

if __name__ == "__main__":
    run(CASES)
