//! Routes and their attributes, as a person would write them down.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    /// The address, whose bits behind the length are 0.
    pub address: IpAddr,
    /// The length in bits.
    pub len: u8,
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

/// The attributes of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// ORIGIN: 0 for IGP, 1 for EGP, 2 for incomplete (RFC 4271 section 5.1.1).
    pub origin: u8,
    /// AS_PATH, of sequences alone.
    pub path: Vec<u32>,
    /// NEXT_HOP, or that of MP_REACH_NLRI.
    pub next_hop: IpAddr,
    /// MULTI_EXIT_DISC.
    pub med: Option<u32>,
    /// LOCAL_PREF.
    pub preference: Option<u32>,
    /// COMMUNITIES (RFC 1997), in any order.
    pub communities: Vec<u32>,
    /// EXTENDED_COMMUNITIES (RFC 4360), in any order.
    pub extended: Vec<u64>,
    /// LARGE_COMMUNITIES (RFC 8092), in any order.
    pub large: Vec<[u32; 3]>,
    /// ORIGINATOR_ID (RFC 4456 section 8).
    pub originator: Option<Ipv4Addr>,
    /// CLUSTER_LIST (RFC 4456 section 8), the nearest reflector first.
    pub clusters: Vec<Ipv4Addr>,
    /// Attributes without a meaning to the reflector, by their code: whether the partial bit is
    /// set, and the value.
    pub unknown: BTreeMap<u8, (bool, Vec<u8>)>,
    /// Attributes that nobody has said, as text: always a difference.
    pub others: Vec<String>,
}

impl Attributes {
    /// Creates the least that a route has.
    pub fn new(next_hop: IpAddr) -> Attributes {
        Attributes {
            origin: 0,
            path: Vec::new(),
            next_hop,
            med: None,
            preference: Some(DEFAULT_PREFERENCE),
            communities: Vec::new(),
            extended: Vec::new(),
            large: Vec::new(),
            originator: None,
            clusters: Vec::new(),
            unknown: BTreeMap::new(),
            others: Vec::new(),
        }
    }

    /// Returns the attributes with what has no order in one order.
    pub fn sorted(mut self) -> Attributes {
        self.communities.sort_unstable();
        self.extended.sort_unstable();
        self.large.sort_unstable();
        self
    }
}

impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "next hop {}, path {:?}, origin {}", self.next_hop, self.path, self.origin)?;
        let numbers = [("MED", self.med), ("preference", self.preference)];
        for (name, value) in numbers.into_iter().filter_map(|(name, it)| Some((name, it?))) {
            write!(f, ", {name} {value}")?;
        }
        if !self.communities.is_empty() {
            let one = |it: &u32| format!("{}:{}", it >> 16, it & 0xffff);
            let all: Vec<String> = self.communities.iter().map(one).collect();
            write!(f, ", communities {}", all.join(" "))?;
        }
        if !self.extended.is_empty() {
            write!(f, ", extended communities {:016x?}", self.extended)?;
        }
        if !self.large.is_empty() {
            write!(f, ", large communities {:?}", self.large)?;
        }
        if let Some(originator) = self.originator {
            write!(f, ", originator {originator}")?;
        }
        if !self.clusters.is_empty() {
            write!(f, ", clusters {:?}", self.clusters)?;
        }
        for (code, (is_partial, value)) in &self.unknown {
            let partial = if *is_partial { " (partial)" } else { "" };
            write!(f, ", attribute {code}{partial} {value:02x?}")?;
        }
        self.others.iter().try_for_each(|other| write!(f, ", {other}"))
    }
}

/// LOCAL_PREF of a route that says none.
pub const DEFAULT_PREFERENCE: u32 = 100;
