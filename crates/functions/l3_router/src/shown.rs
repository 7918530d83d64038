//! What operators are shown of the router beside its tables: neighbours and sessions of BFD, what
//! raises alarms, and how BFD is found among frames.

use std::ops::Range;

use function_kit::{Condition, Neighbour, Severity, Spoken, When, station};
use protocol_bfd::{Reach, State, View, redact, sockets};
use stages::duplicates;
use wire::bytes::u16_at;
use wire::{ethernet, ipv4, ipv6, protocol, udp};

use super::happened::Whose;
use super::neighbours::{Entry, Neighbours};
use super::pipeline::Pipeline;

/// The peers of BFD, then stations on the links.
pub(super) fn neighbours(router: &Pipeline, limit: usize) -> Vec<Neighbour> {
    chosen(router, |_, _| true, limit)
}

/// Those of a protocol in a state.
pub(super) fn neighbours_in(router: &Pipeline, of: (&str, &str), limit: usize) -> Vec<Neighbour> {
    chosen(router, |protocol, state| (protocol, state) == of, limit)
}

/// Those whose protocol and state are wanted; the others are not made up.
fn chosen(
    router: &Pipeline,
    is_wanted: impl Fn(&'static str, &str) -> bool,
    limit: usize,
) -> Vec<Neighbour> {
    let interfaces = &router.state().interfaces;
    let name = |number: u16| {
        let own = interfaces.get(number);
        let port = interfaces.ports().get(usize::from(own.port.0));
        let port = port.map_or_else(String::new, ToString::to_string);
        if own.vlan == 0 { port } else { format!("{port} vlan {}", own.vlan) }
    };
    let shown = |one: &Entry| station(name(one.link), one.address, one.state(), one.mac);
    let peer = |(whose, view): (Whose, View)| Neighbour {
        protocol: "bfd",
        interface: match view.path.reach {
            Reach::SingleHop(interface) => name(interface.0 as u16),
            Reach::MultiHop(_) => String::new(),
        },
        address: view.path.peer.to_string(),
        state: state_name(view.state),
        since: None,
        detail: match whose {
            Whose::NextHop(hop) => {
                format!("next hop {hop}; the peer is {}", state_name(view.peer_state))
            }
            Whose::Discriminator(_) => format!("the peer is {}", state_name(view.peer_state)),
        },
    };
    let others = router.neighbours().into_iter().flat_map(Neighbours::duplicates);
    let others =
        others.map(|one| station(name(one.link), one.address, duplicates::STATE, Some(one.mac)));
    let others = others.filter(|one| is_wanted(one.protocol, &one.state));
    let protocol_of = |one: &Entry| if one.address.is_ipv4() { "arp" } else { "nd" };
    let stations = router.neighbours().into_iter().flat_map(Neighbours::entries);
    let stations = stations.filter(|one| is_wanted(protocol_of(one), one.state()));
    let peers = router.liveness.iter().flat_map(|all| all.views());
    let peers = peers.filter(|(_, view)| is_wanted("bfd", &state_name(view.state)));
    peers.map(peer).chain(others).chain(stations.map(shown)).take(limit).collect()
}

fn state_name(state: State) -> String {
    format!("{state:?}").to_lowercase()
}

/// What raises alarms.
pub(super) const CONDITIONS: &[Condition] = &[
    Condition {
        cause: "bfd-down",
        severity: Severity::Major,
        when: When::Neighbour {
            protocol: "bfd",
            state: "down",
            told_by: &["paths-up", "paths-down"],
        },
        text: "the session with a neighbour is down, and no packet goes to the next hops there",
    },
    Condition {
        cause: "address-conflict",
        severity: Severity::Major,
        when: When::Neighbour {
            protocol: "arp",
            state: duplicates::STATE,
            told_by: &["address-conflicts"],
        },
        text: "another station has an address of the router's, and hosts may go there instead",
    },
    Condition {
        cause: "address-conflict-ipv6",
        severity: Severity::Major,
        when: When::Neighbour {
            protocol: "nd",
            state: duplicates::STATE,
            told_by: &["address-conflicts"],
        },
        text: "another station has an IPv6 address of the router's, and hosts may go there instead",
    },
    Condition {
        cause: "next-hop-silent",
        severity: Severity::Major,
        // Where much is sent, more comes than may wait.
        when: When::Dropping(&["unresolved", "pending-full"]),
        text: "packets are dropped because a next hop or host does not answer to ARP or Neighbor \
               Discovery",
    },
    Condition {
        cause: "neighbours-full",
        severity: Severity::Major,
        when: When::Dropping(&["neighbours-full"]),
        text: "packets are dropped because the table of neighbours has no room",
    },
    Condition {
        cause: "made-full",
        severity: Severity::Warning,
        when: When::Counting(&["made-full"]),
        text: "answers, errors and copies of the router are dropped for want of room",
    },
];

/// The router's workers run sessions of BFD.
pub(super) const SPEAKS: &[Spoken] =
    &[Spoken { protocol: "bfd", message: message_of_bfd, content: redact::TRACE.content }];

/// Where the message is in a frame of BFD (RFC 5881 section 4, RFC 5883 section 5), with a tag of
/// a VLAN or without.
fn message_of_bfd(frame: &[u8]) -> Option<Range<usize>> {
    let mut at = ethernet::HEADER_LEN;
    let mut kind = u16_of(frame, ethernet::offset::TYPE)?;
    if kind == ethernet::TYPE_VLAN {
        kind = u16_of(frame, at + 2)?;
        at += ethernet::TAG_LEN;
    }
    let packet = frame.get(at..)?;
    let (carries, header) = match kind {
        ethernet::TYPE_IPV4 => {
            let header = usize::from(packet.first()? & 15) * 4;
            (*packet.get(ipv4::offset::PROTOCOL)?, header)
        }
        ethernet::TYPE_IPV6 => (*packet.get(ipv6::offset::NEXT_HEADER)?, ipv6::HEADER_LEN),
        _ => return None,
    };
    if carries != protocol::UDP {
        return None;
    }
    let begin = at + header;
    let port = u16_of(frame, begin + udp::offset::DESTINATION_PORT)?;
    let is_bfd = [sockets::CONTROL, sockets::ECHO, sockets::MULTIHOP].contains(&port);
    let message = begin + udp::HEADER_LEN;
    (is_bfd && message <= frame.len()).then_some(message..frame.len())
}

fn u16_of(bytes: &[u8], at: usize) -> Option<u16> {
    (at + 2 <= bytes.len()).then(|| u16_at(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of BFD over IPv4, with a tag or without.
    fn frame(is_tagged: bool) -> Vec<u8> {
        let mut frame = vec![0; ethernet::offset::TYPE];
        if is_tagged {
            frame.extend([0x81, 0, 0, 7]);
        }
        frame.extend([0x08, 0]);
        let mut packet = [0; ipv4::HEADER_LEN];
        packet[0] = ipv4::VERSION_IHL;
        packet[ipv4::offset::PROTOCOL] = protocol::UDP;
        frame.extend(packet);
        frame.extend([0xc0, 0, 0x0e, 0xc8, 0, 11, 0, 0]);
        frame.extend(b"bfd");
        frame
    }

    #[test]
    fn a_message_of_bfd_is_found_and_nothing_else() {
        for is_tagged in [false, true] {
            let frame = frame(is_tagged);
            let message = message_of_bfd(&frame).expect("it is one");
            assert_eq!(&frame[message], b"bfd");
            for len in 0..frame.len() - 3 {
                assert_eq!(message_of_bfd(&frame[..len]), None, "{len}");
            }
        }
        // Another port, another protocol, options that go beyond the end.
        for (at, value) in [(36, 0), (23, 6), (14, 0x4f)] {
            let mut other = frame(false);
            other[at] = value;
            assert_eq!(message_of_bfd(&other), None, "{at}");
        }
    }
}
