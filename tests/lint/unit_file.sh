#!/bin/sh
# SPDX-License-Identifier: MIT
# systemd understands every line of the unit, and it starts our program.
set -eu
unit=relayd/tracepulse-relayd.service
command -v systemd-analyze >/dev/null && [ -f "$unit" ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Not installed yet: the program stands here.
sed "s|^ExecStart=[^ ]*/|ExecStart=$PWD/|" "$unit" >"$work/${unit##*/}"
grep -q "^ExecStart=$PWD/tracepulse-relayd " "$work/${unit##*/}"
systemd-analyze verify --man=no "$work/${unit##*/}" >"$work/said" 2>&1 ||
    { cat "$work/said"; exit 1; }
# Of ours only: it reads the units of the system, too.
if grep -F "${unit##*/}" "$work/said"; then
	exit 1
fi
