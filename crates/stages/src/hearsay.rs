//! What a frame says of the neighbour that sent it, and how one of several workers tells the
//! others.
//!
//! ```text
//!  neighbour --ARP, Neighbor Discovery--> worker --a copy each--> all other workers
//! ```
//! A card gives an answer to one of several workers, and each of them may have asked. The one that
//! got it hands it over as it came but for a tag: the destination becomes the function's own
//! address, and the source tells the link. A worker that is told so answers nothing and tells
//! nobody. The user decides which neighbours the others are told of.

use std::net::{IpAddr, Ipv6Addr};

use packet::{Made, PortId, Verdict};
use wire::bytes::{array_at, u16_at};
use wire::{MacAddr, arp, ethernet};

use crate::nd::{self, Message};
use crate::neighbours::Said;

/// What a frame says of the neighbour that sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The neighbour's address.
    pub address: IpAddr,
    /// What it says of itself.
    pub said: Said,
    /// Whether the frame is an answer, and for nothing else.
    pub is_answer: bool,
}

impl Heard {
    /// What ARP says that is for a station of this Ethernet address, or for all.
    #[inline]
    pub fn in_arp(frame: &[u8], own: MacAddr) -> Option<Heard> {
        let packet = frame.get(ethernet::HEADER_LEN..)?;
        if u16_at(frame, ethernet::offset::TYPE) != ethernet::TYPE_ARP {
            return None;
        }
        let is_ours = frame.starts_with(&own.0) || frame.starts_with(&MacAddr::BROADCAST.0);
        let view = arp::View::parse(packet).ok().filter(|_| is_ours)?;
        Some(Heard {
            address: view.sender_ip().into(),
            // An ARP request comes from the neighbour itself, and is as good as an answer.
            said: Said { mac: view.sender_mac(), overrides: true, answers: true },
            is_answer: view.operation() == arp::OPERATION_REPLY,
        })
    }

    /// What a message of Neighbor Discovery says; none of a question without an Ethernet address.
    #[inline]
    pub fn in_message(message: Message) -> Option<Heard> {
        Some(match message {
            Message::Advertisement { target, mac, overrides } => Heard {
                address: target.into(),
                said: Said { mac, overrides, answers: true },
                is_answer: true,
            },
            Message::Solicitation { source, mac } => Heard {
                address: source.into(),
                said: Said { mac: mac?, overrides: true, answers: false },
                is_answer: false,
            },
        })
    }

    /// What ARP or Neighbor Discovery says that is for a station of these addresses.
    #[inline]
    pub fn in_frame(frame: &[u8], (mac, ipv6): (MacAddr, Ipv6Addr)) -> Option<Heard> {
        Heard::in_arp(frame, mac)
            .or_else(|| Heard::in_message(nd::read(frame, (mac, Some(ipv6)))?.ok()?))
    }
}

/// The ports towards the other workers, of several.
pub struct Others(Vec<PortId>);

impl Others {
    /// Those of a worker, by its number and how many there are, and by the port towards each.
    pub fn new((index, count): (u32, u32), towards: impl Fn(u32) -> PortId) -> Others {
        Others((0..count).filter(|&other| other != index).map(towards).collect())
    }

    /// Whether there are any.
    pub fn are_there(&self) -> bool {
        !self.0.is_empty()
    }

    /// Hands them a frame without a tag that came in by a port and a link, by the user's number;
    /// `own` is the Ethernet address by which they take it for their own.
    pub fn tell(
        &self,
        (port, link): (PortId, u16),
        (frame, own): (&[u8], MacAddr),
        made: &mut Made,
    ) {
        for &other in &self.0 {
            let Some(slot) = made.push(port, frame, Verdict::Forward(other)) else { return };
            if let Some(header) = made.batch_mut().frame_mut(slot).first_chunk_mut::<12>() {
                let [high, low] = link.to_be_bytes();
                header[..6].copy_from_slice(&own.0);
                header[6..].copy_from_slice(&[TOLD, 0, 0, 0, high, low]);
            }
        }
    }
}

/// The link of a frame that another worker has handed over; none of all others.
pub fn link_of(frame: &[u8]) -> Option<u16> {
    match array_at(frame.get(..12)?, ethernet::offset::SOURCE) {
        [TOLD, 0, 0, 0, high, low] => Some(u16::from_be_bytes([high, low])),
        _ => None,
    }
}

/// How the source begins of a frame that another worker has heard: no station's address is a
/// group's.
const TOLD: u8 = 3;

#[cfg(test)]
mod tests {
    use packet::Room;

    use super::*;

    const OWN: (MacAddr, Ipv6Addr) =
        (MacAddr([2, 0, 0, 0, 0, 1]), Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1));

    #[test]
    fn who_is_told_hears_what_was_said_and_by_which_link() {
        let neighbour = (MacAddr([2, 0, 0, 0, 0, 9]), Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9));
        let mut question = [0; nd::FRAME_LEN];
        nd::solicit(&mut question, neighbour, OWN.1, None);
        let answer = nd::advertise((OWN.1, OWN.0), neighbour.0, neighbour.1);
        for (frame, is_answer) in [(question, false), (answer, true)] {
            let heard = Heard::in_frame(&frame, OWN).expect("it is for us");
            let said = Said { mac: neighbour.0, overrides: true, answers: is_answer };
            assert_eq!(heard, Heard { address: neighbour.1.into(), said, is_answer });
            assert_eq!(link_of(&frame), None, "nobody has handed it over");

            let mut made = Made::new(Room::default()).expect("memory");
            let others = Others::new((1, 3), |worker| PortId(2 + worker as u8));
            others.tell((PortId(1), 0xf080), (&frame, OWN.0), &mut made);
            let batch = made.batch_mut();
            let to: Vec<Verdict> = batch.slots().map(|slot| batch.verdict(slot)).collect();
            assert_eq!(to, [2, 4].map(|port| Verdict::Forward(PortId(port))));
            for slot in batch.slots() {
                assert_eq!(link_of(batch.frame(slot)), Some(0xf080));
                assert_eq!(Heard::in_frame(batch.frame(slot), OWN), Some(heard));
                assert_eq!(batch.port(slot), PortId(1));
            }
        }
    }

    #[test]
    fn one_worker_alone_tells_nobody() {
        assert!(!Others::new((0, 1), |_| PortId(2)).are_there());
    }
}
