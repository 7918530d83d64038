//! Packets that become those of the other family without a session.

use std::net::Ipv4Addr;

use packet::{Batch, PortId, Reason, Slot};
use wire::{ethernet, ipv4, ipv6, tcp};

use crate::config::Family;
use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};
use crate::siit::{Siit, reason_of, segment};
use crate::translation::{self, Ends, Port};
use crate::types::class::{Becomes, Shape};
use crate::types::sides::INSIDE;

impl Pipeline {
    /// Translates a packet and sends it on, or back to a host inside, in pieces if it is too long.
    pub(crate) fn translate_siit(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        becomes: Becomes,
        is_error: bool,
    ) {
        self.identification = self.identification.wrapping_add(1);
        let Some(siit) = &self.interfaces.siit else { return };
        let port = match becomes {
            Becomes::Ipv4(..) => siit.port(Family::Ipv4),
            Becomes::Ipv6(..) => siit.port(Family::Ipv6),
            Becomes::Ipv6Again(..) => INSIDE,
        };
        let mut number = identification_of(batch.frame(slot));
        if let Err(reason) = translate((batch, slot), becomes, self.identification, siit) {
            return self.refuse_and_tell(batch, slot, reason);
        }
        if let Becomes::Ipv6Again(source, destination) = becomes {
            number = identification_of(batch.frame(slot));
            // It is not as its sender sent it.
            if let Err(reason) = turn((batch, slot), (source, destination), siit) {
                return self.refuse(batch, slot, reason);
            }
        }
        self.send_translated(batch, slot, (port, becomes), is_error);
        self.cut(batch, slot, port, number);
    }

    fn send_translated(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (port, becomes): (PortId, Becomes),
        is_error: bool,
    ) {
        let tallies = &mut self.state.tallies;
        tallies[Tally::Stateless as usize] += 1;
        if is_error {
            tallies[Tally::IcmpErrorsTranslated as usize] += 1;
        }
        if matches!(becomes, Becomes::Ipv6Again(..)) {
            tallies[Tally::Hairpinned as usize] += 1;
        }
        if self.mss_clamp != 0 {
            self.clamp_siit(batch, slot);
        }
        self.send(batch, slot, port);
    }

    /// Lowers the maximum segment size of a SYN, as of segments between the families that have
    /// sessions.
    fn clamp_siit(&mut self, batch: &mut Batch, slot: Slot) {
        const GROWTH: u16 = (ipv6::HEADER_LEN - wire::ipv4::HEADER_LEN) as u16;
        let frame = batch.frame(slot);
        let Some(transport) = segment(frame) else { return };
        let flags = frame.get(transport + tcp::offset::FLAGS).copied().unwrap_or(0);
        if flags & tcp::FLAG_SYN != 0 {
            let (transport, len) = (transport as u16, frame.len() as u16);
            let shape = Shape { transport, len, tcp_flags: flags };
            self.clamp(batch, slot, shape, self.mss_clamp - GROWTH);
        }
    }
}

/// The first step: the packet becomes one of the other family.
fn translate(
    (batch, slot): (&mut Batch, Slot),
    becomes: Becomes,
    identification: u16,
    siit: &Siit,
) -> Result<(), Reason> {
    let rules = &siit.rules;
    match becomes {
        Becomes::Ipv6(source, destination) => {
            let ends = Ends { source, destination, port: Port::Kept };
            let quoted = |quote: &_| siit.quoted_to_ipv6(quote);
            translation::to_ipv6(batch, slot, &ends, rules, quoted).map_err(reason_of)
        }
        Becomes::Ipv4(source, destination) | Becomes::Ipv6Again(source, destination) => {
            let ends = Ends { source, destination, port: Port::Kept };
            let quoted = |quote: &_| siit.quoted_to_ipv4(quote);
            translation::to_ipv4(batch, slot, &ends, identification, rules, quoted)
                .map_err(reason_of)
        }
    }
}

/// The second one of a packet that turns around: it becomes IPv6 again.
fn turn(
    (batch, slot): (&mut Batch, Slot),
    ends: (Ipv4Addr, Ipv4Addr),
    siit: &Siit,
) -> Result<(), Reason> {
    let ends = siit.turn(ends).ok_or(reasons::NO_COUNTERPART)?;
    let quoted = |quote: &_| siit.turn_quoted(quote);
    translation::to_ipv6(batch, slot, &ends, &siit.rules, quoted).map_err(reason_of)
}

/// What tells the packet of a frame from others if it is IPv4, by which its pieces know one
/// another.
fn identification_of(frame: &[u8]) -> u16 {
    const AT: usize = ethernet::HEADER_LEN + ipv4::offset::IDENTIFICATION;
    frame.get(AT..).and_then(<[u8]>::first_chunk).map_or(0, |number| u16::from_be_bytes(*number))
}
