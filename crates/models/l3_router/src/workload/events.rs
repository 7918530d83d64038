//! What comes and goes while a router forwards: routes and next hops, as changes that the tester
//! asks for.
use function_l3_router::config::Prefixed;
use function_l3_router::control::Update;
use packet::PortId;

use crate::catalogue::{self, passing_side};
use crate::generated::{Section, passing_hop_number, target};

/// What comes and goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Route,
    NextHop,
}

impl Kind {
    pub(super) const ALL: [Kind; 2] = [Kind::Route, Kind::NextHop];

    /// TIPSY's name of the event.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Route => "l3-table-update",
            Kind::NextHop => "group-table-update",
        }
    }

    /// The subject of a change that frames can show.
    pub(super) fn subject(self, number: u32) -> u64 {
        (self as u64 + 1) << 32 | u64::from(number)
    }

    /// The same for an addition; a removal shows in no frame and has a subject of its own.
    pub(super) fn subject_of(self, number: u32, adds: bool) -> u64 {
        if adds { self.subject(number) } else { REMOVAL | self.subject(number) }
    }

    pub(super) fn of(subject: u64) -> (Option<Kind>, u32) {
        let kind = Kind::ALL.into_iter().find(|&kind| kind as u64 + 1 == subject >> 32);
        (kind, subject as u32)
    }
}

/// A passing route comes behind a port, or goes; none where no next hop is there for it.
pub(super) fn route(section: &Section, side: PortId, passing: u32, adds: bool) -> Option<Update> {
    let network = catalogue::passing_route_ipv4(side, passing);
    let prefix = Prefixed { address: network.into(), len: catalogue::IPV4_LEN };
    let groups = section.generated.group_size(side);
    match adds {
        true if groups == 0 => None,
        true => {
            let next_hop = target(section, side, passing);
            Some(Update::SetRoute { prefix, next_hop, vrf: 0 })
        }
        false => Some(Update::RemoveRoute { prefix, vrf: 0 }),
    }
}

/// A passing next hop comes, or goes.
pub(super) fn next_hop(section: &Section, passing: u32, adds: bool) -> Update {
    let number = passing_hop_number(section, passing);
    let next_hop = catalogue::passing_hop(section, passing_side(passing), passing);
    match adds {
        true => Update::SetNextHop { number, next_hop },
        false => Update::RemoveNextHop { number },
    }
}

/// Marks the subject of a removal.
pub(super) const REMOVAL: u64 = 1 << 63;
