//! ARP, and Neighbor Discovery from the core, of which the model takes note.

use std::time::Duration;

use function_mobile_gateway::gateway::CORE;
use model_kit::check::Expected;
use model_kit::neighbours::{self, Said};
use packet::PortId;
use wire::ethernet;

use super::packets::word;
use super::{Judgement, Model};

impl Model {
    /// ARP, and Neighbor Discovery from the core, of which note is taken; none for all else.
    pub(super) fn judge_neighbour(
        &mut self,
        port: PortId,
        frame: &[u8],
        now: Duration,
    ) -> Option<Judgement> {
        let is_ours = frame[..6] == self.section.gw_mac.0;
        if word(frame, 12) == ethernet::TYPE_ARP {
            let packet = &frame[ethernet::HEADER_LEN..];
            let is_said = packet.len() >= 28 && packet[..6] == [0, 1, 8, 0, 6, 4];
            if !is_said || !is_ours && frame[..6] != [0xff; 6] {
                return None;
            }
            let from = (port, [packet[14], packet[15], packet[16], packet[17]].into());
            let heard = self.neighbours.heard(from, (&packet[8..14], true, true), now);
            return (heard && word(packet, 6) == 2).then_some(Err("neighbour-heard"));
        }
        if port != CORE {
            return None;
        }
        let own = self.neighbours.own;
        let said = neighbours::read(frame, &own)?;
        let destination = frame.get(38..54)?;
        let is_own = own.ipv6.is_some_and(|ip| ip.octets() == destination);
        if destination[0] != 0xff && !is_own {
            return None;
        }
        match said {
            Err(()) => is_ours.then_some(Err("nd-ignored")),
            Ok(Said::Advertisement { target, mac, overrides }) => {
                let heard = self.neighbours.heard((CORE, target), (mac, overrides, true), now);
                Some(Err(if heard { "neighbour-heard" } else { "nd-ignored" }))
            }
            Ok(Said::Solicitation { answer, from, mac }) => {
                if let Some(mac) = mac {
                    self.neighbours.heard((CORE, from), (mac, true, false), now);
                }
                Some(Ok(Expected::Forward { port: CORE, frame: answer }))
            }
        }
    }
}
