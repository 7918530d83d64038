//! The functional check: the same steps for the device and for the oracle.

use std::time::Duration;

use engine::{Counts, Drops};
use packet::PortId;

/// The slow, readable model of a function. It shares no code with the pipeline but names and the
/// constants of the standards, and keeps its state in the standard library's collections.
pub trait Oracle {
    /// A change at run time.
    type Update;

    /// What must become of a frame that comes in at `port` at time `now`, counted from the moment
    /// the function was set up.
    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected;

    /// The same, asked after the device had the frame, with all that became of it, as far as that
    /// is known: of devices of another making what left. Where a standard leaves the device a
    /// choice (a translator takes any free port, and ends what is over when it sees fit), the
    /// oracle takes over what was chosen, if it was allowed, and tells the bytes that follow from
    /// it. Most functions choose nothing, and what became of the frame is none of their oracles'
    /// business.
    fn expect_of(
        &mut self,
        port: PortId,
        frame: &[u8],
        now: Duration,
        _became: &[Expected],
    ) -> Expected {
        self.expect(port, frame, now)
    }

    /// How many frames will leave because of a frame, those that are made beside it included, for
    /// an oracle that must see them before it can tell which; none for one that need not.
    fn foresee(&self, _port: PortId, _frame: &[u8], _now: Duration) -> Option<usize> {
        None
    }

    /// Applies a change; whether it is possible.
    fn apply(&mut self, update: &Self::Update, now: Duration) -> bool;

    /// What must become of the frames that the function makes beside the one that came in: made by
    /// the last frame or change, or because it is `now`. Those of a port stand in the order in
    /// which they leave. They are told once. Most functions make none.
    fn made(&mut self, _now: Duration) -> Vec<Expected> {
        Vec::new()
    }

    /// Takes over what frames have cost from an oracle that saw the same frames at other times, and
    /// with which the device has agreed where the two did not. Most functions charge nothing.
    fn charge_as(&mut self, _other: &Self)
    where
        Self: Sized,
    {
    }

    /// Whether a frame that left is a report: by which the function tells, when it sees fit, of
    /// what happened. Reports are taken out of what left, and held to what happened by
    /// [`Oracle::report`].
    fn is_report(&self, _port: PortId, _frame: &[u8]) -> bool {
        false
    }

    /// Takes a report, in the order in which they left.
    ///
    /// # Errors
    /// What it tells and did not happen, or what is wrong with it.
    fn report(&mut self, _frame: &[u8], _now: Duration) -> Result<(), String> {
        Ok(())
    }

    /// What should have been reported by now and was not; each is told once.
    fn unreported(&mut self, _now: Duration) -> Vec<String> {
        Vec::new()
    }
}

/// What is wrong with reports, or missing. It is to be asked in every round, when the oracle knows
/// of its frames.
pub fn hear<O: Oracle>(oracle: &mut O, reports: &[Vec<u8>], now: Duration) -> Vec<String> {
    let wrong = reports.iter().filter_map(|frame| oracle.report(frame, now).err());
    let mut wrong: Vec<String> = wrong.collect();
    wrong.append(&mut oracle.unreported(now));
    wrong
}

/// What became of some frames, and apart from it the reports that left meanwhile.
pub fn without_reports<O: Oracle>(
    oracle: &O,
    verdicts: Vec<Expected>,
) -> (Vec<Expected>, Vec<Vec<u8>>) {
    let mut reports = Vec::new();
    let mut others = Vec::with_capacity(verdicts.len());
    for verdict in verdicts {
        match verdict {
            Expected::Forward { port, frame } if oracle.is_report(port, &frame) => {
                reports.push(frame);
            }
            other => others.push(other),
        }
    }
    (others, reports)
}

/// What must become of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It leaves by this port as exactly these bytes.
    Forward {
        /// Where.
        port: PortId,
        /// What.
        frame: Vec<u8>,
    },
    /// It is dropped for the reason of this name.
    Drop(&'static str),
    /// It goes to the control plane.
    Punt,
}

/// Brings verdicts into the order in which [`became`] tells them: by port, and by port as they
/// left; then drops by name; then what was punted.
pub fn in_order(mut verdicts: Vec<Expected>) -> Vec<Expected> {
    verdicts.sort_by_key(|verdict| match verdict {
        Expected::Forward { port, .. } => (0, port.0, ""),
        Expected::Drop(reason) => (1, 0, *reason),
        Expected::Punt => (2, 0, ""),
    });
    verdicts
}

/// What became of some frames, and of those made beside them, as ports and counters show it.
pub fn became(left: Vec<(PortId, Vec<u8>)>, counts: &Counts, names: Drops) -> Vec<Expected> {
    let left = left.into_iter().map(|(port, frame)| Expected::Forward { port, frame });
    let dropped = names.0.iter().zip(&counts.dropped);
    let dropped = dropped.flat_map(|(&name, &count)| (0..count).map(move |_| Expected::Drop(name)));
    let punted = (0..counts.punted).map(|_| Expected::Punt);
    in_order(left.chain(dropped).chain(punted).collect())
}

/// Those of some verdicts that left.
pub fn left(verdicts: &[Expected]) -> Vec<(PortId, &[u8])> {
    let forwarded = verdicts.iter().filter_map(|verdict| match verdict {
        Expected::Forward { port, frame } => Some((*port, frame.as_slice())),
        Expected::Drop(_) | Expected::Punt => None,
    });
    forwarded.collect()
}

/// One step of the functional check.
#[derive(Clone, Debug)]
pub enum Step<U> {
    /// A frame comes in.
    Frame {
        /// Where.
        port: PortId,
        /// What.
        frame: Vec<u8>,
        /// Why it is in the sample: `uplink with a sequence number` …
        about: &'static str,
    },
    /// A frame comes in that answers earlier ones, as they left.
    Answer {
        /// Where.
        port: PortId,
        /// What.
        answer: Answer,
        /// Why it is in the sample.
        about: &'static str,
    },
    /// The configuration changes.
    Update(U),
    /// Time passes.
    Wait(Duration),
}

/// A frame that cannot be written beforehand, because parts of it are what a device chose: a
/// translator gives any free port, and answers are addressed to that one.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The frame; it is sent as it is where the earlier ones did not leave.
    pub frame: Vec<u8>,
    /// What is taken from earlier ones.
    pub parts: Vec<Part>,
    /// What is done to the frame then: checksums are set.
    pub finish: fn(&mut [u8]),
    /// The tag that it gets last of all; 0 for none.
    pub tag: u16,
}

/// A part of a frame that left, and its place in an answer.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Because of which frame it left: so many frames and answers before this one.
    pub back: usize,
    /// Where the part begins in the frame that left, without the tag of that one.
    pub from: usize,
    /// Its length.
    pub len: usize,
    /// Where it begins in the answer.
    pub to: usize,
}

/// What has left because of the frames of a sample so far.
#[derive(Clone, Debug, Default)]
pub struct History {
    left: Vec<Vec<u8>>,
}

impl History {
    /// Notes what became of the next frame or answer of a sample; every one has to be noted.
    pub fn note(&mut self, verdict: &Expected) {
        self.left.push(match verdict {
            Expected::Forward { frame, .. } => frame.clone(),
            Expected::Drop(_) | Expected::Punt => Vec::new(),
        });
    }

    /// The frame of the next answer.
    pub fn fill(&self, answer: &Answer) -> Vec<u8> {
        let mut frame = answer.frame.clone();
        for part in &answer.parts {
            let number = self.left.len().checked_sub(part.back);
            let left = number.and_then(|number| self.left.get(number));
            let tag = left.map_or(0, |left| tag_len(left));
            let from = part.from + tag;
            let bytes = left.and_then(|left| left.get(from..from + part.len));
            let place = frame.get_mut(part.to..part.to + part.len);
            if let (Some(bytes), Some(place)) = (bytes, place) {
                place.copy_from_slice(bytes);
            }
        }
        (answer.finish)(&mut frame);
        if answer.tag != 0 {
            let tag = [TAG.to_be_bytes(), answer.tag.to_be_bytes()].concat();
            frame.splice(MACS_LEN..MACS_LEN, tag);
        }
        frame
    }
}

/// Bytes of a frame's tag (IEEE 802.1Q).
fn tag_len(frame: &[u8]) -> usize {
    let is_tagged = frame.get(MACS_LEN..).is_some_and(|rest| rest.starts_with(&TAG.to_be_bytes()));
    if is_tagged { 4 } else { 0 }
}

const MACS_LEN: usize = 12;
const TAG: u16 = 0x8100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_what_left_and_is_itself_where_nothing_did() {
        let mut history = History::default();
        history.note(&Expected::Forward { port: PortId(1), frame: vec![1, 2, 3, 4] });
        history.note(&Expected::Drop("late"));
        let parts = vec![
            Part { back: 2, from: 1, len: 2, to: 3 },
            Part { back: 1, from: 0, len: 1, to: 0 },
            Part { back: 3, from: 0, len: 1, to: 0 },
            Part { back: 2, from: 3, len: 2, to: 0 },
        ];
        let answer = Answer { frame: vec![9; 6], parts, finish: |frame| frame[5] = 7, tag: 0 };
        assert_eq!(history.fill(&answer), [9, 9, 9, 2, 3, 7]);
    }

    #[test]
    fn tags_move_nothing() {
        let mut history = History::default();
        let frame = [&[1; 12][..], &[0x81, 0, 0, 7, 8, 0, 5, 6]].concat();
        history.note(&Expected::Forward { port: PortId(1), frame });
        let parts = vec![Part { back: 1, from: 14, len: 2, to: 15 }];
        let answer = Answer { frame: vec![9; 17], parts, finish: |frame| frame[14] = 3, tag: 20 };
        let wanted = [&[9; 12][..], &[0x81, 0, 0, 20, 9, 9, 3, 5, 6]].concat();
        assert_eq!(history.fill(&answer), wanted);
    }

    #[test]
    fn what_became_of_frames_does_not_depend_on_the_order_between_ports() {
        let forward = |port, byte| Expected::Forward { port: PortId(port), frame: vec![byte] };
        let names = Drops(&["unhandled", "old", "late"]);
        let mut counts = Counts::zero(names, 0);
        (counts.dropped, counts.punted) = (vec![0, 1, 2], 1);
        let left = [(1, 1), (0, 2), (1, 0)].map(|(port, byte)| (PortId(port), vec![byte]));
        let got = became(left.to_vec(), &counts, names);
        let [late, old] = ["late", "old"].map(Expected::Drop);
        let expected = vec![
            old,
            forward(1, 1),
            late.clone(),
            Expected::Punt,
            forward(1, 0),
            late,
            forward(0, 2),
        ];
        assert_eq!(got, in_order(expected.clone()));
        let mut swapped = expected;
        swapped.swap(1, 4);
        assert_ne!(got, in_order(swapped), "of one port, the order counts");
    }
}
