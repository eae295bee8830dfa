# SPDX-License-Identifier: MIT
"""Every member of a struct that has a table for restarts (common/state.h) is in
that table, in the order of the struct: who adds a member says whether it moves to
the next process. What members there are says the compiler."""
import concurrent.futures
import os
import re
import subprocess

TABLE = re.compile(r"STATE_TABLE\(\s*\w+,\s*(struct \w+),\s*(\w+)\s*\)")
MEMBER = re.compile(r"STATE_\w+\(\s*(struct \w+),\s*(\w+)")
RECORD = re.compile(r"^\s*0 \| (struct \w+)$")
FIELD = re.compile(r"^\s*\d+(?::[\d-]+)? \|   (?! )(.*?)(\w+)$")


def layouts(base, path):
    """{struct: [member]} of what the file PATH uses."""
    done = subprocess.run(
        ["clang", "-fsyntax-only", "-std=gnu11", "-D_GNU_SOURCE", "-I.",
         "-Irelayd/http", "-w", "-Xclang", "-fdump-record-layouts", path],
        cwd=base, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        check=False)
    if done.returncode != 0:
        raise OSError("clang: " + done.stderr.strip()[-300:])
    found, members = {}, None
    for line in done.stdout.splitlines():
        record = RECORD.match(line)
        if record:
            members = found.setdefault(record[1], [])
            del members[:]
            continue
        field = FIELD.match(line)
        if field and members is not None:
            members.append(field[2])
        elif " | [sizeof" in line:
            members = None
    return found


def check_file(base, path):
    """What is wrong with the tables of PATH."""
    with open(os.path.join(base, path), encoding="utf-8") as f:
        text = f.read()
    tables = TABLE.findall(text)
    if not tables:
        return []
    known, wrong = layouts(base, path), []
    for struct, array in tables:
        begin = re.search(r"struct state_member %s\[\] = \{(.*?)\n\};" % array,
                          text, re.S)
        listed = [name for owner, name in MEMBER.findall(begin[1])
                  if owner == struct] if begin else []
        if not known.get(struct):
            wrong.append(f"the compiler does not know {struct}")
        elif listed != known[struct]:
            wrong += [f"{struct}: {name} is not in its table "
                      "(STATE_KEEP, STATE_DROP ...; common/state.h)"
                      for name in known[struct] if name not in listed]
            wrong += [f"{struct} has no member {name}"
                      for name in listed if name not in known[struct]]
            if sorted(listed) == sorted(known[struct]):
                wrong.append(f"{struct}: the table has another order")
    return wrong


def check(base, paths):
    """[(path, what is wrong with its tables)]"""
    sources = [p for p in paths if p.endswith(".c")
               and p.startswith(("common/", "ctf/", "proto/", "store/",
                                 "relayd/"))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(lambda p: check_file(base, p), sources))
    return [(path, line) for path, lines in zip(sources, done)
            for line in lines]

