//! Interfaces beside those of the two ports: whose a frame is that comes in, which one a packet
//! leaves by, and how it looks there.
//!
//! All else takes a frame as one that came in by the first interface of its side; while it is
//! looked at, the addresses of its interface stand in place of that one's.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::check::Expected;
use model_kit::neighbours::Own;
use packet::PortId;

use super::super::neighbours::is_unaddressed;
use super::super::packets::{address, with_tag, without_tag, word};
use super::super::state::Model;
use super::Interfaces;

impl Model {
    /// The side of a frame that comes in, and the frame without the tag of its interface.
    ///
    /// # Errors
    /// When it is of no interface.
    pub(in crate::oracle) fn come_in(
        &mut self,
        port: PortId,
        frame: &[u8],
    ) -> Result<(PortId, Vec<u8>), &'static str> {
        self.interfaces.here = None;
        if !self.interfaces.are_there() {
            return Ok((port, frame.to_vec()));
        }
        self.interfaces.here = self.interfaces.find(port, frame)?;
        match self.interfaces.here {
            Some(place) => Ok((self.interfaces.all[place].side, untagged(frame))),
            None => Ok((self.without_ports(port), frame.to_vec())),
        }
    }

    /// What left, as if it had left by the first interface of its side.
    pub(in crate::oracle) fn as_of_side(
        &self,
        (port, frame): (PortId, &[u8]),
    ) -> (PortId, Vec<u8>) {
        if !self.interfaces.are_there() {
            return (port, frame.to_vec());
        }
        match self.interfaces.find(port, frame) {
            Ok(Some(place)) => (self.interfaces.all[place].side, untagged(frame)),
            _ => (self.without_ports(port), frame.to_vec()),
        }
    }

    /// Nothing is in hand.
    pub(in crate::oracle) fn nothing_in_hand(&mut self) {
        self.interfaces.here = None;
    }

    /// A frame that is ready to leave by its side, as it leaves by a port.
    pub(in crate::oracle) fn go_out(&self, whole: Expected) -> Expected {
        let Expected::Forward { port, frame } = whole else { return whole };
        match self.interfaces.of(port) {
            Some(one) => Expected::Forward { port: one.port, frame: with_tag(one.vlan, frame) },
            None if port == INSIDE || port == OUTSIDE || !self.interfaces.are_there() => {
                Expected::Forward { port, frame }
            }
            None => Expected::Forward { port: PortId(port.0 - 2 + self.interfaces.ports), frame },
        }
    }

    /// An answer to the frame in hand leaves where that came in.
    pub(in crate::oracle) fn in_place(&self, whole: Expected) -> Expected {
        match (whole, self.interfaces.here) {
            (Expected::Forward { port, frame }, Some(place))
                if port == self.interfaces.all[place].side && !is_unaddressed(&frame) =>
            {
                Expected::Forward { port: Interfaces::number(place), frame }
            }
            (other, _) => other,
        }
    }

    /// The interface by which a packet leaves that leaves by a side.
    pub(in crate::oracle) fn way_out(&self, side: PortId, frame: &[u8]) -> PortId {
        let destination = match word(frame, 12) {
            0x0800 => IpAddr::V4(address(frame, 30)),
            0x86dd => {
                let octets: [u8; 16] = frame[38..54].try_into().unwrap_or_default();
                IpAddr::V6(octets.into())
            }
            _ => return side,
        };
        let mut best = None;
        for (place, one) in self.interfaces.all.iter().enumerate() {
            for (network, len) in &one.networks {
                let holds = one.side == side && covers(*network, *len, destination);
                if holds && best.is_none_or(|(longest, _)| *len >= longest) {
                    best = Some((*len, place));
                }
            }
        }
        best.map_or(side, |(_, place)| Interfaces::number(place))
    }

    /// The configured Ethernet address behind an interface; none where that is asked for, and of
    /// the first ones.
    pub(in crate::oracle) fn mac_behind(&self, port: PortId) -> Option<[u8; 6]> {
        self.interfaces.of(port)?.mac_behind
    }

    /// The addresses of a side's interface: the one at which the frame in hand came in, or the
    /// first.
    pub(in crate::oracle) fn here(&self, port: PortId) -> Own {
        let here = self.interfaces.here.map(|place| &self.interfaces.all[place]);
        here.filter(|one| one.side == port).map_or_else(|| self.own_at(port), |one| one.own)
    }

    /// The addresses of an interface by its number.
    pub(in crate::oracle) fn own_at(&self, port: PortId) -> Own {
        let config = &self.config;
        let (mac, ipv4, ipv6) = match port {
            INSIDE => (config.inside_mac, config.inside_ip, config.inside_ipv6),
            _ => (config.outside_mac, config.outside_ip, config.outside_ipv6),
        };
        let first = Own { mac: mac.0.0, ipv4: Some(ipv4), ipv6: Some(ipv6) };
        self.interfaces.of(port).map_or(first, |one| one.own)
    }

    /// The link at which the frame in hand came in.
    pub(in crate::oracle) fn link_here(&self, port: PortId, realm: u16) -> (PortId, u16) {
        self.interfaces.here.map_or((port, realm), |place| (Interfaces::number(place), 0))
    }

    fn without_ports(&self, port: PortId) -> PortId {
        match port.0.checked_sub(self.interfaces.ports) {
            Some(worker) => PortId(2 + worker),
            None => port,
        }
    }
}

/// Whether a network has an address.
fn covers(network: IpAddr, len: u8, address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (32, u128::from(Ipv4Addr::to_bits(address))),
        IpAddr::V6(address) => (128, Ipv6Addr::to_bits(address)),
    };
    let ((width, one), (other_width, other)) = (bits(network), bits(address));
    let behind = width - u32::from(len);
    width == other_width && one.checked_shr(behind) == other.checked_shr(behind)
}

fn untagged(frame: &[u8]) -> Vec<u8> {
    match frame.len() >= 18 && word(frame, 12) == 0x8100 {
        true => without_tag(frame).1,
        false => frame.to_vec(),
    }
}
