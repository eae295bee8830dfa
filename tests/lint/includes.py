# SPDX-License-Identifier: MIT
"""Which headers a file may not include, beyond the directions of folders."""
import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
PRIVATE = re.compile(r"(?:.*/)?(\w+)_internal\.h")

# The files of a module begin with its name. These do not, and are of it: ...
ALSO = {"relayd/desk.c": "relayd/conn"}
# ... and these do, and are modules of their own.
APART = ("relayd/viewer_conn.",)

# (files, headers that they may not include, why).
NOT_INCLUDED = [
    (r"relayd/gallery\.[ch]", r"relayd/(viewer|live_worker)\w*\.h",
     "what can be seen does not know who looks"),
]


def is_of_module(path, header):
    """Is the file one of those that share this private header?"""
    folder, name = os.path.split(header)
    module = os.path.join(folder, PRIVATE.fullmatch(name).group(1))
    if path.startswith("tests/"):  # of the same folder: they look inside
        return os.path.basename(os.path.dirname(path)) \
            == os.path.basename(folder)
    return ALSO.get(path) == module \
        or path.startswith(module) and not path.startswith(APART)


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
