//! The model's sessions: who has which address on which line, and how that changes.
//!
//! Generated sessions are computed when somebody asks for them; what changed is remembered.

use std::collections::BTreeMap;
use std::net::IpAddr;

use function_bng::config::{Line, Name, Session};
use wire::MacAddr;

use super::lists::{covers, has};
use crate::catalogue::{self, PPPOE_IDS, Subscriber};
use crate::section::Section;

/// Sessions by number.
pub(super) struct Sessions {
    section: Section,
    /// Sessions that are not as generated any more, and None for those that ended.
    changed: BTreeMap<u32, Option<Session>>,
    /// Sessions have numbers from 1 to this.
    capacity: u32,
    line_sessions: u32,
}

impl Sessions {
    pub fn new(section: &Section, capacity: u32, line_sessions: u32) -> Sessions {
        Sessions { section: section.clone(), changed: BTreeMap::new(), capacity, line_sessions }
    }

    pub fn get(&self, number: u32) -> Option<Session> {
        match self.changed.get(&number) {
            Some(changed) => *changed,
            None => self.generated(number),
        }
    }

    fn generated(&self, number: u32) -> Option<Session> {
        let number = number.checked_sub(1)?;
        let is_one = number < self.section.generated.subscribers;
        is_one.then(|| Subscriber::new(&self.section, number).session(&self.section))
    }

    /// The session of IPoE of a station on a line.
    pub fn of_station(&self, line: Line, mac: MacAddr) -> Option<Session> {
        let [_, _, _, a, b, c] = mac.0;
        let number = u32::from_be_bytes([0, a, b, c]);
        let is_it = |one: &Session| one.pppoe.is_none() && (one.line, one.mac.0) == (line, mac);
        self.find([number], is_it)
    }

    /// The session of PPPoE of an identifier on a line.
    pub fn of_pppoe(&self, line: Line, id: u16) -> Option<Session> {
        let is_it = |one: &Session| one.line == line && one.pppoe.is_some_and(|one| one.id == id);
        let first = u32::from(id).wrapping_sub(1);
        let numbers = (first..self.section.generated.subscribers).step_by(PPPOE_IDS as usize);
        self.find(numbers, is_it)
    }

    /// The session that an address of a VRF leads to: the longest of its prefixes.
    pub fn of_address(&self, vrf: Option<Name>, address: IpAddr) -> Option<Session> {
        let len = |one: &Session| match address {
            IpAddr::V4(_) => 32,
            IpAddr::V6(address) if one.na == Some(address) => 128,
            IpAddr::V6(_) => {
                let both = [one.slaac, one.delegated].into_iter().flatten();
                let its = both.filter(|one| covers((one.address.into(), one.len), address));
                its.map(|prefix| prefix.len).max().unwrap_or(0)
            }
        };
        let its = |one: &&Session| one.vrf == vrf && has(one, address);
        let changed = self.changed.values().flatten().filter(its).copied();
        let generated = self.computed(catalogue::candidates(address)).filter(|one| its(&one));
        changed.chain(generated).max_by_key(len)
    }

    /// The first session of which something holds: of those that changed, and of some numbers from
    /// 0 on.
    fn find(
        &self,
        numbers: impl IntoIterator<Item = u32>,
        is_it: impl Fn(&Session) -> bool,
    ) -> Option<Session> {
        let changed = self.changed.values().flatten().copied();
        changed.chain(self.computed(numbers)).find(is_it)
    }

    fn computed(&self, numbers: impl IntoIterator<Item = u32>) -> impl Iterator<Item = Session> {
        let numbers = numbers.into_iter().filter_map(|number| number.checked_add(1));
        let unchanged = numbers.filter(|number| !self.changed.contains_key(number));
        unchanged.filter_map(|number| self.generated(number))
    }

    /// Whether a session can be there, beside the one of its own number.
    pub fn has_room(&self, session: &Session) -> bool {
        let is_other =
            |found: Option<Session>| found.is_some_and(|one| one.number != session.number);
        let by_line = match session.pppoe {
            None => self.of_station(session.line, session.mac.0),
            Some(pppoe) => self.of_pppoe(session.line, pppoe.id),
        };
        let hosts = session.ipv4.map(IpAddr::V4).into_iter().chain(session.na.map(IpAddr::V6));
        let at = |address: IpAddr| {
            let is_it = |one: &Session| {
                one.vrf == session.vrf
                    && match address {
                        IpAddr::V4(address) => one.ipv4 == Some(address),
                        IpAddr::V6(address) => one.na == Some(address),
                    }
                    && one.number != session.number
            };
            self.find(catalogue::candidates(address), is_it)
        };
        let prefixes = [session.slaac, session.delegated].into_iter().flatten();
        let mut of_prefixes = prefixes.map(|prefix| {
            let is_it = |one: &Session| {
                let its = [one.slaac, one.delegated].contains(&Some(prefix));
                one.vrf == session.vrf && its && one.number != session.number
            };
            self.find(catalogue::candidates(prefix.address.into()), is_it)
        });
        !is_other(by_line)
            && !hosts.into_iter().any(|address| at(address).is_some())
            && !of_prefixes.any(|found| found.is_some())
    }

    /// Whether a line has as many sessions as it may, the one of a number left out.
    pub fn is_full(&self, line: Line, number: u32) -> bool {
        let is_there = |one: &Session| one.line == line && one.number != number;
        let changed = self.changed.values().flatten().copied();
        let on_line = |number: &u32| Subscriber::new(&self.section, *number).line == line;
        let generated = self.computed((0..self.section.generated.subscribers).filter(on_line));
        let count = changed.chain(generated).filter(is_there).count();
        count >= self.line_sessions as usize
    }

    /// Whether a number is one of those that sessions can have.
    pub fn is_number(&self, number: u32) -> bool {
        (1..=self.capacity).contains(&number)
    }

    /// Whether any session has this or that.
    pub fn any(&self, is_it: impl Fn(&Session) -> bool) -> bool {
        self.find(0..self.section.generated.subscribers, is_it).is_some()
    }

    pub fn set(&mut self, number: u32, session: Option<Session>) {
        self.changed.insert(number, session);
    }
}
