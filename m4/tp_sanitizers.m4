# SPDX-License-Identifier: MIT
# TP_SANITIZERS: --enable-sanitizers=LIST builds everything with them.
AC_DEFUN([TP_SANITIZERS], [
	AC_ARG_ENABLE([sanitizers],
		[AS_HELP_STRING([--enable-sanitizers=LIST],
			[for instance address,undefined or thread])],
		[], [enable_sanitizers=no])
	AS_IF([test "$enable_sanitizers" = yes],
		[enable_sanitizers=address,undefined])
	AS_IF([test "$enable_sanitizers" != no], [
		TP_SAN="-fsanitize=$enable_sanitizers -fno-omit-frame-pointer -g"
		TP_SAN="$TP_SAN -fno-sanitize-recover=all"
	])
	AC_SUBST([TP_SAN])
])
