# SPDX-License-Identifier: MIT
"""Citations of the protocols: "streaming 4.3" is a heading of
doc/streaming.md, "streaming 9.13" a point of a list below one, "live 6, P1" a
row of a table. And files of the tree, named from the top."""
import os
import re

PAGES = ("streaming", "live", "udp", "resume")

HEADING = re.compile(r"^#+ (\d+(?:\.\d+)*)\.? ")
POINT = re.compile(r"^(\d+)\. ")
ROW = re.compile(r"^\| ([WP]\d+) \|")

# A single number counts only where no noun follows: "live 2)", not "live 2
# sessions".
END = r"(?=(?!,\d)[,;:.)\]\"'`*\0]|\s+(?:and|to|or)\b|\s+-|\s*(?:\0|$))"
ONE = r"(?:\d+(?:\.\d+)+|\d+%s|[WP]\d+)" % END
MORE = r"(?:(?:\s*[,;-]\s*(?:(?:and|or)\s+)?|\s+(?:and|or|to)\s+)" \
       r"(?:points?\s+|sections?\s+)?%s)*" % ONE
CITATION = re.compile(
    r"\b(streaming|live|udp|resume)(?:\.md(?:\]\([^)]*\))?[`,]*)?\s+(?:sections?\s+)?"
    r"(%s%s)" % (ONE, MORE), re.I)
OWN = re.compile(r"\bsections?\s+(%s%s)" % (ONE, MORE))
LABEL = re.compile(r"\b([WP]\d{1,2})\b")
SOURCE = re.compile(
    r"(?<![\w./$-])(?:common|proto|store|relayd|tools|tests|doc)/"
    r"[\w./-]*\w\.(?:c|h|inc|md|py|sh)\b")

C_STRING_OR_COMMENT = re.compile(
    r'"(?:\\.|[^"\\\n])*"|(/\*.*?\*/|//[^\n]*)', re.S)
PYTHON_TEXT = re.compile(r'(""".*?"""|#[^\n]*)', re.S)
HASH_COMMENT = re.compile(r"(#[^\n]*)")
LEADER = re.compile(r"(?<=\n)[ \t]*\*(?!/)|/\*+|//|#")
CODE_BLOCK = re.compile(r"^```.*?^```", re.M | re.S)


class Page:
    """What of a document can be cited."""

    def __init__(self, text):
        self.sections = set()
        self.points = set()     # "9.13"
        self.rows = {}          # "P1" -> "6"
        section, is_code = "", False
        for line in text.split("\n"):
            is_code ^= line.startswith("```")
            heading = HEADING.match(line)
            if is_code:
                continue
            if heading:
                section = heading.group(1)
                self.sections.add(section)
            elif POINT.match(line):
                self.points.add(section + "." + POINT.match(line).group(1))
            elif ROW.match(line):
                self.rows[ROW.match(line).group(1)] = section

    def missing(self, text):
        """Those of "4.6, 4; 6, P1" that are not there."""
        section = ""
        for part in re.findall(r"\d+(?:\.\d+)*|[WP]\d+", text):
            if part in self.rows and section in ("", self.rows[part]):
                continue
            if part in self.sections:
                section = part
            elif part not in self.points \
                    and section + "." + part not in self.points:
                yield part if section == "" or "." in part \
                    else "%s, %s" % (section, part)


def blank(text, filler="\0"):
    """As many characters and the same line ends."""
    return re.sub(r"[^\n]", filler, text)


def prose(path, text):
    """TEXT with zeros in place of what is no comment; offsets stay."""
    if path.endswith((".md", ".1", ".8")):
        return CODE_BLOCK.sub(lambda m: blank(m.group(0)), text)
    if path.endswith((".c", ".h")):
        pattern = C_STRING_OR_COMMENT
    elif path.endswith(".py") or text.startswith("#!/usr/bin/env python"):
        pattern = PYTHON_TEXT
    else:
        pattern = HASH_COMMENT
    kept, end = [], 0
    for match in pattern.finditer(text):
        if match.group(1) is None:
            continue
        kept.append(blank(text[end:match.start()]))
        kept.append(LEADER.sub(lambda m: blank(m.group(0), " "),
                               match.group(1)).replace("*/", "\0\0"))
        end = match.end()
    return "".join(kept) + blank(text[end:])


def pages(base):
    """Name -> Page, of the documents below BASE."""
    found = {}
    for name in PAGES:
        path = os.path.join(base, "doc", name + ".md")
        with open(path, encoding="utf-8") as handle:
            found[name] = Page(handle.read())
    return found


def check(known, path, text):
    """(line, message) for each citation in a file that leads nowhere. KNOWN is
    what pages() found."""
    text = prose(path, text)

    def line(match):
        return text.count("\n", 0, match.start()) + 1

    for match in CITATION.finditer(text):
        name = match.group(1).lower()
        for part in known[name].missing(match.group(2)):
            yield line(match), "no section %s %s: see doc/%s.md" \
                % (name, part, name)
    name = re.fullmatch(r"doc/(%s)\.md" % "|".join(PAGES), path)
    if name is not None:
        for match in OWN.finditer(text):
            for part in known[name.group(1)].missing(match.group(1)):
                yield line(match), "no section %s on this page" % part
    if path.startswith("tests/") or path == "doc/live.md":
        for match in LABEL.finditer(text):
            if match.group(1) not in known["live"].rows:
                yield line(match), "no row %s in doc/live.md" % match.group(1)


def check_files(base, text):
    """(line, message) for each file below BASE that is named, and not there."""
    for match in SOURCE.finditer(text):
        made_from = re.sub(r"\.pb-c\.[ch]$", ".proto", match.group(0))
        if not os.path.exists(os.path.join(base, made_from)):
            yield text.count("\n", 0, match.start()) + 1, \
                "no file %s" % match.group(0)
