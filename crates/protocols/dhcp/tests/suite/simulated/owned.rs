//! A server or relay with an owner that takes its time, and keeps records over restarts.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use protocol_dhcp::{Access, Command, Framed, LeaseId, Prefix, Report};
use protocol_kit::{Input, Machine, Output, Random, Time};

use super::Event;
use crate::lines::GRANT;

/// What is around a machine with leases: frames, or a socket.
pub trait Around: Machine<Command = Command, Report = Report> {
    type Inner: Access;

    fn inner(&self) -> &Self::Inner;

    fn inner_mut(&mut self) -> &mut Self::Inner;
}

impl<M: Access> Around for Framed<M> {
    type Inner = M;

    fn inner(&self) -> &M {
        self.machine()
    }

    fn inner_mut(&mut self) -> &mut M {
        self.machine_mut()
    }
}

/// The machine with its owner.
pub struct Owned<A> {
    around: A,
    /// Whether it has its leases of other servers, which may be silent, and may give what a lease
    /// has that has not ended here.
    is_relay: bool,
    random: Random,
    /// What the owner will say, and when.
    agenda: BTreeMap<(Time, u64), Command>,
    next: u64,
    disk: Disk,
    /// Whether the disk was read.
    is_taken_up: bool,
    /// Sessions that are up.
    up: BTreeMap<LeaseId, Vec<Prefix>>,
}

/// Records of leases that outlive a machine.
pub type Disk = Rc<RefCell<BTreeMap<LeaseId, Vec<u8>>>>;

/// What is left at the end, whatever is around the machine.
pub trait Left: Machine<Command = Command, Report = Event> {
    /// Leases, units and fixed ones that are held, units that are used, sessions that are up.
    fn left(&self) -> [usize; 4];
}

impl<A: Around> Owned<A> {
    pub fn new(around: A, is_relay: bool, disk: Disk, seed: u64) -> Owned<A> {
        Owned {
            around,
            is_relay,
            random: Random::new(seed),
            agenda: BTreeMap::new(),
            next: 0,
            disk,
            is_taken_up: false,
            up: BTreeMap::new(),
        }
    }

    fn later(&mut self, now: Time, command: Command) {
        // Now and then it does not answer at all.
        if self.random.below(50) > 0 {
            let delay = Duration::from_micros(self.random.below(20_000));
            self.next += 1;
            self.agenda.insert((now.after(delay), self.next), command);
        }
    }

    fn hear(&mut self, now: Time, report: Report) {
        match report {
            Report::Wanted(lease, ..) => self.later(now, Command::Accept(lease, GRANT)),
            Report::Up { lease, prefixes, .. } => {
                self.up.insert(lease, prefixes);
                // What is not on the disk is not acknowledged.
                self.keep(lease);
                self.later(now, Command::Acknowledged(lease));
            }
            Report::Gone { lease, is_last, prefixes, .. } => {
                let up = self.up.get_mut(&lease);
                let known = up.map(|up| up.retain(|one| !prefixes.contains(one)));
                assert!(known.is_some() || prefixes.is_empty(), "{lease:?} was not up");
                match is_last {
                    true => self.forget(lease),
                    false => self.keep(lease),
                }
            }
            Report::Renewed(lease) => assert!(self.up.contains_key(&lease), "{lease:?}"),
            Report::Taken { .. } | Report::Server(..) if self.is_relay => {}
            other => panic!("{other:?}"),
        }
    }

    fn keep(&mut self, lease: LeaseId) {
        if let Some(record) = self.around.inner().record(lease) {
            self.disk.borrow_mut().insert(lease, record);
        }
    }

    fn forget(&mut self, lease: LeaseId) {
        self.up.remove(&lease);
        self.disk.borrow_mut().remove(&lease);
    }

    /// Takes up what an earlier life has kept.
    fn take_up(&mut self, now: Time) {
        if std::mem::replace(&mut self.is_taken_up, true) {
            return;
        }
        let old = std::mem::take(&mut *self.disk.borrow_mut());
        for record in old.values() {
            let lease = self.around.inner_mut().restore(now, record).expect("it was kept");
            // What it holds is told when it is gone.
            self.up.insert(lease, Vec::new());
            self.keep(lease);
        }
    }
}

impl<A: Around> Machine for Owned<A> {
    type Command = Command;
    type Report = Event;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        self.take_up(now);
        self.around.input(now, input);
    }

    fn poll(&mut self, now: Time) -> Option<Output<Event>> {
        self.take_up(now);
        while let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= now) {
            let command = entry.remove();
            self.around.input(now, Input::Command(command));
        }
        while let Some(output) = self.around.poll(now) {
            match output {
                Output::Departure(departure) => return Some(Output::Departure(departure)),
                Output::Report(report) => self.hear(now, report),
            }
        }
        None
    }

    fn deadline(&self) -> Option<Time> {
        let first = self.agenda.first_key_value().map(|((time, _), _)| *time);
        first.into_iter().chain(self.around.deadline()).min()
    }
}

impl<A: Around> Left for Owned<A> {
    fn left(&self) -> [usize; 4] {
        let machine = self.around.inner();
        let used = machine.pools().usage(0).map_or(0, |usage| usage.used as usize);
        [machine.leases(), machine.pools().held(), used, self.up.len()]
    }
}
