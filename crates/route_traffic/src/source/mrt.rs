//! Tables that collectors have recorded (MRT, RFC 6396): what one peer has said.
//!
//! A file is the messages of sessions (BGP4MP and BGP4MP_ET, with ASes of four bytes) or a table
//! (TABLE_DUMP_V2, unicast), compressed by gzip or not. Of one peer what it said last of each
//! prefix becomes what a feeder tells by iBGP: of the attributes those that a reflector passes on
//! unchanged remain, and LOCAL_PREF is added where it is absent. Left out and counted are routes
//! whose path has the own AS, and those that no speaker takes: own host and multicast addresses,
//! next hops that are none, an AS of 0 in the path. A file is read a record at a time, twice where
//! no peer is named.

use std::collections::HashMap;
use std::io::BufRead;
use std::net::IpAddr;
use std::path::Path;

use protocol_bgp::Family;
use protocol_bgp::attributes::{
    AGGREGATOR, AS_PATH, ATOMIC_AGGREGATE, COMMUNITIES, EXTENDED_COMMUNITIES, LARGE_COMMUNITIES,
    LOCAL_PREF, MED, NEXT_HOP, ORIGIN,
};
use protocol_bgp::message::{HEADER_LEN, Kind};
use protocol_mrt::table::{Entry, Table};
use protocol_mrt::{Framing, Record};

use crate::attributes::{self, Attributes};
use crate::nlri;
use crate::source::listed::{Listed, Listing};
use crate::update::Update;

/// What is read of a file.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The peer whose routes are read; the one with most records if none is named.
    pub peer: Option<IpAddr>,
    /// The own AS; routes with it in their path are loops.
    pub own_as: u32,
    /// Exactly so many prefixes.
    pub prefixes: Option<u32>,
    /// Exactly so many different AS paths.
    pub paths: Option<u32>,
}

/// What was found beside routes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Records of the peer that were read.
    pub records: u64,
    /// Records, or attributes in them, that cannot be read.
    pub damaged: u64,
    /// Routes that were left out because their path has the own AS.
    pub loops: u64,
    /// Routes that were left out because no speaker takes them.
    pub unusable: u64,
}

/// Reads what a peer has said.
///
/// # Errors
/// In words, with the file's name, if it cannot be read, is no MRT or has no routes of the peer.
pub fn read(path: &Path, options: &Options) -> Result<(Listed, Notes), String> {
    let named = |why: String| format!("{}: {why}", path.display());
    let peer = match options.peer {
        Some(peer) => peer,
        None => most_frequent(path).map_err(named)?,
    };
    let mut into = Reader {
        own_as: options.own_as,
        listing: Listing::default(),
        notes: Notes::default(),
        set: Vec::new(),
        kept: Vec::new(),
    };
    let damaged = each(path, |said| {
        if said.peer == peer {
            into.notes.records += 1;
            if into.take(&said).is_err() {
                into.notes.damaged += 1;
            }
        }
    })
    .map_err(named)?;
    into.notes.damaged += damaged;
    if into.listing.count() == 0 {
        return Err(named(format!("there are no routes of the peer {peer}")));
    }
    let listed = into.listing.list(options.prefixes, options.paths).map_err(named)?;
    Ok((listed, into.notes))
}

/// What a peer has said in a record.
struct Said<'a> {
    peer: IpAddr,
    what: What<'a>,
}

enum What<'a> {
    /// A message, with its header.
    Message(&'a [u8]),
    /// A route of a table, and what the peer says of it.
    Entry(&'a Table<'a>, Entry<'a>),
}

/// What a file is read into.
struct Reader {
    own_as: u32,
    listing: Listing,
    notes: Notes,
    set: Vec<u8>,
    kept: Vec<u8>,
}

impl Reader {
    fn take(&mut self, said: &Said<'_>) -> Result<(), String> {
        match said.what {
            What::Entry(table, entry) => {
                attributes::each(entry.attributes, |_| Ok(()))?;
                let next_hop = entry.next_hop(table.family);
                self.announce(table.family, table.wire, next_hop, entry.attributes)
            }
            What::Message(message) => {
                if message.get(HEADER_LEN - 1) != Some(&(Kind::Update as u8)) {
                    return Ok(());
                }
                let update = Update::read(&message[HEADER_LEN..])?;
                for (family, field) in &update.withdrawn {
                    if is_read(*family) {
                        nlri::each(*family, field, |_, wire| {
                            self.listing.withdraw(*family, wire);
                            Ok(())
                        })?;
                    }
                }
                for (family, field, next_hop) in &update.announced {
                    if is_read(*family) {
                        self.announce(*family, field, next_hop, update.attributes)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn announce(
        &mut self,
        family: Family,
        field: &[u8],
        next_hop: &[u8],
        wire: &[u8],
    ) -> Result<(), String> {
        // A link-local address behind a global one is of that link alone.
        let next_hop = next_hop.get(..16).filter(|_| next_hop.len() == 32).unwrap_or(next_hop);
        self.set.clear();
        attributes::normalise(wire, next_hop, &mut self.set)?;
        self.kept.clear();
        // An AS of 0 is nobody's: speakers discard an AGGREGATOR of it (RFC 7607 section 2).
        let is_kept = |attribute: &attributes::Attribute<'_>| {
            let is_of_nobody = attribute.code == AGGREGATOR && attribute.value.starts_with(&[0; 4]);
            KEPT.contains(&attribute.code) && !is_of_nobody
        };
        for attribute in Attributes::new(&self.set).filter(is_kept) {
            attributes::push(attribute.code, attribute.flags, attribute.value, &mut self.kept);
        }
        let path = attributes::value(&self.kept, AS_PATH).ok_or("a route has no AS_PATH")?;
        attributes::value(&self.kept, ORIGIN).ok_or("a route has no ORIGIN")?;
        let is_loop = protocol_bgp::path::contains(path, self.own_as);
        let is_sound = is_hop(next_hop) && !protocol_bgp::path::contains(path, 0);
        let Reader { listing, notes, kept, .. } = self;
        nlri::each(family, field, |_, route| {
            if is_loop || !is_sound || !is_usable(family, route) {
                // What was said before does not hold any more.
                listing.withdraw(family, route);
                *if is_loop { &mut notes.loops } else { &mut notes.unusable } += 1;
            } else {
                listing.announce(family, route, kept);
            }
            Ok(())
        })
    }
}

/// The peer with most records.
fn most_frequent(path: &Path) -> Result<IpAddr, String> {
    let mut counts: HashMap<IpAddr, u64> = HashMap::new();
    each(path, |said| *counts.entry(said.peer).or_default() += 1)?;
    let most = counts.into_iter().max_by_key(|(peer, count)| (*count, std::cmp::Reverse(*peer)));
    most.map(|(peer, _)| peer)
        .ok_or_else(|| "there are no messages with ASes of four bytes and no tables in it".into())
}

/// Calls a function with what peers have said, record by record. Returns how many records could not
/// be read.
fn each(path: &Path, mut take: impl FnMut(Said<'_>)) -> Result<u64, String> {
    let (mut from, _) = rows::open(path).map_err(|error| error.to_string())?;
    let (mut framing, mut peers, mut damaged) = (Framing::default(), Vec::new(), 0);
    loop {
        let piece = from.fill_buf();
        let records = framing.records();
        let piece = piece.map_err(|error| format!("behind record {records}: {error}"))?;
        let (len, mut left) = (piece.len(), piece);
        if len == 0 {
            break;
        }
        while let Some(frame) = framing.next(&mut left) {
            let (number, skipped) = (frame.number, frame.skipped);
            if skipped > 0 {
                let what = "bytes before it are no record; is this MRT?";
                return Err(format!("record {number}: {skipped} {what}"));
            }
            match frame.read() {
                Ok((_, Record::Message(message))) if message.is_wide => {
                    take(Said { peer: message.ends.peer, what: What::Message(message.bytes) });
                }
                Ok((_, Record::Peers(table))) => {
                    peers.clear();
                    peers.extend(table.peers().map(|peer| peer.address));
                }
                Ok((_, Record::Table(table))) if is_read(table.family) => {
                    for entry in table.entries() {
                        if let Some(peer) = peers.get(usize::from(entry.peer)) {
                            take(Said { peer: *peer, what: What::Entry(&table, entry) });
                        }
                    }
                }
                Ok(_) => {}
                Err(_) => damaged += 1,
            }
        }
        from.consume(len);
    }
    framing.finish().map_err(|cut| cut.to_string())?;
    Ok(damaged)
}

fn is_read(family: Family) -> bool {
    matches!(family, Family::Ipv4Unicast | Family::Ipv6Unicast)
}

/// Whether a next hop is an address of a host.
fn is_hop(bytes: &[u8]) -> bool {
    match bytes.len() {
        4 => (1..224).contains(&bytes[0]) && bytes[0] != 127,
        16 => bytes[..15] != [0; 15] && bytes[0] != 0xff,
        _ => false,
    }
}

/// Whether a prefix is one of unicast addresses that are not those of the own host; the default
/// route is.
fn is_usable(family: Family, wire: &[u8]) -> bool {
    let [bits, first, ..] = *wire else { return true };
    match family {
        Family::Ipv4Unicast => (1..224).contains(&first) && first != 127 || bits < 8,
        _ => first != 0xff,
    }
}

/// Attributes that reflectors pass on as they are.
const KEPT: &[u8] = &[
    ORIGIN,
    AS_PATH,
    NEXT_HOP,
    MED,
    LOCAL_PREF,
    ATOMIC_AGGREGATE,
    AGGREGATOR,
    COMMUNITIES,
    EXTENDED_COMMUNITIES,
    LARGE_COMMUNITIES,
];
