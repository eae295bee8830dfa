#!/bin/sh
# SPDX-License-Identifier: MIT
# systemd understands every line of the units, and they start our programs.
set -eu
relay=relayd/tracepulse-relayd.service
capture=tools/capture/tracepulse-capture@.service
command -v systemd-analyze >/dev/null && [ -f "$relay" ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check UNIT PROGRAM AS
check()
{
	# Not installed yet: the program stands here.
	sed "s|^ExecStart=[^ ]*/|ExecStart=$PWD/|" "$1" >"$work/$3"
	grep -q "^ExecStart=$PWD/$2 " "$work/$3"
	systemd-analyze verify --man=no "$work/$3" >"$work/said" 2>&1 ||
	    { cat "$work/said"; exit 1; }
	# Of ours only: it reads the units of the system, too.
	if grep -F "${3%%.*}" "$work/said"; then
		exit 1
	fi
}

check "$relay" tracepulse-relayd tracepulse-relayd.service
# Where it was built; on an interface that every machine has.
if [ -x tracepulse-capture ]; then
	check "$capture" tracepulse-capture tracepulse-capture@lo.service
fi
