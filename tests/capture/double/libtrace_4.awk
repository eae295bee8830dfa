# SPDX-License-Identifier: MIT
# libtrace 3's header with the packet of libtrace 4.0.34, whose members are at
# the same places in memory up to l4_remaining: so libtrace 3 runs with it. What
# follows there is not in the memory of a packet of libtrace 3.
BEGIN { print "#include <pthread.h>" }
/^typedef struct libtrace_packet_t / {
	print "typedef struct libtrace_packet_cache_t {"
	print "\tint capture_length, wire_length, payload_length, framing_length;"
	print "\tvoid *l2_header;"
	print "\tlibtrace_linktype_t link_type;"
	print "\tuint32_t l2_remaining;"
	print "\tvoid *l3_header;"
	print "\tuint16_t l3_ethertype;"
	print "\tuint32_t l3_remaining;"
	print "\tvoid *l4_header;"
	print "\tuint8_t transport_proto;"
	print "\tuint32_t l4_remaining;"
	print "} libtrace_packet_cache_t;"
	is_packet = 1
}
is_packet && /capture_length;/ {
	print "\tlibtrace_packet_cache_t cached;"
	print "\tuint8_t unsafe_payload;"
	print "\tuint64_t order, hash;"
	print "\tint error;"
	print "\tuint64_t internalid;"
	print "\tvoid *srcbucket, *fmtdata;"
	print "\tpthread_mutex_t ref_lock;"
	print "\tint refcount, which_trace_start;"
	is_cached = 1
}
is_packet && /^}/ {
	print
	print "#define IS_LIBTRACE_META_PACKET(p) ((p)->type < TRACE_RT_DATA_SIMPLE)"
	is_packet = is_cached = 0
	next
}
!is_cached { print }
