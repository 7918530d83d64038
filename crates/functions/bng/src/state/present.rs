//! What there is at a time, said as it was configured.

use std::net::{Ipv4Addr, Ipv6Addr};

use function_kit::sections::{Mac, Prefixed};
use subscribers::Record;
use wire::MacAddr;

use super::State;
use crate::config::{Line, Name, Pppoe, Session};

impl State {
    /// A session as it was configured.
    pub fn session(&self, number: u32) -> Option<Session> {
        let record = self.sessions.get(number)?;
        let cold = self.cold.get(number as usize)?;
        let Record { line, pppoe, mru, delegated, delegated_len: len, .. } = *record;
        let prefix = |upper: u64, len: u8| {
            let address = Ipv6Addr::from_bits(u128::from(upper) << 64);
            (upper != 0).then_some(Prefixed { address, len })
        };
        Some(Session {
            number,
            line: Line { outer: (line >> 16) as u16, inner: line as u16 },
            mac: Mac(MacAddr(record.mac)),
            pppoe: (pppoe != 0).then_some(Pppoe { id: pppoe, mru }),
            ipv4: (record.ipv4 != 0).then(|| Ipv4Addr::from_bits(record.ipv4)),
            na: (record.address != 0).then(|| Ipv6Addr::from_bits(record.address)),
            slaac: prefix(record.slaac, 64),
            delegated: prefix(delegated, len),
            profile: self.profiles.named.get(record.profile)?.name,
            list: cold.list,
            node: self.node_name(record.node),
            vrf: self.hops.vrf_name(record.vrf),
            user: cold.user,
            circuit: cold.circuit,
        })
    }

    /// All sessions, by their numbers.
    pub fn all_sessions(&self) -> impl Iterator<Item = Session> + '_ {
        (1..self.sessions.capacity() as u32).filter_map(|number| self.session(number))
    }

    fn node_name(&self, number: u16) -> Option<Name> {
        self.nodes.get(number).map(|node| node.name)
    }
}
