//! The way between a worker and a control plane: punted frames and events up, injected frames down.
//!
//! ```text
//!  Verdict::Punt(reason) -> meter of the reason -> meter of the source -> ring of the reason --.
//!  Function::event -----------------------------------------------------> ring of events ------+->
//! Plane
//!  the worker's next batch, at PortId::HOST <---------------------------- ring of injection <--'
//! ```
//! Each reason has a ring of its own, so that a flood of one takes nothing from another, however
//! long nobody reads. Nothing here waits: what is over a rate or has no room is counted by its
//! reason and gone. A worker without a control plane pays one branch a round.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use machine::clock::Ticks;
use machine::hash::Keyed;
use packet::{Batch, PortId, Reason, Slot};
use rtrb::{Consumer, Producer, RingBuffer};
use tables::meter::Meter;

/// What the function knows of a packet that it punts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Interface by which it came in, by the function's number.
    pub interface: u16,
    /// The VLAN of that interface, whose tag the frame no longer has; 0 for none.
    pub vlan: u16,
    /// Session of the packet, by the function's number; 0 for none.
    pub session: u64,
    /// What its sender is known by, for the limit of one source: any number that follows from it.
    pub source: u64,
}

/// What a function has to say without a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What has happened.
    pub kind: EventKind,
    /// To what: a session, an entry, by the function's number.
    pub subject: u64,
    /// What else there is to say of it, as the function says what that is; zeros for nothing.
    pub detail: Detail,
    /// When.
    pub at: Ticks,
}

/// What a function has to say of an event beside whose it is.
pub type Detail = [u32; 5];

/// What happens to something that a worker watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It works.
    Up,
    /// It works no longer.
    Down,
    /// It was not used for a time.
    Idle,
    /// Its quota is used up.
    Quota,
    /// It was asked for in vain.
    Unresolved,
    /// Its time is over.
    Expired,
    /// It has all that another instance has told, or is the one that tells: it may take over.
    Synchronised,
    /// It has not, or not any more.
    Unsynchronised,
    /// What it has used: the function says in the detail what of it, and how much.
    Counted,
    /// The function had no room for other events, as many as the subject says. The way up counts
    /// them with those that it loses itself, and tells nobody of this one.
    Missed,
}

/// What may come up of one reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PuntLimit {
    /// Frames per second; 0 for any number.
    pub per_s: u32,
    /// Frames per second of one source; 0 for any number.
    pub per_s_and_source: u32,
    /// Bytes of the ring, which bounds what waits.
    pub ring_bytes: usize,
}

impl Default for PuntLimit {
    fn default() -> PuntLimit {
        PuntLimit { per_s: 20_000, per_s_and_source: 5_000, ring_bytes: 512 << 10 }
    }
}

/// Frames of one reason by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PuntCounts {
    /// Handed over.
    pub delivered: u64,
    /// Gone: over the rate of the reason.
    pub over_rate: u64,
    /// Gone: over the rate of one source.
    pub over_source: u64,
    /// Gone: the ring was full.
    pub ring_full: u64,
}

/// A frame that was punted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Punted<'a> {
    /// Why, as an index into the function's punt reasons.
    pub reason: Reason,
    /// The port at which it came in.
    pub port: PortId,
    /// When.
    pub at: Ticks,
    /// What the function knows of it.
    pub context: Context,
    /// The frame as the function left it.
    pub frame: &'a [u8],
}

/// Wakes the thread of a control plane that sleeps; called by the worker, at most once a sleep.
pub type Wake = Box<dyn Fn() + Send>;

/// With what a plane is made.
pub struct PlaneSetup<'a> {
    /// A limit for each of the function's punt reasons, in their order; none at all for a plane
    /// that takes no packets.
    pub limits: &'a [PuntLimit],
    /// Frequency of the workers' clock.
    pub ticks_per_s: f64,
    /// Keys the meters of sources.
    pub secret: [u64; 2],
    /// Wakes the control plane.
    pub wake: Wake,
}

/// The control plane's end.
#[derive(Debug)]
pub struct Plane {
    punts: Vec<Consumer<u8>>,
    events: Consumer<Event>,
    inject: Producer<u8>,
    reader: PlaneReader,
    sleeps: Arc<AtomicBool>,
    frame: Vec<u8>,
}

/// Reads what became of punted frames, from any thread.
#[derive(Clone, Debug)]
pub struct PlaneReader {
    shared: Arc<[AtomicU64]>,
}

/// The worker's end.
pub(crate) struct PlaneEnd {
    punts: Vec<Ring>,
    events: Producer<Event>,
    inject: Consumer<u8>,
    shared: Arc<[AtomicU64]>,
    hash: Keyed,
    sleeps: Arc<AtomicBool>,
    wake: Wake,
    /// Something was handed over since the control plane was woken last.
    has_news: bool,
}

/// The ring of a reason with its meters.
#[derive(Debug)]
struct Ring {
    ring: Producer<u8>,
    rate: Meter,
    sources: Box<[Meter]>,
    counts: PuntCounts,
}

/// Creates both ends: a ring for each limit.
pub(crate) fn plane(setup: PlaneSetup<'_>) -> (Plane, PlaneEnd) {
    let PlaneSetup { limits, ticks_per_s, secret, wake } = setup;
    let shared: Arc<[AtomicU64]> =
        (0..limits.len() * COUNTS + 1).map(|_| AtomicU64::new(0)).collect();
    let mut punts = (Vec::new(), Vec::new());
    for limit in limits {
        let (ring, reader) = RingBuffer::new(limit.ring_bytes.max(HEADER_LEN));
        let meter = |per_s: u32| match per_s {
            0 => Meter::default(),
            _ => Meter::of_packets(per_s, (per_s / BURSTS_PER_S).max(BURST_MIN), ticks_per_s),
        };
        punts.0.push(reader);
        punts.1.push(Ring {
            ring,
            rate: meter(limit.per_s),
            sources: vec![meter(limit.per_s_and_source); SOURCES].into(),
            counts: PuntCounts::default(),
        });
    }
    let (event_in, event_out) = RingBuffer::new(EVENTS);
    let (inject_in, inject_out) = RingBuffer::new(INJECT_BYTES);
    let sleeps = Arc::new(AtomicBool::new(false));
    (
        Plane {
            punts: punts.0,
            events: event_out,
            inject: inject_in,
            reader: PlaneReader { shared: Arc::clone(&shared) },
            sleeps: Arc::clone(&sleeps),
            frame: Vec::new(),
        },
        PlaneEnd {
            punts: punts.1,
            events: event_in,
            inject: inject_out,
            shared,
            hash: Keyed::new(secret),
            sleeps,
            wake,
            has_news: false,
        },
    )
}

impl Plane {
    /// Returns the next punted frame of a reason; `None` if none waits.
    pub fn next(&mut self, reason: Reason) -> Option<Punted<'_>> {
        let ring = self.punts.get_mut(usize::from(reason.0))?;
        let mut header = [0; HEADER_LEN];
        take(ring, &mut header)?;
        let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap_or([0; 8]));
        let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        self.frame.resize(usize::from(half(24)), 0);
        // The worker shows a frame with its header at once.
        take(ring, &mut self.frame)?;
        Some(Punted {
            reason,
            port: PortId(header[30]),
            at: word(0),
            context: Context {
                interface: half(26),
                vlan: half(28),
                session: word(8),
                source: word(16),
            },
            frame: &self.frame,
        })
    }

    /// Says that the control plane is about to sleep until it is woken; false if something waits
    /// already, and then it is not to sleep.
    pub fn goes_to_rest(&self) -> bool {
        self.sleeps.store(true, Ordering::Relaxed);
        // Either the worker sees that somebody sleeps, or this sees what it has handed over.
        fence(Ordering::SeqCst);
        let is_empty = self.events.is_empty() && self.punts.iter().all(Consumer::is_empty);
        if !is_empty {
            self.is_awake();
        }
        is_empty
    }

    /// Says that the control plane is awake, so that nobody wakes it.
    pub fn is_awake(&self) {
        self.sleeps.store(false, Ordering::Relaxed);
    }

    /// Returns the number of punt reasons.
    pub fn reasons(&self) -> u8 {
        self.punts.len() as u8
    }

    /// Returns the next event.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop().ok()
    }

    /// Hands the worker a frame that leaves by an interface of the function; false if there is no
    /// room for it.
    pub fn inject(&mut self, interface: u16, frame: &[u8]) -> bool {
        self.inject_parts(interface, [frame, &[]])
    }

    /// Hands the worker a frame as [`Plane::inject`] does, of which one part lies elsewhere than
    /// the other.
    pub fn inject_parts(&mut self, interface: u16, [front, back]: [&[u8]; 2]) -> bool {
        let len = INTERFACE_LEN + front.len() + back.len();
        let Ok(len) = u16::try_from(len) else { return false };
        give(&mut self.inject, &[&len.to_le_bytes(), &interface.to_le_bytes(), front, back])
    }

    /// Returns a reader of the counts.
    pub fn reader(&self) -> PlaneReader {
        self.reader.clone()
    }

    /// Returns the counts of a reason.
    pub fn counts(&self, reason: Reason) -> PuntCounts {
        self.reader.counts(reason)
    }

    /// Returns the number of events for which there was no room.
    pub fn events_lost(&self) -> u64 {
        self.reader.events_lost()
    }
}

impl PlaneReader {
    /// Returns the counts of a reason.
    pub fn counts(&self, reason: Reason) -> PuntCounts {
        let first = usize::from(reason.0) * COUNTS;
        let count = |at: usize| {
            self.shared.get(first + at).map_or(0, |count| count.load(Ordering::Relaxed))
        };
        PuntCounts {
            delivered: count(0),
            over_rate: count(1),
            over_source: count(2),
            ring_full: count(3),
        }
    }

    /// Returns the number of events for which there was no room.
    pub fn events_lost(&self) -> u64 {
        self.shared.last().map_or(0, |count| count.load(Ordering::Relaxed))
    }
}

impl PlaneEnd {
    /// Hands a punted frame over, which is in two parts, or counts why not.
    pub(crate) fn punt(
        &mut self,
        (port, parts): (PortId, [&[u8]; 2]),
        reason: Reason,
        context: Context,
        now: Ticks,
    ) {
        let PlaneEnd { punts, shared, hash, has_news, .. } = self;
        let Some(of) = punts.get_mut(usize::from(reason.0)) else { return };
        let source = hash.of2(context.source, reason.0.into()) as usize % SOURCES;
        // First the source: what is over its rate takes nothing from the others'.
        let counted = if !of.sources[source].conforms(now, 1) {
            &mut of.counts.over_source
        } else if !of.rate.conforms(now, 1) {
            &mut of.counts.over_rate
        } else {
            let len = parts[0].len() + parts[1].len();
            let mut header = [0; HEADER_LEN];
            header[..8].copy_from_slice(&now.to_le_bytes());
            header[8..16].copy_from_slice(&context.session.to_le_bytes());
            header[16..24].copy_from_slice(&context.source.to_le_bytes());
            header[24..26].copy_from_slice(&(len as u16).to_le_bytes());
            header[26..28].copy_from_slice(&context.interface.to_le_bytes());
            header[28..30].copy_from_slice(&context.vlan.to_le_bytes());
            header[30] = port.0;
            *has_news = true;
            match give(&mut of.ring, &[&header, parts[0], parts[1]]) {
                true => &mut of.counts.delivered,
                false => &mut of.counts.ring_full,
            }
        };
        *counted += 1;
        let PuntCounts { delivered, over_rate, over_source, ring_full } = of.counts;
        let first = usize::from(reason.0) * COUNTS;
        let values = [delivered, over_rate, over_source, ring_full];
        for (shared, value) in shared[first..].iter().zip(values) {
            shared.store(value, Ordering::Relaxed);
        }
    }

    /// Whether there is room for one more event, so that a function need not be asked for one that
    /// would be lost.
    #[inline]
    pub(crate) fn has_event_room(&self) -> bool {
        !self.events.is_full()
    }

    /// Hands an event over, or counts that it was lost.
    pub(crate) fn tell(&mut self, event: Event) {
        self.has_news = true;
        let missed = match event.kind {
            EventKind::Missed => event.subject,
            _ => u64::from(self.events.push(event).is_err()),
        };
        if missed > 0
            && let Some(lost) = self.shared.last()
        {
            lost.store(lost.load(Ordering::Relaxed) + missed, Ordering::Relaxed);
        }
    }

    /// Wakes the control plane if it sleeps and something was handed over; once a round.
    #[inline]
    pub(crate) fn wake(&mut self) {
        if self.has_news {
            self.has_news = false;
            fence(Ordering::SeqCst);
            if self.sleeps.load(Ordering::Relaxed) && self.sleeps.swap(false, Ordering::Relaxed) {
                (self.wake)();
            }
        }
    }

    /// Appends injected frames to a batch at [`PortId::HOST`], each behind the number of its
    /// interface ([`split`]). A frame that is longer than the batch's room is gone.
    #[inline]
    pub(crate) fn receive(&mut self, batch: &mut Batch) {
        for _ in 0..INJECT_PER_ROUND {
            if self.inject.is_empty() || batch.remaining() == 0 {
                return;
            }
            let mut len = [0; 2];
            if take(&mut self.inject, &mut len).is_none() {
                return;
            }
            let len = usize::from(u16::from_le_bytes(len));
            let Ok(chunk) = self.inject.read_chunk(len) else { return };
            if let Some(room) = batch.append(PortId::HOST, len) {
                let (first, second) = chunk.as_slices();
                room[..first.len()].copy_from_slice(first);
                room[first.len()..].copy_from_slice(second);
            }
            chunk.commit_all();
        }
    }
}

/// The interface by which a frame at [`PortId::HOST`] is to leave. The frame itself begins behind
/// it; `None` if there is nothing.
pub fn split(batch: &mut Batch, slot: Slot) -> Option<u16> {
    let interface = *batch.frame(slot).first_chunk::<INTERFACE_LEN>()?;
    batch.pull_front(slot, INTERFACE_LEN);
    Some(u16::from_le_bytes(interface))
}

/// Writes parts as one record; false if there is no room for all of it.
fn give(ring: &mut Producer<u8>, parts: &[&[u8]]) -> bool {
    let len = parts.iter().map(|part| part.len()).sum();
    let Ok(mut chunk) = ring.write_chunk(len) else { return false };
    let (mut first, mut second) = chunk.as_mut_slices();
    for part in parts {
        let (front, back) = part.split_at(part.len().min(first.len()));
        let (place, rest) = first.split_at_mut(front.len());
        place.copy_from_slice(front);
        first = rest;
        let (place, rest) = second.split_at_mut(back.len());
        place.copy_from_slice(back);
        second = rest;
    }
    chunk.commit_all();
    true
}

/// Reads as many bytes as there is place for; `None` if there are fewer.
fn take(ring: &mut Consumer<u8>, place: &mut [u8]) -> Option<()> {
    let chunk = ring.read_chunk(place.len()).ok()?;
    let (first, second) = chunk.as_slices();
    place[..first.len()].copy_from_slice(first);
    place[first.len()..].copy_from_slice(second);
    chunk.commit_all();
    Some(())
}

/// Bytes before a punted frame: time, session, source, length, interface, VLAN, port, one unused.
const HEADER_LEN: usize = 32;

/// Bytes of the number of an interface before an injected frame.
const INTERFACE_LEN: usize = 2;

/// Numbers of a [`PuntCounts`].
const COUNTS: usize = 4;

/// Meters for the sources of one reason; sources that share one share its rate.
const SOURCES: usize = 1024;

/// A burst is this part of a second's frames, and not less than [`BURST_MIN`].
const BURSTS_PER_S: u32 = 20;
const BURST_MIN: u32 = 32;

/// Events that may wait.
const EVENTS: usize = 4096;

/// Bytes of injected frames that may wait.
const INJECT_BYTES: usize = 1 << 20;

/// Most injected frames in a round, so that the ports have their share of a batch.
const INJECT_PER_ROUND: usize = 64;

#[cfg(test)]
mod tests;
