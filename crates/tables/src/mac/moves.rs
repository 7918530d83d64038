//! How often stations move: a record for each that did of late, in sets of [`WAYS`].
//!
//! The first move of a station begins an interval. Who moves more often than allowed within it
//! flaps, and is on hold for a time; then its moves are counted anew. A record is of no more use
//! when its interval or hold has ended, and its place is taken by the next station of its set.
//! Where all of a set are in use, a move is not held against its station: somebody who forges as
//! many addresses of one set escapes the count, and is counted for it.

use machine::clock::Ticks;

/// How often a station may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveLimit {
    /// Moves within an interval that are no flapping.
    pub moves: u32,
    /// The interval, which the first move begins.
    pub interval: Ticks,
    /// For how long a station counts as flapping.
    pub hold: Ticks,
    /// Whether such a station stays where it is.
    pub refuses: bool,
}

/// A station that moves too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flapping {
    /// Which one.
    pub station: u64,
    /// Moves since it began, refused ones among them.
    pub moves: u32,
    /// For how long it still counts as such.
    pub left: Ticks,
}

/// Moves by station.
#[derive(Debug)]
pub(super) struct Moves {
    limit: MoveLimit,
    sets: Box<[[Record; WAYS]]>,
    flapped: u64,
    uncounted: u64,
}

/// What is known of a station's moves; of no station where it is 0, which is no address of any.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    station: u64,
    /// When its interval or its hold began.
    since: Ticks,
    moves: u32,
    is_held: bool,
}

impl Moves {
    pub fn new(limit: MoveLimit) -> Moves {
        let sets = vec![[Record::default(); WAYS]; RECORDS / WAYS].into_boxed_slice();
        Moves { limit, sets, flapped: 0, uncounted: 0 }
    }

    /// Notes that a station wants to move; whether it may.
    pub fn allow(&mut self, station: u64, now: Ticks) -> bool {
        let limit = self.limit;
        let set = &mut self.sets[set_of(station)];
        let own = set.iter().position(|record| record.station == station);
        let Some(at) = own.or_else(|| set.iter().position(|record| !record.counts(&limit, now)))
        else {
            self.uncounted += 1;
            return true;
        };
        let record = &mut set[at];
        if record.station != station || !record.counts(&limit, now) {
            *record = Record { station, since: now, moves: 0, is_held: false };
        }
        record.moves = record.moves.saturating_add(1);
        if !record.is_held && record.moves > limit.moves {
            (record.is_held, record.since) = (true, now);
            self.flapped += 1;
        }
        !(record.is_held && limit.refuses)
    }

    /// Forgets the moves of a station.
    pub fn forget(&mut self, station: u64) {
        let set = &mut self.sets[set_of(station)];
        set.iter_mut().filter(|record| record.station == station).for_each(|record| {
            *record = Record::default();
        });
    }

    pub fn flapping(
        &self,
        from: usize,
        now: Ticks,
    ) -> impl Iterator<Item = (usize, Flapping)> + '_ {
        let records = self.sets.as_flattened().iter().enumerate().skip(from);
        let held = records.filter(move |(_, at)| at.is_held && at.counts(&self.limit, now));
        held.map(move |(place, record)| {
            let left = self.limit.hold.saturating_sub(now.saturating_sub(record.since));
            (place, Flapping { station: record.station, moves: record.moves, left })
        })
    }

    pub fn flapped(&self) -> u64 {
        self.flapped
    }

    pub fn uncounted(&self) -> u64 {
        self.uncounted
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&*self.sets)
    }
}

impl Record {
    /// Whether its interval or its hold lasts.
    fn counts(&self, limit: &MoveLimit, now: Ticks) -> bool {
        let span = if self.is_held { limit.hold } else { limit.interval };
        self.station != 0 && now.saturating_sub(self.since) < span
    }
}

fn set_of(station: u64) -> usize {
    (station.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SETS_LOG2)) as usize
}

/// Stations whose moves can be counted at a time.
pub const RECORDS: usize = WAYS << SETS_LOG2;

const SETS_LOG2: u32 = 10;
/// Records of a set: three cache lines.
const WAYS: usize = 8;
