//! The two messages of Neighbor Discovery that a router needs: solicitation and advertisement (RFC
//! 4861 sections 4.3 and 4.4), each with the one option that says an Ethernet address.
//!
//! Router advertisements are those of [`crate::router_discovery`]. **Not supported:** redirects.

use std::net::Ipv6Addr;

use wire::bytes::{array_at, put_array, put_u16, u16_at};
use wire::icmp::{self, v6};
pub use wire::ipv6::link_local;
use wire::{MacAddr, ethernet, ipv6, protocol};

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Who has this address? The asking one, unspecified where he looks for duplicates, and his
    /// Ethernet address if he says it.
    Solicitation {
        /// Who asks.
        source: Ipv6Addr,
        /// His Ethernet address.
        mac: Option<MacAddr>,
    },
    /// This address is his.
    Advertisement {
        /// The address.
        target: Ipv6Addr,
        /// The Ethernet address that he says.
        mac: MacAddr,
        /// Whether it takes the place of one that is known.
        overrides: bool,
    },
}

/// Whether a frame looks like one of Neighbor Discovery. None is ever forwarded.
#[inline(always)]
pub fn is_one(frame: &[u8]) -> bool {
    const KIND: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN;
    frame.first_chunk::<{ KIND + 1 }>().is_some_and(|head| {
        matches!(head[KIND], v6::NEIGHBOR_SOLICITATION | v6::NEIGHBOR_ADVERTISEMENT)
            && head[ethernet::HEADER_LEN + ipv6::offset::NEXT_HEADER] == protocol::ICMPV6
            && u16_at(head, ethernet::offset::TYPE) == ethernet::TYPE_IPV6
    })
}

/// Whether a frame is a neighbour solicitation that asks for an address.
pub fn asks_for(frame: &[u8], address: Ipv6Addr) -> bool {
    asked(frame) == Some(address)
}

/// The address that a solicitation asks for, whatever else is wrong with it; none of all others.
pub fn asked(frame: &[u8]) -> Option<Ipv6Addr> {
    const MESSAGE: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN;
    let message = frame.get(MESSAGE..).filter(|_| is_one(frame))?;
    let head = message.first_chunk::<{ TARGET + 16 }>()?;
    (head[icmp::offset::TYPE] == v6::NEIGHBOR_SOLICITATION)
        .then(|| Ipv6Addr::from(array_at::<16>(head, TARGET)))
}

/// Whether a frame is one of Neighbor Discovery for a station of this Ethernet address and IPv6
/// address, or its groups; none of all others.
///
/// # Errors
/// When it is one that breaks the rules of sections 7.1.1 and 7.1.2, or is for others.
pub fn read(frame: &[u8], own: (MacAddr, Option<Ipv6Addr>)) -> Option<Result<Message, ()>> {
    let packet = frame.get(ethernet::HEADER_LEN..)?;
    if u16_at(frame, ethernet::offset::TYPE) != ethernet::TYPE_IPV6 {
        return None;
    }
    let view = ipv6::View::parse(packet).ok()?;
    let message = view.payload();
    let kind = *message.first()?;
    let is_one = matches!(kind, v6::NEIGHBOR_SOLICITATION | v6::NEIGHBOR_ADVERTISEMENT);
    if view.next_header() != protocol::ICMPV6 || !is_one {
        return None;
    }
    Some(understand(frame, &view, own).ok_or(()))
}

fn understand(
    frame: &[u8],
    view: &ipv6::View<'_>,
    (mac, address): (MacAddr, Option<Ipv6Addr>),
) -> Option<Message> {
    let address = address?;
    let message = view.payload();
    let to = MacAddr(array_at(frame, 0));
    let is_mine = to == mac || to == mac_of(group_of(address)) || to == mac_of(ALL_NODES);
    let is_sound = view.hop_limit() == HOP_LIMIT
        && message.len() >= MESSAGE_LEN
        && message[icmp::offset::CODE] == 0
        && icmp::verify_ipv6(view.source(), view.destination(), message);
    if !is_mine || !is_sound {
        return None;
    }
    let target: Ipv6Addr = array_at::<16>(message, TARGET).into();
    let (source, destination) = (view.source(), view.destination());
    let said = option(message, message[icmp::offset::TYPE])?;
    if target.is_multicast() || source.is_multicast() {
        return None;
    }
    match message[icmp::offset::TYPE] {
        v6::NEIGHBOR_SOLICITATION => {
            let is_unspecified = source.is_unspecified();
            let is_well = !is_unspecified || (said.is_none() && destination == group_of(target));
            (is_well && target == address).then_some(Message::Solicitation { source, mac: said })
        }
        _ => {
            let flags = message[FLAGS];
            let is_well = !(destination.is_multicast() && flags & SOLICITED != 0);
            let overrides = flags & OVERRIDE != 0;
            let mac = said.filter(|_| is_well)?;
            Some(Message::Advertisement { target, mac, overrides })
        }
    }
}

/// The Ethernet address that the option for a type of message says, if it is there; nothing at all
/// where an option is broken.
fn option(message: &[u8], kind: u8) -> Option<Option<MacAddr>> {
    let wanted = if kind == v6::NEIGHBOR_SOLICITATION { SOURCE_ADDRESS } else { TARGET_ADDRESS };
    address_in(&message[MESSAGE_LEN..], wanted)
}

/// The Ethernet address of the first option of a kind that says one, if it is there; nothing at all
/// where an option is broken.
pub(crate) fn address_in(mut rest: &[u8], wanted: u8) -> Option<Option<MacAddr>> {
    let mut said = None;
    while !rest.is_empty() {
        let len = usize::from(*rest.get(1)?) * 8;
        if len == 0 || len > rest.len() {
            return None;
        }
        if rest[0] == wanted && len == 8 && said.is_none() {
            said = Some(MacAddr(array_at(rest, 2)));
        }
        rest = &rest[len..];
    }
    Some(said)
}

/// Asks who has `target`: a station alone whether it is still there, or the group of `target`.
pub fn solicit(
    frame: &mut [u8; FRAME_LEN],
    (mac, source): (MacAddr, Ipv6Addr),
    target: Ipv6Addr,
    station: Option<MacAddr>,
) {
    let group = group_of(target);
    let (to, destination) = match station {
        Some(station) => (station, target),
        None => (mac_of(group), group),
    };
    let ends = Ends { macs: [to, mac], source, destination };
    write(frame, ends, (v6::NEIGHBOR_SOLICITATION, 0), target, (SOURCE_ADDRESS, mac));
}

/// Answers a solicitation for an interface's own address: to whom asked, or to all where he has no
/// address yet (section 7.2.4).
pub fn advertise(asking: (Ipv6Addr, MacAddr), mac: MacAddr, own: Ipv6Addr) -> [u8; FRAME_LEN] {
    let (source, station) = asking;
    let mut frame = [0; FRAME_LEN];
    let (destination, to, flags) = match source.is_unspecified() {
        true => (ALL_NODES, mac_of(ALL_NODES), ROUTER | OVERRIDE),
        false => (source, station, ROUTER | SOLICITED | OVERRIDE),
    };
    let ends = Ends { macs: [to, mac], source: own, destination };
    write(&mut frame, ends, (v6::NEIGHBOR_ADVERTISEMENT, flags), own, (TARGET_ADDRESS, mac));
    frame
}

/// Between whom a message goes.
struct Ends {
    macs: [MacAddr; 2],
    source: Ipv6Addr,
    destination: Ipv6Addr,
}

fn write(
    frame: &mut [u8; FRAME_LEN],
    ends: Ends,
    (kind, flags): (u8, u8),
    target: Ipv6Addr,
    (option, mac): (u8, MacAddr),
) {
    let Ends { macs: [to, from], source, destination } = ends;
    let header =
        ethernet::Fields { destination: to, source: from, ether_type: ethernet::TYPE_IPV6 };
    let ip = ipv6::Fields {
        traffic_class: 0,
        flow_label: 0,
        payload_len: (MESSAGE_LEN + OPTION_LEN) as u16,
        next_header: protocol::ICMPV6,
        hop_limit: HOP_LIMIT,
        source,
        destination,
    };
    frame.first_chunk_mut().into_iter().for_each(|place| header.emit(place));
    frame[ethernet::HEADER_LEN..].first_chunk_mut().into_iter().for_each(|place| ip.emit(place));
    let message = &mut frame[ethernet::HEADER_LEN + ipv6::HEADER_LEN..];
    let fields = icmp::Fields { kind, code: 0, rest: u32::from(flags) << 24 };
    message.first_chunk_mut().into_iter().for_each(|place| fields.emit(place));
    put_array(message, TARGET, target.octets());
    (message[MESSAGE_LEN], message[MESSAGE_LEN + 1]) = (option, 1);
    put_array(message, MESSAGE_LEN + 2, mac.0);
    let sum = icmp::checksum_ipv6(source, destination, message);
    put_u16(message, icmp::offset::CHECKSUM, sum);
}

/// The group of all who have an address that ends like this one (RFC 4291 section 2.7.1).
pub fn group_of(address: Ipv6Addr) -> Ipv6Addr {
    let last = address.to_bits() & 0x00ff_ffff;
    Ipv6Addr::from_bits(SOLICITED_NODE.to_bits() | last)
}

/// The Ethernet address of a group (RFC 2464 section 7).
pub fn mac_of(group: Ipv6Addr) -> MacAddr {
    let [.., a, b, c, d] = group.octets();
    MacAddr([0x33, 0x33, a, b, c, d])
}

/// Length of a frame with a message and its option.
pub const FRAME_LEN: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN + MESSAGE_LEN + OPTION_LEN;

pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const SOLICITED_NODE: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 0);

/// Proof that a message comes from the link itself.
pub(crate) const HOP_LIMIT: u8 = 255;

const MESSAGE_LEN: usize = 24;
const OPTION_LEN: usize = 8;
const FLAGS: usize = 4;
const TARGET: usize = 8;
pub(crate) const SOURCE_ADDRESS: u8 = 1;
const TARGET_ADDRESS: u8 = 2;
const ROUTER: u8 = 0x80;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;
