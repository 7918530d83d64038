//! What the router, FRR at both ends and BIRD are configured with.

pub const ROUTER: &str = "function:
  name: l3-router
  ipv6: true
  resolve: true
  ping: true
  icmp-errors-per-s: 100
  ecmp-capacity: 16
  ports:
    - {name: lan, mac: 02:00:00:00:00:01, ip: 10.0.1.1/24, ipv6: 2001:db8:1::1/64,
       host-interface: h-lan}
    - {name: core1, mac: 02:00:00:00:00:02, ip: 10.0.2.1/24, host-interface: h-core1}
    - {name: core2, mac: 02:00:00:00:00:03, ip: 10.0.3.1/24, host-interface: h-core2}
    - {name: peer, mac: 02:00:00:00:00:04, ip: 10.0.4.1/24, ipv6: 2001:db8:4::1/64,
       host-interface: h-peer}
ports:
  lan: {type: af-packet, interface: lan}
  core1: {type: af-packet, interface: core1}
  core2: {type: af-packet, interface: core2}
  peer: {type: af-packet, interface: peer}
controllers:
  - {name: frr, settle-s: 5}
  - name: vrrp
    routers:
      - {interface: h-lan, vrid: 7, addresses: [10.0.1.254], advert-interval-ms: 100, accept: true}
workers: {idle: sleep}
state: STATE
";

/// Daemons of the router itself.
pub const NEAR: [(&str, &str); 4] =
    [("ospfd", NEAR_OSPF), ("ospf6d", NEAR_OSPF6), ("isisd", NEAR_ISIS), ("bgpd", NEAR_BGP)];

/// Those of the far router, which the kernel forwards for.
pub const FAR: [(&str, &str); 4] =
    [("ospfd", FAR_OSPF), ("ospf6d", FAR_OSPF6), ("isisd", FAR_ISIS), ("bgpd", FAR_BGP)];

const NEAR_OSPF: &str = "interface h-lan
 ip ospf passive
!
interface h-core1
 ip ospf hello-interval 1
 ip ospf dead-interval 4
 ip ospf retransmit-interval 2
 ip ospf network point-to-point
!
interface h-core2
 ip ospf hello-interval 1
 ip ospf dead-interval 4
 ip ospf retransmit-interval 2
 ip ospf network point-to-point
!
interface h-peer
 ip ospf hello-interval 1
 ip ospf dead-interval 4
 ip ospf retransmit-interval 2
 ip ospf network point-to-point
!
router ospf
 ospf router-id 10.0.2.1
 network 10.0.0.0/16 area 0
!
";

const FAR_OSPF: &str = "interface e1
 ip ospf hello-interval 1
 ip ospf dead-interval 4
 ip ospf retransmit-interval 2
 ip ospf network point-to-point
!
interface e2
 ip ospf hello-interval 1
 ip ospf dead-interval 4
 ip ospf retransmit-interval 2
 ip ospf network point-to-point
!
router ospf
 ospf router-id 10.0.2.2
 network 10.0.0.0/16 area 0
 network 203.0.113.0/24 area 0
!
";

const NEAR_OSPF6: &str = "interface h-lan
 ipv6 ospf6 area 0
 ipv6 ospf6 passive
!
interface h-core1
 ipv6 ospf6 area 0
 ipv6 ospf6 hello-interval 1
 ipv6 ospf6 dead-interval 4
 ipv6 ospf6 retransmit-interval 2
 ipv6 ospf6 network point-to-point
!
interface h-core2
 ipv6 ospf6 area 0
 ipv6 ospf6 hello-interval 1
 ipv6 ospf6 dead-interval 4
 ipv6 ospf6 retransmit-interval 2
 ipv6 ospf6 network point-to-point
!
interface h-peer
 ipv6 ospf6 area 0
 ipv6 ospf6 hello-interval 1
 ipv6 ospf6 dead-interval 4
 ipv6 ospf6 retransmit-interval 2
 ipv6 ospf6 network point-to-point
!
router ospf6
 ospf6 router-id 10.0.2.1
!
";

const FAR_OSPF6: &str = "interface e1
 ipv6 ospf6 area 0
 ipv6 ospf6 hello-interval 1
 ipv6 ospf6 dead-interval 4
 ipv6 ospf6 retransmit-interval 2
 ipv6 ospf6 network point-to-point
!
interface e2
 ipv6 ospf6 area 0
 ipv6 ospf6 hello-interval 1
 ipv6 ospf6 dead-interval 4
 ipv6 ospf6 retransmit-interval 2
 ipv6 ospf6 network point-to-point
!
interface d-ospf
 ipv6 ospf6 area 0
 ipv6 ospf6 passive
!
router ospf6
 ospf6 router-id 10.0.2.2
!
";

/// One link of two routers, and one of many, with their own groups; hellos fill a frame.
const NEAR_ISIS: &str = "interface h-core1
 ip router isis one
 ipv6 router isis one
 isis network point-to-point
 isis hello-interval 1
 isis hello-multiplier 4
!
interface h-core2
 ip router isis one
 ipv6 router isis one
 isis hello-interval 1
 isis hello-multiplier 4
 isis csnp-interval 1
!
router isis one
 is-type level-2-only
 lsp-gen-interval 1
 spf-interval 1
 net 49.0001.0000.0000.0001.00
!
";

const FAR_ISIS: &str = "interface e1
 ip router isis one
 ipv6 router isis one
 isis network point-to-point
 isis hello-interval 1
 isis hello-multiplier 4
!
interface e2
 ip router isis one
 ipv6 router isis one
 isis hello-interval 1
 isis hello-multiplier 4
 isis csnp-interval 1
!
interface d-isis
 ip router isis one
 ipv6 router isis one
 isis passive
!
router isis one
 is-type level-2-only
 lsp-gen-interval 1
 spf-interval 1
 net 49.0001.0000.0000.0002.00
!
";

/// IPv4 over a link whose packets have to have come over no router; IPv6, and IPv4 by next hops of
/// IPv6, between the link-local addresses that the routers tell; and both with BIRD.
const NEAR_BGP: &str = "router bgp 65001
 bgp router-id 10.0.2.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 timers bgp 1 3
 neighbor 10.0.2.2 remote-as 65002
 neighbor 10.0.2.2 ttl-security hops 1
 neighbor 10.0.2.2 timers connect 1
 neighbor h-core2 interface remote-as 65002
 neighbor h-core2 timers connect 1
 neighbor 10.0.4.2 remote-as 65003
 neighbor 10.0.4.2 timers connect 1
 neighbor 2001:db8:4::2 remote-as 65003
 neighbor 2001:db8:4::2 timers connect 1
 address-family ipv4 unicast
  neighbor 10.0.2.2 activate
  neighbor h-core2 activate
  neighbor 10.0.4.2 activate
 exit-address-family
 address-family ipv6 unicast
  neighbor h-core2 activate
  neighbor 2001:db8:4::2 activate
 exit-address-family
!
";

const FAR_BGP: &str = "ip prefix-list by-ipv6 permit 203.0.118.1/32
!
route-map by-ipv4 deny 10
 match ip address prefix-list by-ipv6
!
route-map by-ipv4 permit 20
!
route-map by-ipv6 permit 10
 match ip address prefix-list by-ipv6
!
router bgp 65002
 bgp router-id 10.0.2.2
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 timers bgp 1 3
 neighbor 10.0.2.1 remote-as 65001
 neighbor 10.0.2.1 ttl-security hops 1
 neighbor 10.0.2.1 timers connect 1
 neighbor e2 interface remote-as 65001
 neighbor e2 timers connect 1
 address-family ipv4 unicast
  network 203.0.115.1/32
  network 203.0.118.1/32
  neighbor 10.0.2.1 activate
  neighbor 10.0.2.1 route-map by-ipv4 out
  neighbor e2 activate
  neighbor e2 route-map by-ipv6 out
 exit-address-family
 address-family ipv6 unicast
  network 2001:db8:115::1/128
  neighbor e2 activate
 exit-address-family
!
";

pub const BIRD: &str = "router id 10.0.4.2;
protocol device { scan time 1; }
protocol kernel { ipv4 { import none; export all; }; }
protocol kernel { ipv6 { import none; export all; }; }
protocol direct { ipv4; ipv6; interface \"d-bgp\"; }
protocol ospf v2 {
  ipv4 { import all; export none; };
  area 0 {
    interface \"eth\" { hello 1; dead 4; retransmit 2; type ptp; };
    interface \"d-ospf\" { stub yes; };
  };
}
protocol ospf v3 {
  ipv6 { import all; export none; };
  area 0 {
    interface \"eth\" { hello 1; dead 4; retransmit 2; type ptp; };
    interface \"d-ospf\" { stub yes; };
  };
}
template bgp far {
  local as 65003;
  connect delay time 1;
  connect retry time 1;
  hold time 3;
}
protocol bgp from far {
  neighbor 10.0.4.1 as 65001;
  ipv4 { import all; export where source = RTS_DEVICE; };
}
protocol bgp from far {
  neighbor 2001:db8:4::1 as 65001;
  ipv6 { import all; export where source = RTS_DEVICE; };
}
";
