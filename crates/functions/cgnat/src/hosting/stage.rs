//! Frames that are for the host or come from it, and those for virtual addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use engine::plane::{self, Context};
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot, Verdict};
use stages::virtuals::Virtual;
use stages::{hosted, nd, punt};
use wire::{ethernet, ipv4};

use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};
use crate::types::class::Class;
use crate::types::sides::is_further;

impl Pipeline {
    /// Frames of the host, which come last, leave as they are by the interface that they name;
    /// returns the number of frames that came in by ports.
    #[inline]
    pub(crate) fn inject(&mut self, batch: &mut Batch) -> usize {
        let mut came = batch.len();
        while came > 0 && batch.port((came - 1) as Slot) == PortId::HOST {
            came -= 1;
            self.inject_one(batch, came as Slot);
        }
        came
    }

    #[inline(never)]
    fn inject_one(&mut self, batch: &mut Batch, slot: Slot) {
        let number = plane::split(batch, slot).and_then(|number| u8::try_from(number).ok());
        let port = number.map(PortId).filter(|&port| self.interfaces.is_hosted(port));
        let verdict = match port {
            Some(port) => {
                self.state.tallies[Tally::Injected as usize] += 1;
                Verdict::Forward(port)
            }
            None => reasons::drop(reasons::UNKNOWN_VLAN),
        };
        self.scratch.came[usize::from(slot)] = PortId::HOST;
        batch.set_verdict(slot, verdict);
    }

    /// A frame for a virtual MAC address becomes one for the interface's own.
    #[inline]
    pub(crate) fn accept_virtual(&self, batch: &mut Batch, slot: Slot) {
        let port = batch.port(slot);
        if self.interfaces.virtuals().is_for(batch.frame(slot), port.0.into()) {
            batch.frame_mut(slot)[..6].copy_from_slice(&self.interfaces.mac(port).0);
        }
    }

    /// What a frame without its tag is that tells a MAC address of a next hop, that the host sees,
    /// or that asks for a virtual address of IPv6; none of all others.
    #[inline(never)]
    pub(crate) fn meet(
        &mut self,
        batch: &Batch,
        (slot, realm): (Slot, u16),
        now: Ticks,
    ) -> Option<Class> {
        self.hear_conflict(batch, (slot, realm), now);
        let heard = self.hear(batch, (slot, realm), now);
        let (frame, port) = (batch.frame(slot), batch.port(slot));
        if realm == 0 && self.interfaces.is_hosted(port) && self.is_shown(frame, port) {
            return Some(Class::Hosted);
        }
        heard.or_else(|| {
            let asked = self.interfaces.virtuals().asked_by_nd(frame, port.0.into());
            let (mac, address) = asked?;
            match nd::read(frame, (mac, Some(address))) {
                Some(Ok(nd::Message::Solicitation { source, .. })) => {
                    Some(Class::Solicitation(source))
                }
                _ => Some(Class::Drop(reasons::ND_IGNORED)),
            }
        })
    }

    /// Whether the host sees a frame: it does not see questions that the NAT answers itself.
    fn is_shown(&self, frame: &[u8], port: PortId) -> bool {
        let (mac, ipv6) = self.interfaces.station(port);
        let is_others = |asked: Ipv6Addr| {
            let is_virtual = self.interfaces.virtuals().get(port.0.into(), asked.into()).is_some();
            is_virtual || asked != ipv6 && !asked.is_unicast_link_local()
        };
        if nd::asked(frame).is_some_and(is_others) {
            return false;
        }
        let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
        let answers = self.interfaces.arp_answer(packet, port);
        let is_answered = answers.is_some_and(|(target, _)| target != self.interfaces.ip(port));
        !is_answered && hosted::sees(frame, (mac, false), |address| address == ipv6)
    }

    /// Hands a frame to the host.
    pub(crate) fn show_host(&mut self, batch: &mut Batch, slot: Slot) {
        self.scratch.came_by[usize::from(slot)] = batch.port(slot);
        batch.set_verdict(slot, Verdict::Punt(punt::reason_of(batch.frame(slot))));
    }

    /// What is known of a frame that was handed over.
    pub(crate) fn context_of(&self, batch: &Batch, slot: Slot) -> Context {
        let port = self.scratch.came_by[usize::from(slot)];
        let further = self.interfaces.further.as_ref().filter(|_| is_further(port));
        let vlan = further.map_or(0, |further| further.exit(port).1);
        let source = punt::source_of(batch.frame(slot));
        Context { interface: port.0.into(), vlan, session: 0, source }
    }

    /// The virtual address for which an IPv4 packet is.
    pub(crate) fn virtual_of(&self, frame: &[u8], port: PortId) -> Option<Virtual> {
        let packet = frame.get(ethernet::HEADER_LEN..)?;
        let to = ipv4::View::parse_without_checksum(packet).ok()?.destination();
        self.interfaces.virtuals().get(port.0.into(), to.into())
    }

    /// Whether a packet that no mapping takes is for the address that subscribers share with the
    /// NAT itself, and whole.
    pub(crate) fn is_for_itself(&self, batch: &Batch, slot: Slot) -> bool {
        let port = batch.port(slot);
        self.interfaces.shares_ip(port) && {
            let packet = batch.frame(slot).get(ethernet::HEADER_LEN..).unwrap_or_default();
            ipv4::View::parse_without_checksum(packet).is_ok_and(|view| {
                view.destination() == self.interfaces.ip(port) && !view.is_fragment()
            })
        }
    }

    /// Whether an address is a virtual one of an interface.
    pub(crate) fn is_virtual(&self, port: PortId, address: u32) -> bool {
        let virtuals = self.interfaces.virtuals();
        let address = IpAddr::from(Ipv4Addr::from_bits(address));
        !virtuals.is_empty() && virtuals.get(port.0.into(), address).is_some()
    }
}
