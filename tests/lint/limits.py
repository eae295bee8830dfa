# SPDX-License-Identifier: MIT
"""The limits in doc/security.md have the values of the source, and none of them is
gone. Each option of the daemon that takes a number, a size or a time is there; a
macro need not be: one that only a developer would change belongs to its header.

A limit is a macro whose name ends as LIMIT says."""
import os
import re

PAGE = "doc/security.md"
HEAD = "## Limits"
FOLDERS = ("common", "ctf", "proto", "store", "relayd", "tools/ftrace",
           "tools/capture", "tools/kafka", "tools/plugin", "tools/send",
           "tools/sink")
OPTIONS = "relayd/process/options.tbl.h"

LIMIT = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+"
    r"(\w+_(?:MAX|MS|NS|S|BYTES|LINES|SLICE|FDS))[ \t]+((?:.*\\\n)*.+)$", re.M)
OPTION = re.compile(
    r'^OPTION\(\w+, [^,]+, "([a-z-]+)", "(?:N|SIZE|TIME)",.*?\[([^]]*)\]"\)',
    re.M | re.S)

UNITS = {"k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def value_of(text, known):
    """A number, of an expression in C; None: no such expression."""
    text = re.sub(r"/\*.*?\*/|\\\n", " ", text, flags=re.S)
    text = re.sub(r"\(u?int\d+_t\)|\(size_t\)", "", text)
    text = re.sub(r"UINT64_C\((\d+)\)", r"\1", text)
    text = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", text)
    text = re.sub(r"[A-Z]\w+", lambda m: str(known.get(m.group(0), m.group(0))),
                  text)
    if not re.fullmatch(r"[\d\s()*/+<>-]+", text):
        return None
    return eval(text.replace("/", "//"), {"__builtins__": {}})  # digits only


def forms(name, value):
    """How the page may say VALUE."""
    said = {f"{value:,}"}
    if name.endswith("_NS"):
        said = {f"{value / 10**9:g} s", f"{value / 10**6:g} ms"}
    elif name.endswith("_MS"):
        said = {f"{value} ms", f"{value / 1000:g} s"}
    elif name.endswith("_S"):
        said = {f"{value} s"}
    else:
        for unit, size in UNITS.items():
            if value % size == 0:
                said.add(f"{value // size} {unit.upper()}iB")
    return said


def sources(base):
    """The text of each."""
    for top in FOLDERS:
        for folder, _, files in sorted(os.walk(os.path.join(base, top))):
            for name in sorted(files):
                if name.endswith((".c", ".h")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as handle:
                        yield handle.read()


def limits(base):
    """All of them: name, value or None."""
    found, known = [], {"UINT32_MAX": 2**32 - 1, "PATH_MAX": 4096}
    for text in sources(base):
        for match in LIMIT.finditer(text):
            found.append((match.group(1), match.group(2)))
    for _ in range(4):      # some are made of others
        for name, text in found:
            value = value_of(text, known)
            if value is not None:
                known.setdefault(name, value)
    known["NS_PER_S"], known["NS_PER_MS"] = 10**9, 10**6
    return [(name, value_of(text, known)) for name, text in found]


def options(base):
    """Pairs of the name of an option that is a limit, and its default."""
    with open(os.path.join(base, OPTIONS), encoding="utf-8") as handle:
        return [("--" + name, default)
                for name, default in OPTION.findall(handle.read())]


def rows(base):
    """The table: lines of the page behind HEAD, by number."""
    with open(os.path.join(base, PAGE), encoding="utf-8") as handle:
        lines = handle.read().split("\n")
    at = lines.index(HEAD) if HEAD in lines else len(lines)
    return {number: line for number, line in enumerate(lines, 1)
            if number > at + 1 and line.startswith("| ")}


def plain(text):
    """2 MiB and 2M are one."""
    return re.sub(r"(?<=\d) (?:([kKMG])iB|(s|ms|h)\b)",
                  lambda m: (m.group(1) or m.group(2)).upper()
                  if m.group(1) else m.group(2), text)


def check(base):
    """What is wrong: path, line, message."""
    table = rows(base)
    named = {}
    for number, line in table.items():
        for name in re.findall(r"`(--[a-z-]+|[A-Z][A-Z0-9_]+)`", line):
            named.setdefault(name, []).append((number, line))
    known = set()
    for name, value in limits(base):
        known.add(name)
        if name not in named:
            continue
        own = [row for _, row in named[name]
               if row.split("|")[1].strip().startswith("`%s`" % name)]
        if value is not None and own and not any(
                form in row for row in own for form in forms(name, value)):
            yield PAGE, named[name][0][0], "%s is %s" \
                % (name, " or ".join(sorted(forms(name, value))))
    for name, default in options(base):
        known.add(name)
        if name not in named:
            yield OPTIONS, 1, "%s: not in the limits of %s" % (name, PAGE)
        elif not any(plain(default) in plain(row) for _, row in named[name]):
            yield PAGE, named[name][0][0], "%s is [%s]" % (name, default)
    with open(os.path.join(base, OPTIONS), encoding="utf-8") as handle:
        known.update("--" + name for name in
                     re.findall(r'^OPTION\(\w+, [^,]+, "([a-z-]+)"',
                                handle.read(), re.M))
    for text in sources(base):
        known.update(re.findall(r"\b[A-Z][A-Z0-9_]+\b", text))
    for name in sorted(set(named) - known):
        for number, row in named[name]:
            what = row.split("|")[1].strip()
            # Another program's options stand beside their limits.
            if what == "`%s`" % name or \
                    (not name.startswith("--") and "`%s`" % name in what):
                yield PAGE, number, "%s is gone" % name
