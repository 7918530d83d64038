//! What the model says of frames for what an interface is on its link alone: questions for routers,
//! and its link-local address.
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use function_l3_router::config::Resolved;
use model_kit::host::{internet_sum, word};
use model_kit::neighbours::Own;

use super::advertise::link_local;
use super::frames::Judgement;
use super::state::Model;

impl Model {
    /// RFC 4861 section 6.1.1: what becomes of a router solicitation where the router advertises
    /// itself; none of all other frames.
    pub(super) fn judge_solicitation(
        &mut self,
        at: usize,
        frame: &[u8],
        now: Duration,
    ) -> Option<Judgement> {
        let speaks = self.advertisers.speaks_at(at);
        if !speaks || frame.len() < 55 || word(frame, 12) != 0x86dd || frame[14] >> 4 != 6 {
            return None;
        }
        let packet = frame[14..].get(..40 + usize::from(word(frame, 18)))?;
        let ends_on_link = packet[24] == 0xff || word(packet, 24) & 0xffc0 == 0xfe80;
        if packet[6] != 58 || packet.get(40) != Some(&133) || !ends_on_link {
            return None;
        }
        if !self.buckets.nd.takes(now) {
            return Some(Err("policed-nd"));
        }
        let own = self.interfaces[at];
        let Some((from, mac)) = asked(frame, packet, own.mac.0.0) else {
            return Some(Err("nd-ignored"));
        };
        if let Some(mac) = mac {
            self.neighbours.heard(&own, from, (mac, true, false), now);
        }
        self.advertisers.ask(at, now);
        Some(Err("router-solicitation"))
    }

    /// As whom a solicitation asks for the router, if that is as its link-local address.
    pub(super) fn asked_on_link(&self, one: &Resolved, frame: &[u8]) -> Option<Own> {
        let asks = one.ipv6.is_some() && frame.get(54) == Some(&135);
        let address = link_local(one);
        let is_it = frame.get(62..78).is_some_and(|target| target == address.octets());
        (asks && is_it).then_some(Own { mac: one.mac.0.0, ipv4: None, ipv6: Some(address) })
    }

    /// RFC 4291 section 2.5.6: whether a packet is for the link-local address that follows from the
    /// Ethernet address of an interface, where the host does not have it.
    pub(super) fn is_for_link_local(&self, at: usize, header: &[u8], packet: &[u8]) -> bool {
        let one = &self.interfaces[at];
        let from = &packet[8..24];
        let is_host = from[0] != 0xff && (from[..15] != [0; 15] || from[15] > 1);
        one.ipv6.is_some()
            && !one.is_hosted
            && self.config.is_host()
            && header[..6] == one.mac.0.0
            && packet[24..40] == link_local(one).octets()
            && is_host
    }
}

/// Who asks for routers by a sound solicitation, and the Ethernet address that he says.
fn asked<'a>(frame: &[u8], packet: &'a [u8], own: [u8; 6]) -> Option<(IpAddr, Option<&'a [u8]>)> {
    let message = &packet[40..];
    let pseudo = [&packet[8..40], &(message.len() as u32).to_be_bytes(), &[0, 0, 0, 58], message];
    let is_mine = frame[..6] == own || frame[..6] == [0x33, 0x33, 0, 0, 0, 2];
    let is_sound = packet[7] == 255
        && message.len() >= 8
        && message[1] == 0
        && internet_sum(&pseudo.concat()) == 0xffff
        && packet[8] != 0xff;
    if !is_mine || !is_sound {
        return None;
    }
    let (mut rest, mut mac) = (&message[8..], None);
    while !rest.is_empty() {
        let len = usize::from(*rest.get(1)?) * 8;
        let option = rest.get(..len).filter(|option| !option.is_empty())?;
        if mac.is_none() && option[0] == 1 && len == 8 {
            mac = Some(&option[2..8]);
        }
        rest = &rest[len..];
    }
    let mut from = [0; 16];
    from.copy_from_slice(&packet[8..24]);
    (from != [0; 16] || mac.is_none()).then_some((Ipv6Addr::from(from).into(), mac))
}
