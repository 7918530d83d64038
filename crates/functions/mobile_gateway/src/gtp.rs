//! What the gateway says by GTP-U of messages that it cannot use, within a limit (TS 29.281
//! sections 7.3.1 and 7.2.3): to the station and by the port from which the message came.
//!
//! An error indication makes a base station give a bearer up. So one of several workers that does
//! not know an identifier asks all others first, by handing the packet around: it may be that of a
//! user of theirs who sends under another's address. Not here: a control plane that would release
//! bearers for an error indication of a base station.

use std::net::Ipv4Addr;

use function_kit::Shard;
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot, Verdict};
use stages::icmpv4::{is_host, turn};
use wire::bytes::{array_at, u32_at};
use wire::gtpu::{self, GTPU_PORT};
use wire::{ethernet, ipv4, udp};

use super::answer::headers;
use super::config::Tunnel;
use super::gateway::{is_worker, towards_worker};
use super::handed::{Handed, Kind};
use super::parse::EXTENSIONS_KNOWN;
use super::pipeline::Pipeline;
use super::reasons::Tally;

impl Pipeline {
    /// A G-PDU for an identifier that nobody here knows, which is dropped: the other workers may,
    /// and if none does, its sender is told.
    #[cold]
    pub(super) fn report_unknown(&mut self, batch: &mut Batch, slot: Slot, now: Ticks) {
        if self.state.gateway.tunnel != Tunnel::GtpU {
            return;
        }
        let port = batch.port(slot);
        let known = if is_worker(port) { Handed::read(batch.frame(slot)) } else { None };
        let handed = known.unwrap_or(Handed { kind: Kind::Tunnel, port, asked: 0 });
        if handed.asked == 0 && !self.may_report(now) {
            return;
        }
        let Shard { index, count } = self.shard;
        let asked = handed.asked.saturating_add(1);
        if u32::from(asked) < count {
            Handed { asked, ..handed }.mark(batch.frame_mut(slot));
            let next = towards_worker((index + 1) % count);
            return batch.set_verdict(slot, Verdict::Forward(next));
        }
        let teid = self.way.teid[usize::from(slot)];
        let mut message = [0; gtpu::ERROR_INDICATION_IPV4_LEN];
        gtpu::emit_error_indication_ipv4(0, teid, self.state.gateway.ip, &mut message);
        if self.report(batch.frame(slot), handed.port, &message) {
            self.tallies[Tally::GtpErrorsSent as usize] += 1;
        }
    }

    /// A message with an extension header that must be understood and is not: its sender is told
    /// which are.
    #[cold]
    pub(super) fn report_extension(&mut self, batch: &Batch, slot: Slot, now: Ticks) {
        let mut message = [0; gtpu::HEADER_LEN_OPTIONAL + 2 + EXTENSIONS_KNOWN.len()];
        let written = gtpu::emit_supported_extension_headers(0, &EXTENSIONS_KNOWN, &mut message);
        if written.is_some()
            && self.may_report(now)
            && self.report(batch.frame(slot), batch.port(slot), &message)
        {
            self.tallies[Tally::GtpExtensionsTold as usize] += 1;
        }
    }

    /// Whether one more report is within the limit.
    fn may_report(&mut self, now: Ticks) -> bool {
        let admits = self.host.gtp_errors.admits(now);
        let is_limit = self.host.gtp_errors.is_there();
        self.tallies[Tally::GtpErrorsLimited as usize] += u64::from(is_limit && !admits);
        admits
    }

    /// Sends a message to the sender of the message in a frame; whether it is one who can be told.
    /// Ports are by section 4.4.2.
    fn report(&mut self, frame: &[u8], port: PortId, message: &[u8]) -> bool {
        let Some(head) = frame.first_chunk::<HEAD>() else { return false };
        let to = Ipv4Addr::from_bits(u32_at(head, IP + ipv4::offset::SOURCE));
        let gateway = self.state.gateway;
        let is_group = head[ethernet::offset::SOURCE] & 1 != 0;
        let Some(made) = self.made.as_mut().filter(|_| is_host(to) && !is_group) else {
            return false;
        };
        let mut answer = [0; HEAD + udp::HEADER_LEN + MESSAGE_LEN_MAX];
        let len = HEAD + udp::HEADER_LEN + message.len();
        let Some(answer) = answer.get_mut(..len) else { return false };
        answer[..IP].copy_from_slice(&array_at::<IP>(head, 0));
        turn(answer, gateway.mac);
        answer[ethernet::offset::TYPE..IP].copy_from_slice(&ethernet::TYPE_IPV4.to_be_bytes());
        let (ip, datagram) = headers(&gateway, (to, GTPU_PORT), message.len());
        answer[IP..].first_chunk_mut().into_iter().for_each(|place| ip.emit(place));
        answer[HEAD..].first_chunk_mut().into_iter().for_each(|place| datagram.emit(place));
        answer[HEAD + udp::HEADER_LEN..].copy_from_slice(message);
        made.push(port, answer, Verdict::Forward(port)).is_some()
    }
}

const IP: usize = ethernet::HEADER_LEN;
const HEAD: usize = IP + ipv4::HEADER_LEN;

/// The longer one of both reports.
const MESSAGE_LEN_MAX: usize = gtpu::ERROR_INDICATION_IPV4_LEN;
