//! What several feeders say of the routes of a source: which of them tells which route, and with
//! which attributes.
//!
//! What a client may be told of a route is a view: a set of attributes of one feeder. Views have
//! numbers, and a route's views follow from its number.

use std::ops::Range;
use std::sync::Arc;

use protocol_bgp::Family;

use crate::routes::{ROUTES_MAX, Routes, blocks};

/// How feeders share the routes of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Each route has one feeder: that of its set, as the source says, or else the sets in turn.
    Split,
    /// Every feeder tells every route, with the attributes of the set that stands this far behind
    /// those of the feeder before it.
    Same {
        /// Sets from feeder to feeder.
        offset: u32,
    },
}

/// The routes of a source as feeders tell them.
#[derive(Clone, Debug)]
pub struct Fed {
    routes: Arc<dyn Routes>,
    feeders: u16,
    sharing: Sharing,
    blocks: Vec<(Family, Range<u32>)>,
}

impl Fed {
    /// Joins a source and its feeders.
    ///
    /// # Errors
    /// In words, if there are too many routes or feeders, or none.
    pub fn new(routes: Arc<dyn Routes>, feeders: u16, sharing: Sharing) -> Result<Fed, String> {
        if feeders == 0 || routes.count() == 0 {
            return Err("there has to be a feeder with a route".into());
        }
        if routes.count() > ROUTES_MAX {
            return Err(format!("a source has at most {ROUTES_MAX} routes; ask for fewer"));
        }
        if let Sharing::Same { .. } = sharing {
            if feeders > SAME_MAX {
                return Err(format!("at most {SAME_MAX} feeders tell the same routes"));
            }
            if u64::from(routes.sets()) * u64::from(feeders) > u64::from(ROUTES_MAX) {
                return Err("there are too many sets of attributes for so many feeders".into());
            }
        }
        let last = (0..routes.sets()).filter_map(|set| routes.feeder(set)).max();
        if let Some(last) = last.filter(|last| *last >= feeders) {
            return Err(format!("the source has routes of {} feeders", last + 1));
        }
        let blocks = blocks(&*routes);
        Ok(Fed { routes, feeders, sharing, blocks })
    }

    /// Returns the source.
    pub fn routes(&self) -> &dyn Routes {
        &*self.routes
    }

    /// Returns the number of feeders.
    pub fn feeders(&self) -> u16 {
        self.feeders
    }

    /// Returns the families of the routes.
    pub fn families(&self) -> impl Iterator<Item = Family> + '_ {
        self.blocks.iter().map(|(family, _)| *family)
    }

    /// Returns how many feeders tell a route.
    pub fn tellers(&self) -> u16 {
        match self.sharing {
            Sharing::Split => 1,
            Sharing::Same { .. } => self.feeders,
        }
    }

    /// Returns the number of views.
    pub fn views(&self) -> u32 {
        self.routes.sets() * u32::from(self.tellers())
    }

    /// Returns the view of a route that a feeder tells; none if it does not tell it.
    #[inline]
    pub fn view(&self, route: u32, feeder: u16) -> Option<u32> {
        let set = self.routes.set(route);
        match self.sharing {
            Sharing::Split => (self.owner(set) == feeder).then_some(set),
            Sharing::Same { offset } => {
                let sets = self.routes.sets();
                Some(sets * u32::from(feeder) + self.rotated(set, offset * u32::from(feeder)))
            }
        }
    }

    /// Returns the view of a route by the place of its teller, from 0.
    #[inline]
    pub fn told(&self, route: u32, teller: u16) -> u32 {
        match self.sharing {
            Sharing::Split => self.routes.set(route),
            Sharing::Same { .. } => self.view(route, teller).unwrap_or(0),
        }
    }

    /// Returns the place of the teller that has this view of a route, if one has.
    #[inline]
    pub fn teller(&self, route: u32, view: u32) -> Option<u16> {
        let teller = self.teller_of(view);
        (self.told(route, teller) == view).then_some(teller)
    }

    /// Returns the place of the teller of a view among those of a route.
    #[inline]
    pub fn teller_of(&self, view: u32) -> u16 {
        match self.sharing {
            Sharing::Split => 0,
            Sharing::Same { .. } => (view / self.routes.sets()) as u16,
        }
    }

    /// Returns the set of attributes of a view.
    pub fn set_of(&self, view: u32) -> u32 {
        view % self.routes.sets()
    }

    /// Returns the feeder of a view.
    pub fn feeder_of(&self, view: u32) -> u16 {
        match self.sharing {
            Sharing::Split => self.owner(view),
            Sharing::Same { .. } => self.teller_of(view),
        }
    }

    /// Returns another view of the same feeder, family and route target; the next one of these for
    /// another round. None if there is none.
    pub fn another(&self, view: u32, round: u32) -> Option<u32> {
        let (set, feeder) = (self.set_of(view), self.feeder_of(view));
        let fits = |other: u32| {
            other != set
                && self.routes.target(other) == self.routes.target(set)
                && (self.tellers() > 1 || self.owner(other) == feeder)
        };
        let steps = (1 + round % ROUNDS)..(1 + round % ROUNDS + SEARCHED_MAX);
        let other = steps.map(|step| self.rotated(set, step)).find(|other| fits(*other))?;
        Some(view - set + other)
    }

    fn owner(&self, set: u32) -> u16 {
        self.routes.feeder(set).unwrap_or_else(|| (set % u32::from(self.feeders)) as u16)
    }

    /// The set that stands some places behind another one in the block of its family.
    fn rotated(&self, set: u32, by: u32) -> u32 {
        let block = self.blocks.iter().find(|(_, range)| range.contains(&set));
        let Some((_, range)) = block else { return set };
        let len = u64::from(range.end - range.start);
        range.start + ((u64::from(set - range.start) + u64::from(by)) % len) as u32
    }
}

/// Most feeders that tell the same routes.
const SAME_MAX: u16 = 255;

/// Views that a route changes to before it begins again.
const ROUNDS: u32 = 16;

/// How many sets are looked at for another one of the same feeder and target.
const SEARCHED_MAX: u32 = 1 << 16;
