#!/bin/sh
# SPDX-License-Identifier: MIT
# Every option of the programs in tools/ is in their manuals, with its letter
# and argument, and no other is.
set -eu
top=${srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The options of a manual as "letter|name|argument", 0 and null for none:
# .It Fl i , -rate Ns = Ns Ar bytes -> "i|rate|bytes"; two of the same kind may
# stand in one line.
told()
{
	argument=' Ns = Ns Ar \([^ ].*\)$'
	name='-\([a-z-]*\)'
	sed -n \
	    -e "s/^\\.It Fl \\([A-Za-z]\\) , $name$argument/\\1|\\2|\\3/p" \
	    -e "s/^\\.It Fl \\([A-Za-z]\\) , $name\$/\\1|\\2|null/p" \
	    -e "s/^\\.It Fl $name$argument/0|\\1|\\2/p" \
	    -e "s/^\\.It Fl $name , $name\$/0|\\1|null\\n0|\\2|null/p" \
	    -e "s/^\\.It Fl $name\$/0|\\1|null/p" "$1" |
	    tr '[:upper:]' '[:lower:]' | sort
}

# The part of the manual of tracepulse-ftrace about one sub-command.
part_of()
{
	awk -v head=".Ss tracepulse-ftrace $1" '
	    $0 == head { on = 1; next }
	    /^\.S[sh] / { on = 0 }
	    on' "$top/doc/tracepulse-ftrace.1" >"$work/part"
	[ -s "$work/part" ]
}

# compare TABLE MANUAL, with a table that is read by the sed program in $row
compare()
{
	sed -n "$row" "$top/$1" | tr -d "\"'" | tr '[:upper:]' '[:lower:]' |
	    sort >"$work/table"
	[ "$(wc -l <"$work/table")" -eq "$(grep -c '^OPTION(' "$top/$1")" ]
	told "$2" >"$work/manual"
	diff -u "$work/table" "$work/manual"
}

# OPTION(ID, 'i', "input", "URI", ...
row='s/^OPTION([A-Z_]*, \([^,]*\), "\([^"]*\)", \([^,]*\),.*/\1|\2|\3/p'
compare tools/send/options.tbl.h "$top/doc/tracepulse-send.1"
compare tools/capture/options.tbl.h "$top/doc/tracepulse-capture.1"
for table in "$top"/tools/ftrace/*_options.tbl.h; do
	name=$(basename "$table" _options.tbl.h)
	part_of "$name"
	compare "tools/ftrace/${name}_options.tbl.h" "$work/part"
done
compare tools/ctl/options.tbl.h "$top/doc/tracepulse.1"

# Every command of tracepulse, too; help is about the others, and no row.
sed -n 's/^COMMAND(\([a-z]*\),.*/\1/p' "$top/tools/ctl/commands.tbl.h" >"$work/table"
echo help >>"$work/table"
sed -n 's/^\.It Cm \([a-z]*\).*/\1/p' "$top/doc/tracepulse.1" >"$work/manual"
diff -u "$work/table" "$work/manual"
