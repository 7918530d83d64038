//! What the rest of a process sees of its hosts: their timers, their machines' neighbours, and a
//! trace of what their machines send and hear.
//!
//! A host tells its [`Watch`] after each turn, by atomics; nobody waits for anybody. Without a
//! trace, that costs a message one relaxed read.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use protocol_kit::{Neighbour, Time};

use crate::counters::Counters;

/// The hosts of a process, and the one trace that may run.
#[derive(Default)]
pub struct Observer {
    watches: Mutex<Vec<Arc<Watch>>>,
    trace: Trace,
}

/// What is seen of a host.
pub struct Watch {
    /// The name of the host.
    pub name: String,
    start: Instant,
    /// When the machine's deadline is, in nanoseconds since the start; the last number for none.
    due_ns: AtomicU64,
    turns: AtomicU64,
    /// The most that a turn was late: ever, and since it was asked for the last time.
    lag_ns: [AtomicU64; 2],
    seen: Mutex<Seen>,
}

/// What a host tells from time to time.
#[derive(Default)]
struct Seen {
    neighbours: Vec<Neighbour>,
    counters: Counters,
    sockets: usize,
    streams: usize,
    protocols: BTreeSet<&'static str>,
}

/// The timers of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timers {
    /// The name of the host.
    pub name: String,
    /// Time until the machine's deadline, zero if it is past; `None` if there is none.
    pub next: Option<Duration>,
    /// Turns of the loop.
    pub turns: u64,
    /// The most that a turn was late.
    pub lag_max: Duration,
    /// Open sockets, those of streams included.
    pub sockets: usize,
    /// Open streams.
    pub streams: usize,
    /// What the host has counted, at most a second ago.
    pub counters: Counters,
}

impl Observer {
    /// A host joins under a name, and takes the place of an earlier one of the same name.
    pub(crate) fn join(&self, name: &str) -> Arc<Watch> {
        let mut watches = lock(&self.watches);
        let watch = Arc::new(Watch {
            name: name.to_owned(),
            start: Instant::now(),
            due_ns: AtomicU64::new(u64::MAX),
            turns: AtomicU64::new(0),
            lag_ns: [const { AtomicU64::new(0) }; 2],
            seen: Mutex::default(),
        });
        watches.retain(|other| other.name != name);
        watches.push(Arc::clone(&watch));
        watch
    }

    /// A host ends.
    pub(crate) fn leave(&self, watch: &Arc<Watch>) {
        lock(&self.watches).retain(|other| !Arc::ptr_eq(other, watch));
    }

    /// Returns the timers of all hosts, by name.
    pub fn timers(&self) -> Vec<Timers> {
        self.all(Watch::timers)
    }

    /// Returns the most that a turn of each host was late since the last call, by name.
    pub fn take_lags(&self) -> Vec<(String, Duration)> {
        let lag = |watch: &Watch| {
            let lag = watch.lag_ns[1].swap(0, Ordering::Relaxed);
            (watch.name.clone(), Duration::from_nanos(lag))
        };
        self.all(lag)
    }

    /// Returns the neighbours of all machines as they were at most a second ago.
    pub fn neighbours(&self) -> Vec<Neighbour> {
        self.all(|watch| lock(&watch.seen).neighbours.clone()).into_iter().flatten().collect()
    }

    /// Returns the protocols that have opened a socket.
    pub fn protocols(&self) -> BTreeSet<&'static str> {
        self.all(|watch| lock(&watch.seen).protocols.clone()).into_iter().flatten().collect()
    }

    /// Returns the trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    fn all<T>(&self, of: impl Fn(&Watch) -> T) -> Vec<T> {
        lock(&self.watches).iter().map(|watch| of(watch)).collect()
    }
}

impl Watch {
    /// A turn has ended.
    pub(crate) fn turned(&self, deadline: Option<Time>) {
        self.turns.fetch_add(1, Ordering::Relaxed);
        self.due_ns.store(deadline.map_or(u64::MAX, |time| time.0), Ordering::Relaxed);
    }

    /// Something was done this much later than it was due.
    pub(crate) fn lagged(&self, lag: Duration) {
        let ns = u64::try_from(lag.as_nanos()).unwrap_or(u64::MAX);
        self.lag_ns.iter().for_each(|most| _ = most.fetch_max(ns, Ordering::Relaxed));
    }

    /// This is how it stands.
    pub(crate) fn tell(
        &self,
        neighbours: Vec<Neighbour>,
        counters: Counters,
        (sockets, streams): (usize, usize),
    ) {
        let mut seen = lock(&self.seen);
        (seen.neighbours, seen.counters) = (neighbours, counters);
        (seen.sockets, seen.streams) = (sockets, streams);
    }

    /// A protocol has a socket.
    pub(crate) fn speaks(&self, protocol: &'static str) {
        lock(&self.seen).protocols.insert(protocol);
    }

    fn timers(&self) -> Timers {
        let due_ns = self.due_ns.load(Ordering::Relaxed);
        let due = (due_ns != u64::MAX).then_some(Duration::from_nanos(due_ns));
        let seen = lock(&self.seen);
        Timers {
            name: self.name.clone(),
            next: due.map(|due| due.saturating_sub(self.start.elapsed())),
            turns: self.turns.load(Ordering::Relaxed),
            lag_max: Duration::from_nanos(self.lag_ns[0].load(Ordering::Relaxed)),
            sockets: seen.sockets,
            streams: seen.streams,
            counters: seen.counters,
        }
    }
}

/// A trace of one protocol's messages, in a queue of bounded size.
#[derive(Default)]
pub struct Trace {
    is_on: AtomicBool,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    protocol: String,
    records: VecDeque<Record>,
    bytes: usize,
    kept: u64,
    dropped: u64,
}

/// A message of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, in nanoseconds since 1970.
    pub unix_ns: u64,
    /// Whether the machine hears it; otherwise it sends it.
    pub is_heard: bool,
    /// Its interface; empty where that is not known.
    pub interface: String,
    /// The message as an Ethernet frame, with secrets overwritten. Headers that the socket does not
    /// tell are made up.
    pub frame: Vec<u8>,
}

impl Trace {
    /// Begins to keep the messages of a protocol; false if a trace runs already.
    pub fn begin(&self, protocol: &str) -> bool {
        let mut queue = lock(&self.queue);
        if self.is_on.load(Ordering::Relaxed) {
            return false;
        }
        *queue = Queue { protocol: protocol.to_owned(), ..Queue::default() };
        self.is_on.store(true, Ordering::Relaxed);
        true
    }

    /// Takes the messages kept so far, at most `limit`.
    pub fn take(&self, limit: usize) -> Vec<Record> {
        let mut queue = lock(&self.queue);
        let count = queue.records.len().min(limit);
        let taken: Vec<Record> = queue.records.drain(..count).collect();
        queue.bytes -= taken.iter().map(Record::room).sum::<usize>();
        taken
    }

    /// Ends the trace, and puts away what was not taken; false if none ran.
    pub fn end(&self) -> bool {
        lock(&self.queue).records = VecDeque::new();
        self.is_on.swap(false, Ordering::Relaxed)
    }

    /// Returns the numbers of messages that were kept, and that were dropped because the queue was
    /// full, in the last trace.
    pub fn counts(&self) -> [u64; 2] {
        let queue = lock(&self.queue);
        [queue.kept, queue.dropped]
    }

    /// Whether a trace runs.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Whether the running trace is of a protocol.
    pub(crate) fn wants(&self, protocol: &str) -> bool {
        self.is_on() && lock(&self.queue).protocol == protocol
    }

    /// Keeps a message.
    pub(crate) fn keep(&self, record: Record) {
        let mut queue = lock(&self.queue);
        if !self.is_on() {
            return;
        }
        if queue.bytes + record.room() > QUEUE_BYTES {
            queue.dropped += 1;
            return;
        }
        queue.kept += 1;
        queue.bytes += record.room();
        queue.records.push_back(record);
    }
}

impl Record {
    /// Bytes of the queue that it takes.
    fn room(&self) -> usize {
        size_of::<Record>() + self.frame.len() + self.interface.len()
    }
}

/// What another thread has left behind is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Room of the queue in bytes.
const QUEUE_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn record(len: usize) -> Record {
        Record { unix_ns: 1, is_heard: true, interface: String::new(), frame: vec![0; len] }
    }

    #[test]
    fn a_trace_is_one_and_bounded() {
        let trace = Trace::default();
        trace.keep(record(10));
        assert!(trace.begin("vrrp") && !trace.begin("fpm") && trace.wants("vrrp"));
        (0..200).for_each(|_| trace.keep(record(64 << 10)));
        let [kept, dropped] = trace.counts();
        assert!(dropped > 0 && kept + dropped == 200, "{kept} {dropped}");
        assert_eq!(trace.take(1).len(), 1);
        trace.keep(record(64 << 10));
        assert_eq!(trace.counts(), [kept + 1, dropped], "there is room for one again");
        assert_eq!(trace.take(usize::MAX).len() as u64, kept);
        assert!(trace.end() && !trace.end());
        trace.keep(record(10));
        assert!(trace.take(1).is_empty() && !trace.wants("vrrp") && trace.begin("fpm"));
    }

    #[test]
    fn a_lag_is_told_once_and_the_most_stays() {
        let observer = Observer::default();
        let watch = observer.join("one");
        watch.lagged(Duration::from_millis(7));
        watch.lagged(Duration::from_micros(3));
        assert_eq!(observer.take_lags(), [("one".to_owned(), Duration::from_millis(7))]);
        assert_eq!(observer.take_lags(), [("one".to_owned(), Duration::ZERO)]);
        let [timers] = &observer.timers()[..] else { panic!("there is one host") };
        assert_eq!(timers.lag_max, Duration::from_millis(7));
        let again = observer.join("one");
        assert_eq!(observer.timers().len(), 1);
        observer.leave(&watch);
        assert_eq!(observer.timers().len(), 1, "it is the other one that is there");
        observer.leave(&again);
        assert!(observer.timers().is_empty());
    }
}
