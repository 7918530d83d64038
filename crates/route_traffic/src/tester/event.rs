//! What all events have in common: time, what is used meanwhile, and the outcome.

use std::time::{Duration, Instant};

use measure::{Convergence, DeviceCpu, MeasureError, TrialProgress, Watch};

use crate::device::{Device, Usage};
use crate::heard::Counts;
use crate::kernel;
use crate::tester::core::{Core, no_stalls};

/// An event that happens.
pub(crate) struct Event<'a> {
    pub device: &'a mut dyn Device,
    watch: &'a mut dyn Watch,
    began: Instant,
    deadline: Instant,
    sampled: Instant,
    resident: Option<u64>,
    sockets_before: Option<u64>,
    sockets_most: Option<u64>,
    /// What was used and told when the measured time began.
    start: Start,
    /// What was used when the last client was done.
    end: Option<(Usage, Duration)>,
}

#[derive(Default)]
struct Start {
    usage: Usage,
    time: Duration,
    counts: Vec<Counts>,
    fed: u64,
}

impl<'a> Event<'a> {
    pub fn new(
        device: &'a mut dyn Device,
        watch: &'a mut dyn Watch,
        patience: Duration,
    ) -> Event<'a> {
        let began = Instant::now();
        Event {
            device,
            watch,
            began,
            deadline: began + patience,
            sampled: began,
            resident: None,
            sockets_before: kernel::socket_bytes(),
            sockets_most: None,
            start: Start::default(),
            end: None,
        }
    }

    /// Until when it is waited for.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The measured time begins now.
    pub fn start(&mut self, core: &mut Core) {
        let clients = 0..core.plan.client_count();
        self.start = Start {
            usage: self.device.usage(),
            time: kernel::thread_time(),
            counts: clients.map(|client| core.heard.counts(client)).collect(),
            fed: core.sessions.fed_bytes,
        };
        core.lost = 0;
        core.stalls = no_stalls();
        self.end = None;
    }

    /// The device was started anew, and has used nothing before.
    pub fn start_anew(&mut self) {
        self.start.usage = Usage::default();
    }

    /// When the last of the clients that count was done.
    pub fn end(&self) -> Option<(Usage, Duration)> {
        self.end.clone()
    }

    /// Takes back what others have moved.
    pub fn set_end(&mut self, end: Option<(Usage, Duration)>) {
        self.end = end;
    }

    /// One round of all sessions; returns whether there is time left.
    ///
    /// # Errors
    /// If the user has asked to stop, or the device does not work any more.
    pub fn turn(&mut self, core: &mut Core, wait: Duration) -> Result<bool, MeasureError> {
        core.step(wait)?;
        let now = Instant::now();
        if now.duration_since(self.sampled) >= SAMPLE {
            self.sampled = now;
            self.sample();
            self.device.health().map_err(MeasureError::Device)?;
            let counts = self.counts(core);
            self.watch.at(TrialProgress {
                elapsed: now.duration_since(self.began),
                sent: core.sessions.fed_bytes - self.start.fed,
                received: counts.bytes,
            });
        }
        Ok(now < self.deadline)
    }

    /// Waits until all of some clients have what they are to have and nothing changes any more, or
    /// time is over; returns whether they have.
    ///
    /// # Errors
    /// As [`Event::turn`].
    pub fn wait(&mut self, core: &mut Core, clients: &[usize]) -> Result<bool, MeasureError> {
        loop {
            // Who is to have nothing has it before its session stands.
            let are_done = core.sessions.are_settled()
                && clients.iter().all(|client| core.heard.done(*client).is_some());
            if are_done && self.end.is_none() {
                self.end = Some((self.device.usage(), kernel::thread_time()));
                self.sample();
            }
            if !are_done {
                self.end = None;
            }
            let is_quiet = || {
                core.last_change().is_none_or(|last| last.elapsed() >= QUIET)
                    && !core.sessions.are_feeding()
            };
            if are_done && is_quiet() {
                return Ok(true);
            }
            if !self.turn(core, TURN)? {
                return Ok(are_done);
            }
        }
    }

    /// The outcome: times of some clients from a beginning, and what any client lacks.
    pub fn outcome(
        &mut self,
        core: &mut Core,
        (clients, since): (&[usize], Instant),
    ) -> Convergence {
        let done = clients.iter().filter_map(|client| core.heard.done(*client));
        let clients_ns = done.map(|done| nanos(done.saturating_duration_since(since))).collect();
        let mut wrong = Vec::new();
        for client in 0..core.plan.client_count() {
            if core.heard.done(client).is_none() {
                wrong.push(core.lack(client, wrong.len() < DETAILED_MAX));
            }
        }
        self.sample();
        let counts = self.counts(core);
        let (usage, time) =
            self.end.take().unwrap_or_else(|| (self.device.usage(), kernel::thread_time()));
        let before = &self.start.usage;
        let cpu = usage.cpu_ns.map(|now| now.saturating_sub(before.cpu_ns.unwrap_or(0)));
        let sockets = self.sockets_most.zip(self.sockets_before);
        Convergence {
            sessions_up: None,
            clients_ns,
            wrong,
            sessions_lost: core.lost,
            updates: counts.updates,
            routes: counts.routes,
            bytes: counts.bytes,
            changes_ns: None,
            withdrawals_seen: self.withdrawals_seen(core),
            device: cpu.map(|ns| DeviceCpu { ns, of: usage.cpu_of.clone() }),
            tester_cpu_ns: nanos(time.saturating_sub(self.start.time)),
            resident_bytes: self.resident,
            socket_bytes: sockets.map(|(most, before)| most.saturating_sub(before)),
            stalls: vec![core.stalls.clone()],
        }
    }

    fn sample(&mut self) {
        self.resident = self.resident.max(self.device.usage().resident_bytes);
        self.sockets_most = self.sockets_most.max(kernel::socket_bytes());
    }

    /// What all clients together were told since the beginning.
    fn counts(&self, core: &Core) -> Counts {
        let mut all = Counts::default();
        for (client, before) in self.start.counts.iter().enumerate() {
            let more = core.heard.counts(client).since(*before);
            all.updates += more.updates;
            all.routes += more.routes;
            all.withdrawn += more.withdrawn;
            all.bytes += more.bytes;
        }
        all
    }

    /// How many clients were told a withdrawal.
    fn withdrawals_seen(&self, core: &Core) -> u32 {
        let counts = self.start.counts.iter().enumerate();
        let told = counts
            .filter(|(client, before)| core.heard.counts(*client).withdrawn > before.withdrawn);
        told.count() as u32
    }
}

pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// How long nothing may change for an event to be over. Times are not those of the end, but of the
/// last change.
const QUIET: Duration = Duration::from_millis(250);

/// Longest wait of a round.
pub(crate) const TURN: Duration = Duration::from_millis(50);

/// Time between two looks at memory and health.
const SAMPLE: Duration = Duration::from_millis(200);

/// Clients of which it is told what they lack, route by route.
const DETAILED_MAX: usize = 4;
