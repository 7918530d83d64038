//! RFC 9293 section 3.10.7.1: the segment by which a connection ends that there is not.

use std::time::Duration;

use function_cgnat::config::TcpResets;
use function_cgnat::types::sides::OUTSIDE;
use model_kit::check::Expected;
use packet::PortId;

use super::networks::is_host;
use super::packets::{address, mend_ip, sum, word};
use super::state::Model;

impl Model {
    /// What goes back to the sender of a segment that was refused; none where that is nothing.
    pub(super) fn reset(
        &mut self,
        (port, frame): (PortId, &[u8]),
        reason: &str,
        now: Duration,
    ) -> Option<Expected> {
        let is_outside = port == OUTSIDE;
        let is_answered = match self.config.tcp_resets {
            TcpResets::None => false,
            TcpResets::Inside => !is_outside && reason == "tcp-no-session",
            TcpResets::Both if is_outside => reason == "no-mapping",
            TcpResets::Both => reason == "tcp-no-session",
        };
        let segment = segment_of(frame).filter(|_| is_answered && frame[6] % 2 == 0)?;
        let (flags, is_ipv6) = (segment[13], word(frame, 12) == 0x86dd);
        // RFC 5382 REQ-4: what opens a connection from outside is not answered.
        let opens = is_outside && flags & 0x12 == 2;
        if flags & 4 != 0 || opens || self.config.icmp_errors_per_s == 0 {
            return None;
        }
        if !self.errors.takes(now) {
            return None;
        }
        let reset = answer(segment, flags);
        let head = [&frame[6..12], &self.mac(port), &frame[12..14]].concat();
        match is_ipv6 {
            false => {
                let ends = [&frame[30..34], &frame[26..30]].concat();
                let reset = summed(&ends, reset);
                let mut ip = vec![0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0];
                ip.extend(&ends);
                mend_ip(&mut ip);
                Some(self.reply(port, [head, ip, reset].concat()))
            }
            true => {
                let ends = [&frame[38..54], &frame[22..38]].concat();
                let reset = summed(&ends, reset);
                let ip = [&[0x60, 0, 0, 0, 0, 20, 6, 64], &ends[..]].concat();
                Some(Expected::Forward { port, frame: [head, ip, reset].concat() })
            }
        }
    }
}

/// The segment right behind the plain header of a whole packet between two hosts.
fn segment_of(frame: &[u8]) -> Option<&[u8]> {
    let packet = frame.get(14..)?;
    let segment = match word(frame, 12) {
        0x0800 if packet.len() >= 40 => {
            let is_plain = packet[0] == 0x45 && packet[9] == 6 && word(packet, 6) & 0x3fff == 0;
            let are_hosts = [12, 16].iter().all(|&at| is_host(address(packet, at)));
            packet.get(20..usize::from(word(packet, 2))).filter(|_| is_plain && are_hosts)?
        }
        0x86dd if packet.len() >= 60 => {
            let is_plain = packet[6] == 6 && packet[8] != 0xff && packet[24] != 0xff;
            packet.get(40..40 + usize::from(word(packet, 4))).filter(|_| is_plain)?
        }
        _ => return None,
    };
    let is_whole = segment.len() >= 20 && segment.len() >= usize::from(segment[12] / 16) * 4;
    is_whole.then_some(segment)
}

/// The way back, without a checksum: what acknowledges is believed, and what does not is
/// acknowledged.
fn answer(segment: &[u8], flags: u8) -> Vec<u8> {
    let number = |at: usize| u32::from(word(segment, at)) << 16 | u32::from(word(segment, at + 2));
    let data = segment.len() - usize::from(segment[12] / 16) * 4;
    let taken = data as u32 + u32::from(flags & 2 != 0) + u32::from(flags & 1 != 0);
    let (sequence, acknowledgment, said) = match flags & 16 {
        0 => (0, number(4).wrapping_add(taken), 20),
        _ => (number(8), 0, 4),
    };
    let numbers = [sequence, acknowledgment].map(u32::to_be_bytes).concat();
    let rest = [0x50, said, 0, 0, 0, 0, 0, 0];
    [&segment[2..4], &segment[..2], &numbers, &rest].concat()
}

/// A segment of twenty bytes with its checksum, between two ends.
fn summed(ends: &[u8], mut segment: Vec<u8>) -> Vec<u8> {
    let right = !sum(&[ends, &[0, 6, 0, 20], &segment].concat());
    segment[16..18].copy_from_slice(&right.to_be_bytes());
    segment
}
