#!/bin/sh
# SPDX-License-Identifier: MIT
# Where the machine has no terminals, as in a container without /dev/pts, what
# quickstart shows comes all the same, and line by line.
set -eu
srcdir=${srcdir:-.}
relay=$PWD/tracepulse-relayd

skip()
{
	echo "SKIP: $*"
	exit 77
}

if [ "${1:-}" = inside ]; then
	mount -t tmpfs none /dev/pts || skip "nothing can be mounted on /dev/pts"
	! python3 -c 'import pty; pty.openpty()' 2>/dev/null ||
		skip "there are terminals without /dev/pts"
	exec "$srcdir/tests/interop/demo" --relay "$relay"
fi
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
[ "$(id -u)" -eq 0 ] || skip "not root"
said=$(unshare --mount true 2>&1) || skip "no mount namespace: $said"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
unshare --mount "$0" inside >"$work/shown" 2>&1 || status=$?
cat "$work/shown"
[ $status -eq 0 ] || exit $status

# "  1.2 s | ...": the recording takes seconds, and so do its lines.
sed -n 's/^ *\([0-9]*\)\.[0-9] s | .*/\1/p' "$work/shown" | sort -nu >"$work/times"
[ "$(wc -l <"$work/times")" -ge 3 ]
