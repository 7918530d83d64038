//! What the model says of frames that the host sees on an interface that it has, too.
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use function_l3_router::config::Resolved;
use model_kit::check::Expected;
use model_kit::host::word;

use super::frames::Judgement;
use super::neighbours::{self, Said};
use super::routes::To;
use super::state::Model;

impl Model {
    /// A frame that goes to the host; none of one that does not. Neighbours are learned of it, and
    /// the router answers nothing.
    pub(super) fn judge_hosted(
        &mut self,
        own: &Resolved,
        frame: &[u8],
        now: Duration,
    ) -> Option<Judgement> {
        let (header, packet) = frame.split_at_checked(14)?;
        let (to, is_own) = (&header[..6], header[..6] == own.mac.0.0);
        let is_for_all = to == [0xff; 6];
        match word(header, 12) {
            0x0806 if is_own || is_for_all => {
                if !self.buckets.arp.takes(now) {
                    return Some(Err("policed-arp"));
                }
                if self.config.resolve && packet.len() >= 28 && packet[..6] == [0, 1, 8, 0, 6, 4] {
                    let address = [packet[14], packet[15], packet[16], packet[17]];
                    let said = (&packet[8..14], true, true);
                    self.neighbours.heard(own, IpAddr::from(address), said, now);
                }
                Some(Ok(Expected::Punt))
            }
            // RFC 1112 section 6.4: the group's lower 23 bits stand in the frame.
            0x0800 => {
                let group = packet.get(16..20)?;
                let header_len = usize::from(packet[0] & 0x0f) * 4;
                let len = usize::from(word(packet, 2));
                let is_whole = packet[0] >> 4 == 4
                    && header_len >= 20
                    && (header_len..=packet.len()).contains(&len);
                let packet = packet.get(..len)?;
                let is_near = to[..5] == [1, 0, 0x5e, 0, 0] && group[..3] == [224, 0, 0];
                if !is_whole || !is_for_all && !is_near {
                    return None;
                }
                Some(self.buckets.police_host(packet, now).map(|_| Expected::Punt))
            }
            0x86dd => self.judge_hosted_ipv6(own, frame, now),
            ..0x0600 => {
                let is_isis = [[1, 0x80, 0xc2, 0, 0, 0x14], [1, 0x80, 0xc2, 0, 0, 0x15]]
                    .iter()
                    .chain(&[[9, 0, 0x2b, 0, 0, 5]])
                    .any(|group| to == group);
                if !is_own && !is_isis {
                    return None;
                }
                Some(match self.buckets.local.takes(now) {
                    true => Ok(Expected::Punt),
                    false => Err("policed-local"),
                })
            }
            _ => None,
        }
    }

    /// RFC 4291 sections 2.5.6 and 2.7 for addresses that end on the link.
    fn judge_hosted_ipv6(
        &mut self,
        own: &Resolved,
        frame: &[u8],
        now: Duration,
    ) -> Option<Judgement> {
        let (header, packet) = frame.split_at(14);
        if packet.len() < 40 || packet[0] >> 4 != 6 {
            return None;
        }
        let packet = packet.get(..40 + usize::from(word(packet, 4)))?;
        let (from, to) = (address(packet, 8), address(packet, 24));
        let ends_on_link = |one: Ipv6Addr| one.segments()[0] & 0xffc0 == 0xfe80;
        let is_group = to.segments()[0] & 0xff0f == 0xff02 && header[..2] == [0x33, 0x33];
        // Type 135 or 136 right behind the header: a neighbour's question or answer.
        let is_discovery = packet[6] == 58 && matches!(packet.get(40), Some(135 | 136));
        let is_near = ends_on_link(from) || from.is_unspecified() || is_discovery;
        let is_its = || self.longest(own.vrf, to.into()) == Some(To::Itself);
        let is_for_it = header[..6] == own.mac.0.0 && (ends_on_link(to) || is_near && is_its());
        if !is_group && !is_for_it {
            return None;
        }
        if let Err(why) = self.buckets.police_host(packet, now) {
            return Some(Err(why));
        }
        if self.config.resolve
            && let Some(Ok(said)) = neighbours::read(frame, &neighbours::own(own))
        {
            match said {
                Said::Advertisement { target, mac, overrides } => {
                    self.neighbours.heard(own, target, (mac, overrides, true), now);
                }
                Said::Solicitation { from, mac: Some(mac), .. } => {
                    self.neighbours.heard(own, from, (mac, true, false), now);
                }
                Said::Solicitation { .. } => {}
            }
        }
        Some(Ok(Expected::Punt))
    }
}

fn address(packet: &[u8], at: usize) -> Ipv6Addr {
    let mut octets = [0; 16];
    octets.copy_from_slice(&packet[at..at + 16]);
    octets.into()
}
