/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Record class network: which kind of service a thread asked, and what had to be sent again.
 * Addresses and ports are looked at, and not kept. What is sent is seen where it is handed to a
 * network device, in the sender's own time: acknowledgements, answers of servers and what
 * interrupts send are none. Where the neighbour has to be found first, or is gone, that comes later
 * or never: the beginning of a connection and (6.6 and newer) the end of the system call tell of
 * it, too.
 */
#include "services.h"

#define TIPME_AF_INET 2
#define TIPME_AF_INET6 10
#define TIPME_TCP 6
#define TIPME_UDP 17
#define TIPME_CONNECTED 1 /* states of a connection, as the API of TCP_INFO has them */
#define TIPME_CONNECTING 2
#define TIPME_CLOSED 7
#define TIPME_IPV4 0x0008 /* as the wire has it */
#define TIPME_DEVICE_LOOPBACK 8
#define TIPME_PURE_ACK 2 /* what the kernel takes for the size of a packet that is nothing else */
#define TIPME_ASK_NS 10000000 /* one record of a connection for so long */

/* The other end; numbers as the wire has them. */
struct tipme_peer {
	__u32 address[4]; /* IPv4: the first */
	__u32 family;
	__u16 port;
};

static __always_inline __u16 tipme_port(__u16 wire)
{
	return __builtin_bswap16(wire);
}

static __always_inline __u8 tipme_place_v4(__u32 wire)
{
	__u32 a = __builtin_bswap32(wire);

	if (a >> 24 == 127)
		return TIPME_NET_PLACE_MACHINE;
	if (a >> 24 == 10 || a >> 20 == 0xac1 || a >> 16 == 0xc0a8 || a >> 16 == 0xa9fe ||
	    a >> 22 == 0x191 || a >> 28 >= 14)
		return TIPME_NET_PLACE_LOCAL;
	return a ? TIPME_NET_PLACE_BEYOND : TIPME_NET_PLACE_UNKNOWN;
}

static __always_inline __u8 tipme_place_of(const struct tipme_peer *p)
{
	__u32 a = __builtin_bswap32(p->address[0]);

	if (p->family == TIPME_AF_INET)
		return tipme_place_v4(p->address[0]);
	if (!a && !p->address[1]) {
		if (p->address[2] == __builtin_bswap32(0xffff)) /* IPv4 in IPv6 */
			return tipme_place_v4(p->address[3]);
		return p->address[3] == __builtin_bswap32(1) ? TIPME_NET_PLACE_MACHINE
							     : TIPME_NET_PLACE_UNKNOWN;
	}
	return a >> 22 == 0x3fa || a >> 25 == 0x7e || a >> 24 == 0xff ? TIPME_NET_PLACE_LOCAL
								      : TIPME_NET_PLACE_BEYOND;
}

static __always_inline void tipme_peer_of_socket(const struct sock *sk, struct tipme_peer *p)
{
	p->port = sk->__sk_common.skc_dport;
	p->family = sk->__sk_common.skc_family;
	if (p->family == TIPME_AF_INET)
		p->address[0] = sk->__sk_common.skc_daddr;
	else
		bpf_probe_read_kernel(p->address, sizeof(p->address),
				      &sk->__sk_common.skc_v6_daddr);
}

/* One that is not connected says with each packet where that goes. */
static __always_inline void tipme_peer_of_packet(const struct sk_buff *skb, struct tipme_peer *p)
{
	const unsigned char *network = skb->head + skb->network_header;

	bpf_probe_read_kernel(&p->port, sizeof(p->port), skb->head + skb->transport_header + 2);
	p->family = skb->protocol == TIPME_IPV4 ? TIPME_AF_INET : TIPME_AF_INET6;
	if (p->family == TIPME_AF_INET)
		bpf_probe_read_kernel(p->address, sizeof(p->address[0]), network + 16);
	else
		bpf_probe_read_kernel(p->address, sizeof(p->address), network + 24);
}

static __always_inline struct tipme_asked *tipme_asked_place(__u64 socket)
{
	__u32 i = (socket * 0x9e3779b1U >> 8) % TIPME_ASKED;

	return bpf_map_lookup_elem(&tipme_askeds, &i);
}

static __noinline int tipme_network_put(__u64 socket, __u32 tid, __u32 bytes, __u32 what)
{
	TIPME_RECORD(tipme_network, TIPME_NETWORK, tid);
	if (r) {
		r->socket = socket;
		r->bytes = bytes;
		r->service = what;
		r->protocol = what >> 8;
		r->act = what >> 16;
		r->place = what >> 24;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

static __always_inline __u32 tipme_network_what(const struct tipme_peer *p, __u32 protocol,
						__u32 act, bool loopback)
{
	__u32 place = loopback ? TIPME_NET_PLACE_MACHINE : tipme_place_of(p);

	return tipme_service_of_port(tipme_port(p->port)) |
	       (protocol == TIPME_TCP ? TIPME_NET_PROTOCOL_TCP : TIPME_NET_PROTOCOL_UDP) << 8 |
	       act << 16 | place << 24;
}

/* The same thread over the same connection once more, too soon to be told. */
static __always_inline bool tipme_asked_lately(__u64 socket, __u32 tid, __u64 now)
{
	struct tipme_asked *a = tipme_asked_place(socket);

	if (!a || (a->socket == socket && a->tid == tid && now < a->asked_ns + TIPME_ASK_NS))
		return true;
	a->again_ns = a->socket == socket ? a->again_ns : 0;
	a->socket = socket;
	a->tid = tid;
	a->asked_ns = now;
	return false;
}

static __always_inline bool tipme_may_ask(const struct sock *sk, __u32 protocol)
{
	__u32 state = sk->__sk_common.skc_state;

	if (state == TIPME_CONNECTED)
		return protocol == TIPME_TCP || protocol == TIPME_UDP;
	return state == TIPME_CONNECTING ? protocol == TIPME_TCP
					 : state == TIPME_CLOSED && protocol == TIPME_UDP;
}

/*
 * Of a family that has ports; others, and connections that begin or end, may be less than a whole
 * socket.
 */
static __always_inline bool tipme_is_internet(const struct sock *sk)
{
	__u32 family = sk->__sk_common.skc_family, state = sk->__sk_common.skc_state;

	return (family == TIPME_AF_INET || family == TIPME_AF_INET6) &&
	       (state == TIPME_CONNECTED || state == TIPME_CONNECTING || state == TIPME_CLOSED);
}

static __always_inline int tipme_network_asked(const struct sock *sk, const struct tipme_peer *peer,
					       __u32 protocol, __u32 bytes, bool loopback)
{
	__u32 tid = tipme_current_tid();

	if (!tid || !peer->port ||
	    tipme_service_is_own(sk->__sk_common.skc_num, tipme_port(peer->port)) ||
	    tipme_asked_lately((__u64)sk, tid, bpf_ktime_get_ns()))
		return 0;
	return tipme_network_put((__u64)sk, tid, bytes,
				 tipme_network_what(peer, protocol, TIPME_NET_ACT_ASKED, loopback));
}

static __always_inline int tipme_network_sent(struct sk_buff *skb, bool counted)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();
	const struct sock *sk = skb->sk;
	struct tipme_peer peer = {};
	__u32 protocol;

	if (!c || !sk || skb->truesize == TIPME_PURE_ACK || tipme_is_served(c, counted) ||
	    !tipme_is_internet(sk))
		return 0;
	protocol = sk->sk_protocol;
	if (!tipme_may_ask(sk, protocol))
		return 0;
	tipme_peer_of_socket(sk, &peer);
	if (!peer.port)
		tipme_peer_of_packet(skb, &peer);
	return tipme_network_asked(sk, &peer, protocol, skb->len,
				   skb->dev->flags & TIPME_DEVICE_LOOPBACK);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(tipme_network_queue_counted, struct sk_buff *skb)
{
	return tipme_network_sent(skb, true);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(tipme_network_queue_plain, struct sk_buff *skb)
{
	return tipme_network_sent(skb, false);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(tipme_network_call, struct sock *sk, int bytes)
{
	struct tipme_peer peer = {};
	__u32 protocol;

	if (bytes <= 0 || !tipme_is_internet(sk))
		return 0;
	protocol = sk->sk_protocol;
	if (!tipme_may_ask(sk, protocol))
		return 0;
	tipme_peer_of_socket(sk, &peer);
	return tipme_network_asked(sk, &peer, protocol, bytes, false);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(tipme_network_connect, const struct sock *sk, int before, int state)
{
	struct tipme_peer peer = {};

	if (state != TIPME_CONNECTING || sk->sk_protocol != TIPME_TCP)
		return 0;
	tipme_peer_of_socket(sk, &peer);
	return tipme_network_asked(sk, &peer, TIPME_TCP, 0, false);
}

/* By the kernel's timer, or by an answer that tells of a gap: in nobody's time. */
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(tipme_network_retransmit, const struct sock *sk, const struct sk_buff *skb)
{
	struct tipme_asked *a = tipme_asked_place((__u64)sk);
	__u64 now = bpf_ktime_get_ns();
	struct tipme_peer peer = {};
	__u32 tid = 0;

	tipme_peer_of_socket(sk, &peer);
	if (!peer.port || tipme_service_is_own(sk->__sk_common.skc_num, tipme_port(peer.port)))
		return 0;
	if (a && a->socket == (__u64)sk) {
		if (now < a->again_ns + TIPME_ASK_NS)
			return 0;
		a->again_ns = now;
		tid = a->tid;
	}
	return tipme_network_put((__u64)sk, tid, skb->len,
				 tipme_network_what(&peer, TIPME_TCP, TIPME_NET_ACT_AGAIN, false));
}
