//! Numbered frames both ways, between a packet socket and a memif port that dies and comes back.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use engine::Way;
use machine::clock;
use packet::{Batch, PortId, Room, Slot};
use serde_json::json;

use crate::kit::{End, Lab};

use super::Disturbances;

/// The tester: an end of each link, and what it counts.
pub struct Tester<'a> {
    lab: &'a Lab,
    socket: &'a str,
    /// Behind the port `downlink`.
    pub near: End,
    /// Behind the port `uplink`; none while it is dead.
    far: Option<End>,
    /// What ends that died had counted.
    buried: Counts,
    /// From near to far.
    pub up: Direction,
    /// From far to near.
    pub down: Direction,
    batch: Batch,
}

/// What a port of the tester counted.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub sent: u64,
    pub lost: u64,
}

/// One direction of the load.
#[derive(Default)]
pub struct Direction {
    offered: u64,
    pub received: u64,
    pub not_in_order: u64,
    next: u64,
}

impl<'a> Tester<'a> {
    pub fn new(lab: &'a Lab, socket: &'a str) -> Tester<'a> {
        let batch = Batch::new(BURST, Room { headroom: 0, frame: 1514, long: 0 }).expect("memory");
        let (up, down) = (Direction::default(), Direction::default());
        let near = lab.end("a1");
        Tester { lab, socket, near, far: None, buried: Counts::default(), up, down, batch }
    }

    /// Sends at an even rate both ways for so long and takes what comes; the far end dies again and
    /// again, and is away for half a second.
    pub fn load(
        &mut self,
        lasting: Duration,
        period: Duration,
        disturbances: &Disturbances,
        mut now_and_then: impl FnMut(),
    ) {
        let started = Instant::now();
        let mut turn = started;
        while started.elapsed() < lasting {
            let due = (started.elapsed().as_secs_f64() * RATE_PPS) as u64;
            if self.up.offered + BURST as u64 <= due {
                self.send();
            } else {
                thread::park_timeout(Duration::from_micros(300));
            }
            self.take();
            if self.far.is_some() && turn.elapsed() >= period {
                self.kill();
                disturbances.deaths.fetch_add(1, Ordering::Relaxed);
                turn = Instant::now();
            } else if self.far.is_none() && (turn == started || turn.elapsed() >= AWAY) {
                let keys = json!({"socket": self.socket, "role": "slave"});
                self.far = Some(self.lab.open("memif", keys));
            }
            now_and_then();
        }
    }

    /// A burst each way; the numbers go on while the far end is dead.
    fn send(&mut self) {
        for (way, end, [to, from]) in [
            (&mut self.up, Some(&mut self.near), [9, 8]),
            (&mut self.down, self.far.as_mut(), [8, 9]),
        ] {
            self.batch.clear();
            for _ in 0..BURST {
                let frame = self.batch.append(PortId(0), 60).expect("room");
                frame.fill(0);
                frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, to]);
                frame[6..14].copy_from_slice(&[2, 0, 0, 0, 0, from, 0x88, 0xb5]);
                frame[14..22].copy_from_slice(&way.offered.to_be_bytes());
                way.offered += 1;
            }
            let slots: Vec<Slot> = self.batch.slots().collect();
            if let Some(end) = end {
                end.port.transmit(&mut self.batch, &slots, clock::now());
            }
        }
    }

    /// Takes what has come.
    pub fn take(&mut self) {
        for (way, end) in
            [(&mut self.up, self.far.as_mut()), (&mut self.down, Some(&mut self.near))]
        {
            let Some(end) = end else { continue };
            loop {
                self.batch.clear();
                if end.port.receive(&mut self.batch, BURST, clock::now()) == 0 {
                    break;
                }
                for slot in self.batch.slots() {
                    way.note(&self.batch.frame(slot)[14..]);
                }
            }
        }
    }

    /// The far end dies with all it held: socket, memory, and what nobody has read.
    fn kill(&mut self) {
        self.buried = self.far_counts();
        self.far = None;
    }

    /// What all far ends counted so far.
    pub fn far_counts(&self) -> Counts {
        let Counts { sent, lost } = self.buried;
        let Some(far) = &self.far else { return self.buried };
        let counts = far.monitor.counts();
        Counts { sent: sent + counts.sent, lost: lost + counts.lost(Way::Receive) }
    }
}

impl Direction {
    fn note(&mut self, payload: &[u8]) {
        let Some(bytes) = payload.first_chunk() else { return };
        let number = u64::from_be_bytes(*bytes);
        self.received += 1;
        self.not_in_order += u64::from(number < self.next);
        self.next = number + 1;
    }
}

/// Far below what the machine can, so that losses are those of the disturbances; each way.
const RATE_PPS: f64 = 20_000.0;

const BURST: usize = 32;

/// How long a dead peer is away.
const AWAY: Duration = Duration::from_millis(500);
