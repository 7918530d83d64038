//! Frames out of the ordinary at the entrance, one by one: what neighbours and other workers say,
//! questions to the gateway, fragments, and everything that is dropped.

use engine::steering::worker_of;
use function_kit::Shard;
use machine::clock::Ticks;
use packet::{Batch, Reason, Slot, Verdict};
use stages::icmp_host::Trouble;
use stages::reassembly::Part;
use wire::ethernet;

use super::answer::answer;
use super::gateway::{is_worker, towards_worker};
use super::handed::{Handed, Kind};
use super::parse::{Addresses, Class, Inner, Question, classify, classify_ipv4};
use super::pipeline::Pipeline;
use super::reasons::{self, Tally};
use super::steering::of_user;

impl Pipeline {
    /// What a frame is that is not plain.
    #[inline(never)]
    pub(super) fn check_fully(&mut self, batch: &mut Batch, slot: Slot, now: Ticks) {
        if is_worker(batch.port(slot))
            && let Some(handed) = Handed::read(batch.frame(slot))
        {
            return self.take_over(batch, slot, handed, now);
        }
        let Pipeline { state, neighbours, made, tallies, .. } = self;
        if neighbours.hear_conflict(&state.gateway, (batch.port(slot), batch.frame(slot)), now) {
            tallies[Tally::AddressConflicts as usize] += 1;
        }
        if state.asks(batch.port(slot))
            && let Some(made) = made
            && let Some(verdict) = neighbours.hear((state, made), batch, slot, tallies, now)
        {
            return batch.set_verdict(slot, verdict);
        }
        if let Some(verdict) = neighbours.answer(&state.gateway, (batch, slot), tallies) {
            return batch.set_verdict(slot, verdict);
        }
        let class = classify(batch.frame(slot), &self.state.gateway);
        self.enter(batch, slot, class, now);
    }

    /// A frame goes the way of its class.
    fn enter(&mut self, batch: &mut Batch, slot: Slot, class: Class, now: Ticks) {
        if self.is_at_wrong_port(batch, slot, &class) {
            return batch.set_verdict(slot, reasons::drop(reasons::WRONG_PORT));
        }
        match class {
            Class::Uplink { teid, inner } => self.way.enter_uplink(slot, teid, inner),
            Class::Downlink(inner) => self.way.enter_downlink(slot, inner),
            Class::Spent { teid, inner } => self.expire(batch, slot, (teid, inner), now),
            Class::Fragment(part) => self.gather(batch, slot, &part, now),
            Class::Icmp => self.receive_icmp(batch, slot, now),
            Class::Unsupported { is_told } => {
                batch.set_verdict(slot, reasons::drop(reasons::GTP_EXTENSION));
                if is_told {
                    self.report_extension(batch, slot, now);
                }
            }
            Class::Answer(question) => {
                self.tallies[match question {
                    Question::Arp => Tally::ArpAnswered,
                    Question::Echo { .. } => Tally::EchoAnswered,
                } as usize] += 1;
                answer(batch, slot, question, &self.state.gateway);
            }
            Class::Drop(reason) => {
                let is_error = reason == reasons::GTP_ERROR_INDICATION;
                self.tallies[Tally::ErrorIndications as usize] += u64::from(is_error);
                batch.set_verdict(slot, reasons::drop(reason));
            }
        }
    }

    /// Whether a frame came in by a port by which none of its class does, where that is checked.
    fn is_at_wrong_port(&self, batch: &Batch, slot: Slot, class: &Class) -> bool {
        let port = batch.port(slot);
        self.check_ports && !is_worker(port) && class.comes_by().is_some_and(|own| own != port)
    }

    /// A fragment of a packet for the gateway: the last one that was missing goes on as the whole.
    fn gather(&mut self, batch: &mut Batch, slot: Slot, part: &Part, now: Ticks) {
        let class = match self.put_together(batch, slot, part, now) {
            Ok(class) => class,
            Err(reason) => Class::Drop(reason),
        };
        if let Class::Uplink { inner, .. } | Class::Spent { teid: Some(_), inner } = class
            && !self.is_at_wrong_port(batch, slot, &class)
            && let Some(worker) = self.other_worker(&inner)
        {
            let handed = Handed { kind: Kind::Tunnel, port: batch.port(slot), asked: 0 };
            handed.mark(batch.frame_mut(slot));
            return batch.set_verdict(slot, Verdict::Forward(towards_worker(worker)));
        }
        self.enter(batch, slot, class, now);
    }

    fn put_together(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        part: &Part,
        now: Ticks,
    ) -> Result<Class, Reason> {
        let reassembly = self.reassembly.as_mut().ok_or(reasons::IP_FRAGMENT)?;
        let whole = reassembly.gather(batch.frame(slot), part, now)?;
        if !batch.set_frame_len(slot, whole.len()) {
            return Err(reasons::TOO_LONG);
        }
        batch.frame_mut(slot).copy_from_slice(whole);
        self.tallies[Tally::Reassembled as usize] += 1;
        Ok(classify(batch.frame(slot), &self.state.gateway))
    }

    /// A packet whose time to live ends here: who sent it is told, a user if it is one.
    #[cold]
    fn expire(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (teid, inner): (Option<u32>, Inner),
        now: Ticks,
    ) {
        let Some(teid) = teid else {
            let why = (Trouble::TimeExceeded, reasons::TTL_EXPIRED);
            return self.refuse(batch, slot, why, now);
        };
        let bearer = self.state.by_teid.get(teid);
        let is_its = |bearer: &u32| self.state.bearers[*bearer as usize].has(&inner.addresses);
        match bearer.filter(is_its) {
            Some(_) => {
                let why = (Trouble::TimeExceeded, reasons::INNER_TTL_EXPIRED);
                self.way.inner[usize::from(slot)] = inner;
                self.refuse_user(batch, slot, why, now);
            }
            None => batch.set_verdict(slot, reasons::drop(reasons::INNER_TTL_EXPIRED)),
        }
    }

    /// A frame that another worker hands over.
    #[cold]
    fn take_over(&mut self, batch: &mut Batch, slot: Slot, handed: Handed, now: Ticks) {
        if handed.kind == Kind::Packet {
            return self.take_packet(batch, slot, now);
        }
        let frame = batch.frame_mut(slot);
        let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
        match classify_ipv4(packet, &self.state.gateway) {
            class @ (Class::Uplink { .. } | Class::Spent { teid: Some(_), .. }) => {
                if self.state.fakedrop {
                    // It may leave as it is.
                    let own = self.state.gateway.mac.0;
                    frame.iter_mut().zip(own).for_each(|(place, byte)| *place = byte);
                }
                self.enter(batch, slot, class, now);
            }
            // Nothing else is handed over.
            _ => batch.set_verdict(slot, reasons::drop(reasons::NEIGHBOUR_HEARD)),
        }
    }

    /// The worker that has the user who sent a packet, if that is another one.
    fn other_worker(&self, inner: &Inner) -> Option<u32> {
        let Shard { index, count } = self.shard;
        let Addresses::V4 { source, .. } = inner.addresses else { return None };
        let worker = worker_of(of_user(&self.steering, source.into()), count);
        (worker != index).then_some(worker)
    }
}
