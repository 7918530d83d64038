//! Which of two workers tells and which is told, where that changes while they run.
//!
//! ```text
//!  Told --wanted--> Waiting --handed over, alone or out of patience--> Telling
//!   ^                  |                                                  |
//!   |<---not wanted----'          Leaving <-----------not wanted----------'
//!   |                                |   ^-- tells what is left
//!   '------all is on its way---------'
//! ```
//! Both have a link in each direction, and whoever decides wants each to tell or to be told; what
//! it wants may reach one late, or never. So whoever is to tell waits until the other one has
//! handed over, that is, has told everything and closed its connection, or until there is no
//! connection. Its patience is short: somebody who tells for ever does not know that it should not.
//! While it waits nothing new may begin here, or the other one's last words would contradict it.
//!
//! Two that both tell hear nothing of each other. The one that is to be told then takes what the
//! other one has for the truth.

use std::sync::Arc;

use crate::link::{Link, Phase};

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It applies what it is told, and begins nothing new.
    Told,
    /// The same, until the other one has handed over.
    Waiting,
    /// It tells, and hears nothing.
    Telling,
    /// It tells what is left, and begins nothing new.
    Leaving,
}

/// How a worker stands.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Whether it was connected to one that tells, before it looked whether anything is left.
    pub is_told: bool,
    /// Whether it has applied all that it was told.
    pub has_applied: bool,
    /// Whether it has handed all that it has to tell to its machine.
    pub has_told: bool,
}

/// The part of a worker, and how it passes from one to the next.
pub struct Roles {
    part: Part,
    /// When it began to wait, by the worker's clock.
    since: u64,
    patience: u64,
    /// Whether the machine was told to tell.
    has_begun: bool,
    tells: Arc<Link>,
    hears: Arc<Link>,
}

impl Roles {
    /// That of a worker that is told, with its links in both directions, and as much of the
    /// worker's time as it waits for the other one.
    pub fn new([tells, hears]: [Arc<Link>; 2], patience: u64) -> Roles {
        tells.rest();
        Roles { part: Part::Told, since: 0, patience, has_begun: false, tells, hears }
    }

    /// Returns what the worker does.
    pub fn part(&self) -> Part {
        self.part
    }

    /// Goes on to what follows from what is wanted and from how the worker stands; the worker's
    /// clock may begin anywhere and wrap around. It returns true if the part is another one then.
    pub fn turn(&mut self, wants_to_tell: bool, now: u64, standing: Standing) -> bool {
        let before = self.part;
        self.part = match before {
            Part::Told if wants_to_tell => {
                self.since = now;
                Part::Waiting
            }
            Part::Waiting if !wants_to_tell => Part::Told,
            Part::Waiting if self.is_free(now, standing) => {
                self.hears.close_ears();
                Part::Telling
            }
            Part::Telling if !wants_to_tell => Part::Leaving,
            Part::Leaving if wants_to_tell => Part::Telling,
            Part::Leaving if !self.has_begun => self.stop_telling(),
            Part::Leaving if standing.has_told || !self.tells.is_connected() => {
                self.tells.hand_over();
                self.stop_telling()
            }
            same => same,
        };
        // The machine may still be busy with the end of what was told before.
        if self.part == Part::Telling && !self.has_begun && self.tells.phase() == Phase::Resting {
            self.tells.tell();
            self.has_begun = true;
        }
        self.part != before
    }

    /// Whether it need not wait any longer.
    fn is_free(&self, now: u64, standing: Standing) -> bool {
        let is_over = now.wrapping_sub(self.since) >= self.patience;
        is_over || (!standing.is_told && standing.has_applied)
    }

    fn stop_telling(&mut self) -> Part {
        self.has_begun = false;
        self.hears.open_ears();
        Part::Told
    }
}
