# SPDX-License-Identifier: MIT
# TP_WARNINGS: the warnings that this tree is kept free of; --enable-werror
# makes them errors (CI does, releases do not).
AC_DEFUN([TP_WARNINGS], [
	AC_ARG_ENABLE([werror],
		[AS_HELP_STRING([--enable-werror], [treat warnings as errors])],
		[], [enable_werror=no])
	TP_CFLAGS="-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes"
	TP_CFLAGS="$TP_CFLAGS -Wmissing-prototypes -Wpointer-arith -Wvla"
	TP_CFLAGS="$TP_CFLAGS -Wno-unused-parameter -std=gnu11"
	AS_IF([test "$enable_werror" = yes], [TP_CFLAGS="$TP_CFLAGS -Werror"])
	AC_SUBST([TP_CFLAGS])
])
