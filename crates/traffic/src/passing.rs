//! Users and servers that come and go while traffic runs.
//!
//! Additions and removals take turns over a ring of numbers, so that about half of them are present
//! at a time and a number is used again only after all others.

/// Objects that are added and removed: a ring of numbers, some of them present.
#[derive(Default)]
pub struct Passing {
    /// Count of numbers that are used in turn.
    ring: u32,
    /// Number of objects that stay present.
    present: u32,
    /// For each number, true if a frame has shown it since it was last added.
    shown: Vec<bool>,
}

impl Passing {
    /// Creates the objects for `rate` arrivals and departures per second: about half of them are
    /// present at a time.
    pub fn new(rate: f64) -> Passing {
        if rate <= 0.0 {
            return Passing::default();
        }
        let ring = (rate.ceil() as u32).clamp(2, RING_MAX);
        Passing { ring, present: (ring / 2).max(1), shown: vec![false; ring as usize] }
    }

    /// Returns the count of numbers that are used in turn.
    pub fn count(&self) -> u32 {
        self.ring
    }

    /// Returns the object of event `number`, and true if it is added.
    pub fn next(&mut self, number: u64) -> Option<(u32, bool)> {
        let turn = number / 2;
        let ring = u64::from(self.ring);
        if number.is_multiple_of(2) {
            let object = (turn % ring) as u32;
            self.shown[object as usize] = false;
            return Some((object, true));
        }
        let oldest = (turn + 1).checked_sub(u64::from(self.present))?;
        Some(((oldest % ring) as u32, false))
    }

    /// Records that a frame shows the object; returns true for the first frame.
    pub fn show(&mut self, number: u32) -> bool {
        match self.shown.get_mut(number as usize) {
            Some(shown) => !std::mem::replace(shown, true),
            None => false,
        }
    }
}

/// Largest number of objects, so that their TEIDs, addresses and prefixes suffice.
const RING_MAX: u32 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_removed_was_added_and_half_stay() {
        let mut passing = Passing::new(10.0);
        let mut present = std::collections::HashSet::new();
        for number in 0..1_000 {
            match passing.next(number) {
                Some((object, true)) => assert!(present.insert(object), "{object} came twice"),
                Some((object, false)) => assert!(present.remove(&object), "{object} was not there"),
                None => assert!(number < 10, "only at first there is nobody to leave"),
            }
            assert!(present.len() <= 6);
        }
        assert!(present.len() >= 4);
    }

    #[test]
    fn an_object_is_shown_once_each_time_it_comes() {
        let mut passing = Passing::new(2.0);
        assert_eq!(passing.next(0), Some((0, true)));
        assert!(passing.show(0) && !passing.show(0));
        assert!(!passing.show(99), "there is no such object");
        passing.next(4);
        assert!(passing.show(0), "it came again");
        assert_eq!(Passing::new(0.0).ring, 0);
    }
}
