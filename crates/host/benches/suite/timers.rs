//! Timers that come due evenly.

use std::collections::VecDeque;
use std::time::Duration;

use host::Host;
use protocol_kit::{Input, Machine, Output, Time};

use crate::Usage;

/// Timers of a second each, the first to come due in front.
struct Timers {
    due: VecDeque<Time>,
    fired: u64,
    late_ns: u64,
    late_ns_max: u64,
}

impl Machine for Timers {
    type Command = ();
    type Report = ();

    fn input(&mut self, now: Time, input: Input<'_, ()>) {
        if let Input::Command(()) = input {
            let count = self.due.len() as u64;
            for (place, due) in (0..).zip(&mut self.due) {
                *due = now.after(SECOND * place as u32 / count as u32);
            }
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<()>> {
        while let Some(due) = self.due.front().copied().filter(|due| *due <= now) {
            self.due.pop_front();
            self.due.push_back(due.after(SECOND));
            let late = now.since(due).as_nanos() as u64;
            self.fired += 1;
            self.late_ns += late;
            self.late_ns_max = self.late_ns_max.max(late);
        }
        None
    }

    fn deadline(&self) -> Option<Time> {
        self.due.front().copied()
    }
}

/// Runs a number of timers a second for a time.
pub fn run(count: usize, span: Duration) {
    let due = (0..count).map(|_| Time(u64::MAX)).collect();
    let mut host = Host::new(Timers { due, fired: 0, late_ns: 0, late_ns_max: 0 }).expect("a host");
    host.command(());
    let usage = Usage::begin();
    let mut turns = 0;
    while usage.start.elapsed() < span {
        host.turn(SECOND).expect("it turns");
        turns += 1;
    }
    let Timers { fired, late_ns, late_ns_max, .. } = host.machine();
    println!(
        "timers: {:.0} a second in {:.0} turns a second, {:.1} % of a processor, late by {} us in \
         the mean and {} us at most, {} late turns",
        *fired as f64 / span.as_secs_f64(),
        f64::from(turns) / span.as_secs_f64(),
        usage.percent(),
        late_ns / fired.max(&1) / 1000,
        late_ns_max / 1000,
        host.counters().late,
    );
    assert!(*fired > 0);
}

const SECOND: Duration = Duration::from_secs(1);
