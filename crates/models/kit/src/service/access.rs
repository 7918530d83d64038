//! What a router lets pass, and at what rate: access lists and policers.

use std::collections::BTreeMap;
use std::net::IpAddr;

use packet::PortId;

/// The access lists and policers of a router.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The list of packets that come in, before their routes are looked up; empty for no list, else
    /// what no rule matches is dropped.
    pub ingress: Vec<Rule>,
    /// The list of packets that leave by a next hop.
    pub egress: Vec<Rule>,
    /// What tells the policer of a packet that the ingress list permits; none for no policer.
    pub police_by: Option<PoliceBy>,
    /// The policers by number: a packet passes if one of the buckets, asked in turn, has room for
    /// it, and only then it is charged for.
    pub policers: BTreeMap<u32, Vec<Bucket>>,
}

/// A rule of an access list; of several the first that matches counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// Whether packets pass, or are dropped.
    pub permits: bool,
    /// The network of the source and the length of its prefix.
    pub source: Option<(IpAddr, u8)>,
    /// The network of the destination.
    pub destination: Option<(IpAddr, u8)>,
    /// The protocol behind the headers of IP.
    pub protocol: Option<u8>,
    /// The first and the last source port, in protocols with ports; later fragments have none.
    pub source_ports: Option<(u16, u16)>,
    /// The first and the last destination port.
    pub destination_ports: Option<(u16, u16)>,
    /// The type of ICMP.
    pub icmp_type: Option<u8>,
    /// The code of ICMP.
    pub icmp_code: Option<u8>,
    /// Flags of TCP that are set, and that are not.
    pub tcp_flags: Option<(u8, u8)>,
    /// The part of a datagram.
    pub part: Option<Part>,
    /// The differentiated services code point.
    pub dscp: Option<u8>,
    /// The port by which it came in, or in the egress list leaves.
    pub port: Option<PortId>,
    /// The VLAN by which it did; 0 for none.
    pub vlan: Option<u16>,
    /// The policer of packets that pass, with [`PoliceBy::Rule`].
    pub policer: Option<u32>,
}

/// Which part of a datagram a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A whole datagram.
    Whole,
    /// Any fragment.
    Any,
    /// The first of several fragments.
    First,
    /// Another fragment than the first.
    Later,
}

/// What tells the policer of a packet. There may be none of the number that it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoliceBy {
    /// The rule of the ingress list.
    Rule,
    /// The number of the port by which it came in.
    Port,
    /// Its code point.
    Dscp,
}

/// A bucket of tokens, full at the start. A packet costs the bytes from its header of IP on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// What flows in, in bit/s.
    pub rate_bits_per_s: u64,
    /// What it holds, in bytes.
    pub burst_bytes: u64,
}

impl Rule {
    /// Whether packets of IPv4 (or of IPv6) can match: the version of its networks.
    pub fn is_of(&self, is_ipv4: bool) -> bool {
        let network = self.source.or(self.destination);
        network.is_none_or(|(address, _)| address.is_ipv4() == is_ipv4)
    }

    /// Whether it asks for what stands behind the headers of IP: a packet that cannot be read so
    /// far is dropped by a list that has such a rule for its version (RFC 7112 section 5).
    pub fn looks_behind(&self) -> bool {
        self.protocol.is_some()
            || self.source_ports.is_some()
            || self.destination_ports.is_some()
            || self.part.is_some()
    }
}
