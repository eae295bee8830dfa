# SPDX-License-Identifier: MIT
# TP_SECCOMP: the daemon's filter of system calls, by libseccomp. Sanitizers make
# calls of their own (ptrace and clone, for leaks), so builds with them have none.
# Call it after TP_SANITIZERS.
AC_DEFUN([TP_SECCOMP], [
	AC_ARG_WITH([seccomp], [AS_HELP_STRING([--without-seccomp],
		[do not filter the system calls of the daemon])],
		[], [with_seccomp=auto])
	have_seccomp=no
	AS_IF([test "$with_seccomp" = no],
			[why_no_seccomp=--without-seccomp],
		[test "$enable_sanitizers" != no],
			[why_no_seccomp="not with sanitizers"],
		[PKG_CHECK_MODULES([SECCOMP], [libseccomp >= 2.4],
			[have_seccomp=yes],
			[why_no_seccomp="no libseccomp (libseccomp-dev)"])])
	AS_IF([test "$have_seccomp" = yes],
		[AC_MSG_NOTICE([system calls are filtered by seccomp])
		AC_DEFINE([HAVE_SECCOMP], [1], [the daemon filters calls])],
		[AC_MSG_NOTICE(
			[system calls are not filtered: $why_no_seccomp])])
	AS_IF([test "$have_seccomp" = no && test "$with_seccomp" = yes],
		[AC_MSG_ERROR([$why_no_seccomp])])
	AS_IF([test "$enable_sanitizers" != no],
		[AC_DEFINE([HAVE_SANITIZERS], [1], [--enable-sanitizers])])
	AM_CONDITIONAL([HAVE_SECCOMP], [test "$have_seccomp" = yes])
])
