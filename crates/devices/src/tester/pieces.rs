//! Reports of the device, counted in even pieces of a trial: what comes later counts in the last
//! one.

use machine::clock::Ticks;
use measure::Reports;

/// Time slices of a trial with the reports of each.
#[derive(Debug)]
pub(crate) struct Pieces {
    start: Ticks,
    len: Ticks,
    all: [Reports; COUNT],
}

impl Pieces {
    /// Creates the slices of a trial with this start and duration.
    pub fn new(start: Ticks, duration: Ticks) -> Pieces {
        let len = (duration / COUNT as Ticks).max(1);
        Pieces { start, len, all: [Reports::default(); COUNT] }
    }

    /// Counts a report of this length in bytes.
    #[cold]
    pub fn note(&mut self, now: Ticks, bytes: usize) {
        let place = (now.saturating_sub(self.start) / self.len).min(COUNT as Ticks - 1);
        let piece = &mut self.all[place as usize];
        piece.frames += 1;
        piece.bytes += bytes as u64;
    }

    /// Returns all slices; empty if there were no reports.
    pub fn finish(self) -> Vec<Reports> {
        let is_silent = self.all.iter().all(|piece| piece.frames == 0);
        if is_silent { Vec::new() } else { self.all.to_vec() }
    }
}

/// Number of slices, fine enough to see when a device has settled.
const COUNT: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_in_the_piece_in_which_it_comes() {
        let mut pieces = Pieces::new(1000, 5000);
        for (now, bytes) in [(999, 1), (1000, 10), (1099, 100), (1100, 7), (5999, 3), (90_000, 4)] {
            pieces.note(now, bytes);
        }
        let all = pieces.finish();
        assert_eq!(all.len(), COUNT);
        assert_eq!(all[0], Reports { frames: 3, bytes: 111 });
        assert_eq!(all[1], Reports { frames: 1, bytes: 7 });
        assert_eq!(all[COUNT - 1], Reports { frames: 2, bytes: 7 });
        assert_eq!(Pieces::new(0, 0).finish(), []);
    }
}
