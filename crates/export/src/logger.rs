//! The logger of a worker: takes events, and makes the frames that tell them.
//!
//! ```text
//!  note(event) --> told at all? --> alarm within its rate? --> queue (bounded) --.
//!                       |                  |                     | full          |
//!                    nothing            limited                 lost             v
//!  flush(now) --> templates due? --> records into the open message --> full or old enough? --> made
//! ```
//! Nothing is allocated after the start. An event that has no place is counted by its class and
//! forgotten; the data path never waits for a log. A message that has no place among the made
//! frames, or is beyond the rate, stays until there is one.

use machine::clock::Ticks;
use packet::{Made, Verdict};
use tables::meter::Meter;

use crate::collector::Collector;
use crate::config::{Format, Logging};
use crate::epoch::Epoch;
use crate::ipfix::Ipfix;
use crate::message::Message;
use crate::queue::Queue;
use crate::record::{Class, Event, Kind};
use crate::syslog::Syslog;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Events that left in a message.
    Records,
    /// Messages with events.
    Messages,
    /// Messages with templates.
    Templates,
    /// Events of sessions that found the queue full.
    LostSessions,
    /// Events of mappings that did.
    LostMappings,
    /// Events of blocks and paired addresses that did.
    LostBlocks,
    /// Alarms that did.
    LostAlarms,
    /// Alarms beyond their rate, which are not told on purpose.
    LimitedAlarms,
}

/// The names of the counts, in the order of [`Count`].
pub const COUNTS: [&str; 8] = [
    "log-records",
    "log-messages",
    "log-templates",
    "log-lost-sessions",
    "log-lost-mappings",
    "log-lost-blocks",
    "log-lost-alarms",
    "log-limited-alarms",
];

/// Events of one worker on their way to a collector.
pub struct Logger<E: Event> {
    queue: Queue<E>,
    /// Places that sessions and mappings may take; the rest is for what is rarer and tells more.
    frequent_max: usize,
    /// A bit for each kind that is told.
    told: u32,
    /// By the number of a kind.
    alarms: Box<[Meter]>,
    counts: [u64; COUNTS.len()],
    writer: Writer<E>,
    message: Message,
    holds: Holds,
    collector: Collector,
    frame_max: usize,
    epoch: Epoch,
    pace: Option<Meter>,
    /// For how long a record waits for others, in ticks.
    delay: Ticks,
    schedule: Schedule,
    /// The last moment that was asked for, and its milliseconds: events come in batches of one
    /// time.
    time: (Ticks, u64),
}

/// How a message is written.
enum Writer<E: Event> {
    Ipfix(Ipfix<E>),
    Syslog(Syslog<E>),
}

/// What the open message holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Nothing,
    /// Records, the oldest of this time.
    Records(Ticks),
    /// Records or templates, and nothing will be added.
    Closed(Content),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Records,
    Templates,
}

/// When templates are sent.
struct Schedule {
    /// The next one to be sent; none when all were.
    next: Option<usize>,
    /// When they are due again.
    due: Ticks,
    interval: Ticks,
    /// Messages until then, and how many are at most.
    messages_left: u32,
    messages: u32,
}

impl<E: Event> Logger<E> {
    /// The logger of a worker under a validated configuration.
    pub fn new(config: &Logging, collector: Collector, worker: u32, epoch: Epoch) -> Logger<E> {
        let tells = |kind: E::Kind| config.tells(kind.class());
        let told = E::Kind::ALL.iter().filter(|kind| tells(**kind));
        let kinds = 1 + E::Kind::ALL.iter().map(|kind| kind.number()).max().unwrap_or(0);
        assert!(kinds <= 32, "a kind beyond the bits of a word");
        let templates = E::templates(tells, config.destinations);
        let writer = match config.format {
            Format::Ipfix => {
                Writer::Ipfix(Ipfix::new(templates, config.domain.wrapping_add(worker)))
            }
            Format::Syslog => Writer::Syslog(Syslog::new(templates, config, worker)),
        };
        let ticks_per_s = epoch.clock().ticks_per_second();
        let meter = |rate: u32, burst: usize| {
            // Half of one less, so that exactly the burst passes at one moment.
            Meter::new(rate.into(), burst as f64 - 0.5, ticks_per_s)
        };
        let queue = Queue::new(config.queue);
        let interval = (f64::from(config.template_interval_s) * ticks_per_s) as Ticks;
        Logger {
            frequent_max: queue.capacity() - queue.capacity() / 8,
            queue,
            told: told.fold(0, |told, kind| told | 1 << kind.number()),
            alarms: vec![meter(config.alarms_per_s, config.alarms_per_s as usize); kinds].into(),
            counts: [0; COUNTS.len()],
            message: Message::new(collector.headers_len(), config.frame_max()),
            holds: Holds::Nothing,
            collector,
            frame_max: config.frame_max(),
            pace: (config.rate > 0).then(|| meter(config.rate, FRAMES_MAX)),
            delay: (f64::from(config.delay_ms) / 1e3 * ticks_per_s) as Ticks,
            schedule: Schedule {
                next: matches!(writer, Writer::Ipfix(_)).then_some(0),
                due: Ticks::MAX,
                interval,
                messages_left: config.template_messages,
                messages: config.template_messages,
            },
            writer,
            epoch,
            time: (0, epoch.unix_ms(0)),
        }
    }

    /// Whether events of a kind are told: what a caller asks before it gathers one.
    #[inline]
    pub fn tells(&self, kind: E::Kind) -> bool {
        self.told >> kind.number() & 1 != 0
    }

    /// Takes note of an event. Times never go back.
    #[inline]
    pub fn note(&mut self, event: &E) {
        if !self.tells(event.kind()) {
            return;
        }
        let (limit, lost) = match event.kind().class() {
            Class::Sessions => (self.frequent_max, Count::LostSessions),
            Class::Mappings => (self.frequent_max, Count::LostMappings),
            Class::Blocks => (usize::MAX, Count::LostBlocks),
            Class::Alarms => {
                if !self.alarms[event.kind().number()].conforms(event.at(), 1) {
                    self.counts[Count::LimitedAlarms as usize] += 1;
                    return;
                }
                (usize::MAX, Count::LostAlarms)
            }
        };
        if !self.queue.put(event, limit) {
            self.counts[lost as usize] += 1;
        }
    }

    /// Makes the frames that are due: at most [`FRAMES_MAX`] and as many as there is a place for.
    #[inline]
    pub fn flush(&mut self, now: Ticks, made: &mut Made) {
        if !(self.is_idle() && self.schedule.next.is_none() && now < self.schedule.due) {
            self.make(now, made);
        }
    }

    /// What was counted so far, in the order of [`COUNTS`].
    pub fn counts(&self) -> &[u64; COUNTS.len()] {
        &self.counts
    }

    /// Sends to another collector from now on, which hears all templates first; false, and nothing
    /// has changed, where it is of another version of IP.
    pub fn redirect(&mut self, collector: Collector) -> bool {
        if collector.headers_len() != self.collector.headers_len() {
            return false;
        }
        self.collector = collector;
        if matches!(self.writer, Writer::Ipfix(_)) {
            (self.schedule.next, self.schedule.due) = (Some(0), Ticks::MAX);
        }
        true
    }

    /// Events that wait in the queue.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Whether every event that was noted has left or is counted as lost.
    pub fn is_idle(&self) -> bool {
        self.queue.len() == 0 && self.holds == Holds::Nothing
    }

    /// How many events of any kind the queue takes before one of them is lost.
    pub fn room(&self) -> usize {
        self.frequent_max.saturating_sub(self.queue.len())
    }

    /// Events that have left or still will, and those that are lost; those beyond their rate are
    /// neither.
    pub fn told_and_lost(&self) -> (u64, u64) {
        let count = |one: Count| self.counts[one as usize];
        let open = match (&self.writer, self.holds) {
            (_, Holds::Nothing) => 0,
            (Writer::Ipfix(ipfix), _) => ipfix.open_records(),
            (Writer::Syslog(_), _) => 1,
        };
        let lost = [Count::LostSessions, Count::LostMappings, Count::LostBlocks, Count::LostAlarms];
        let told = count(Count::Records) + self.queue.len() as u64 + u64::from(open);
        (told, lost.into_iter().map(count).sum())
    }

    /// Bytes of memory.
    pub fn state_bytes(&self) -> usize {
        self.queue.capacity() * size_of::<E>() + self.frame_max + size_of::<Logger<E>>()
    }

    fn make(&mut self, now: Ticks, made: &mut Made) {
        let places = made.batch_mut().remaining().min(FRAMES_MAX);
        let frame_max = self.frame_max.min(made.batch_mut().frame_room());
        for _ in 0..places {
            let Some(content) = self.compose(now, frame_max) else { return };
            if self.pace.as_mut().is_some_and(|pace| !pace.conforms(now, 1)) {
                return;
            }
            let Collector { leaves_by, .. } = self.collector;
            // The number of data records and the time are those of the sending.
            if let Writer::Ipfix(ipfix) = &mut self.writer {
                ipfix.close(&mut self.message, self.epoch.unix_ms(now));
            }
            let frame = self.message.frame_mut();
            self.collector.seal(frame);
            if made.push(leaves_by, frame, Verdict::Forward(leaves_by)).is_none() {
                return;
            }
            self.sent(content, now);
        }
    }

    /// Goes on with the open message until it is to be sent; none while it may wait.
    fn compose(&mut self, now: Ticks, frame_max: usize) -> Option<Content> {
        if let Holds::Closed(content) = self.holds {
            return Some(content);
        }
        if now >= self.schedule.due {
            (self.schedule.next, self.schedule.due) = (Some(0), Ticks::MAX);
        }
        if self.schedule.next.is_some() {
            return match self.holds {
                Holds::Nothing => self.compose_templates(frame_max),
                _ => self.close(Content::Records),
            };
        }
        while let Some(event) = self.queue.first() {
            if self.holds == Holds::Nothing {
                self.message.clear(frame_max);
            }
            if self.time.0 != event.at() {
                self.time = (event.at(), self.epoch.unix_ms(event.at()));
            }
            let (at, lost) = (event.at(), event.kind().class().lost());
            let fits = match &mut self.writer {
                Writer::Ipfix(ipfix) => ipfix.put(&mut self.message, event, self.time.1),
                Writer::Syslog(syslog) => {
                    self.holds == Holds::Nothing
                        && syslog.put(&mut self.message, event, self.time.1)
                }
            };
            match (fits, self.holds) {
                (false, Holds::Nothing) => {
                    // The worker's frames are shorter than a single record.
                    self.counts[lost as usize] += 1;
                    self.queue.take();
                }
                (false, _) => return self.close(Content::Records),
                (true, _) => {
                    self.queue.take();
                    if self.holds == Holds::Nothing {
                        self.holds = Holds::Records(at);
                    }
                }
            }
        }
        match (self.holds, &self.writer) {
            (Holds::Records(_), Writer::Syslog(_)) => self.close(Content::Records),
            (Holds::Records(first), _) if now.saturating_sub(first) >= self.delay => {
                self.close(Content::Records)
            }
            _ => None,
        }
    }

    fn compose_templates(&mut self, frame_max: usize) -> Option<Content> {
        let (Writer::Ipfix(ipfix), Some(from)) = (&mut self.writer, self.schedule.next) else {
            return None;
        };
        self.message.clear(frame_max);
        let next = ipfix.put_templates(&mut self.message, from);
        if next == from {
            // The worker's frames are shorter than a single one, so no record fits either.
            self.schedule.next = None;
            return None;
        }
        self.schedule.next = (next < ipfix.templates()).then_some(next);
        self.close(Content::Templates)
    }

    fn close(&mut self, content: Content) -> Option<Content> {
        self.holds = Holds::Closed(content);
        Some(content)
    }

    /// Counts the message, and decides when templates are due.
    fn sent(&mut self, content: Content, now: Ticks) {
        self.holds = Holds::Nothing;
        let records = match &mut self.writer {
            Writer::Ipfix(ipfix) => ipfix.sent(),
            Writer::Syslog(_) => 1,
        };
        let Writer::Ipfix(_) = self.writer else {
            self.counts[Count::Records as usize] += u64::from(records);
            self.counts[Count::Messages as usize] += 1;
            return;
        };
        let schedule = &mut self.schedule;
        match content {
            Content::Templates => {
                self.counts[Count::Templates as usize] += 1;
                if schedule.next.is_none() {
                    schedule.due = now.saturating_add(schedule.interval);
                    schedule.messages_left = schedule.messages;
                }
            }
            Content::Records => {
                self.counts[Count::Records as usize] += u64::from(records);
                self.counts[Count::Messages as usize] += 1;
                if schedule.messages > 0 {
                    schedule.messages_left = schedule.messages_left.saturating_sub(1);
                    if schedule.messages_left == 0 {
                        schedule.due = now;
                    }
                }
            }
        }
    }
}

impl Class {
    /// As what an event without a place is counted.
    const fn lost(self) -> Count {
        match self {
            Class::Sessions => Count::LostSessions,
            Class::Mappings => Count::LostMappings,
            Class::Blocks => Count::LostBlocks,
            Class::Alarms => Count::LostAlarms,
        }
    }
}

/// Messages that leave in one round at most, so that others have places among the made frames.
pub const FRAMES_MAX: usize = 32;
