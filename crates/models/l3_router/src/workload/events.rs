//! What comes and goes while a router forwards: routes and next hops, as changes that the tester
//! asks for.
use function_l3_router::config::Prefixed;
use function_l3_router::control::Update;
use traffic::workload::Change;

use super::Routed;
use crate::catalogue::{self, passing_side};
use crate::generated::{passing_hop_number, target};

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

impl Routed {
    /// Routes that come and go, in turn.
    pub(super) fn next_route(&mut self, number: u64) -> Option<Change<Update>> {
        let (passing, adds) = self.passing_routes.next(number)?;
        let side = self.passing_route_side(passing);
        let network = catalogue::passing_route_ipv4(side, passing);
        let prefix = Prefixed { address: network.into(), len: catalogue::IPV4_LEN };
        let groups = self.section.generated.group_size(side);
        let update = match adds {
            true if groups == 0 => return None,
            true => {
                let next_hop = target(&self.section, side, passing);
                Update::SetRoute { prefix, next_hop, vrf: 0 }
            }
            false => Update::RemoveRoute { prefix, vrf: 0 },
        };
        Some(Change { subject: Kind::Route.subject_of(passing, adds), steering: None, update })
    }

    /// Next hops that come and go, in turn.
    pub(super) fn next_hop(&mut self, number: u64) -> Option<Change<Update>> {
        let (passing, adds) = self.passing_hops.next(number)?;
        let number = passing_hop_number(&self.section, passing);
        let next_hop = catalogue::passing_hop(&self.section, passing_side(passing), passing);
        let update = match adds {
            true => Update::SetNextHop { number, next_hop },
            false => Update::RemoveNextHop { number },
        };
        Some(Change { subject: Kind::NextHop.subject_of(passing, adds), steering: None, update })
    }
}

/// Marks the subject of a removal.
pub(super) const REMOVAL: u64 = 1 << 63;
