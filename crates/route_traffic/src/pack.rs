//! What feeders send: UPDATEs of at most 4096 bytes, packed by sets of attributes.

use protocol_bgp::Family;
use protocol_bgp::attributes::{MP_REACH, MP_UNREACH, NEXT_HOP};
use protocol_bgp::message::{HEADER_LEN, Kind, LEN_MAX};

use crate::attributes::{self, Attribute, Attributes};
use crate::fed::Fed;

/// Returns the UPDATEs with which each feeder tells its table, one behind the other, without an
/// End-of-RIB.
///
/// # Errors
/// In words, if attributes are too long for a message.
pub fn tables(fed: &Fed) -> Result<Vec<Vec<u8>>, String> {
    let mut packers: Vec<Packer> = Vec::new();
    packers.resize_with(usize::from(fed.feeders()), Packer::default);
    let mut wire = Vec::new();
    for route in 0..fed.routes().count() {
        wire.clear();
        fed.routes().wire(route, &mut wire);
        for teller in 0..fed.tellers() {
            let view = fed.told(route, teller);
            let packer = &mut packers[usize::from(fed.feeder_of(view))];
            if packer.view != Some(view) {
                packer.begin(fed, view)?;
            }
            packer.push(&wire)?;
        }
    }
    Ok(packers.into_iter().map(Packer::finish).collect())
}

/// Returns the UPDATEs with which each feeder withdraws its table.
pub fn withdrawals(fed: &Fed) -> Vec<Vec<u8>> {
    let mut packers: Vec<Packer> = Vec::new();
    packers.resize_with(usize::from(fed.feeders()), Packer::default);
    let mut wire = Vec::new();
    for route in 0..fed.routes().count() {
        wire.clear();
        fed.routes().wire(route, &mut wire);
        for teller in 0..fed.tellers() {
            let view = fed.told(route, teller);
            let family = fed.routes().family(fed.set_of(view));
            let packer = &mut packers[usize::from(fed.feeder_of(view))];
            if packer.withdraws != Some(family) {
                packer.begin_withdrawal(family);
            }
            // A route has room behind a head without attributes.
            let _ = packer.push(&wire);
        }
    }
    packers.into_iter().map(Packer::finish).collect()
}

/// Appends the UPDATE of a single route with a view.
///
/// # Errors
/// In words, if its attributes are too long for a message.
pub fn change(fed: &Fed, route: u32, view: u32, out: &mut Vec<u8>) -> Result<(), String> {
    let mut packer = Packer::default();
    packer.begin(fed, view)?;
    let mut wire = Vec::new();
    fed.routes().wire(route, &mut wire);
    packer.push(&wire)?;
    out.extend(packer.finish());
    Ok(())
}

/// Makes UPDATEs of routes with the same attributes.
#[derive(Default)]
struct Packer {
    out: Vec<u8>,
    view: Option<u32>,
    withdraws: Option<Family>,
    /// Where the last UPDATE begins; there is none yet if that is where the bytes end.
    start: usize,
    /// What stands before the routes of each UPDATE, and behind them.
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Where in an UPDATE the length of the routes stands, if it has one.
    routes_len_at: Option<usize>,
    /// Where the length of the attributes stands, if it follows from the routes.
    attributes_len_at: Option<usize>,
}

impl Packer {
    fn begin(&mut self, fed: &Fed, view: u32) -> Result<(), String> {
        self.close();
        (self.view, self.withdraws) = (Some(view), None);
        let set_number = fed.set_of(view);
        let mut set = Vec::new();
        fed.routes().attributes(set_number, &mut set);
        let family = fed.routes().family(set_number);
        self.header(4);
        self.tail.clear();
        if family == Family::Ipv4Unicast {
            Attributes::new(&set).for_each(|one| attributes::write_one(one, &mut self.head));
            let len = self.head.len() - HEADER_LEN - 4;
            let len = u16::try_from(len).map_err(|_| TOO_LONG.to_owned())?;
            self.head[HEADER_LEN + 2..HEADER_LEN + 4].copy_from_slice(&len.to_be_bytes());
            (self.routes_len_at, self.attributes_len_at) = (None, None);
        } else {
            let next_hop = attributes::next_hop(&set);
            self.within(MP_REACH, family);
            self.head.push(next_hop.len() as u8);
            self.head.extend(next_hop);
            self.head.push(0);
            let is_other = |one: &Attribute<'_>| one.code != NEXT_HOP;
            let others = Attributes::new(&set).filter(is_other);
            others.for_each(|one| attributes::write_one(one, &mut self.tail));
        }
        Ok(())
    }

    fn begin_withdrawal(&mut self, family: Family) {
        self.close();
        (self.view, self.withdraws) = (None, Some(family));
        self.tail.clear();
        if family == Family::Ipv4Unicast {
            self.header(2);
            self.tail.extend([0; 2]);
            (self.routes_len_at, self.attributes_len_at) = (Some(HEADER_LEN), None);
        } else {
            self.header(4);
            self.within(MP_UNREACH, family);
        }
    }

    fn header(&mut self, zeros: usize) {
        self.head.clear();
        self.head.extend([0xff; 16]);
        self.head.extend([0, 0, Kind::Update as u8]);
        self.head.extend(&[0; 4][..zeros]);
    }

    /// Begins the attribute that has the routes, with a length of two bytes.
    fn within(&mut self, code: u8, family: Family) {
        let (afi, safi) = family.numbers();
        self.head.extend([0x90, code, 0, 0]);
        (self.routes_len_at, self.attributes_len_at) =
            (Some(self.head.len() - 2), Some(HEADER_LEN + 2));
        self.head.extend(afi.to_be_bytes());
        self.head.push(safi);
    }

    fn push(&mut self, wire: &[u8]) -> Result<(), String> {
        let len = self.out.len() - self.start;
        if len > 0 && len + wire.len() + self.tail.len() > LEN_MAX {
            self.close();
        }
        if self.out.len() == self.start {
            if self.head.len() + wire.len() + self.tail.len() > LEN_MAX {
                return Err(TOO_LONG.into());
            }
            self.out.extend(&self.head);
        }
        self.out.extend(wire);
        Ok(())
    }

    fn close(&mut self) {
        let Packer { out, start, tail, .. } = self;
        if out.len() > *start {
            let routes_end = out.len() - *start;
            out.extend(&*tail);
            let message = &mut out[*start..];
            let mut put = |at: usize, len: usize| {
                message[at..at + 2].copy_from_slice(&(len as u16).to_be_bytes());
            };
            if let Some(at) = self.routes_len_at {
                put(at, routes_end - at - 2);
            }
            let len = routes_end + tail.len();
            if let Some(at) = self.attributes_len_at {
                put(at, len - at - 2);
            }
            put(HEADER_LEN - 3, len);
        }
        self.start = self.out.len();
    }

    fn finish(mut self) -> Vec<u8> {
        self.close();
        self.out
    }
}

const TOO_LONG: &str = "a set of attributes is too long for a message of 4096 bytes";
