//! What an operator says of a peer, and the OPEN that follows from it.

use std::net::IpAddr;
use std::time::Duration;

use protocol_kit::StreamOptions;

use crate::capabilities::{Capability, GracefulRestart, Role};
use crate::families::{Family, FamilySet};
use crate::open::Open;

/// A peer and what is offered to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The own AS.
    pub local_as: u32,
    /// The own identifier, not 0.
    pub identifier: u32,
    /// The peer's address.
    pub peer: IpAddr,
    /// The port on which the peer listens.
    pub port: u16,
    /// The peer's AS.
    pub peer_as: u32,
    /// The own address towards the peer; `None` for that of the route.
    pub local: Option<IpAddr>,
    /// Whether the peer is waited for, and never connected to.
    pub is_passive: bool,
    /// For how long nothing may be heard of the peer, in seconds: 0 for ever, else 3 or more. The
    /// lower one of both sides counts.
    pub hold_time_s: u16,
    /// The longest time until a connection is tried again, and the time that each attempt has.
    pub connect_retry: Duration,
    /// The families that are offered.
    pub families: FamilySet,
    /// Those of them of which several routes of a key are received (RFC 7911).
    pub receives_paths: FamilySet,
    /// Those of them of which several routes of a key are sent.
    pub sends_paths: FamilySet,
    /// Those of them whose next hops may be of IPv6 (RFC 8950).
    pub extended_next_hops: FamilySet,
    /// Whether messages of more than 4096 bytes are offered (RFC 8654).
    pub has_extended_messages: bool,
    /// Whether ASes of 4 bytes are offered (RFC 6793); an own AS that has no 2 bytes needs it.
    pub is_wide: bool,
    /// The own part in the relation with a peer of another AS (RFC 9234).
    pub role: Option<Role>,
    /// Whether the peer has to say its part, too.
    pub is_role_strict: bool,
    /// What of a restart is offered (RFC 4724); `None` for nothing.
    pub restart: Option<Restart>,
    /// What holds for connections: the least Time To Live (RFC 5082), keys (RFC 2385).
    pub options: StreamOptions,
}

/// What a speaker offers of a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restart {
    /// How long its own restart takes at most, in seconds, below 4096.
    pub time_s: u16,
    /// Whether it has just restarted.
    pub is_restarting: bool,
    /// Whether NOTIFICATIONs and the hold timer count as the beginning of a restart (RFC 8538).
    pub has_notification: bool,
    /// The families of which the peer may keep the routes.
    pub families: FamilySet,
    /// Those of them by whose routes it has forwarded all the time.
    pub preserved: FamilySet,
}

impl Config {
    /// The usual offer to a peer: IPv4, a hold time of 90 seconds.
    pub fn new(local_as: u32, identifier: u32, peer: IpAddr, peer_as: u32) -> Config {
        Config {
            local_as,
            identifier,
            peer,
            port: PORT,
            peer_as,
            local: None,
            is_passive: false,
            hold_time_s: 90,
            connect_retry: Duration::from_secs(120),
            families: [Family::Ipv4Unicast].into_iter().collect(),
            receives_paths: FamilySet::NONE,
            sends_paths: FamilySet::NONE,
            extended_next_hops: FamilySet::NONE,
            has_extended_messages: true,
            is_wide: true,
            role: None,
            is_role_strict: false,
            restart: None,
            options: StreamOptions::default(),
        }
    }

    /// Returns whether the peer is in another AS.
    pub fn is_external(&self) -> bool {
        self.local_as != self.peer_as
    }

    /// Returns what is said first in a connection.
    pub fn open(&self) -> Open {
        let mut capabilities: Vec<_> = self.multiprotocol().collect();
        capabilities.push(Capability::RouteRefresh);
        let extended = self.extended_next_hops.and(self.families);
        if !extended.is_empty() {
            let list = extended.iter().map(Family::numbers);
            let list = list.map(|(afi, safi)| (afi, u16::from(safi), AFI_IPV6)).collect();
            capabilities.push(Capability::ExtendedNextHop(list));
        }
        if self.has_extended_messages {
            capabilities.push(Capability::ExtendedMessage);
        }
        if let Some(role) = self.role.filter(|_| self.is_external()) {
            capabilities.push(Capability::Role(role as u8));
        }
        if let Some(restart) = &self.restart {
            capabilities.push(Capability::GracefulRestart(restart.capability(self.families)));
        }
        if self.is_wide {
            capabilities.push(Capability::FourOctetAs(self.local_as));
        }
        let path_ids: Vec<_> = self.families.iter().filter_map(|one| self.paths(one)).collect();
        if !path_ids.is_empty() {
            capabilities.push(Capability::AddPath(path_ids));
        }
        capabilities.push(Capability::EnhancedRefresh);
        Open {
            asn: self.local_as,
            hold_time_s: self.hold_time_s,
            identifier: self.identifier,
            capabilities,
        }
    }

    /// Returns the capabilities by which the families are offered.
    pub(crate) fn multiprotocol(&self) -> impl Iterator<Item = Capability> {
        let numbers = self.families.iter().map(Family::numbers);
        numbers.map(|(afi, safi)| Capability::Multiprotocol(afi, safi))
    }

    /// In which directions path identifiers of a family are offered.
    fn paths(&self, family: Family) -> Option<(u16, u8, u8)> {
        let (afi, safi) = family.numbers();
        let receives = u8::from(self.receives_paths.contains(family)) * RECEIVES;
        let sends = u8::from(self.sends_paths.contains(family)) * SENDS;
        (receives | sends > 0).then_some((afi, safi, receives | sends))
    }
}

impl Restart {
    fn capability(&self, families: FamilySet) -> GracefulRestart {
        let one = |family: Family| {
            let (afi, safi) = family.numbers();
            (afi, safi, self.preserved.contains(family))
        };
        GracefulRestart {
            is_restarting: self.is_restarting,
            has_notification: self.has_notification,
            time_s: self.time_s.min(TIME_S_MAX),
            families: self.families.and(families).iter().map(one).collect(),
        }
    }
}

/// The port of BGP.
pub const PORT: u16 = 179;

/// The number of addresses of IPv6.
const AFI_IPV6: u16 = 2;

/// The number that says that a speaker receives path identifiers.
pub(crate) const RECEIVES: u8 = 1;

/// The number that says that it sends them.
pub(crate) const SENDS: u8 = 2;

/// The longest time that the capability has room for, in seconds.
const TIME_S_MAX: u16 = 0xfff;
