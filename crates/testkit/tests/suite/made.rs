//! The laws and the device under test, with a function that makes frames.

use std::io;

use engine::{Drops, Function, Refusal, StageClock};
use machine::clock::Ticks;
use model_kit::check::Expected;
use packet::{Batch, MADE_FULL, Made, PortId, Reason, Room, Verdict};
use testkit::device::Device;
use testkit::laws::{Input, hold};

/// Sends every frame to port 1, as many copies as its first byte says to port 0, and one to port 1
/// a tick after the last change.
struct Copier {
    made: Option<Made>,
    due: Option<Ticks>,
    tallies: [u64; 1],
}

fn copier() -> Copier {
    Copier { made: None, due: None, tallies: [0] }
}

impl Function for Copier {
    type Update = ();
    const STAGES: &'static [&'static str] = &[];
    const DROPS: Drops = Drops(&["unhandled", "last"]);
    const TALLIES: &'static [&'static str] = &[MADE_FULL];

    fn process(&mut self, batch: &mut Batch, _: Ticks, _: &mut StageClock<'_>) {
        let made = self.made.as_mut().expect("room was made");
        for slot in batch.slots() {
            for _ in 0..batch.frame(slot)[0] {
                made.copy(batch, slot, PortId(0));
            }
            batch.set_verdict(slot, Verdict::Forward(PortId(1)));
        }
        self.tallies[0] = made.refused();
    }

    fn apply(&mut self, (): (), now: Ticks) -> Result<(), Refusal> {
        self.due = Some(now + 1);
        self.made.as_mut().expect("room").push(PortId(0), &[7], Verdict::Drop(Reason(1)));
        Ok(())
    }

    fn tallies(&self) -> &[u64] {
        &self.tallies
    }

    fn state_bytes(&self) -> usize {
        0
    }

    fn make_room(&mut self, room: Room) -> io::Result<()> {
        self.made = Some(Made::new(room)?);
        Ok(())
    }

    fn made(&mut self, now: Ticks) -> Option<&mut Batch> {
        let made = self.made.as_mut()?;
        if self.due.take_if(|due| *due <= now).is_some() {
            made.push(PortId(0), &[8], Verdict::Forward(PortId(1)));
        }
        made.lend()
    }
}

fn forward(port: u8, byte: u8) -> Expected {
    Expected::Forward { port: PortId(port), frame: vec![byte] }
}

#[test]
fn the_laws_hold_for_made_frames_even_where_there_is_no_room_for_all() {
    for most in [3, 255] {
        let frames: Vec<Vec<u8>> = (0..most).map(|byte| vec![byte]).collect();
        hold(copier, 2, Input { port: PortId(0), frames: &frames, now: 5 });
    }
}

#[test]
fn a_device_tells_what_was_made_by_a_frame_a_change_or_time() {
    let mut device = Device::new(copier(), 2);
    let got = device.exchange(PortId(1), &[2], 1);
    assert_eq!(got, [forward(0, 2), forward(0, 2), forward(1, 2)]);
    assert!(device.update((), 1));
    assert_eq!(device.rest(1), [Expected::Drop("last")]);
    assert_eq!(device.rest(1), []);
    assert_eq!(device.rest(2), [forward(1, 8)]);
    let counts = device.counts();
    assert_eq!((counts.received, counts.made), (1, 4));
}

#[test]
#[should_panic(expected = "of one frame")]
fn a_frame_beside_others_is_more_than_one_thing() {
    Device::new(copier(), 2).pass(PortId(0), &[1], 0);
}
