#!/bin/sh
# SPDX-License-Identifier: MIT
# systemd understands every line of the units, and they start our programs.
set -eu
srcdir=${srcdir:-.}
relay=relayd/systemd/tracepulse-relayd.service
capture=tools/capture/tracepulse-capture@.service
recipes=$srcdir/doc/ops/tls
if ! command -v systemd-analyze >/dev/null; then
	echo "SKIP: there is no systemd-analyze"
	exit 77
elif [ ! -f "$relay" ]; then
	echo "SKIP: this build makes no units"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check UNIT PROGRAM AS
check()
{
	# Not installed yet: the program stands here.
	sed -e "s|^ExecStart=[^ ]*/|ExecStart=$PWD/|" \
	    -e "s|^ExecReload=[^ ]*/$2 |ExecReload=$PWD/$2 |" "$1" >"$work/$3"
	grep -q "^ExecStart=$PWD/$2 " "$work/$3"
	systemd-analyze verify --man=no "$work/$3" >"$work/said" 2>&1 ||
	    { cat "$work/said"; exit 1; }
	# Of ours only: it reads the units of the system, too.
	if grep -F "${3%%.*}" "$work/said"; then
		exit 1
	fi
}

check "$relay" tracepulse-relayd tracepulse-relayd.service
for socket in "$srcdir"/relayd/systemd/*.socket; do
	cp "$socket" "$work"
done
systemd-analyze verify --man=no "$work"/*.socket >"$work/said" 2>&1 ||
	{ cat "$work/said"; exit 1; }
if grep -F tracepulse "$work/said"; then
	exit 1
fi

# Little that they may do to the machine: 1.5 of 10, or less. Older systemd
# cannot say of a file.
secure()
{
	if systemd-analyze security --help 2>&1 | grep -q -e --offline; then
		systemd-analyze security --no-pager --offline=true \
			--threshold=15 "$work/$1" >"$work/said" 2>&1 ||
			{ cat "$work/said"; exit 1; }
	fi
}

secure tracepulse-relayd.service
# Where it was built; on an interface that every machine has.
if [ -x tracepulse-capture ]; then
	check "$capture" tracepulse-capture tracepulse-capture@lo.service
fi
check tools/ftrace/tracepulse-ftrace.service tracepulse-ftrace \
	tracepulse-ftrace.service
for unit in tracepulse-ftrace-broker.service \
	tracepulse-ftrace-connect@web1.service; do
	check "tools/ftrace/$(echo "$unit" | sed 's/@.*\./@./')" \
		tracepulse-ftrace "$unit"
	secure "$unit"
done
check tools/send/tracepulse-send@.service tracepulse-send \
	tracepulse-send@chain.service
secure tracepulse-send@chain.service
# These are copied as they are. Their programs need not be installed here.
for unit in tracepulse-ssh.service tracepulse-stunnel@collector.service; do
	name=$(echo "$unit" | sed 's/@.*\./@./')
	grep -q '^ExecStart=/usr/bin/s' "$recipes/$name"
	sed "s|^ExecStart=[^ ]*|ExecStart=/bin/true|" "$recipes/$name" >"$work/$unit"
	systemd-analyze verify --man=no "$work/$unit" >"$work/said" 2>&1 ||
	    { cat "$work/said"; exit 1; }
	if grep -F "${unit%%.*}" "$work/said"; then
		exit 1
	fi
	secure "$unit"
done
