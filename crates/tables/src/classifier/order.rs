//! In which place each rule is: rules in the order of their precedence, with gaps between them.

use super::rule::{NO_MATCH, Refused};

/// The rules' places.
#[derive(Debug)]
pub(super) struct Order {
    /// The precedence of the rule in a place; none in a free one.
    precedences: Vec<Option<u32>>,
    /// The value of the rule in a place, and [`NO_MATCH`] behind the last place.
    values: Vec<u32>,
    len: usize,
    rules_max: usize,
}

/// A free place and where it is wanted: what lies between moves by one towards `free`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    pub free: usize,
    pub wanted: usize,
}

impl Order {
    pub fn new(rules_max: usize, places: usize) -> Order {
        let values = vec![NO_MATCH; places + 1];
        Order { precedences: vec![None; places], values, len: 0, rules_max }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn rules_max(&self) -> usize {
        self.rules_max
    }

    pub fn values(&self) -> &[u32] {
        &self.values
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&*self.precedences) + size_of_val(&*self.values)
    }

    /// The first place behind all rules.
    pub fn end(&self) -> usize {
        self.precedences.iter().rposition(Option::is_some).map_or(0, |last| last + 1)
    }

    pub fn find(&self, precedence: u32) -> Option<usize> {
        self.precedences.iter().position(|&at| at == Some(precedence))
    }

    /// Where a new rule goes, and the nearest free place.
    pub fn gap_for(&self, precedence: u32) -> Result<Gap, Refused> {
        if self.len == self.rules_max {
            return Err(Refused::Full { rules_max: self.rules_max });
        }
        let places = &self.precedences;
        let before = places.iter().rposition(|at| at.is_some_and(|at| at < precedence));
        let next = before.map_or(0, |before| before + 1);
        let above = (next..places.len()).find(|&at| places[at].is_none());
        let below = (0..next).rev().find(|&at| places[at].is_none());
        match (above, below) {
            // What is above moves up and leaves the place it had; what is below moves down, and
            // leaves that of the rule before.
            (Some(above), below) if below.is_none_or(|below| above - next <= next - below) => {
                Ok(Gap { free: above, wanted: next })
            }
            (_, Some(below)) => Ok(Gap { free: below, wanted: next - 1 }),
            (Some(above), None) => Ok(Gap { free: above, wanted: next }),
            (None, None) => Err(Refused::Full { rules_max: self.rules_max }),
        }
    }

    /// Moves the rules of a gap and puts a new one there.
    pub fn open(&mut self, gap: Gap, precedence: u32, value: u32) {
        let Gap { free, wanted } = gap;
        if free >= wanted {
            self.precedences[wanted..=free].rotate_right(1);
            self.values[wanted..=free].rotate_right(1);
        } else {
            self.precedences[free..=wanted].rotate_left(1);
            self.values[free..=wanted].rotate_left(1);
        }
        self.precedences[wanted] = Some(precedence);
        self.values[wanted] = value;
        self.len += 1;
    }

    pub fn replace(&mut self, place: usize, value: u32) -> u32 {
        std::mem::replace(&mut self.values[place], value)
    }

    pub fn remove(&mut self, place: usize) -> u32 {
        self.precedences[place] = None;
        self.len -= 1;
        std::mem::replace(&mut self.values[place], NO_MATCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(places: &[Option<u32>]) -> Order {
        let mut order = Order::new(places.len(), places.len());
        for (place, precedence) in places.iter().enumerate() {
            if let Some(precedence) = *precedence {
                order.open(Gap { free: place, wanted: place }, precedence, precedence);
            }
        }
        order
    }

    #[test]
    fn a_rule_goes_where_its_precedence_says_and_takes_the_nearest_gap() {
        for (places, precedence, gap) in [
            (vec![None, None], 5, Gap { free: 0, wanted: 0 }),
            (vec![Some(1), None], 5, Gap { free: 1, wanted: 1 }),
            (vec![Some(7), None], 5, Gap { free: 1, wanted: 0 }),
            (vec![None, Some(7), Some(8)], 9, Gap { free: 0, wanted: 2 }),
            (vec![None, Some(7), Some(9), None], 8, Gap { free: 3, wanted: 2 }),
            (vec![Some(1), None, Some(7), Some(8), None], 5, Gap { free: 1, wanted: 1 }),
        ] {
            let mut order = order(&places);
            assert_eq!(order.gap_for(precedence), Ok(gap), "{places:?}");
            order.open(gap, precedence, 0);
            let held: Vec<u32> = order.precedences.iter().filter_map(|&at| at).collect();
            assert!(held.is_sorted() && held.contains(&precedence), "{held:?}");
            assert_eq!(order.len(), held.len());
        }
        assert_eq!(order(&[Some(1)]).gap_for(2), Err(Refused::Full { rules_max: 1 }));
    }
}
