#!/bin/sh
# SPDX-License-Identifier: MIT
# quickstart --capture fails, and says so, when no packets could be captured. It
# does not play a recording instead.
set -eu
srcdir=${srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect_failure REASON ARGUMENT...: with a tracepulse-capture that fails.
expect_failure()
{
	reason=$1
	shift
	status=0
	"$srcdir/tests/interop/demo" --relay "$PWD/tracepulse-relayd" \
		--capture /bin/false "$@" >"$work/said" 2>&1 || status=$?
	if [ $status -ne 1 ] || grep -q 'recorded session' "$work/said" ||
		! grep -q "No packets were captured: $reason" "$work/said"; then
		cat "$work/said"
		echo "demo $*: status $status, expected 1 and the reason \"$reason\""
		exit 1
	fi
}

expect_failure "this needs lttng"
if [ -x tests/interop/app ] && command -v lttng-sessiond >/dev/null; then
	expect_failure "see above" --app tests/interop/app
fi
