//! Single routes that change at a steady rate.

use std::time::{Duration, Instant};

use measure::{Convergence, MeasureError};

use crate::pack;
use crate::tester::core::Core;
use crate::tester::event::Event;

/// Routes change one after the other, each to the attributes of another one of the same feeder, an
/// UPDATE each. A route does not change again before all clients have heard of it.
pub(crate) fn flaps(
    core: &mut Core,
    event: &mut Event<'_>,
    per_s: f64,
    duration: Duration,
) -> Result<Convergence, MeasureError> {
    let wanted = per_s * duration.as_secs_f64();
    if !(1.0..1e9).contains(&wanted) {
        return Err(MeasureError::NothingToMeasure(format!(
            "{per_s} changes per second for {} s are none, or too many",
            duration.as_secs_f64()
        )));
    }
    if core.expected.is_withdrawn() {
        return Err(MeasureError::Unsupported("routes that are withdrawn do not change"));
    }
    let clients = core.plan.client_count();
    let feeders = (0..clients).filter(|client| core.plan.feeder_of(*client).is_some());
    core.heard.begin_changes(feeders);
    (0..clients).for_each(|client| core.heard.expect(client, None));
    event.start(core);
    let mut changing = Changing { next: 0, round: 0, message: Vec::new() };
    let since = Instant::now();
    let mut sent = 0;
    while sent < wanted as u64 {
        let due = (since.elapsed().as_secs_f64() * per_s).min(wanted) as u64;
        while sent < due && changing.change(core)? {
            sent += 1;
        }
        if !event.turn(core, PACE)? {
            break;
        }
    }
    while core.heard.changes_under_way() > 0 && event.turn(core, PACE)? {}
    let unheard = core.heard.changes_under_way();
    let changes_ns = core.heard.end_changes();
    core.expect();
    let all: Vec<usize> = (0..clients).collect();
    event.wait(core, &all)?;
    let mut outcome = event.outcome(core, (&all, since));
    if unheard > 0 && outcome.wrong.is_empty() {
        outcome.wrong.push(format!("{unheard} changes of routes were not told to all clients"));
    }
    if sent < wanted as u64 {
        outcome.wrong.push(format!("only {sent} changes were made, of {}", wanted as u64));
    }
    Ok(Convergence { changes_ns, ..outcome })
}

/// Which route changes next.
struct Changing {
    next: u32,
    round: u32,
    message: Vec<u8>,
}

impl Changing {
    /// Changes a route; returns whether there was one that no client still waits for.
    fn change(&mut self, core: &mut Core) -> Result<bool, MeasureError> {
        let count = core.plan.fed.routes().count();
        let tellers = u32::from(core.plan.fed.tellers());
        for _ in 0..LOOKED_AT_MAX {
            // Steps that lead to every route, and seldom to neighbours.
            let route = (u64::from(self.next) * STEP % u64::from(count)) as u32;
            let teller = (self.round % tellers) as u16;
            let round = self.round / tellers;
            self.next += 1;
            if self.next == count {
                (self.next, self.round) = (0, self.round + 1);
            }
            if core.heard.is_changing(route) {
                continue;
            }
            let fed = &core.plan.fed;
            let (first, said) = (fed.told(route, teller), core.expected.said(route, teller));
            let another = fed.another(first, round).ok_or_else(|| {
                MeasureError::NothingToMeasure(
                    "each route is the only one of its feeder and route target with its \
                     attributes: no other one has some that it could change to"
                        .into(),
                )
            })?;
            let view = if another == said { first } else { another };
            if view == said {
                continue;
            }
            self.message.clear();
            pack::change(fed, route, view, &mut self.message)
                .map_err(MeasureError::NothingToMeasure)?;
            let feeder = usize::from(fed.feeder_of(view));
            let own = core.plan.client_of(feeder);
            let heard = core.expected.change(route, view);
            let now = Instant::now();
            core.sessions.send(feeder, &self.message);
            if let Some(view) = heard {
                core.heard.change(route, view, own, now);
            }
            return Ok(true);
        }
        Ok(false)
    }
}

/// Longest wait between two looks at what is due.
const PACE: Duration = Duration::from_millis(1);

/// Routes that are looked at for one that no client waits for.
const LOOKED_AT_MAX: usize = 1000;

/// A prime that no table has as many routes as.
const STEP: u64 = 2_654_435_761;
