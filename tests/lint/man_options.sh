#!/bin/sh
# SPDX-License-Identifier: MIT
# Every option is in the manual with its letter and argument, and no other is.
set -eu
top=${srcdir:-.}
table=$top/relayd/process/options.tbl.h
manual=$top/doc/tracepulse-relayd.8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# OPTION(ID, 'C', "control-port", "URL", ... -> "C control-port URL"
sed -n 's/^OPTION([A-Z_]*, \([^,]*\), "\([^"]*\)", \([^,]*\),.*/\1 \2 \3/p' \
    "$table" | sed "s/'//g; s/\"//g" | sort >"$work/table"
[ "$(wc -l <"$work/table")" -eq "$(grep -c '^OPTION(' "$table")" ]

# .It Fl C Ar URL , Fl -control-port Ns = Ns Ar URL -> the same
sed -n \
    -e 's/^\.It Fl \([A-Za-z]\) Ar \([A-Z]*\) , Fl -\([a-z-]*\) Ns = Ns Ar \2$/\1 \3 \2/p' \
    -e 's/^\.It Fl \([A-Za-z]\) , -\([a-z-]*\)$/\1 \2 NULL/p' \
    -e 's/^\.It Fl -\([a-z-]*\) Ns = Ns [AC][rm] \([A-Za-z|]*\)$/0 \1 \2/p' \
    -e 's/^\.It Fl -\([a-z-]*\)$/0 \1 NULL/p' \
    "$manual" | sort >"$work/manual"
[ "$(wc -l <"$work/manual")" -eq "$(grep -c '^\.It Fl' "$manual")" ]

diff -u "$work/table" "$work/manual"

# Variables that the code reads are in the manual, and no others but TZ.
grep -ho '"\(LTTNG_[A-Z_]*\|HOME\|NOTIFY_SOCKET\|JOURNAL_STREAM\|WATCHDOG_[A-Z]*\|LISTEN_[A-Z]*\|STATE_DIRECTORY\|XDG_STATE_HOME\|SYSTEMD_EXEC_PID\)"' "$top"/relayd/*.c \
    "$top"/relayd/*/*.c "$top"/common/*.c |
    tr -d '"' | sort -u >"$work/read"
sed -n '/^\.Sh ENVIRONMENT/,/^\.Sh FILES/s/^\.It Ev //p' "$manual" |
    sed 's/ , Ev /\n/g' | grep -vx TZ | sort -u >"$work/told"
diff -u "$work/read" "$work/told"
