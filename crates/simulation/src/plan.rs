//! What goes wrong in a run, and when.

use std::time::Duration;

use protocol_kit::{Machine, Time};

use super::link::Quality;
use super::world::World;

/// Faults in the order of their times.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The faults and when they happen.
    pub faults: Vec<(Time, Fault)>,
}

/// Something that goes wrong, or is mended. Each fault ends by itself, so that any part of a plan
/// is a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing passes a link for a time.
    Cut(usize, Duration),
    /// The same, and both ends are told that the link is down, and that it is up.
    Unplug(usize, Duration),
    /// A link is bad for a time.
    Bad(usize, Quality, Duration),
    /// A node stands still for a time.
    Hang(usize, Duration),
    /// A node is dead for a time.
    Death(usize, Duration),
    /// A node has no power for a time: nobody is told that its streams are gone, until something of
    /// them arrives when it is back.
    PowerLoss(usize, Duration),
    /// The clock of a node leaps ahead.
    Leap(usize, Duration),
    /// What a simulation does by itself, of which it draws the rest from this number.
    Own(u64),
}

/// The end of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Mend(usize),
    Plug(usize),
    Restore(usize),
    Revive(usize),
}

impl Plan {
    /// Draws this number of faults for a world. The last one is over when `end` is reached; a bad
    /// link loses up to 30 % of its datagrams.
    pub fn draw<M: Machine>(world: &mut World<M>, count: usize, end: Time) -> Plan
    where
        M::Report: std::fmt::Debug,
    {
        let (nodes, links) = (world.nodes() as u64, world.links() as u64);
        let random = world.random();
        let mut draw = || {
            let time = Time(random.below(end.0 / 2));
            let (node, link) = (random.below(nodes) as usize, random.below(links) as usize);
            // Short ones that nobody may notice, and long ones that everybody does.
            let span = Duration::from_nanos((end.0 / 2) >> random.below(16));
            let fault = match random.below(5) {
                0 => Fault::Cut(link, span),
                4 => Fault::Unplug(link, span),
                1 => Fault::Bad(link, Quality::draw(random, LOSS_PPM_MAX), span),
                2 => Fault::Hang(node, span),
                _ => Fault::Death(node, span),
            };
            (time, fault)
        };
        let mut faults: Vec<(Time, Fault)> = (0..count).map(|_| draw()).collect();
        faults.sort_by_key(|(time, _)| *time);
        Plan { faults }
    }
}

impl Fault {
    /// Lets it happen; returns its end and when that is, if the world does not see to it.
    pub(super) fn begin<M: Machine>(self, world: &mut World<M>) -> Option<(Time, End)>
    where
        M::Report: std::fmt::Debug,
    {
        let now = world.now();
        match self {
            Fault::Cut(link, span) => {
                world.link(link).is_cut = true;
                Some((now.after(span), End::Mend(link)))
            }
            Fault::Unplug(link, span) => {
                world.plug(link, false);
                Some((now.after(span), End::Plug(link)))
            }
            Fault::Bad(link, quality, span) => {
                world.link(link).quality = quality;
                Some((now.after(span), End::Restore(link)))
            }
            Fault::Hang(node, span) => {
                world.hang(node, span);
                None
            }
            Fault::PowerLoss(node, span) => {
                world.cut_power(node);
                Some((now.after(span), End::Revive(node)))
            }
            Fault::Leap(node, span) => {
                world.leap(node, span);
                None
            }
            Fault::Own(_) => None,
            Fault::Death(node, span) => {
                world.kill(node);
                Some((now.after(span), End::Revive(node)))
            }
        }
    }
}

impl End {
    pub(super) fn happen<M: Machine>(self, world: &mut World<M>)
    where
        M::Report: std::fmt::Debug,
    {
        match self {
            End::Mend(link) => world.link(link).is_cut = false,
            End::Plug(link) => world.plug(link, true),
            End::Restore(link) => {
                let link = world.link(link);
                link.quality = link.usual;
            }
            End::Revive(node) => world.revive(node),
        }
    }
}

/// The largest share of datagrams that a bad link loses, in parts per million.
const LOSS_PPM_MAX: u32 = 300_000;
