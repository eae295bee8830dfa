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
# A function that configure asks for needs no more than its name. libtrace.h is
# the installed one with the packet of libtrace 4.
mkdir lib include
cp "$double/libtrace_parallel.h" include
awk -f "$double/libtrace_4.awk" "$(echo '#include <libtrace.h>' |
	${CC:-cc} -E - | sed -n 's/^# 1 "\(.*libtrace\.h\)".*/\1/p')" \
	>include/libtrace.h
for f in create create_dead create_packet pstart $(sed -n \
	's/.*\btrace_\([a-z_]*\)(.*/\1/p' "$double/libtrace_parallel.h"); do
	echo "void trace_$f(void) {}"
done | sort -u >lib/lib.c
${CC:-cc} -shared -fPIC lib/lib.c -o lib/libtrace.so || exit 1

says "parallel input: no"
says "parallel input: no" LDFLAGS=-L"$dir/lib" # without its header
says "parallel input: yes" CPPFLAGS=-I"$dir/include" LDFLAGS=-L"$dir/lib"
for name in 4 CACHED PARALLEL; do
	grep -q "define HAVE_LIBTRACE_$name 1" config.h || exit 1
done
says "parallel input: no" CPPFLAGS=-I"$dir/include" LDFLAGS=-L"$dir/lib" \
	--disable-libtrace-parallel
grep -q "define HAVE_LIBTRACE_PARALLEL" config.h && exit 1
# A function that has other arguments is not used.
sed -i 's/trace_set_hasher(/&int,/' include/libtrace_parallel.h
says "parallel input: no" CPPFLAGS=-I"$dir/include" LDFLAGS=-L"$dir/lib"
grep -q "define HAVE_LIBTRACE_4 1" config.h || exit 1
# Nor is a packet that is not known.
sed -i 's/ wire_length,/ wire_size,/' include/libtrace.h
says "not built: an unknown libtrace" CPPFLAGS=-I"$dir/include" \
	LDFLAGS=-L"$dir/lib"
