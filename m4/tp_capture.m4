# SPDX-License-Identifier: MIT
# TP_CAPTURE: can tracepulse-capture be built? It needs libtrace 3 or 4, which
# have no pkg-config file and whose version macro cannot be used (in 4.0 it is
# not substituted): so header and symbol decide. And nettle, for the cipher of
# anonymisation, libcap, to give capabilities up, libpcap, on which libtrace
# stands, for files and filters, and zlib, bzip2 and liblzma for compressed ones.
AC_DEFUN([TP_CAPTURE], [
	AC_ARG_WITH([libtrace], [AS_HELP_STRING([--without-libtrace],
		[do not build tracepulse-capture])], [], [with_libtrace=auto])
	AC_ARG_ENABLE([libtrace-parallel],
		[AS_HELP_STRING([--disable-libtrace-parallel],
		[read sources that have several queues serially, as with
		libtrace 3])], [], [enable_libtrace_parallel=auto])
	have_parallel=no
	tp_libtrace_4=no
	have_capture=no
	why_no_capture="--without-libtrace"
	AS_IF([test "$with_libtrace" != no], [
		tp_libs=$LIBS
		why_no_capture=
		AC_CHECK_HEADER([libtrace.h], [],
			[why_no_capture="no libtrace.h"])
		AC_CHECK_LIB([trace], [trace_create], [],
			[why_no_capture=${why_no_capture:-"no -ltrace"}])
		AC_CHECK_HEADER([libtrace_parallel.h],
			[tp_libtrace_4=yes
			AC_DEFINE([HAVE_LIBTRACE_4], [1], [it is libtrace 4])],
			[], [#include <libtrace.h>])
		AC_CHECK_MEMBER([libtrace_packet_t.cached],
			[AC_DEFINE([HAVE_LIBTRACE_CACHED], [1],
				[lengths of a packet are in a member of it])],
			[], [#include <libtrace.h>])
		# Exactly what the code uses of a packet, and of threads.
		AC_MSG_CHECKING([whether libtrace has the packet that is known])
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM([#include <libtrace.h>
#ifdef HAVE_LIBTRACE_CACHED
#define CACHE(p) (&(p)->cached)
#else
#define CACHE(p) (p)
#endif], [libtrace_packet_t *p = trace_create_packet();
CACHE(p)->capture_length = CACHE(p)->wire_length = -1;
CACHE(p)->payload_length = -1;
CACHE(p)->link_type = TRACE_TYPE_ETH;
p->trace = trace_create_dead("erf:-");
p->type = p->type < TRACE_RT_DATA_SIMPLE ? TRACE_RT_DATA_ERF : p->type;
p->buf_control = TRACE_CTRL_EXTERNAL;
p->buffer = p->header = p->payload = p;])],
			[AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])
			why_no_capture=${why_no_capture:-"an unknown libtrace"}])
		AC_MSG_CHECKING([whether libtrace's threads can be used])
		AC_LINK_IFELSE([AC_LANG_PROGRAM([#include <libtrace.h>
#include <libtrace_parallel.h>
static void *begin(libtrace_t *t, libtrace_thread_t *th, void *g) {
	(void)t; (void)th; return g; }
static void end(libtrace_t *t, libtrace_thread_t *th, void *g, void *l) {
	(void)t; (void)th; (void)g; (void)l; }
static libtrace_packet_t *take(libtrace_t *t, libtrace_thread_t *th, void *g,
	void *l, libtrace_packet_t *p) {
	(void)t; (void)th; (void)g; (void)l; return p; }
static void tick(libtrace_t *t, libtrace_thread_t *th, void *g, void *l,
	uint64_t n) { (void)t; (void)th; (void)g; (void)l; (void)n; }],
[libtrace_t *t = trace_create("ring:lo");
libtrace_callback_set_t *s = trace_create_callback_set();
return trace_set_starting_cb(s, begin) + trace_set_stopping_cb(s, end) +
	trace_set_packet_cb(s, take) + trace_set_tick_interval_cb(s, tick) +
	trace_set_perpkt_threads(t, 2) + trace_set_tick_interval(t, 20) +
	trace_set_hasher(t, HASHER_BIDIRECTIONAL, NULL, NULL) +
	trace_set_hasher(t, HASHER_BALANCE, NULL, NULL) +
	trace_pstart(t, s, s, NULL) + trace_pstop(t) +
	(trace_join(t), trace_destroy_callback_set(s), 0);])],
			[tp_threads=yes], [tp_threads=no])
		AC_MSG_RESULT([$tp_threads])
		AS_IF([test "$tp_threads" = yes &&
				test "$enable_libtrace_parallel" != no],
			[have_parallel=yes
			AC_DEFINE([HAVE_LIBTRACE_PARALLEL], [1],
				[its threads read sources])])
		PKG_CHECK_MODULES([PCAP], [libpcap], [],
			[why_no_capture=${why_no_capture:-"no libpcap"}])
		PKG_CHECK_MODULES([NETTLE], [nettle >= 3.4], [],
			[why_no_capture=${why_no_capture:-"no nettle"}])
		PKG_CHECK_MODULES([LIBCAP], [libcap], [],
			[why_no_capture=${why_no_capture:-"no libcap"}])
		PKG_CHECK_MODULES([DECOMPRESS], [zlib liblzma], [],
			[why_no_capture=${why_no_capture:-"no zlib or liblzma"}])
		DECOMPRESS_LIBS="$DECOMPRESS_LIBS -lbz2"
		AC_CHECK_HEADER([bzlib.h], [],
			[why_no_capture=${why_no_capture:-"no bzlib.h"}])
		TRACE_LIBS=-ltrace
		AC_SUBST([TRACE_LIBS])
		LIBS=$tp_libs
		AS_IF([test -z "$why_no_capture"], [have_capture=yes])
	])
	AS_IF([test "$have_capture" = yes],
		[AC_MSG_NOTICE([tracepulse-capture is built, libtrace's parallel input: $have_parallel])],
		[AC_MSG_NOTICE([tracepulse-capture is not built: $why_no_capture])])
	AS_IF([test "$have_capture" = no && test "$with_libtrace" = yes],
		[AC_MSG_ERROR([$why_no_capture])])
	AM_CONDITIONAL([HAVE_CAPTURE], [test "$have_capture" = yes])

	AM_CONDITIONAL([LIBTRACE_4], [test "$tp_libtrace_4" = yes])
])
