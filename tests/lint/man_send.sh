#!/bin/sh
# SPDX-License-Identifier: MIT
# Every option of tracepulse-send is in its manual, and no other is.
set -eu
top=${srcdir:-.}
table=$top/tools/send/options.tbl.h
manual=$top/doc/tracepulse-send.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# OPTION(ID, "rate", "BYTES", ... -> "rate bytes"
sed -n 's/^OPTION([A-Z_]*, "\([^"]*\)", \([^,]*\),.*/\1 \2/p' "$table" |
    tr -d '"' | tr '[:upper:]' '[:lower:]' | sort >"$work/table"
[ "$(wc -l <"$work/table")" -eq "$(grep -c '^OPTION(' "$table")" ]

# .It Fl -rate Ns = Ns Ar bytes -> the same
sed -n \
    -e 's/^\.It Fl -\([a-z-]*\) Ns = Ns Ar \([a-z]*\)$/\1 \2/p' \
    -e 's/^\.It Fl -\([a-z-]*\) , -\([a-z-]*\)$/\1 null\n\2 null/p' \
    -e 's/^\.It Fl -\([a-z-]*\)$/\1 null/p' \
    "$manual" | sort >"$work/manual"

diff -u "$work/table" "$work/manual"
