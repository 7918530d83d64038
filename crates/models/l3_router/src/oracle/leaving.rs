//! How a packet of the model leaves: to its next hop, whole or in fragments, or to one who is asked
//! for.
use std::net::IpAddr;
use std::time::Duration;

use model_kit::check::Expected;
use model_kit::host::{Cause, internet_sum, too_big};
use wire::ipv4;

use super::fragments;
use super::frames::{Judgement, leave};
use super::host::{self, Held};
use super::neighbours::Wanted;
use super::routes::To;
use super::state::{Model, Way};

impl Model {
    /// RFC 791: in fragments, as they came in and as they leave.
    pub(super) fn cut(
        &mut self,
        route: Option<To>,
        (way, held): (Way, Held),
        sent: &[u8],
        now: Duration,
    ) -> Judgement {
        let wanted = match route {
            Some(To::Link(number)) => {
                let out = self.interfaces[number];
                Some(Wanted { out, address: way.to, hop: None, source: out.mac.0.0 })
            }
            Some(To::NextHop(number)) => self.wanted(number),
            _ => None,
        };
        let out = match (&wanted, route) {
            (Some(wanted), _) => wanted.out,
            (None, Some(To::NextHop(number))) => {
                let hop = self.next_hops.get(&number).ok_or("no-next-hop")?;
                self.interfaces[self.interface_of(hop).ok_or("no-next-hop")?]
            }
            _ => return Err("too-big"),
        };
        let cut = |packet| fragments::fragments(packet, out.mtu.into()).ok_or("too-big");
        let mut leaving = Vec::new();
        for (came, sent) in cut(held.packet)?.iter().zip(cut(sent)?) {
            let is_known =
                |number: u32| self.next_hops.get(&number).is_some_and(|h| h.mac.0.0 != [0; 6]);
            leaving.push(match (route, wanted) {
                (Some(To::NextHop(number)), _) if is_known(number) => {
                    self.leave_by(number, held.header, &sent).ok().flatten().ok_or("no-next-hop")
                }
                (_, Some(wanted)) => {
                    self.neighbours.send(wanted, Held { packet: came, ..held }, &sent, now)
                }
                _ => Err("too-big"),
            });
        }
        let mut leaving = leaving.into_iter();
        let first = leaving.next().unwrap_or(Err("too-big"));
        // What waits is counted once, whatever it is cut into.
        self.neighbours.made.extend(leaving.flatten());
        first
    }

    /// Whom to ask for a next hop without an Ethernet address.
    pub(super) fn wanted(&self, number: u32) -> Option<Wanted> {
        let hop = self.next_hops.get(&number)?;
        let out = self.interfaces[self.interface_of(hop)?];
        let address = hop.ip.map(IpAddr::from).or(hop.ipv6.map(IpAddr::from))?;
        let source = hop.source.map_or(out.mac.0, |mac| mac.0).0;
        Some(Wanted { out, address, hop: Some(number), source })
    }

    /// As a frame to a next hop; none where it is to be asked for.
    pub(super) fn leave_by(
        &self,
        number: u32,
        header: &[u8],
        sent: &[u8],
    ) -> Result<Option<Expected>, Cause> {
        let hop = self.next_hops.get(&number).ok_or(host::NOBODY)?;
        let out = self.interface_of(hop).map(|number| self.interfaces[number]);
        let out = out.ok_or(host::NOBODY)?;
        if out.mtu > 0 && sent.len() > usize::from(out.mtu) {
            return Err(too_big(out.mtu.into()));
        }
        if hop.mac.0.0 == [0; 6] {
            return Ok(None);
        }
        let source = hop.source.map_or(out.mac.0, |mac| mac.0);
        let frame = [&hop.mac.0.0, &source.0, &header[12..], sent].concat();
        Ok(Some(leave(&out, frame)))
    }
}

/// A packet with a hop less to go.
pub(super) fn a_hop_on(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    if packet[0] >> 4 == ipv4::VERSION {
        packet[8] = packet[8].saturating_sub(1);
        packet[10..12].fill(0);
        let sum = !internet_sum(&packet[..usize::from(packet[0] & 0x0f) * 4]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        packet[7] = packet[7].saturating_sub(1);
    }
    packet
}
