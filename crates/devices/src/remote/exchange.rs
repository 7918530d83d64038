//! Single frames to a device and back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::clock;
use packet::PortId;

use super::frames::are_same;
use crate::tester::foreign::{is_error, is_talk};
use crate::tester::link::{Link, PortLink, Refused};

/// The tester's ends of the links, a frame at a time.
pub(super) struct Exchange<'a> {
    links: &'a mut [PortLink],
    stop: &'a AtomicBool,
    own_frames: u64,
    /// What was given up, and may yet come while something else is waited for.
    overdue: VecDeque<(PortId, Vec<u8>)>,
    /// Tells reports of the device, which are kept for whoever takes them.
    is_report: IsReport<'a>,
    reports: Vec<Vec<u8>>,
}

/// Whether a frame is a report of the device.
pub(super) type IsReport<'a> = &'a dyn Fn(PortId, &[u8]) -> bool;

impl<'a> Exchange<'a> {
    /// An exchange over these links, by port, that ends its waiting when the user asks to stop.
    pub fn new(
        links: &'a mut [PortLink],
        stop: &'a AtomicBool,
        is_report: IsReport<'a>,
    ) -> Exchange<'a> {
        let (overdue, reports) = (VecDeque::new(), Vec::new());
        Exchange { links, stop, own_frames: 0, overdue, is_report, reports }
    }

    /// Sends a frame into a port of the device; whether it was taken.
    pub fn send(&mut self, port: PortId, frame: &[u8]) -> bool {
        let Some(link) = self.links.get_mut(usize::from(port.0)) else { return false };
        let Some(room) = link.reserve(frame.len()) else { return false };
        room.copy_from_slice(frame);
        link.publish(clock::now()) == Refused::default()
    }

    /// The next frame from any port of the device; none after so long. Frames in the device's own
    /// name and overdue ones are passed over, unless they are what is waited for.
    pub fn receive(
        &mut self,
        patience: Duration,
        is_awaited: impl Fn((PortId, &[u8])) -> bool,
    ) -> Option<(PortId, Vec<u8>)> {
        let end = Instant::now() + patience;
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
            if Instant::now() >= end || self.stop.load(Ordering::Relaxed) {
                return None;
            }
            std::thread::park_timeout(POLL);
        }
    }

    /// Notes a frame that was waited for long enough: should it come after all, on a machine that is
    /// busy with other things, it is not taken for another one.
    pub fn give_up(&mut self, port: PortId, frame: Vec<u8>) {
        if self.overdue.len() == OVERDUE_MAX {
            self.overdue.pop_front();
        }
        self.overdue.push_back((port, frame));
    }

    /// The reports that came since this was last asked.
    pub fn take_reports(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.reports)
    }

    /// Frames in the device's own name so far.
    pub fn own_frames(&self) -> u64 {
        self.own_frames
    }
}

/// Between two looks at the links: short against what a frame takes, long against a time slice.
const POLL: Duration = Duration::from_micros(50);

/// More than a check goes on with when frames stay away.
const OVERDUE_MAX: usize = 256;
