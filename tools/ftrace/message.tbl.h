/* SPDX-License-Identifier: MIT */
/*
 * The messages of trace-cmd's protocol V3, in the order of their numbers.
 *      name         bytes of the fixed part
 */
/* clang-format off */
MESSAGE(CLOSE,        0)
MESSAGE(TINIT,       12)
MESSAGE(RINIT,        4)
MESSAGE(SEND_DATA,    0)
MESSAGE(FIN_DATA,     0)
MESSAGE(NOT_SUPP,     0)
MESSAGE(TRACE_REQ,   16)
MESSAGE(TRACE_RESP,  40)
MESSAGE(CLOSE_RESP,   0)
MESSAGE(TIME_SYNC,   20)
MESSAGE(TRACE_PROXY, 24)
MESSAGE(CONT,         0)
