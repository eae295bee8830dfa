/* SPDX-License-Identifier: MIT */
#include "tests/proto/relay_examples.h"

#include "common/compiler.h"

/* Of a payload of SIZE (8 hex digits) and a command (2 hex digits). */
#define HEADER(size, cmd) \
	"00000000 00000000 00000000 " size " 000000" cmd " 00000000 | "

/* A command from 10000 up (4 hex digits). */
#define PRIVATE(size, cmd) \
	"00000000 00000000 00000000 " size " 0000" cmd " 00000000 | "

const struct relay_example relay_examples[] = {
	{ "version 2.13", 13, HEADER("00000008", "05") "00000002 0000000d",
	    false },
	{ "get_configuration", 13, HEADER("00000008", "16") "00000000 00000000",
	    false },
	{ "create_session 2.13", 13,
	    HEADER("00000046",
		"02") "00000007 00000003 00000001 00000000 00 00"
		      "fc458067 bef648ab a706d6e8 84d49a55"
		      "00000000 00000000 00000000 6b01018b 00 00000000 00000000"
		      "73696d706c6500 766d00 00",
	    false },
	{ "create_session 2.11, no base path field at all", 11,
	    HEADER("00000045",
		"02") "00000007 00000003 00000000 00000000 00 00"
		      "fc458067 bef648ab a706d6e8 84d49a55"
		      "00000000 00000000 00000000 6b01018b 00 00000000 00000000"
		      "73696d706c6500 766d00",
	    true },
	{ "create_session 2.15, live snapshot with base path in chunk 3", 15,
	    HEADER("0000004d",
		"02") "00000007 00000003 00000004 000f4240 01 01"
		      "fc458067 bef648ab a706d6e8 84d49a55"
		      "00000000 00000009 00000000 6b01018b 01 00000000 00000003"
		      "00000002 73696d706c6500 766d00 612f6200",
	    false },
	{ "create_session 2.15", 15,
	    HEADER("0000004a",
		"02") "00000007 00000003 00000001 00000000 00 00"
		      "fc458067 bef648ab a706d6e8 84d49a55"
		      "00000000 00000000 00000000 6b01018b 00 00000000 00000000"
		      "00000002 73696d706c6500 766d00 00",
	    false },
	{ "add_stream 2.13", 13,
	    HEADER("0000003a",
		"01") "00000006 00000014 00000000 00000000 00000000 00000000"
		      "00000000 00000000 6368305f 3000"
		      "7573742f 7569642f 31303032 2f36342d 62697400",
	    false },
	{ "streams_sent", 13, HEADER("00000000", "10"), false },
	{ "start_data", 13, HEADER("00000000", "03"), false },
	{ "send_metadata", 13,
	    HEADER("00000014",
		"06") "00000000 00000003 00000541 571dd175 110415dd",
	    false },
	{ "close_stream", 13,
	    HEADER("00000010", "07") "00000000 00000003 ffffffff ffffffff",
	    false },
	{ "begin_data_pending", 13,
	    HEADER("00000008", "0a") "00000000 00000001", false },
	{ "data_pending", 13,
	    HEADER("00000010", "08") "00000000 00000001 00000000 00000007",
	    false },
	{ "quiescent_control", 13, HEADER("00000008", "09") "00000000 00000003",
	    false },
	{ "end_data_pending", 13, HEADER("00000008", "0b") "00000000 00000001",
	    false },
	{ "send_index 2.13", 13,
	    HEADER("00000050",
		"0d") "00000000 00000001 00000000 00000000 00000000 00008000"
		      "00000000 00007f30 000001f8 1f383e46 000001f8 20fcc30b"
		      "00000000 00000000 00000000 00000000 00000000 00000000"
		      "00000000 00000000",
	    false },
	{ "send_index, a beacon", 13,
	    HEADER("00000050",
		"0d") "00000000 00000002 00000000 00000000 00000000 00000000"
		      "00000000 00000000 00000000 00000000 000001f9 fee81886"
		      "00000000 00000000 00000000 00000000 00000000 00000000"
		      "00000000 00000000",
	    false },
	{ "send_index 2.4", 4,
	    HEADER("00000040",
		"0d") "00000000 00000001 00000000 00000002 00000000 00008000"
		      "00000000 00007f30 000001f8 1f383e46 000001f8 20fcc30b"
		      "00000000 00000005 00000000 00000006",
	    false },
	{ "reset_metadata", 13,
	    HEADER("00000010", "11") "00000000 00000003 00000000 00000001",
	    false },
	{ "rotate_streams with garbage in the hole", 13,
	    HEADER(
		"00000034", "12") "00000002 01 000000dfc2e10d 00000000 00000001"
				  "00000000 00000001 00000000 00000002"
				  "00000000 00000002 00000000 00000001",
	    true },
	{ "rotate_streams with a clean hole", 13,
	    HEADER(
		"00000034", "12") "00000002 01 00000000000000 00000000 00000001"
				  "00000000 00000001 00000000 00000002"
				  "00000000 00000002 00000000 00000001",
	    false },
	{ "rotate_streams, packed", 13,
	    HEADER("0000001d", "12") "00000001 01 0000000000000001 "
				     "0000000000000001 0000000000000005",
	    true },
	{ "rotate_streams, aligned on 4 bytes", 13,
	    HEADER("00000020",
		"12") "00000001 01 aaaaaa 0000000000000001 0000000000000001"
		      "0000000000000005",
	    true },
	{ "rotate_streams, no positions", 13,
	    HEADER(
		"00000014", "12") "00000000 00 00000000000000 0000000000000000",
	    false },
	{ "create_trace_chunk", 13,
	    HEADER("00000014",
		"13") "00000000 00000000 00000000 6b01018b 00000000",
	    false },
	{ "create_trace_chunk with a name", 13,
	    HEADER(
		"00000031", "13") "00000000 00000000 00000000 6b0101b8 0000001d"
				  "736e61707368 6f742d312d 3230323631313231 "
				  "2d303232383038 2d3000",
	    false },
	{ "close_trace_chunk", 13,
	    HEADER("00000015",
		"14") "00000000 00000001 00000000 6b0101a1 01 00000002",
	    false },
	{ "trace_chunk_exists", 13,
	    HEADER("00000008", "15") "00000000 00000000", false },
	{ "udp_open", 13,
	    PRIVATE("00000018", "2711") "00000001 00000570 00000040 00000001"
					"00000000 0003d090",
	    false },
	{ "udp_status of all streams", 13,
	    PRIVATE("00000008", "2712") "ffffffff ffffffff", false },
	{ "resume", 13,
	    PRIVATE("00000010", "2713") "00010203 04050607 08090a0b 0c0d0e0f",
	    false },
	{ "stream_written", 13, PRIVATE("00000008", "2714") "00000000 00000007",
	    false },
};

const size_t relay_examples_n = ARRAY_LEN(relay_examples);
