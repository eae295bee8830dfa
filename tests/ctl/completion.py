#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Completions, by bash and zsh themselves; and both know every command and
option."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import program
import relay
from program import pretended
from relay import SOURCE, check, equal

FOLDER = SOURCE / "tools/ctl/completion"
BASH, ZSH = FOLDER / "bash/tracepulse", FOLDER / "zsh/_tracepulse"
NAMES = ["web", "we've", "we$(touch /tmp/tracepulse-pwned)", "we`id`", "we b",
         "web-2", "-n"]



def completed(line, url):
    """What bash offers at the end of LINE."""
    script = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              '_tracepulse; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(
        ["bash", "-uc", script, "bash", str(BASH), *line],
        env=program.environment(
            url, PATH=os.path.dirname(program.PROGRAM) + ":" +
            os.environ["PATH"]), capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), f"{line}: status")
    return [x for x in done.stdout.splitlines() if x]


def words():
    """Commands, options of each, values."""
    url = "http://127.0.0.1:1"
    text = (SOURCE / "tools/ctl/commands.tbl.h").read_text(encoding="utf-8")
    commands = re.findall(r"^COMMAND\((\w+)", text, re.M)
    equal(set(commands) - set(completed(["tracepulse", ""], url)), set(),
          "commands")
    equal(completed(["tracepulse", "stat"], url), ["status"], "one")
    equal(completed(["tracepulse", "help", "wa"], url), ["watch"], "help")
    check("--long" in completed(["tracepulse", "ls", "-"], url), "ls")
    equal(completed(["tracepulse", "top", "--so"], url), ["--sort="], "option")
    equal(completed(["tracepulse", "top", "--sort", "=", "re"], url),
          ["received"], "value")
    equal(completed(["tracepulse", "top", "-s", "lo"], url), ["lost"], "value")
    equal(completed(["tracepulse", "show", "x"], url), [], "no relay")
    equal(completed(["tracepulse", "status", "--l"], url), [],
          "not an option of it")


def every_option():
    """No command offers what it refuses, or lacks what it takes."""
    rows = dict(re.findall(r"^OPTION\((\w+), \S+ \"([a-z-]+)\"", (
        SOURCE / "tools/ctl/options.tbl.h").read_text(encoding="utf-8"), re.M))
    check(len(rows) > 15, rows)
    text = (SOURCE / "tools/ctl/commands.tbl.h").read_text(encoding="utf-8")
    zsh = ZSH.read_text(encoding="utf-8")
    for name, body in re.findall(r"^COMMAND\((\w+),(.*?)\)$", text,
                                 re.M | re.S):
        want = {rows[i] for i in re.findall(r"HAS\((\w+)\)", body)}
        want |= {"url", "timeout", "help", "version"}
        got = {x.strip("-=") for x in completed(
            ["tracepulse", name, "--"], "http://127.0.0.1:1")}
        equal(got, want, f"bash, {name}")
        part = re.search(rf"^        {name}(?:\|ls)?\)(.*?);;", zsh,
                         re.M | re.S)[1]
        equal(set(re.findall(r"--([a-z-]+)=?[\[}]", part)),
              want - {"url", "timeout", "help", "version"}, f"zsh, {name}")


def names():
    """Names of sessions are offered; a shell never runs one."""
    all_of = [{"id": i + 1, "host": "box", "name": n}
              for i, n in enumerate(NAMES)]

    def answer(_, path, query):
        if path == "/api/v1/stored":
            return {"stored": [{"host": e["host"], "session": e["name"]}
                               for e in all_of[:2] + all_of], "next": None}
        return {"sessions": all_of, "next": None}

    with pretended(answer) as (url, asked):
        equal(sorted(completed(["tracepulse", "watch", "we"], url)),
              ["web", "web-2"], "names")
        equal(asked[-1][2].get("state"), "active", "those that are open")
        equal(sorted(completed(["tracepulse", "show", "box/"], url)),
              ["box/-n", "box/web", "box/web-2"], "with their host")
        equal(sorted(completed(["tracepulse", "keep", "we"], url)),
              ["web", "web-2"], "stored, each once")
        equal(asked[-1][1], "/api/v1/stored", "those that are stored")
        check(not os.path.exists("/tmp/tracepulse-pwned"), "a name was run")


def zsh():
    """zsh reads its file, and its function is there."""
    if not relay.has("zsh", "zsh"):
        return
    done = subprocess.run(
        ["zsh", "-fc", "fpath=($1 $fpath); autoload -Uz compinit; "
         "compinit -u -D; print -r -- $_comps[tracepulse]; "
         "autoload +X _tracepulse && print loaded", "zsh", str(ZSH.parent)],
        capture_output=True, text=True)
    equal(done.stdout.split(), ["_tracepulse", "loaded"], done.stderr)
    # What keep offers: the names that are stored, each once.
    items = [{"host": "box", "session": n} for n in ("web", "web", "we b")]
    with pretended(lambda *_: {"stored": items, "next": None}) as (url, _):
        done = subprocess.run(
            ["zsh", "-fc", "_arguments() { : }; compadd() { print -rl -- $@ }; "
             "source $1; _tracepulse_stored", "zsh", str(ZSH)],
            env=program.environment(
                url, PATH=os.path.dirname(program.PROGRAM) + ":" +
                os.environ["PATH"]), capture_output=True, text=True)
    equal(done.stdout.splitlines(),
          ["--", "box/web", "box/we b", "web", "we b"], done.stderr)


CASES = [words, every_option, names, zsh]


if __name__ == "__main__":
    sys.exit(relay.run(CASES, sys.argv[1:]))
