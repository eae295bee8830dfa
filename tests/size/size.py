#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How large the tree is: what `make size` prints.

usage: size.py SOURCE COMPILER [FLAG...]

Lines are lines of code, without comments and blanks. What a function can
reach comes from the compiler (-fcallgraph-info, gcc), without calls through
pointers and without those into libraries.
"""
import collections
import concurrent.futures
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

DAEMON = ("common", "proto", "ctf", "store", "relayd")
ROOTS = ("writer_write_ready", "viewer_next_index")
STRUCTS = ("stream", "session", "shard", "viewer")

COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.S)
DOCSTRING = re.compile(r'^[ \t]*("""|\'\'\').*?\1[ \t]*$', re.S | re.M)
LIMIT = re.compile(r"^#define (\w+_(?:MAX|LIMIT|DEPTH|SIZE|COUNT|TIME|MS|NS|SECONDS)|MAX_\w+)\s+\S", re.M)
FUNCTION = re.compile(r"^(?P<head>[a-z][^;{}=]*?\b(?P<name>\w+)\([^;{}]*\)\n)\{\n(?P<body>.*?)^\}", re.M | re.S)
FORWARD = re.compile(r"(?:return )?\w+\([^;]*\);")


def files(source, folder, *endings):
    return [p for p in sorted((source / folder).rglob("*"))
            if p.suffix in endings and p.is_file()]


def bare(path):
    """The text without comments."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        text = DOCSTRING.sub("", text)
        return re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)
    return COMMENT.sub(lambda m: m.group(1) or "", text)


def code_lines(paths):
    return sum(1 for p in paths for line in bare(p).splitlines() if line.strip())


def row(name, value):
    print(f"{name:<58} {value}")


def lines(source):
    daemon = [p for d in DAEMON for p in files(source, d, ".c", ".h")]
    row("daemon: lines, files", f"{code_lines(daemon)}, {len(daemon)}")
    for folder in DAEMON:
        some = files(source, folder, ".c", ".h")
        row(f"  {folder}", f"{code_lines(some)}, {len(some)}")
    tools = files(source, "tools", ".c", ".h")
    row("tools: lines, files", f"{code_lines(tools)}, {len(tools)}")
    for folder in sorted(p.name for p in (source / "tools").iterdir() if p.is_dir()):
        some = files(source, f"tools/{folder}", ".c", ".h")
        row(f"  tools/{folder}", f"{code_lines(some)}, {len(some)}")
    c_tests = files(source, "tests", ".c", ".h")
    python = [p for p in (source / "tests").rglob("*") if p.is_file()
              and (p.suffix == ".py" or not p.suffix
                   and p.read_bytes()[:30].startswith(b"#!/usr/bin/env python3"))]
    row("tests: lines of C, of Python",
        f"{code_lines(c_tests)}, {code_lines(python)}")
    return daemon, tools


def functions(daemon, tools):
    lengths, single, forward = [], 0, 0
    for path in daemon + tools:
        for match in FUNCTION.finditer(bare(path)):
            body = [s.strip() for s in match["body"].splitlines() if s.strip()]
            if not body:
                continue
            lengths.append(len(body))
            if path in daemon and "".join(body).count(";") == 1 and "{" not in match["body"]:
                single += 1
                forward += bool(FORWARD.fullmatch(" ".join(body)))
    lengths.sort()
    row("functions: number, median lines, longest",
        f"{len(lengths)}, {statistics.median_low(lengths)}, {lengths[-1]}")
    row("functions of the daemon: one statement, only forward", f"{single}, {forward}")


def texts(source, daemon):
    row("#defines that are limits, in the daemon",
        sum(len(LIMIT.findall(p.read_text())) for p in daemon))
    security = (source / "doc/security.md").read_text()
    row("rows of limits in doc/security.md",
        sum(bool(re.search(r"`[A-Z][A-Z0-9_]{3,}`", line))
            for line in security.splitlines() if line.startswith("|")))
    words = (source / "CONTRIBUTING.md").read_text().split("\n## ")
    glossary = next((part for part in words if part.startswith("Words")), "")
    row("words in the glossary of CONTRIBUTING.md",
        sum(bool(re.match(r"\| [^|]+ \| [^|\s]", line)) for line in glossary.splitlines()))
    pages = [p for p in (source / "doc").rglob("*") if p.suffix in (".md", ".1", ".8")]
    pages += [source / n for n in ("README.md", "NEWS", "CONTRIBUTING.md", "tests/README.md")]
    row("documents: words", sum(len(p.read_text().split()) for p in pages))
    row("doc/design.md: words", len((source / "doc/design.md").read_text().split()))


def members(source):
    for name in STRUCTS:
        for path in files(source, "relayd", ".h", ".c"):
            match = re.search(rf"^struct {name} \{{\n(.*?)^\}}", bare(path), re.M | re.S)
            if match:
                row(f"members of struct {name} ({path.relative_to(source)})",
                    match[1].count(";"))


def compiled(source, path, compiler, folder):
    """What PATH defines (name, place) and calls (caller, called)."""
    out = folder / (str(path.relative_to(source)).replace("/", "+") + ".o")
    subprocess.run([*compiler, "-O0", "-fcallgraph-info", "-w", "-c", str(path),
                    "-o", str(out)], check=True, stderr=subprocess.DEVNULL)
    text = out.with_suffix(".ci").read_text()
    return (re.findall(r'^node: \{ title: "([^"]+)" label: "[^"\\]*\\n([^"\\]+)', text, re.M),
            re.findall(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', text, re.M))


def reach(source, daemon, compiler):
    calls = collections.defaultdict(set)
    defined = {}
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(compiled, source, p, compiler, pathlib.Path(folder))
                for p in daemon if p.suffix == ".c"]
        for job in jobs:
            nodes, edges = job.result()
            for node, place in nodes:
                # A call gives the place of the declaration.
                if ".c:" in place or node not in defined:
                    defined[node] = place
            for caller, called in edges:
                calls[caller].add(called)
    for root in ROOTS:
        node = next((n for n in defined if n.split(":")[-1] == root), None)
        if node is None:
            row(f"reached from {root}()", "no such function")
            continue
        depth, edge = {node: 0}, [node]
        while edge:
            edge = [c for n in edge for c in calls[n]
                    if c in defined and depth.setdefault(c, depth[n] + 1) == depth[n] + 1]
            edge = list(dict.fromkeys(edge))
        # Follow the inline functions of headers without counting them.
        places = {p for p in (defined[n] for n in depth) if ".c:" in p}
        row(f"reached from {root}(): functions, files, depth",
            f"{len(places)}, {len({p.split(':')[0] for p in places})}, {max(depth.values())}")


def main():
    source, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    daemon, tools = lines(source)
    functions(daemon, tools)
    texts(source, daemon)
    members(source)
    reach(source, daemon, compiler)


main()
