#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The commands of doc/readers.md, as they are printed there, in an empty
directory: those for programs that Debian has."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import program
import relay
import tail
from program import SOURCE, url_of
from relay import check, equal
import ctf_trace
import plugin

PAGE = SOURCE / "doc/readers.md"


def printed(title):
    """The commands below a heading."""
    text = PAGE.read_text(encoding="utf-8")
    part = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.findall("^```bash\n(.*?)^```$", part, re.M | re.S)


def start(command, work, url, **names):
    """The shell, which has tracepulse of the build in its PATH."""
    path = os.path.dirname(program.PROGRAM) + ":" + os.environ["PATH"]
    shell = {k: v for k, v in tail.VARIABLES.items() if k != "LD_PRELOAD"}
    if "LD_PRELOAD" in tail.VARIABLES:
        # Only babeltrace2 needs it; jq and sqlite3 are not ours.
        (pathlib.Path(work) / "bin").mkdir(exist_ok=True)
        wrapped = pathlib.Path(work) / "bin/babeltrace2"
        wrapped.write_text(
            f"#!/bin/sh\nLD_PRELOAD={tail.VARIABLES['LD_PRELOAD']} "
            f"exec {shutil.which('babeltrace2')} \"$@\"\n", encoding="ascii")
        wrapped.chmod(0o755)
        path = f"{wrapped.parent}:{path}"
    return subprocess.Popen(
        ["bash", "-o", "pipefail", "-euc", command], cwd=work,
        env=program.environment(url, PATH=path, **shell, **names),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)


def end(shell):
    try:
        out, err = shell.communicate(timeout=60)
    finally:
        shell.kill()
    equal((shell.returncode, err), (0, ""), out)
    return out


def piped(command, work, events):
    """What the command prints of a live session with these events."""
    with relay.Daemon() as daemon:
        live = tail.Live(daemon)
        shell = start(command, work, url_of(daemon), SESSION="box/app")
        try:
            tail.attached(daemon, "app")
            live.send(*events)
            live.end()
        except relay.Failed:
            shell.kill()
            raise
        return end(shell)


def has(name):
    if shutil.which(name) is None:
        print(f"SKIP: there is no {name}")
        return False
    return True


def jq():
    if not has("jq"):
        return
    command, = printed("jq")
    with tempfile.TemporaryDirectory() as work:
        out = piped(command, work, ["u8", "enum", "u16"])
        lines = [json.loads(x) for x in out.splitlines()]
        equal([x[1] for x in lines], ["u8", "enum", "u16"], out)
        check(all(x[0].startswith("2023-11-14T22:15:00.") for x in lines), out)
        equal(list(lines[1][2]["v"]), ["label", "value"], out)


def sqlite():
    if not has("sqlite3"):
        return
    load, query = printed("SQLite")
    with tempfile.TemporaryDirectory() as work:
        # Quotes and separators within the records, too.
        names = ["u8"] * 3 + ["strings"] * 2 + ["names:with \\\"odd\\\" name"]
        equal(piped(load, work, names), "", "quiet")
        equal(piped(load, work, names), "", "again")
        out = end(start(query, work, "http://127.0.0.1:1"))
        equal([x.split("|")[:2] for x in out.splitlines()],
              [["u8", "6"], ["strings", "4"], ['names:with "odd" name', "2"]],
              out)


def perfetto():
    if subprocess.run(["babeltrace2", "help", "sink.tracepulse.perfetto"],
                      env={**os.environ, **tail.VARIABLES},
                      capture_output=True, check=False).returncode != 0:
        print("SKIP: the plug-in was built without Perfetto")
        return
    command, = printed("Perfetto")
    with tempfile.TemporaryDirectory() as work:
        ctf_trace.write(pathlib.Path(work) / "t")
        end(start(command, work, "http://127.0.0.1:1", TRACE="t"))
        want = pathlib.Path(work) / "want"
        done = plugin.babeltrace2(pathlib.Path(work) / "t", sink="perfetto",
                                  params=f'path="{want}"')
        equal(done.returncode, 0, done.stderr)
        check(want.stat().st_size > 1000, "empty")
        equal((pathlib.Path(work) / "trace.pftrace").read_bytes(),
              want.read_bytes(), "file")


if __name__ == "__main__":
    if shutil.which("babeltrace2") is None:
        print("SKIP: there is no babeltrace2")
        sys.exit(77)
    sys.exit(relay.run((jq, sqlite, perfetto), sys.argv[1:]))
