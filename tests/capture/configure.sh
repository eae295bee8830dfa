#!/bin/sh
# SPDX-License-Identifier: MIT
# What configure makes of libtrace 4, where the substitute for its parallel
# interface is installed as that library: found by header and function, or
# switched off.
set -u
top=$(cd "${srcdir:-.}" && pwd)
double=$top/tests/capture/double
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

real=$(printf 'int main(void) { return 0; }' >t.c &&
	${CC:-cc} t.c -Wl,--no-as-needed -ltrace -o t 2>/dev/null && ldd t |
	sed -n 's/.*=> \(.*libtrace\.so[^ ]*\).*/\1/p')
if [ -z "$real" ]; then
	echo "SKIP: there is no libtrace"
	exit 77
fi
if grep -q trace_pstart "$real"; then
	echo "SKIP: this is libtrace 4"
	exit 77
fi

# configure as a user runs it; WHAT it has to say.
says() {
	what=$1
	shift
	if ! "$top/configure" "$@" >out 2>&1; then
		cat out
		exit 1
	fi
	if ! grep -q "$what" out; then
		echo "configure $*: does not say: $what"
		grep -i trace out
		exit 1
	fi
}
# A function that configure asks for needs no more than its name.
mkdir lib
printf 'void trace_create(void) {}\nvoid trace_pstart(void) {}\n' >lib/lib.c
${CC:-cc} -shared -fPIC lib/lib.c -o lib/libtrace.so || exit 1

says "parallel input: no"
says "parallel input: no" LDFLAGS=-L"$dir/lib" # without its header
says "parallel input: yes" CPPFLAGS=-I"$double" LDFLAGS=-L"$dir/lib"
grep -q "define HAVE_LIBTRACE_PARALLEL 1" config.h || exit 1
says "parallel input: no" CPPFLAGS=-I"$double" LDFLAGS=-L"$dir/lib" \
	--disable-libtrace-parallel
