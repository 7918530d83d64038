//! Mappings that a gateway asks for, before a packet of theirs is seen.
//!
//! Such a mapping is a session with an end that no packet has ([`Far::expected`]): it takes part in
//! the ring of its mapping, lives as long as a session that nobody answers, and lets filtering take
//! packets of whom it is for.

use std::net::{Ipv4Addr, SocketAddrV4};

use packet::Reason;

use crate::alg::{Mappings, Ports, Protocol};
use crate::reasons::{self, Tally};
use crate::sessions::allocation::Wanted;
use crate::sessions::fields::Marks;
use crate::sessions::ports::Class;
use crate::sessions::table::Number;
use crate::sessions::times::Moment;
use crate::state::State;
use crate::types::flow::{Far, Inside};

/// The mappings of the state, for a gateway that reads a payload.
pub struct Asking<'a> {
    state: &'a mut State,
    /// A session of who asks.
    of: Inside,
    now: Moment,
    /// Where the message begins that asks.
    message: usize,
}

impl<'a> Asking<'a> {
    /// For a payload of a subscriber's session.
    pub fn new(state: &'a mut State, of: Inside, now: Moment) -> Asking<'a> {
        state.algs.made.truncate(0);
        Asking { state, of, now, message: 0 }
    }

    /// Maps an inside end for whom its key expects; tells the outside one.
    fn map_one(&mut self, key: &Inside, wanted: Wanted) -> Option<(u32, u16)> {
        let (number, is_new) = self.state.expect(key, wanted, self.now).ok()?;
        if is_new && self.state.algs.made.push((self.message, number)).is_none() {
            self.state.undo(number, self.now);
            return None;
        }
        let session = &self.state.sessions.records[number as usize];
        Some((session.outside, session.outside_port))
    }

    /// Maps two that follow one another, in the same order outside.
    fn map_pair(&mut self, [one, next]: [&Inside; 2]) -> Option<(u32, u16)> {
        let wanted = match self.state.mapped(next, self.now) {
            Some((_, port)) => {
                let before = port.checked_sub(1)?;
                if !Wanted::Parity.fits(one.port(), before) {
                    return None;
                }
                Wanted::Exactly(before)
            }
            None => Wanted::Pair,
        };
        let end = self.map_one(one, wanted)?;
        self.map_one(next, Wanted::Exactly(end.1.checked_add(1)?))?;
        Some(end)
    }
}

impl Mappings for Asking<'_> {
    fn map(
        &mut self,
        protocol: Protocol,
        inside: SocketAddrV4,
        ports: Ports,
        remote: Option<Ipv4Addr>,
    ) -> Option<SocketAddrV4> {
        let far = Far::expected(number_of(protocol), remote.map(Ipv4Addr::to_bits));
        let of = self.of;
        let key = |port| of.beside(inside.ip().to_bits(), port, far);
        let one = key(inside.port());
        let (address, port) = match ports {
            Ports::Any => self.map_one(&one, Wanted::Any),
            Ports::SameParity => self.map_one(&one, Wanted::Parity),
            Ports::Pair => {
                let next = key(inside.port().checked_add(1)?);
                self.map_pair([&one, &next])
            }
        }?;
        Some(SocketAddrV4::new(address.into(), port))
    }

    fn look_up(&mut self, protocol: Protocol, outside: SocketAddrV4) -> Option<SocketAddrV4> {
        let address = self.state.allocation.addresses.number(outside.ip().to_bits())?;
        let class = Class::of(number_of(protocol));
        let owner = self.state.allocation.ports.owner(address, class, outside.port())?;
        let state = &*self.state;
        let mut ring = state.sessions.mapping(owner).take(RING_MAX);
        let session = ring.find(|session| state.times.left(session, self.now).is_some())?;
        let near = session.inside_key().beside(0, 0, Far::default());
        let is_near = near == self.of.beside(0, 0, Far::default());
        let is_ipv4 = !session.marks.has(Marks::IPV6) && is_near;
        let inside = Ipv4Addr::from_bits(session.inside[1] as u32);
        is_ipv4.then_some(SocketAddrV4::new(inside, session.inside_port()))
    }

    fn begin(&mut self, message: usize) {
        self.message = message;
    }

    fn undo(&mut self, message: usize) {
        self.state.undo_expected(message, self.now);
    }
}

impl State {
    /// Takes back what was mapped new for messages of the payload in hand from a place on.
    pub fn undo_expected(&mut self, from: usize, now: Moment) {
        let made = self.algs.made;
        let kept = made.iter().take_while(|&(message, _)| message < from).count();
        made.iter().skip(kept).for_each(|(_, number)| self.undo(number, now));
        self.algs.made.truncate(kept);
    }

    /// The outside end of a mapping, if it is there.
    fn mapped(&mut self, key: &Inside, now: Moment) -> Option<(u32, u16)> {
        let number = self.live_mapping(key, now)?;
        let session = &self.sessions.records[number as usize];
        Some((session.outside, session.outside_port))
    }

    /// A session for packets that are expected, and whether it is new; one that is there lives
    /// anew.
    ///
    /// # Errors
    /// Why there is none; nothing has changed then.
    fn expect(
        &mut self,
        key: &Inside,
        wanted: Wanted,
        now: Moment,
    ) -> Result<(Number, bool), Reason> {
        let found = self.sessions.find_inside(key.hash(self.sessions.keyed()), key);
        if let Some(number) = found {
            let session = &mut self.sessions.records[number as usize];
            if !self.times.is_over(session, now) {
                let fits = wanted.fits(key.port(), session.outside_port);
                fits.then_some(()).ok_or(reasons::PORTS_EXHAUSTED)?;
                session.used = now;
                self.note(number);
                return Ok((number, false));
            }
            self.expire(number, now);
        }
        let number = self.open(key, wanted, now, Tally::AlgExpected)?;
        Ok((number, true))
    }
}

fn number_of(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::Tcp => wire::protocol::TCP,
        Protocol::Udp => wire::protocol::UDP,
        Protocol::Gre => wire::protocol::GRE,
    }
}

/// Sessions of a mapping among which one that lives is looked for.
const RING_MAX: usize = 64;
