//! Routes, next hops, addresses, neighbours and links in messages of netlink (`rtnetlink(7)`,
//! `linux/nexthop.h`).
//!
//! ```text
//!  route     | family u8 | bits u8 | source bits u8 | TOS u8 | table u8 | protocol u8 | scope u8 |
//!            | type u8 | flags u32 | attributes: RTA_DST, RTA_GATEWAY, …                       |
//!  next hop  | family u8 | scope u8 | protocol u8 | reserved u8 | flags u32 | attributes: NHA_… |
//!  hop among several (RTA_MULTIPATH)  | length u16 | flags u8 | weight - 1 u8 | interface u32 |
//!                                     | attributes |
//!  member of a group (NHA_GROUP)      | number u32 | weight - 1 u8 | high byte u8 | reserved u16 |
//!  address   | family u8 | bits u8 | flags u8 | scope u8 | interface u32 | attributes: IFA_…    |
//!  neighbour | family u8 | padding 3 | interface u32 | state u16 | flags u8 | type u8 | NDA_… |
//!  link      | family u8 | padding u8 | type u16 | interface u32 | flags u32 | change u32 | …     |
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use protocol_kit::Interface;

use crate::route::{Destination, Hop, Key, Member, NextHop, Prefix, Route};
use crate::wire::{Message, aligned, split_attribute, u16_at, u32_at, u32_of};

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// There is a route.
    Route(Route),
    /// A route is gone.
    Withdrawn {
        /// What others replace it by.
        key: Key,
        /// Its metric; 0 for none.
        metric: u32,
    },
    /// There is a next hop.
    NextHop {
        /// Its number.
        id: u32,
        /// Where packets go.
        next_hop: NextHop,
        /// As [`Route::is_encapsulated`].
        is_encapsulated: bool,
    },
    /// There is a group of next hops.
    Group {
        /// Its number.
        id: u32,
        /// Its next hops.
        members: Vec<Member>,
    },
    /// A next hop or a group is gone.
    NextHopGone {
        /// Its number.
        id: u32,
    },
    /// There is an address of the host, or it is gone.
    Address {
        /// Its interface.
        interface: Interface,
        /// The address.
        address: IpAddr,
        /// Length of the link's prefix in bits.
        len: u8,
        /// Whether it is there.
        is_there: bool,
    },
    /// What is known of a neighbour.
    Neighbour {
        /// The interface behind which it is.
        interface: Interface,
        /// Its address.
        address: IpAddr,
        /// What is known.
        known: Known,
    },
    /// A link is there, or it is gone.
    Link {
        /// Its interface.
        interface: Interface,
        /// Whether it is there and up.
        is_up: bool,
    },
}

/// What the host knows of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Its Ethernet address, which an operator has said.
    Fixed([u8; 6]),
    /// Its Ethernet address, by which it has answered of late.
    Reachable([u8; 6]),
    /// Nothing for certain.
    Nothing,
    /// The host has nothing of it any more.
    Gone,
}

/// Why a message has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is about something else: labels of MPLS, stations of a bridge.
    Other,
    /// It is about a route that is found by more than its destination, or that is of a type that
    /// leads nowhere in the network.
    Unsupported,
    /// Its attributes do not say what they have to.
    Malformed,
}

/// Reads a message.
///
/// # Errors
/// Why it has no effect.
pub fn read(message: Message<'_>) -> Result<Said, Unread> {
    match message.kind {
        NEW_ROUTE => read_route(message.body).map(Said::Route),
        DEL_ROUTE => read_withdrawn(message.body),
        NEW_NEXT_HOP => read_object(message.body),
        DEL_NEXT_HOP => {
            let id = attributes(message.body, NEXT_HOP_LEN).find_map(|attribute| match attribute {
                Ok((NHA_ID, value)) => u32_of(value),
                _ => None,
            });
            id.map(|id| Said::NextHopGone { id }).ok_or(Unread::Malformed)
        }
        NEW_ADDRESS | DEL_ADDRESS => read_address(message.body, message.kind == NEW_ADDRESS),
        NEW_NEIGHBOUR | DEL_NEIGHBOUR => {
            read_neighbour(message.body, message.kind == NEW_NEIGHBOUR)
        }
        NEW_LINK | DEL_LINK => read_link(message.body, message.kind == NEW_LINK),
        _ => Err(Unread::Other),
    }
}

fn read_route(body: &[u8]) -> Result<Route, Unread> {
    let head = Head::read(body)?;
    let flags = u32_at(body, 8).ok_or(Unread::Malformed)?;
    let mut place = head.place;
    let (mut metric, mut object, mut several, mut is_encapsulated) = (0, None, None, false);
    let mut hop = Hop { is_onlink: flags & u32::from(ONLINK) != 0, ..NO_HOP };
    for attribute in attributes(body, ROUTE_LEN) {
        let (kind, value) = attribute?;
        match kind {
            RTA_PRIORITY => metric = u32_of(value).ok_or(Unread::Malformed)?,
            RTA_NH_ID => object = Some(u32_of(value).ok_or(Unread::Malformed)?),
            RTA_MULTIPATH => several = Some(read_hops(value, &mut is_encapsulated)?),
            _ if place.take(kind, value)? || take_hop(&mut hop, kind, value)? => {}
            RTA_ENCAP | RTA_ENCAP_TYPE => is_encapsulated = true,
            _ => {}
        }
    }
    let destination = match (head.kind, object, several) {
        (BLACKHOLE, ..) => Destination::Blackhole,
        (UNREACHABLE, ..) => Destination::Unreachable,
        (PROHIBIT, ..) => Destination::Prohibited,
        (UNICAST, Some(id), _) => Destination::Object(id),
        (UNICAST, None, Some(hops)) => Destination::Hops(hops),
        (UNICAST, None, None) if hop.gateway.is_some() || hop.interface.is_some() => {
            Destination::Hops(vec![hop])
        }
        (UNICAST, None, None) => return Err(Unread::Malformed),
        _ => return Err(Unread::Unsupported),
    };
    let Key { table, prefix } = place.key()?;
    let protocol = head.protocol;
    Ok(Route { table, prefix, metric, protocol, destination, is_encapsulated })
}

fn read_withdrawn(body: &[u8]) -> Result<Said, Unread> {
    let (mut place, mut metric) = (Head::read(body)?.place, 0);
    for attribute in attributes(body, ROUTE_LEN) {
        let (kind, value) = attribute?;
        if kind == RTA_PRIORITY {
            metric = u32_of(value).ok_or(Unread::Malformed)?;
        }
        place.take(kind, value)?;
    }
    Ok(Said::Withdrawn { key: place.key()?, metric })
}

/// An address: of the two ends of a link between two, the local one.
fn read_address(body: &[u8], is_there: bool) -> Result<Said, Unread> {
    let head: &[u8; 4] = body.first_chunk().ok_or(Unread::Malformed)?;
    let [family, len, flags, _] = *head;
    let interface = Interface(u32_at(body, 4).ok_or(Unread::Malformed)?);
    let (mut local, mut far, mut flags) = (None, None, u32::from(flags));
    for attribute in attributes(body, ADDRESS_LEN) {
        let (kind, value) = attribute?;
        match kind {
            IFA_ADDRESS => far = Some(address(value)?),
            IFA_LOCAL => local = Some(address(value)?),
            IFA_FLAGS => flags = u32_of(value).ok_or(Unread::Malformed)?,
            _ => {}
        }
    }
    let own = local.or(far).ok_or(Unread::Malformed)?;
    let bits = family_bits(family)?;
    if own.is_ipv6() != (bits == 128) || len > bits {
        return Err(Unread::Malformed);
    }
    // Somebody else has it.
    let is_there = is_there && flags & DAD_FAILED == 0;
    Ok(Said::Address { interface, address: own, len, is_there })
}

fn read_neighbour(body: &[u8], is_there: bool) -> Result<Said, Unread> {
    let family = *body.first().ok_or(Unread::Malformed)?;
    let bits = family_bits(family)?;
    let interface = Interface(u32_at(body, 4).ok_or(Unread::Malformed)?);
    let state = u16_at(body, 8).ok_or(Unread::Malformed)?;
    let (mut who, mut station) = (None, None);
    for attribute in attributes(body, NEIGHBOUR_LEN) {
        let (kind, value) = attribute?;
        match kind {
            NDA_DST => who = Some(address(value)?),
            NDA_LLADDR => station = value.try_into().ok(),
            _ => {}
        }
    }
    let address = who.ok_or(Unread::Malformed)?;
    if address.is_ipv6() != (bits == 128) {
        return Err(Unread::Malformed);
    }
    let known = match station {
        _ if !is_there => Known::Gone,
        Some(station) if state & PERMANENT != 0 => Known::Fixed(station),
        Some(station) if state & REACHABLE != 0 => Known::Reachable(station),
        _ => Known::Nothing,
    };
    Ok(Said::Neighbour { interface, address, known })
}

fn read_link(body: &[u8], is_there: bool) -> Result<Said, Unread> {
    // A bridge also tells of its ports.
    if *body.first().ok_or(Unread::Malformed)? != UNSPEC {
        return Err(Unread::Other);
    }
    let interface = Interface(u32_at(body, 4).ok_or(Unread::Malformed)?);
    let flags = u32_at(body, 8).ok_or(Unread::Malformed)?;
    let is_up = is_there && flags & UP != 0 && flags & RUNNING != 0;
    Ok(Said::Link { interface, is_up })
}

/// The bits of an address of a family.
fn family_bits(family: u8) -> Result<u8, Unread> {
    match family {
        INET => Ok(32),
        INET6 => Ok(128),
        _ => Err(Unread::Other),
    }
}

/// The fixed part of a route's message.
struct Head {
    place: Place,
    protocol: u8,
    kind: u8,
}

/// Where a route lies, as far as it was read.
struct Place {
    is_v6: bool,
    bits: u8,
    table: u32,
    address: Option<IpAddr>,
}

impl Head {
    fn read(body: &[u8]) -> Result<Head, Unread> {
        let head: &[u8; 8] = body.first_chunk().ok_or(Unread::Malformed)?;
        let [family, bits, source_bits, tos, table, protocol, _, kind] = *head;
        let is_v6 = match family {
            INET => false,
            INET6 => true,
            _ => return Err(Unread::Other),
        };
        if source_bits != 0 || tos != 0 {
            return Err(Unread::Unsupported);
        }
        let place = Place { is_v6, bits, table: u32::from(table), address: None };
        Ok(Head { place, protocol, kind })
    }
}

impl Place {
    /// Takes an attribute if it belongs to the place.
    fn take(&mut self, kind: u16, value: &[u8]) -> Result<bool, Unread> {
        match kind {
            RTA_DST => self.address = Some(address(value)?),
            // Numbers from 256 on have no room in the fixed part.
            RTA_TABLE => self.table = u32_of(value).ok_or(Unread::Malformed)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn key(&self) -> Result<Key, Unread> {
        let any = if self.is_v6 { Ipv6Addr::UNSPECIFIED.into() } else { IpAddr::V4(ANY_V4) };
        let address = self.address.unwrap_or(any);
        let has_destination = self.address.is_some() || self.bits == 0;
        let prefix = Prefix::new(address, self.bits);
        let prefix = prefix.filter(|_| has_destination && address.is_ipv6() == self.is_v6);
        prefix.map(|prefix| Key { table: self.table, prefix }).ok_or(Unread::Malformed)
    }
}

/// The hops of a route with several.
fn read_hops(mut bytes: &[u8], is_encapsulated: &mut bool) -> Result<Vec<Hop>, Unread> {
    let mut hops = Vec::new();
    while !bytes.is_empty() {
        let len = u16_at(bytes, 0).ok_or(Unread::Malformed)?;
        let whole = bytes.get(..usize::from(len)).ok_or(Unread::Malformed)?;
        let &[_, _, flags, weight, ..] = whole else { return Err(Unread::Malformed) };
        let interface = u32_at(whole, 4).ok_or(Unread::Malformed)?;
        let mut hop = Hop {
            interface: (interface != 0).then_some(Interface(interface)),
            weight: u16::from(weight) + 1,
            is_onlink: flags & ONLINK != 0,
            gateway: None,
        };
        for attribute in attributes(whole, HOP_LEN) {
            let (kind, value) = attribute?;
            if !take_hop(&mut hop, kind, value)? {
                *is_encapsulated |= [RTA_ENCAP, RTA_ENCAP_TYPE].contains(&kind);
            }
        }
        hops.push(hop);
        bytes = bytes.get(aligned(usize::from(len))..).unwrap_or(&[]);
    }
    if hops.is_empty() { Err(Unread::Malformed) } else { Ok(hops) }
}

/// Takes an attribute of a route if it belongs to a hop.
fn take_hop(hop: &mut Hop, kind: u16, value: &[u8]) -> Result<bool, Unread> {
    match kind {
        RTA_GATEWAY => hop.gateway = Some(address(value)?),
        // The family of the address, then the address: for one of another family than the route.
        RTA_VIA => hop.gateway = Some(address(value.get(2..).unwrap_or(&[]))?),
        RTA_OIF => hop.interface = Some(Interface(u32_of(value).ok_or(Unread::Malformed)?)),
        _ => return Ok(false),
    }
    Ok(true)
}

/// A next hop or a group.
fn read_object(body: &[u8]) -> Result<Said, Unread> {
    let flags = u32_at(body, 4).ok_or(Unread::Malformed)?;
    let (mut id, mut members, mut is_blackhole, mut is_encapsulated) = (None, None, false, false);
    let mut hop = Hop { is_onlink: flags & u32::from(ONLINK) != 0, ..NO_HOP };
    for attribute in attributes(body, NEXT_HOP_LEN) {
        let (kind, value) = attribute?;
        match kind {
            NHA_ID => id = Some(u32_of(value).ok_or(Unread::Malformed)?),
            NHA_GROUP => members = Some(read_members(value)?),
            NHA_BLACKHOLE => is_blackhole = true,
            NHA_OIF => hop.interface = Some(Interface(u32_of(value).ok_or(Unread::Malformed)?)),
            NHA_GATEWAY => hop.gateway = Some(address(value)?),
            NHA_ENCAP | NHA_ENCAP_TYPE => is_encapsulated = true,
            _ => {}
        }
    }
    let id = id.ok_or(Unread::Malformed)?;
    let next_hop = match members {
        Some(members) => return Ok(Said::Group { id, members }),
        None if is_blackhole => NextHop::Blackhole,
        None if hop.gateway.is_some() || hop.interface.is_some() => NextHop::Hop(hop),
        None => return Err(Unread::Malformed),
    };
    Ok(Said::NextHop { id, next_hop, is_encapsulated })
}

fn read_members(bytes: &[u8]) -> Result<Vec<Member>, Unread> {
    let (members, []) = bytes.as_chunks::<MEMBER_LEN>() else { return Err(Unread::Malformed) };
    let member = |bytes: &[u8; MEMBER_LEN]| {
        let [a, b, c, d, low, high, ..] = *bytes;
        let weight = u16::from_le_bytes([low, high]).saturating_add(1);
        Member { id: u32::from_le_bytes([a, b, c, d]), weight }
    };
    if members.is_empty() {
        return Err(Unread::Malformed);
    }
    Ok(members.iter().map(member).collect())
}

/// The attributes behind a fixed part; what is no attribute ends them as an error.
fn attributes(body: &[u8], fixed_len: usize) -> impl Iterator<Item = Result<(u16, &[u8]), Unread>> {
    let mut rest = body.get(fixed_len..).ok_or(Unread::Malformed);
    std::iter::from_fn(move || match &mut rest {
        Ok([]) => None,
        Ok(bytes) => {
            let attribute = split_attribute(bytes).ok_or(Unread::Malformed);
            if attribute.is_err() {
                rest = Ok(&[]);
            }
            Some(attribute)
        }
        Err(_) => {
            rest = Ok(&[]);
            Some(Err(Unread::Malformed))
        }
    })
}

fn address(value: &[u8]) -> Result<IpAddr, Unread> {
    if let Ok(octets) = <[u8; 4]>::try_from(value) {
        return Ok(octets.into());
    }
    <[u8; 16]>::try_from(value).map(IpAddr::from).map_err(|_| Unread::Malformed)
}

const NO_HOP: Hop = Hop { gateway: None, interface: None, weight: 1, is_onlink: false };

const ANY_V4: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

/// Types of messages.
const NEW_LINK: u16 = 16;
const DEL_LINK: u16 = 17;
const NEW_ADDRESS: u16 = 20;
const DEL_ADDRESS: u16 = 21;
const NEW_ROUTE: u16 = 24;
const DEL_ROUTE: u16 = 25;
const NEW_NEIGHBOUR: u16 = 28;
const DEL_NEIGHBOUR: u16 = 29;
const NEW_NEXT_HOP: u16 = 104;
const DEL_NEXT_HOP: u16 = 105;

/// Families of addresses.
const UNSPEC: u8 = 0;
const INET: u8 = 2;
const INET6: u8 = 10;

/// Types of routes.
const UNICAST: u8 = 1;
const BLACKHOLE: u8 = 6;
const UNREACHABLE: u8 = 7;
const PROHIBIT: u8 = 8;

/// The flag of a route or a hop whose gateway is a neighbour whatever the addresses say.
const ONLINK: u8 = 4;

/// Attributes of a route.
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_MULTIPATH: u16 = 9;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;
const RTA_ENCAP_TYPE: u16 = 21;
const RTA_ENCAP: u16 = 22;
const RTA_NH_ID: u16 = 30;

/// Attributes of an address.
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_FLAGS: u16 = 8;

/// The flag of an address that somebody else on the link has.
const DAD_FAILED: u32 = 0x08;

/// Attributes of a neighbour.
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;

/// States of a neighbour, as bits.
const REACHABLE: u16 = 0x02;
const PERMANENT: u16 = 0x80;

/// Flags of a link.
const UP: u32 = 0x01;
const RUNNING: u32 = 0x40;

/// Attributes of a next hop.
const NHA_ID: u16 = 1;
const NHA_GROUP: u16 = 2;
const NHA_BLACKHOLE: u16 = 4;
const NHA_OIF: u16 = 5;
const NHA_GATEWAY: u16 = 6;
const NHA_ENCAP_TYPE: u16 = 7;
const NHA_ENCAP: u16 = 8;

/// Bytes of the fixed parts.
const ROUTE_LEN: usize = 12;
const NEXT_HOP_LEN: usize = 8;
const ADDRESS_LEN: usize = 8;
const NEIGHBOUR_LEN: usize = 12;
const HOP_LEN: usize = 8;
const MEMBER_LEN: usize = 8;
