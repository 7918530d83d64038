//! Single frames to a device and back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::clock;
use packet::PortId;

use super::frames::are_same;
use crate::tester::foreign::{is_error, is_talk};
use crate::tester::link::{Link, PortLink, Refused};

/// The tester's ends of the links, used frame by frame.
pub(super) struct Exchange<'a> {
    links: &'a mut [PortLink],
    stop: &'a AtomicBool,
    own_frames: u64,
    /// Frames for which the check no longer waits, but that may still arrive later.
    overdue: VecDeque<(PortId, Vec<u8>)>,
    /// Recognises reports of the device, which are collected separately.
    is_report: IsReport<'a>,
    reports: Vec<Vec<u8>>,
}

/// Returns true if a frame is a report of the device.
pub(super) type IsReport<'a> = &'a dyn Fn(PortId, &[u8]) -> bool;

impl<'a> Exchange<'a> {
    /// Creates an exchange over these links, by port; it stops waiting when the user asks to stop.
    pub fn new(
        links: &'a mut [PortLink],
        stop: &'a AtomicBool,
        is_report: IsReport<'a>,
    ) -> Exchange<'a> {
        let (overdue, reports) = (VecDeque::new(), Vec::new());
        Exchange { links, stop, own_frames: 0, overdue, is_report, reports }
    }

    /// Sends a frame into a port of the device; returns true if it was accepted. A link that is
    /// full is tried again, because a busy machine may be late to empty it.
    pub fn send(&mut self, port: PortId, frame: &[u8]) -> bool {
        let Some(link) = self.links.get_mut(usize::from(port.0)) else { return false };
        let end = Instant::now() + FULL;
        loop {
            if let Some(room) = link.reserve(frame.len()) {
                room.copy_from_slice(frame);
                if link.publish(clock::now()) == Refused::default() {
                    return true;
                }
            }
            if Instant::now() >= end || self.stop.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::park_timeout(POLL);
        }
    }

    /// Returns the next frame from any port of the device; `None` after the time limit. Of a time
    /// in which this thread did not run no more than [`COUNTED_MAX`] counts, because then the
    /// device may not have run either. Frames that the device sends on its own and overdue frames
    /// are skipped, unless they are expected.
    pub fn receive(
        &mut self,
        patience: Duration,
        is_awaited: impl Fn((PortId, &[u8])) -> bool,
    ) -> Option<(PortId, Vec<u8>)> {
        let (mut left, mut last) = (patience, Instant::now());
        loop {
            for (index, link) in self.links.iter_mut().enumerate() {
                let port = PortId(index as u8);
                while link.fetch(clock::now()) {
                    let Some(frame) = link.next_frame() else { break };
                    if (self.is_report)(port, frame) {
                        self.reports.push(frame.to_vec());
                        continue;
                    }
                    if is_awaited((port, frame)) {
                        return Some((port, frame.to_vec()));
                    }
                    let late =
                        |(to, bytes): &(PortId, Vec<u8>)| *to == port && are_same(frame, bytes);
                    if let Some(index) = self.overdue.iter().position(late) {
                        self.overdue.remove(index);
                        continue;
                    }
                    if !(is_talk(frame) || is_error(frame)) {
                        return Some((port, frame.to_vec()));
                    }
                    self.own_frames += 1;
                }
            }
            let now = Instant::now();
            left = left.saturating_sub(now.duration_since(last).min(COUNTED_MAX));
            last = now;
            if left.is_zero() || self.stop.load(Ordering::Relaxed) {
                return None;
            }
            std::thread::park_timeout(POLL);
        }
    }

    /// Records a frame as overdue: if a busy machine delivers it later, it is not mistaken for
    /// another frame.
    pub fn give_up(&mut self, port: PortId, frame: Vec<u8>) {
        if self.overdue.len() == OVERDUE_MAX {
            self.overdue.pop_front();
        }
        self.overdue.push_back((port, frame));
    }

    /// Returns the reports that arrived since the last call.
    pub fn take_reports(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.reports)
    }

    /// Returns the number of frames that the device sent on its own.
    pub fn own_frames(&self) -> u64 {
        self.own_frames
    }
}

/// Interval between two polls of the links: short compared with the latency of a frame, long
/// compared with a time slice.
const POLL: Duration = Duration::from_micros(50);

/// Largest part of the time between two polls that counts as waiting.
const COUNTED_MAX: Duration = Duration::from_millis(1);

/// Time for which a full link is tried again.
const FULL: Duration = Duration::from_millis(500);

/// Largest number of overdue frames; a check with more missing frames ends.
const OVERDUE_MAX: usize = 256;
