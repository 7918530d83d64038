//! What a virtual router is configured with.

use std::net::IpAddr;
use std::time::Duration;

use protocol_kit::Interface;
use wire::ethernet::MacAddr;

use crate::packet::{Coverage, INTERVAL_CS_MAX};

/// A virtual router as a controller asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Which one it is.
    pub key: Key,
    /// The router's own address on the interface, from which it advertises. Over IPv6 it is a
    /// link-local one unless there are peers.
    pub primary: IpAddr,
    /// The virtual addresses; over IPv6 the first is a link-local one (section 5.2.9).
    pub addresses: Vec<IpAddr>,
    /// Priority, 1 to 254; 255 if the virtual addresses are the router's own.
    pub priority: u8,
    /// Time between advertisements, 10 ms to 40.95 s, a multiple of 10 ms.
    pub interval: Duration,
    /// Whether it takes over from a router of lower priority (`Preempt_Mode`).
    pub has_preemption: bool,
    /// How long it leaves a router of lower priority in charge, from when it could take over.
    pub preempt_delay: Duration,
    /// Whether packets to the virtual addresses are accepted though they are not the router's own
    /// (`Accept_Mode`). The machine tells it with the state and does nothing else by it.
    pub has_accept_mode: bool,
    /// What the checksum of its advertisements covers over IPv4.
    pub coverage: Coverage,
    /// Neighbours to which it advertises instead of the group; from others nothing is taken.
    pub peers: Vec<IpAddr>,
    /// How often the virtual addresses are announced (gratuitous ARP, Neighbor Advertisements) when
    /// it becomes active, spread over a second.
    pub announcements: u8,
    /// Objects of the controller that change the priority while they are down.
    pub tracked: Vec<Tracked>,
    /// The virtual routers of this node with which it is active, or not at all.
    pub group: Option<Group>,
}

/// Virtual routers of a node that change their state together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The controller's number of the group.
    pub number: u32,
    /// How many it consists of. Without all of them none takes part.
    pub size: u32,
}

/// A virtual router among all (RFC 9568 section 1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its interface.
    pub interface: Interface,
    /// Its number (VRID), 1 to 255.
    pub vrid: u8,
    /// Whether its addresses are of IPv6; those of IPv4 with the same number are another one.
    pub is_v6: bool,
}

/// An object that a virtual router tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracked {
    /// The controller's number of the object.
    pub object: u32,
    /// What it means that it is down.
    pub effect: Effect,
}

/// What it means for a virtual router that an object is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The priority is lower by this, but 1 at the least. An owner's stays (section 6.1).
    Decrement(u8),
    /// The router cannot do its work: it resigns and does not take part.
    Fault,
}

/// Why a configuration or a command cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The number is above the limit or in use, or names no virtual router, or the same virtual
    /// router exists already.
    #[error("the virtual router exists already or does not, or there are as many as there may be")]
    Router,
    /// A change of the interface, VRID, family, primary address, peers, or of owning the addresses.
    #[error("remove the virtual router and add another one to change this")]
    Fixed,
    /// VRID 0.
    #[error("a VRID is 1 to 255")]
    Vrid,
    /// No virtual address, too many, of another family, or no link-local one where it has to be.
    #[error(
        "1 to 64 different virtual addresses of one family; over IPv6 the first and the primary \
         address are link-local"
    )]
    Addresses,
    /// The priority is 0, or 255 by `Command::SetPriority` or in a group.
    #[error("a priority is 1 to 254, or 255 for the owner of the addresses")]
    Priority,
    /// An interval that advertisements cannot tell.
    #[error("an interval is 10 ms to 40.95 s, a multiple of 10 ms")]
    Interval,
    /// Too many peers, of another family, or the router itself.
    #[error("at most 64 peers of the same family")]
    Peers,
    /// An object of a number above the limit, or too many.
    #[error("at most 64 tracked objects, with numbers below the limit")]
    Tracked,
}

impl Key {
    /// The virtual router's MAC address (RFC 9568 section 7.3).
    pub fn mac(self) -> MacAddr {
        MacAddr([0, 0, 0x5e, 0, 1 + u8::from(self.is_v6), self.vrid])
    }
}

impl Config {
    /// A virtual router with the defaults of RFC 9568 section 6.1: priority 100, an advertisement
    /// every second, preemption.
    pub fn new(key: Key, primary: IpAddr, addresses: Vec<IpAddr>) -> Config {
        Config {
            key,
            primary,
            addresses,
            priority: 100,
            interval: Duration::from_secs(1),
            has_preemption: true,
            preempt_delay: Duration::ZERO,
            has_accept_mode: false,
            coverage: Coverage::Message,
            peers: Vec::new(),
            announcements: 5,
            tracked: Vec::new(),
            group: None,
        }
    }

    /// Whether the virtual addresses are the router's own.
    pub fn is_owner(&self) -> bool {
        self.priority == OWNER
    }

    /// Checks what the types cannot tell. Tracked objects have numbers below `objects`.
    ///
    /// # Errors
    /// The first thing that cannot be used.
    pub fn check(&self, objects: usize) -> Result<(), Unusable> {
        if self.key.vrid == 0 {
            return Err(Unusable::Vrid);
        }
        let is_of_family = |address: &IpAddr| {
            address.is_ipv6() == self.key.is_v6
                && !address.is_unspecified()
                && !address.is_multicast()
        };
        let is_link_local =
            |address: &IpAddr| !matches!(address, IpAddr::V6(v6) if !v6.is_unicast_link_local());
        let are_distinct = |all: &[IpAddr]| {
            let mut sorted = all.to_vec();
            sorted.sort_unstable();
            sorted.windows(2).all(|pair| pair[0] != pair[1])
        };
        let primary_fits = is_link_local(&self.primary) || !self.peers.is_empty();
        let is_list = (1..=LIST_MAX).contains(&self.addresses.len())
            && self.addresses.iter().all(is_of_family)
            && are_distinct(&self.addresses)
            && self.addresses.first().is_some_and(is_link_local);
        if !is_list || !is_of_family(&self.primary) || !primary_fits {
            return Err(Unusable::Addresses);
        }
        // An owner is active from the start, whatever others are.
        if self.priority == RESIGNS || self.is_owner() && self.group.is_some() {
            return Err(Unusable::Priority);
        }
        if interval_cs(self.interval).is_none() {
            return Err(Unusable::Interval);
        }
        let are_peers = self.peers.len() <= LIST_MAX
            && self.peers.iter().all(is_of_family)
            && are_distinct(&self.peers)
            && !self.peers.contains(&self.primary);
        if !are_peers {
            return Err(Unusable::Peers);
        }
        let is_object = |tracked: &Tracked| (tracked.object as usize) < objects;
        if self.tracked.len() > LIST_MAX || !self.tracked.iter().all(is_object) {
            return Err(Unusable::Tracked);
        }
        Ok(())
    }
}

/// An interval as advertisements tell it, in hundredths of a second; `None` if they cannot.
pub(crate) fn interval_cs(interval: Duration) -> Option<u16> {
    let is_whole = interval.as_nanos().is_multiple_of(10_000_000);
    let count = u16::try_from(interval.as_nanos() / 10_000_000).ok()?;
    (is_whole && (1..=INTERVAL_CS_MAX).contains(&count)).then_some(count)
}

/// The priority of a router whose addresses they are (RFC 9568 section 5.2.4).
pub const OWNER: u8 = 255;

/// The priority by which an active router resigns.
pub const RESIGNS: u8 = 0;

/// Most virtual addresses, peers and tracked objects of a router. An advertisement with so many
/// addresses of IPv6 has 1,072 bytes and fits every link.
pub const LIST_MAX: usize = 64;
