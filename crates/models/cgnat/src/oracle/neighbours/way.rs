//! How frames find their next hop: what is asked, what waits, what another worker is told.
use std::net::IpAddr;
use std::time::Duration;

use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use function_kit::Shard;
use model_kit::check::Expected;
use model_kit::neighbours::{self, Due, Own, Said};
use packet::PortId;

use super::super::interfaces::{interface_number, shared_interface};
use super::super::packets::{with_tag, word};
use super::super::state::Model;
use super::{Link, NEXT_HOP};

impl Model {
    /// The frame of a packet that leaves, without tag.
    pub(in crate::oracle) fn frame(&self, port: PortId, packet: &[u8]) -> Expected {
        let next = match port {
            INSIDE | OUTSIDE if self.interfaces.are_there() => NEXT_HOP,
            INSIDE | OUTSIDE if self.neighbours.are_asked(port) => NEXT_HOP,
            INSIDE | OUTSIDE => self.configured_mac(port),
            _ => self.own_at(OUTSIDE).mac,
        };
        let kind = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
        let frame = [&next[..], &self.own_at(port).mac, &kind, packet].concat();
        Expected::Forward { port, frame }
    }

    /// The Ethernet address of the next hop behind a port, where it is configured.
    fn configured_mac(&self, port: PortId) -> [u8; 6] {
        match port {
            INSIDE => self.config.inside_next_hop_mac.0.0,
            _ => self.config.outside_next_hop_mac.0.0,
        }
    }

    /// A frame that is ready to leave, with the Ethernet address of its next hop; or it waits.
    pub(in crate::oracle) fn addressed(&mut self, whole: Expected, now: Duration) -> Expected {
        let (port, mut frame) = match whole {
            Expected::Forward { port, frame } if frame[..6] == NEXT_HOP => (port, frame),
            other => return other,
        };
        let vlan = if word(&frame, 12) == 0x8100 { word(&frame, 14) % 4096 } else { 0 };
        let port = self.way_out(port, &frame);
        frame[6..12].copy_from_slice(&self.own_at(port).mac);
        let (link, is_ipv6) = ((port, vlan), word(&frame, 12) == 0x86dd);
        let Some(address) = self.neighbours.hop(link, is_ipv6) else {
            let mac = self.mac_behind(port).unwrap_or_else(|| self.configured_mac(port));
            frame[..6].copy_from_slice(&mac);
            return Expected::Forward { port, frame };
        };
        let number = match self.neighbours.number(link, address) {
            Some(number) => number,
            None => match self.look_for(link, address, now) {
                Ok(number) => number,
                Err(reason) => return Expected::Drop(reason),
            },
        };
        match self.neighbours.list.get(number).and_then(|entry| entry.mac) {
            Some(mac) => {
                frame[..6].copy_from_slice(&mac);
                Expected::Forward { port, frame }
            }
            None => Expected::Drop(self.neighbours.list.wait(number, frame)),
        }
    }

    fn look_for(
        &mut self,
        link: Link,
        address: IpAddr,
        now: Duration,
    ) -> Result<usize, &'static str> {
        let (number, asks) = self.neighbours.list.add(link, address, now)?;
        if asks {
            self.ask_for(link, address, None);
        }
        Ok(number)
    }

    fn ask_for(&mut self, (port, vlan): Link, address: IpAddr, station: Option<[u8; 6]>) {
        let question = neighbours::question(&self.own_at(port), address, station);
        let frames = question.map(|frame| with_tag(vlan, frame));
        let made = frames.map(|frame| Expected::Forward { port, frame });
        self.neighbours.made.extend(made);
    }

    /// ARP (RFC 826) and Neighbor Discovery (RFC 4861 section 7.2) by which a next hop tells its
    /// Ethernet address; whether that is all that a frame is for.
    pub(in crate::oracle) fn hears(
        &mut self,
        (port, realm): (PortId, u16),
        frame: &[u8],
        now: Duration,
    ) -> bool {
        if frame.len() < 14 {
            return false;
        }
        let is_shared = port != INSIDE && port != OUTSIDE;
        let link = match is_shared {
            false => self.link_here(port, realm),
            true if frame[6..10] != [3, 0, 0, 0] => return false,
            true if frame[10] >> 4 == 0xf => (shared_interface(&self.config, frame[11]), 0),
            true => (PortId(frame[10] >> 4), word(frame, 10) % 4096),
        };
        let own = Own {
            ipv6: self.own_at(link.0).ipv6,
            ..self.own_at(if is_shared { port } else { link.0 })
        };
        let Some(Told { address, mac, overrides, answers, is_answer }) = said(frame, &own) else {
            return false;
        };
        if !self.neighbours.hops.contains(&(link, address)) {
            return false;
        }
        if !is_shared {
            self.share(link, frame);
        }
        let of_use = self.heard((link, address), (&mac, overrides, answers), now);
        is_shared || of_use && is_answer
    }

    /// Every other worker gets it, with the link in place of who has sent it.
    fn share(&mut self, (port, vlan): Link, frame: &[u8]) {
        let Shard { index, count, .. } = self.shard;
        let link = match interface_number(&self.config, port) {
            Some(number) => [0xf0, number],
            None => [port.0 << 4 | (vlan >> 8) as u8, vlan as u8],
        };
        for other in (0..count).filter(|other| *other != index) {
            let frame =
                [&self.own_at(OUTSIDE).mac[..], &[3, 0, 0, 0], &link, &frame[12..]].concat();
            let port = PortId(OUTSIDE.0 + 1 + other as u8);
            self.neighbours.made.push(Expected::Forward { port, frame });
        }
    }

    fn heard(
        &mut self,
        (link, address): (Link, IpAddr),
        said: (&[u8], bool, bool),
        now: Duration,
    ) -> bool {
        let Some(number) = self.neighbours.number(link, address) else { return false };
        let Some(free) = self.neighbours.list.heard(number, said, now) else { return false };
        let mac = self.neighbours.list.get(number).and_then(|entry| entry.mac);
        for mut frame in free {
            frame[..6].copy_from_slice(&mac.unwrap_or_default());
            self.neighbours.made.push(Expected::Forward { port: link.0, frame });
        }
        true
    }

    /// What was made until now beside what became of frames.
    pub(in crate::oracle) fn made_of_neighbours(&mut self, now: Duration) -> Vec<Expected> {
        if !self.neighbours.has_asked {
            self.neighbours.has_asked = true;
            for (link, address) in self.neighbours.hops.clone() {
                if self.neighbours.number(link, address).is_none() {
                    self.look_for(link, address, now).ok();
                }
            }
        }
        for due in self.neighbours.list.tick(now) {
            match due {
                Due::Ask(link, address, station) => self.ask_for(link, address, station),
                Due::Gone(free) => {
                    let dropped = free.iter().map(|_| Expected::Drop("unresolved"));
                    self.neighbours.made.extend(dropped);
                }
            }
        }
        std::mem::take(&mut self.neighbours.made)
    }
}

/// What somebody says of himself.
struct Told {
    address: IpAddr,
    mac: Vec<u8>,
    /// Whether that takes the place of another one.
    overrides: bool,
    /// Whether it proves that he hears.
    answers: bool,
    is_answer: bool,
}

/// Who says what of himself by a frame.
fn said(frame: &[u8], own: &Own) -> Option<Told> {
    if word(frame, 12) == 0x0806 {
        let packet = &frame[14..];
        let is_said = packet.len() >= 28 && packet[..6] == [0, 1, 8, 0, 6, 4];
        if !is_said || frame[..6] != own.mac && frame[..6] != [0xff; 6] {
            return None;
        }
        return Some(Told {
            address: [packet[14], packet[15], packet[16], packet[17]].into(),
            mac: packet[8..14].to_vec(),
            overrides: true,
            answers: true,
            is_answer: word(packet, 6) == 2,
        });
    }
    Some(match neighbours::read(frame, own)?.ok()? {
        Said::Advertisement { target: address, mac, overrides } => {
            Told { address, mac: mac.to_vec(), overrides, answers: true, is_answer: true }
        }
        Said::Solicitation { from: address, mac, .. } => {
            let mac = mac?.to_vec();
            Told { address, mac, overrides: true, answers: false, is_answer: false }
        }
    })
}
