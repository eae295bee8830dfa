# SPDX-License-Identifier: MIT
"""Which headers a file may not include, beyond the directions of folders."""
import fnmatch
import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
PRIVATE = re.compile(r"(?:.*/)?(\w+)_internal\.h")

# A private header is of the files whose names begin as its own, or else:
# the names, or their beginnings with a "*", of the files that share it.
MODULES = {
    "conn": ("conn", "conn_*", "conns"),
    "options": ("options", "options_*", "reload"),
    "viewer": ("viewer", "viewer_[!c]*", "viewers"),      # not viewer_conn
}

# (files, headers that they may not include, why).
NOT_INCLUDED = [
    (r"relayd/live/live_objects\.[ch]", r"relayd/(live/)?(viewer|live_worker)\w*\.h",
     "what can be seen does not know who looks"),
]


def is_of_module(path, header):
    """Is the file one of those that share this private header?"""
    folder, name = os.path.split(header)
    module = PRIVATE.fullmatch(name).group(1)
    if path.startswith("tests/fuzz/"):
        return True
    if path.startswith("tests/"):  # of the same folder: they look inside
        return os.path.basename(os.path.dirname(path)) in folder.split("/")
    name = os.path.splitext(os.path.basename(path))[0]
    return os.path.dirname(path) == folder and any(
        fnmatch.fnmatchcase(name, pattern) for pattern in
        MODULES.get(module, (module, module + "_*")))


def check(path, text):
    """Pairs of a line number and what is wrong there."""
    for match in INCLUDE.finditer(text):
        header = match.group(1)
        line = text.count("\n", 0, match.start(1)) + 1
        if PRIVATE.fullmatch(header) and not is_of_module(path, header):
            yield line, "\"%s\" is private to its module" % header
        for files, headers, why in NOT_INCLUDED:
            if re.fullmatch(files, path) and re.fullmatch(headers, header):
                yield line, "\"%s\": %s" % (header, why)
