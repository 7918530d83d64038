//! ARP, and Neighbor Discovery from the core, of which the model takes note.

use std::net::IpAddr;
use std::time::Duration;

use function_mobile_gateway::gateway::CORE;
use model_kit::check::Expected;
use model_kit::host::word;
use model_kit::neighbours::{self, Own, Said};
use packet::PortId;
use wire::ethernet;

use super::packets::UserPacket;
use super::{Came, Judgement, Model};

impl Model {
    /// ARP, and Neighbor Discovery from the core, of which note is taken; none for all else.
    pub(super) fn judge_neighbour(
        &mut self,
        port: PortId,
        frame: &[u8],
        now: Duration,
    ) -> Option<Judgement> {
        let own = self.neighbours.own;
        if word(frame, 12) == ethernet::TYPE_ARP {
            let (address, mac) = sender(frame, &own)?;
            let heard = self.hear((port, address), frame, (mac, true, true), now);
            return (heard && word(frame, 20) == 2).then_some(Err("neighbour-heard"));
        }
        if port != CORE {
            return None;
        }
        let own = self.own_asked(frame);
        let said = neighbours::read(frame, &own)?;
        let destination = frame.get(38..54)?;
        let is_own = own.ipv6.is_some_and(|ip| ip.octets() == destination);
        if destination[0] != 0xff && !is_own {
            return None;
        }
        match said {
            Err(()) => (frame[..6] == own.mac).then_some(Err("nd-ignored")),
            Ok(Said::Advertisement { target, mac, overrides }) => {
                let heard = self.hear((CORE, target), frame, (mac, overrides, true), now);
                Some(Err(if heard { "neighbour-heard" } else { "nd-ignored" }))
            }
            Ok(Said::Solicitation { answer, from, mac }) => {
                if let Some(mac) = mac {
                    self.hear((CORE, from), frame, (mac, true, false), now);
                }
                Some(Ok(Expected::Forward { port: CORE, frame: answer }))
            }
        }
    }

    /// RFC 4861 section 7.2.3: a solicitation for the gateway's IPv6 address is answered at either
    /// port; none for all else.
    pub(super) fn judge_solicitation(&self, port: PortId, frame: &[u8]) -> Option<Judgement> {
        if !self.asks_for_own(frame) {
            return None;
        }
        let own = self.own_asked(frame);
        match neighbours::read(frame, &own)? {
            Ok(Said::Solicitation { answer, .. }) => {
                Some(Ok(Expected::Forward { port, frame: answer }))
            }
            _ => (frame[..6] == own.mac).then_some(Err("nd-ignored")),
        }
    }

    /// The gateway by the address for which a solicitation asks: its own, or the link-local one.
    fn own_asked(&self, frame: &[u8]) -> Own {
        let own = self.neighbours.own;
        match self.asks_for_own(frame) {
            true => Own { ipv6: self.section.gw_ipv6, ..own },
            false => own,
        }
    }

    /// Whether a frame looks like a solicitation for the gateway's IPv6 address.
    fn asks_for_own(&self, frame: &[u8]) -> bool {
        let Some(own) = self.section.gw_ipv6 else { return false };
        let is_one = frame.len() >= 78 && word(frame, 12) == ethernet::TYPE_IPV6;
        is_one && frame[20] == 58 && frame[54] == 135 && frame[62..78] == own.octets()
    }

    /// What a neighbour says here, which other workers are told; whether it was of any use, here or
    /// perhaps to them.
    fn hear(
        &mut self,
        from: (PortId, IpAddr),
        frame: &[u8],
        said: (&[u8], bool, bool),
        now: Duration,
    ) -> bool {
        let tells = self.shard.count > 1 && self.routes.is_asked(from);
        if tells {
            self.neighbours.tell(from.0, frame);
        }
        self.neighbours.heard(from, said, now) || tells
    }

    /// What another worker tells of a neighbour, with the link in place of who sent the frame.
    pub(super) fn judge_told(&mut self, frame: &[u8], now: Duration) -> Judgement {
        if let [3, 2, ..] = frame
            && frame.len() > ethernet::HEADER_LEN
        {
            return self.deliver(UserPacket::of(&frame[ethernet::HEADER_LEN..]), now);
        }
        if let [3, 1, port, asked, 0, 0, rest @ ..] = frame
            && frame.len() > ethernet::HEADER_LEN
        {
            let frame = [&self.section.gw_mac.0[..], rest].concat();
            let (port, asked) = (PortId(*port), *asked);
            let came = Came { port, frame: &frame, is_together: false, asked };
            return self.judge_ipv4(came, now);
        }
        if frame.len() >= 14 && frame[6..11] == [3, 0, 0, 0, 0] {
            let (port, own) = (PortId(frame[11]), self.own_asked(frame));
            if word(frame, 12) == ethernet::TYPE_ARP {
                if let Some((address, mac)) = sender(frame, &own) {
                    self.neighbours.heard((port, address), (mac, true, true), now);
                }
            } else if let Some(Ok(said)) = neighbours::read(frame, &own) {
                match said {
                    Said::Advertisement { target, mac, overrides } => {
                        self.neighbours.heard((port, target), (mac, overrides, true), now);
                    }
                    Said::Solicitation { from, mac: Some(mac), .. } => {
                        self.neighbours.heard((port, from), (mac, true, false), now);
                    }
                    Said::Solicitation { .. } => {}
                }
            }
        }
        Err("neighbour-heard")
    }
}

/// Who has sent ARP to a station or to all, by both addresses.
fn sender<'a>(frame: &'a [u8], own: &Own) -> Option<(IpAddr, &'a [u8])> {
    let packet = &frame[ethernet::HEADER_LEN..];
    let is_said = packet.len() >= 28 && packet[..6] == [0, 1, 8, 0, 6, 4];
    let is_ours = frame[..6] == own.mac || frame[..6] == [0xff; 6];
    if !is_said || !is_ours {
        return None;
    }
    Some(([packet[14], packet[15], packet[16], packet[17]].into(), &packet[8..14]))
}
