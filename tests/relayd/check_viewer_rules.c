/* SPDX-License-Identifier: MIT */
/*
 * Which reply a viewer gets, and when: conversations step by step. Held replies
 * (live 4.8), the OK without a packet (live 4.9), streams and metadata that
 * come after later times were sent (live 4.11), attachments and ends.
 */
#include "common/compiler.h"
#include "tests/lib/unit.h"
#include "tests/relayd/viewer_script.h"

/* A viewer that polls: it has had three replies of nothing. */
#define UNTIL_HELD "3x ask data = RETRY; ask data = HOLD 200 data;"

/* Nothing is held before the viewer polls. */
static const struct viewer_script rows[] = {
	{ "the first nothing is sent", ATTACHED,
	    "packet data 10-90; ask data = OK 10-90; ask data = RETRY" },
	{ "the first nothing is sent after a pause, too", ATTACHED,
	    "packet data 10-90; ask data = OK 10-90;"
	    "wait 100; ask data = RETRY" },
	{ "the second is held after a pause of 80 ms", ATTACHED,
	    "packet data 10-90; ask data = OK 10-90; ask data = RETRY;"
	    "wait 80; ask data = HOLD 200 data" },
	{ "the third is sent after less than 80 ms, but held after a pause",
	    ATTACHED,
	    "packet data 10-90; ask data = OK 10-90; ask data = RETRY;"
	    "wait 79; ask data = RETRY; wait 100; ask data = HOLD 200 data" },
	{ "the third is sent at once, the fourth is held", ATTACHED,
	    "packet data 10-90; ask data = OK 10-90;" UNTIL_HELD },
	{ "the fourth is held after short pauses, too", ATTACHED,
	    "packet data 10-90; ask data = OK 10-90; ask data = RETRY;"
	    "2x wait 10, ask data = RETRY; wait 10;"
	    "ask data = HOLD 200 data" },
	{ "babeltrace 1.5 prints before it asks again: the second is held",
	    OPEN,
	    "viewer bt1 4; attach one first = OK 2; ask metadata = OK 14;"
	    "3x packet data 10-90, ask data = OK 10-90, ask data = RETRY,"
	    "ask data = HOLD 200 data turn" },
	{ "a relay that holds no replies answers each time", NO_HOLDS,
	    "10x wait 100, ask data = RETRY" },
	{ "whatever is new begins the count again", ATTACHED,
	    UNTIL_HELD
	    "packet data 10-90; ask data = OK 10-90;" UNTIL_HELD
	    "beacon data 95; ask data = INACTIVE 95; 3x ask data = INACTIVE 95;"
	    "ask data = HOLD 200 data;"
	    "beacon data 95; ask data = HOLD 200 data;" /* not a new time */
	    "beacon data 96; ask data = INACTIVE 96; 3x ask data = INACTIVE 96;"
	    "ask data = HOLD 200 data; ask other = ERR;"
	    "3x ask data = INACTIVE 96; ask data = HOLD 200 data" },
	{ "a reply is held for the live period, at most a second", ATTACHED,
	    UNTIL_HELD "wait 5; timer 100000; ask data = HOLD 100 data;"
		       "timer 1000000; ask data = HOLD 1000 data;"
		       "timer 5000000; ask data = HOLD 1000 data;"
		       "timer 4294967295; ask data = HOLD 1000 data" },
	{ "at its limit a held reply is an ordinary one", ATTACHED,
	    UNTIL_HELD "tell data = RETRY" },
	{ "what comes in the stream wakes the worker", OPEN,
	    "add other; deliver; attach one last = OK 3; ask metadata = OK "
	    "14;" UNTIL_HELD
	    "packet other 10-90; beacon other 1000; woken = none;"
	    "ask data = HOLD 200 data;"
	    "packet data 10-90; woken = data; ask data = OK 10-90;" UNTIL_HELD
	    "beacon data 1000; woken = data; ask data = INACTIVE 1000;"
	    "3x ask data = INACTIVE 1000; ask data = HOLD 200 data;"
	    "close data; woken = data" },
	{ "one wake-up for each wait", ATTACHED,
	    "packet data 10-90; woken = none; ask data = OK 10-90;" UNTIL_HELD
	    "packet data 110-190; woken = data;"
	    "packet data 210-290; woken = none" },
	{ "an interrupted nothing reads as the OK of DETACH", ATTACHED,
	    UNTIL_HELD "interrupted data = RETRY detached" },
	{ "an interrupted bound does, too", ATTACHED,
	    "beacon data 7; 4x ask data = INACTIVE 7; ask data = HOLD 200 data;"
	    "interrupted data = RETRY detached" },
	{ "an interrupted reply with a packet stays one", ATTACHED,
	    UNTIL_HELD "packet data 10-90; interrupted data = OK 10-90" },
	{ "new streams are waited for without data streams", OPEN,
	    "close data; close metadata; deliver; attach one last = OK;"
	    "3x streams = OK; streams = HOLD 200;"
	    "add metadata2 data2; deliver; streams = OK 2" },
	{ "new streams beside data streams are neither nothing nor news",
	    ATTACHED,
	    "10x streams = OK; ask data = RETRY; wait 100; streams = OK;"
	    "ask data = RETRY; wait 100; ask data = HOLD 200 data" },
	{ "babeltrace 1.5 waits for the first metadata, and only for that",
	    OPEN,
	    "viewer bt1 4; add data2 metadata2; deliver;"
	    "attach one last = OK 4; ask metadata2 = NO_NEW;"
	    "ask metadata2 = HOLD 200 metadata2; text metadata2 x;"
	    "woken = metadata2; ask metadata2 = OK 1;"
	    "10x wait 100, ask metadata2 = NO_NEW" },
	{ "babeltrace2 does not: it aborts when interrupted here", OPEN,
	    "add data2 metadata2; deliver; attach one last = OK 4;"
	    "10x ask metadata2 = NO_NEW" },
	{ "a viewer that asks its streams in turn is not held", ATTACHED,
	    "add other; deliver; streams = OK 1;"
	    "20x ask data = RETRY, ask other = RETRY, wait 1;"
	    "ask other = HOLD 200 other" },
	{ "nor after a pause", ATTACHED,
	    "add other; deliver; streams = OK 1;"
	    "20x ask data = RETRY, ask other = RETRY, wait 100;"
	    "ask other = HOLD 200 other" },
	{ "babeltrace 1.5 is held in turn, until any stream has a packet", OPEN,
	    "viewer bt1 4; attach one first = OK 2; ask metadata = OK 14;"
	    "add other; deliver; streams = OK 1; ask data = RETRY;"
	    "ask other = HOLD 200 other turn;"
	    "beacon data 5; woken = data; turn data = 0;"
	    "packet data 10-90; woken = data; turn data = 1;"
	    "ask other = RETRY; ask data = OK 10-90; ask other = RETRY;"
	    "ask other = HOLD 200 other turn" },

/* The bound that a viewer was sent, then a process whose data it has. */
#define TOLD_50 "beacon data 50; ask data = INACTIVE 50;"
#define TRACE "add metadata2 data2; deliver;"

	{ "a published trace ends the wait", ATTACHED,
	    UNTIL_HELD TRACE "ask data = RETRY +streams" },
	{ "data alone cannot be announced: the wait goes on (live 6, P1)",
	    ATTACHED,
	    UNTIL_HELD "add data2; deliver; ask data = HOLD 200 data" },
	{ "nor can metadata alone", ATTACHED,
	    UNTIL_HELD "add metadata2; deliver; ask data = HOLD 200 data;"
		       "add data2; deliver; ask data = RETRY +streams;"
		       "streams = OK 2" },
	{ "one empty OK for a viewer that ignores the flag, no later bound",
	    ATTACHED,
	    TOLD_50 TRACE
	    "beacon data 60; ask data = INACTIVE 50 +streams;"
	    "ask data = OK empty +streams; 5x ask data = INACTIVE 50 +streams;"
	    "streams = OK 2; ask metadata2 = NO_NEW;"
	    "ask data = INACTIVE 60" },
	{ "an empty OK for each publication", ATTACHED,
	    TOLD_50 TRACE
	    "ask data = INACTIVE 50 +streams; ask data = OK empty +streams;"
	    "streams = OK 2; ask data = INACTIVE 50;"
	    "add other2; deliver;"
	    "ask data = INACTIVE 50 +streams; ask data = OK empty +streams" },
	{ "no empty OK before the stream class is known", ATTACHED,
	    TRACE "5x ask data = RETRY +streams; beacon data 50;"
		  "ask data = OK empty +streams; ask data = RETRY +streams" },
	{ "babeltrace2 that says 14 gets the empty OK", OPEN,
	    "viewer bt2 14; attach one last = OK 2; ask metadata = OK "
	    "14;" TOLD_50 TRACE "ask data = INACTIVE 50 +streams;"
	    "ask data = OK empty +streams; ask data = INACTIVE 50 +streams" },
	{ "babeltrace2 2.1 needs none", OPEN,
	    "viewer bt2 15; attach one last = OK 2; ask metadata = OK "
	    "14;" TOLD_50 TRACE "5x ask data = INACTIVE 50 +streams" },
	{ "babeltrace 1.5 would hang and gets none", OPEN,
	    "viewer bt1 4; attach one last = OK 2; ask metadata = OK "
	    "14;" TOLD_50 TRACE "5x ask data = INACTIVE 50 +streams" },
	{ "babeltrace2 that waited for its session stays one (live 4.1)", OPEN,
	    "3x create, list = 1 of 2; attach one last = OK 2;"
	    "ask metadata = OK 14;" TOLD_50 TRACE
	    "ask data = INACTIVE 50 +streams; ask data = OK empty +streams" },
	/* Packets and beacons are seen at once, publications by an event
	 * (live 4.6, 4). */
	{ "no beacon while the event of a publication is under way", ATTACHED,
	    "add metadata2 data2; beacon data 60; ask data = HOLD 1000 early;"
	    "deliver-streams; ask data = RETRY +streams" },
	{ "nor a packet", ATTACHED,
	    "add metadata2 data2; packet data 10-90;"
	    "ask data = HOLD 1000 early;"
	    "deliver-streams; ask data = OK 10-90 +streams" },
	{ "without held replies, RETRY meanwhile", NO_HOLDS,
	    "add metadata2 data2; beacon data 60; ask data = RETRY;"
	    "deliver-streams; ask data = RETRY +streams" },
	{ "without held replies, RETRY instead of the packet", NO_HOLDS,
	    "add metadata2 data2; packet data 10-90; ask data = RETRY;"
	    "deliver-streams; ask data = OK 10-90 +streams" },
	{ "what a list counts, an attachment has, from the first moment", OPEN,
	    "add metadata2 data2; list = 1 of 4;"
	    "attach one last = HOLD 1000; clients = 0;"
	    "deliver; attach one last = OK 4" },

/* A process that begins after the viewer was sent 1000000. No packet of it may
 * begin before 1010000. */
#define NEW_PROCESS                                                           \
	"add metadata2 data2; text metadata2 class; deliver; streams = OK 2;" \
	"tell metadata2 = OK 19;"
#define TOLD "beacon data 1000000; tell data = INACTIVE 1000000;"
#define FAR_PROCESS                                                    \
	"add far-metadata far-data; text far-metadata class; deliver;" \
	"streams two = OK 2; tell far-metadata = OK 19;"

	{ "packets begin later until the first that is late enough", ATTACHED,
	    TOLD NEW_PROCESS
	    "packet data2 1009999-1010000; packet data2 1009999-1010001;"
	    "packet data2 1010000-1010002; packet data2 1009999-1010003;"
	    "tell data2 = OK 1010000-1010000; tell data2 = OK 1010000-1010001;"
	    "begins data2 256 = 1010000; tell data2 = OK 1010000-1010002;"
	    "tell data2 = OK 1009999-1010003; begins data2 768 = 1009999" },
	/* The live timer flushed before the process began. */
	{ "an empty packet of the past is skipped", ATTACHED,
	    TOLD NEW_PROCESS
	    "packet data2 999995-1009999 672; tell data2 = RETRY; passed "
	    "= 1;"
	    "packet data2 1009999-1010001; tell data2 = OK 1010000-1010001;"
	    "begins data2 256 = 1010000" },
	{ "empty packets are skipped 64 at a time", ATTACHED,
	    TOLD NEW_PROCESS "128x packet data2 999995-1009999 672;"
			     "ask data2 = RETRY; passed = 64; ask data2 "
			     "= RETRY; passed = 128" },
	{ "a packet of the past with an event is sent", ATTACHED,
	    TOLD NEW_PROCESS "packet data2 999995-1009999 673;"
			     "tell data2 = OK 999995-1009999; passed = 0" },
	{ "no bound before the minimum begin time", ATTACHED,
	    TOLD NEW_PROCESS
	    "beacon data2 1009999; tell data2 = RETRY;"
	    "beacon data2 1010000; tell data2 = INACTIVE 1010000" },
	{ "what was sent counts, not what has come", ATTACHED,
	    TOLD "beacon data 2000000;" NEW_PROCESS
		 "packet data2 1-3000000; tell data2 = OK 1010000-3000000" },
	{ "what was sent before the publication counts, not later times",
	    ATTACHED,
	    TOLD "add metadata2 data2; text metadata2 class; deliver;"
		 "packet data 2000000-3000000;"
		 "tell data = OK 2000000-3000000 +streams; streams = OK 2;"
		 "tell metadata2 = OK 19; packet data2 1-3000000;"
		 "tell data2 = OK 1010000-3000000" },
	{ "no minimum before the viewer was sent a time", ATTACHED,
	    NEW_PROCESS "packet data2 1-3000000; tell data2 = OK 1-3000000" },
	{ "no minimum for streams that are there at ATTACH", ATTACHED,
	    TOLD "session host; add far-metadata far-data;"
		 "text far-metadata class; deliver; attach two first = OK 2;"
		 "tell far-metadata = OK 19; packet far-data 1-3000000;"
		 "tell far-data = OK 1-3000000" },
	{ "no minimum from another host, which has another clock", ATTACHED,
	    TOLD "session elsewhere; attach two first = OK;" FAR_PROCESS
		 "packet far-data 1-3000000; tell far-data = OK 1-3000000" },
	{ "one host has one clock, for all sessions", ATTACHED,
	    "session host; attach two last = OK;" TOLD FAR_PROCESS
	    "packet far-data 1-3000000; tell far-data = OK 1010000-3000000" },
	/* Two machines of one name, or a peer with false times. */
	{ "a bound of another clock is sent", ATTACHED,
	    "beacon data 120001000000; tell data = INACTIVE "
	    "120001000000;" NEW_PROCESS
	    "beacon data2 1000000; tell data2 = INACTIVE 1000000" },
	{ "a packet of another clock keeps its begin", ATTACHED,
	    "beacon data 120001000000; tell data = INACTIVE "
	    "120001000000;" NEW_PROCESS
	    "packet data2 1000000-1000005; tell data2 = OK 1000000-1000005" },
	/* One time far ahead; later traces are protected as before. */
	{ "a false second time says nothing of the session", ATTACHED,
	    "beacon data 1000000; beacon data 18446744073709551615;"
	    "beacon data 1000001; add metadata2 data2;"
	    "before data2 = 1000001" },
	{ "nor does a false first time", ATTACHED,
	    "beacon data 7200001000000; beacon data 1000001;"
	    "add metadata2 data2; before data2 = 1000001" },
	{ "a time that is followed by more of the kind counts", ATTACHED,
	    "beacon data 1000000; beacon data 7200001000000;"
	    "beacon data 7200001000001; add metadata2 data2;"
	    "before data2 = 7200001000000" },

/* A process without metadata when the viewer attaches; then it declares another
 * class than that of its packets. */
#define NO_METADATA                                      \
	"hide-new-traces; add metadata2 data2; deliver;" \
	"attach one first = OK 4; ask metadata = OK 14;" \
	"ask metadata2 = NO_NEW;"
#define OTHER_CLASS NO_METADATA "text metadata2 other; ask metadata2 = OK 42;"

	{ "metadata without a class waits for the next piece", OPEN,
	    NO_METADATA "text metadata2 trace; ask metadata2 = NO_NEW;"
			"wait 999; ask metadata2 = NO_NEW;"
			"text metadata2 class; ask metadata2 = OK 42;"
			"text metadata2 x; ask metadata2 = OK 1" },
	{ "at most a second", OPEN,
	    NO_METADATA "text metadata2 trace; ask metadata2 = NO_NEW;"
			"wait 999; ask metadata2 = NO_NEW;"
			"wait 1; ask metadata2 = OK 23;"
			"text metadata2 x; ask metadata2 = OK 1" },
	{ "and not after the end of the metadata", OPEN,
	    NO_METADATA "text metadata2 trace; ask metadata2 = NO_NEW;"
			"close metadata2; deliver; ask metadata2 = OK 23" },
	{ "a packet waits for its class", OPEN,
	    OTHER_CLASS "packet data2 1-2; tell data2 = RETRY;"
			"text metadata2 class;"
			"tell data2 = OK 1-2 +metadata" },
	{ "at most a second", OPEN,
	    OTHER_CLASS "packet data2 1-2; tell data2 = RETRY; wait 1000;"
			"tell data2 = OK 1-2" },
	{ "a bound waits for its class", OPEN,
	    OTHER_CLASS "beacon data2 7; tell data2 = RETRY;"
			"text metadata2 class;"
			"tell data2 = INACTIVE 7 +metadata" },
	{ "at most a second", OPEN,
	    OTHER_CLASS "beacon data2 7; tell data2 = RETRY; wait 1000;"
			"tell data2 = INACTIVE 7" },
	{ "the metadata wakes the worker", OPEN,
	    OTHER_CLASS "packet data2 1-2; 3x ask data2 = RETRY;"
			"ask data2 = HOLD 200 data2 any;"
			"text metadata2 class; woken = metadata2;"
			"ask data2 = OK 1-2 +metadata" },
	{ "the end of a stream waits for no class", OPEN,
	    OTHER_CLASS "beacon data2 7; close data2; deliver;"
			"tell data2 = HUP" },

/* The viewer has a packet up to 1000000; then a process begins that has sent
 * nothing so far. */
#define SILENT_PROCESS                             \
	"hide-new-traces; packet data 10-1000000;" \
	"tell data = OK 10-1000000; add metadata2 data2; deliver;"

	{ "a held nothing waits for the trace, too", ATTACHED,
	    SILENT_PROCESS
	    "wait 1100; 3x ask data = RETRY; ask data = HOLD 100 data any" },
	{ "a trace of another host delays nothing", ATTACHED,
	    "session elsewhere; attach two first = OK; hide-new-traces;"
	    "packet data 10-1000000; tell data = OK 10-1000000;"
	    "add far-metadata far-data; deliver; packet data 2000000-2000000;"
	    "ask data = OK 2000000-2000000" },
	{ "a trace is announced with its class, then a time", ATTACHED,
	    SILENT_PROCESS
	    "packet data 2000000-2000000; ask data = HOLD 1200 any early;"
	    "streams = OK; text metadata2 class; woken = metadata2;"
	    "ask data = HOLD 1200 any early; streams = OK;"
	    "beacon data2 2000000; ask data = OK 2000000-2000000 +streams;"
	    "streams = OK 2" },
	{ "or with a time, then its class", ATTACHED,
	    SILENT_PROCESS
	    "packet data 2000000-2000000; ask data = HOLD 1200 any early;"
	    "streams = OK; beacon data2 2000000; woken = data2;"
	    "ask data = HOLD 1200 any early; streams = OK;"
	    "text metadata2 class; ask data = OK 2000000-2000000 +streams;"
	    "streams = OK 2" },
	{ "or without both after a second and the period", ATTACHED,
	    SILENT_PROCESS
	    "packet data 2000000-2000000; ask data = HOLD 1200 any early;"
	    "streams = OK; wait 1199; woken = none;"
	    "ask data = HOLD 1 any early; streams = OK; wait 1;"
	    "ask data = OK 2000000-2000000 +streams; streams = OK 2" },
	{ "what is older than its events is sent, and bounds up to that",
	    ATTACHED,
	    "hide-new-traces; packet data 1000000-1000000;"
	    "packet data 2000000-2000000; beacon data 3000000;"
	    "add metadata2 data2; deliver; beacon data 4000000;"
	    "ask data = OK 1000000-1000000; ask data = OK 2000000-2000000;"
	    "ask data = INACTIVE 3000000" },
	/* A viewer shows nothing beyond the end of what it has of any stream.
	 */
	{ "a viewer that another stream keeps need not wait", ATTACHED,
	    "add other; deliver; streams = OK 1; packet data 1000000-1000000;"
	    "tell data = OK 1000000-1000000; packet other 500000-500000;"
	    "tell other = OK 500000-500000; hide-new-traces; add metadata2 "
	    "data2;"
	    "deliver; packet data 2000000-2000000; packet other "
	    "2000000-2000000;"
	    "ask data = OK 2000000-2000000;"
	    "ask other = HOLD 1200 any early" },
	{ "a stream of which it has nothing keeps it from nothing", ATTACHED,
	    "add other; deliver; streams = OK 1; packet data 1000000-1000000;"
	    "tell data = OK 1000000-1000000; hide-new-traces;"
	    "add metadata2 data2; deliver; packet data 2000000-2000000;"
	    "packet other 2000000-2000000; ask data = HOLD 1200 any early;"
	    "ask other = OK 2000000-2000000" },
	{ "the end of a stream waits for the trace, then for the question",
	    ATTACHED,
	    SILENT_PROCESS
	    "close data; deliver; ask data = HOLD 1200 any early;"
	    "text metadata2 class; beacon data2 2000000;"
	    "tell data = RETRY +streams; tell data = OK empty +streams;"
	    "streams = OK 2; tell data = HUP" },
	{ "a viewer that does not ask for streams gets the end", ATTACHED,
	    SILENT_PROCESS
	    "close data; deliver; ask data = HOLD 1200 any early;"
	    "text metadata2 class; beacon data2 2000000;"
	    "tell data = RETRY +streams; tell data = OK empty +streams;"
	    "tell data = HUP +streams" },
	{ "a wait that ends gives no later bound", ATTACHED,
	    SILENT_PROCESS
	    "beacon data 3000000; 4x ask data = INACTIVE 1000000;"
	    "ask data = HOLD 200 data any; wait 200;"
	    "tell data = INACTIVE 1000000" },
	{ "what has nothing to read and was cleared is not announced", ATTACHED,
	    "add metadata2 data2; text metadata2 m; packet data2 10-90;"
	    "close data2; close metadata2; clear end; deliver;"
	    "tell data = RETRY; streams = OK; positions = 2" },
	{ "nor what traced nothing", ATTACHED,
	    "add metadata2 data2; text metadata2 m; close data2;"
	    "close metadata2; deliver; tell data = RETRY; streams = OK;"
	    "positions = 2" },

	/* Neither a wrong seek nor a second CREATE_SESSION blocks a session
	 * (live 5, W8). */
	{ "a session's clients are those that are attached", OPEN,
	    "attach one 9 = SEEK_ERR; clients = 0; attach one first = OK "
	    "2;"
	    "attach one first = ALREADY; clients = 1;"
	    "use 2; attach one last = OK 2; clients = 2;"
	    "use 1; create; clients = 1; attach one first = OK 2;"
	    "detach = OK; clients = 1; use 2; leave; clients = 0" },
	{ "no more viewers than allowed", OPEN,
	    "max-viewers 1; use 2; attach one first = OK 2;"
	    "use 1; attach one first = ALREADY; use 2; leave;"
	    "use 1; attach one first = OK 2" },
	{ "what was not attached here is unknown here (live 5, W1 and W10)",
	    OPEN,
	    "use 2; attach one first = OK 2; packet data 10-90;"
	    "tell data = OK 10-90 +metadata;"
	    "use 1; tell data = ERR; begins data 0 = ERR; tell metadata = ERR;"
	    "streams = ERR; detach = ERR" },
	/* Metadata of a cleared session never comes: NO_NEW while it may come,
	 * ERR later (live 5, W13 and W17; live 6, P19). */
	{ "cleared, then destroyed: it ends", OPEN,
	    "packet data 10-90; clear end; attach one first = OK 2;"
	    "tell metadata = NO_NEW; end; list = 0 of 0; tell metadata = ERR;"
	    "streams = OK; tell data = HUP +metadata; tell data = ERR;"
	    "tell metadata = ERR; streams = HUP; detach = OK;"
	    "detach = UNKNOWN" },
	{ "the first index says that there is metadata (live 6, P3 and P23)",
	    OPEN,
	    "attach one first = OK 2; packet data 10-90;"
	    "tell data = OK 10-90 +metadata; tell metadata = OK 14;"
	    "tell metadata = NO_NEW; packet data 110-190;"
	    "tell data = OK 110-190" },
	/* babeltrace 1.5 would ask until the metadata comes. */
	{ "a clear repeats no metadata, and says nothing of it (live 6, P17)",
	    ATTACHED,
	    "packet data 10-90; packet data 110-190; tell data = OK 10-90;"
	    "clear; begins data 0 = 10; tell data = RETRY;"
	    "begins data 0 = 10; tell metadata = NO_NEW;"
	    "text metadata abcde; tell metadata = NO_NEW;"
	    "text metadata fghijklmnnew; tell metadata = OK 3;"
	    "packet data 210-290; tell data = OK 210-290;"
	    "begins data 0 = 210; lost = 1" },
};

TEST_ROWS(each_reply_is_as_written, ARRAY_LEN(rows))
{
	viewer_script_run(&rows[_i]);
}
