//! Routes that a controller watches: it is told by events whether each stands in the table.
//!
//! What counts is the very prefix, wherever it leads and whether or not that can be reached. A
//! neighbour that was found has an address in the table, and no route. Only the first worker tells:
//! all have the same routes.
use std::collections::BTreeMap;

use engine::{Event, EventKind, Refusal};
use machine::clock::Ticks;

use super::config::{GROUPS, Network};
use super::control::Update;
use super::events::Events;
use super::state::State;

/// The routes that are watched.
pub(super) struct Watched {
    /// Whether this worker tells of them.
    tells: bool,
    /// By their numbers, with whether each was there when it was looked for last.
    routes: BTreeMap<u32, (Network, bool)>,
    events: Events,
}

impl Watched {
    /// None yet.
    pub fn new(tells: bool) -> Watched {
        Watched { tells, routes: BTreeMap::new(), events: Events::default() }
    }

    /// Applies a change of what is watched; none for others.
    pub fn apply(
        &mut self,
        state: &State,
        update: &Update,
        now: Ticks,
    ) -> Option<Result<(), Refusal>> {
        Some(match *update {
            Update::WatchRoute { number, prefix, vrf } => {
                self.watch(state, number, Network::of(vrf, prefix), now)
            }
            Update::UnwatchRoutes {} => {
                self.routes.clear();
                Ok(())
            }
            _ => return None,
        })
    }

    fn watch(
        &mut self,
        state: &State,
        number: u32,
        route: Network,
        now: Ticks,
    ) -> Result<(), Refusal> {
        if state.routes.ipv4.table(route.vrf).is_none() {
            return Err(Refusal::NotFound);
        }
        if self.routes.len() >= WATCHED_MAX && !self.routes.contains_key(&number) {
            return Err(Refusal::Full);
        }
        let is_there = is_there(state, route);
        self.routes.insert(number, (route, is_there));
        self.tell(number, is_there, now);
        Ok(())
    }

    /// Looks for what a change that was applied can have brought or taken away.
    #[inline]
    pub fn follow(&mut self, state: &State, update: &Update, now: Ticks) {
        if !self.routes.is_empty() {
            self.look(state, update, now);
        }
    }

    fn look(&mut self, state: &State, update: &Update, now: Ticks) {
        let touched = Touched::by(update);
        if touched == Touched::Nothing {
            return;
        }
        let mut changed = Vec::new();
        for (number, (route, was_there)) in &mut self.routes {
            if touched != Touched::Any && touched != Touched::One(*route) {
                continue;
            }
            let is_there = is_there(state, *route);
            if is_there != std::mem::replace(was_there, is_there) {
                changed.push((*number, is_there));
            }
        }
        changed.into_iter().for_each(|(number, is_there)| self.tell(number, is_there, now));
    }

    fn tell(&mut self, number: u32, is_there: bool, now: Ticks) {
        if self.tells {
            let kind = if is_there { EventKind::Up } else { EventKind::Down };
            let subject = subject(number);
            self.events.tell(Event { kind, subject, at: now, detail: [0; 5] });
        }
    }

    /// Returns the next event.
    pub fn event(&mut self) -> Option<Event> {
        self.events.next()
    }
}

/// The routes that a change can bring or take away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touched {
    One(Network),
    /// Those to links, to next hops and to the router itself.
    Any,
    /// Neighbours have none, and a route leads to a group whatever its members are.
    Nothing,
}

impl Touched {
    fn by(update: &Update) -> Touched {
        match *update {
            Update::SetRoute { prefix, vrf, .. } | Update::RemoveRoute { prefix, vrf } => {
                Touched::One(Network::of(vrf, prefix))
            }
            Update::SetNeighbour { .. }
            | Update::RemoveNeighbour { .. }
            | Update::HearNeighbour { .. }
            | Update::SetGroupMember { .. }
            | Update::RemoveGroupMember { .. } => Touched::Nothing,
            _ => Touched::Any,
        }
    }
}

/// What events of a watched route name: its number above all of next hops and sessions,
/// which have 33 bits.
pub fn subject(number: u32) -> u64 {
    1 << 33 | u64::from(number)
}

fn is_there(state: &State, route: Network) -> bool {
    let is_found = |hop: u32| (state.first_dynamic()..GROUPS).contains(&hop);
    state.get(route).is_some_and(|hop| !is_found(hop))
}

/// Most routes that are watched.
const WATCHED_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use engine::Function;
    use function_kit::NetworkFunction;
    use machine::clock::Clock;
    use serde_json::{Value, json};

    use super::super::config::Config;
    use super::super::{L3Router, Pipeline};
    use super::*;

    fn router() -> Pipeline {
        let keys = json!({
            "vrfs": 1,
            "resolve": true,
            "next-hops": [{"port": "uplink", "ip": "10.1.0.7"}],
            "routes": [{"prefix": "10.9.0.0/16", "next-hop": 0}],
        });
        let mut config: Config = serde_json::from_value(keys).expect("keys");
        L3Router::validate(&mut config).expect("a router");
        Pipeline::new(&config, Clock::with_rate(1e9), 0).expect("a small router")
    }

    fn apply(router: &mut Pipeline, update: Value) -> Result<(), Refusal> {
        router.change(serde_json::from_value(update).expect("a change"), 5)
    }

    /// What was told since this was asked last: numbers of routes, and whether each is there.
    fn told(router: &mut Pipeline) -> Vec<(u64, bool)> {
        let one = |event: Event| (event.subject - (1 << 33), event.kind == EventKind::Up);
        std::iter::from_fn(|| router.event()).map(one).collect()
    }

    #[test]
    fn the_very_prefix_of_the_very_vrf_is_told_of_when_it_comes_and_goes() {
        let mut router = router();
        let watch = |number: u32, prefix: &str, vrf: u16| {
            let keys = json!({"number": number, "prefix": prefix, "vrf": vrf});
            json!({ "watch-route": keys })
        };
        let set = |prefix: &str, vrf: u16| {
            let keys = json!({"prefix": prefix, "next-hop": 0, "vrf": vrf});
            json!({ "set-route": keys })
        };
        let remove =
            |prefix: &str, vrf: u16| json!({"remove-route": {"prefix": prefix, "vrf": vrf}});
        apply(&mut router, watch(0, "10.9.0.0/16", 0)).expect("room");
        apply(&mut router, watch(1, "10.8.0.0/16", 1)).expect("room");
        assert_eq!(told(&mut router), [(0, true), (1, false)], "at once, and later changes alone");
        for other in [set("10.8.0.0/16", 0), set("10.8.0.0/17", 1), set("10.9.0.0/16", 0)] {
            apply(&mut router, other).expect("room");
        }
        assert_eq!(told(&mut router), []);
        apply(&mut router, set("10.8.0.0/16", 1)).expect("room");
        apply(&mut router, remove("10.9.0.0/16", 0)).expect("it is there");
        assert_eq!(told(&mut router), [(1, true), (0, false)]);
        // A next hop brings a route to its address, and takes it away.
        apply(&mut router, watch(2, "10.1.0.7/32", 0)).expect("room");
        apply(&mut router, json!({"remove-next-hop": {"number": 0}})).expect("it is there");
        assert_eq!(told(&mut router), [(2, true), (2, false)]);
        let heard = json!({"hear-neighbour": {
            "port": "uplink", "address": "10.1.0.9", "mac": "02:00:00:00:00:09"}});
        let heard: Update = serde_json::from_value(heard).expect("a change");
        assert_eq!(Touched::by(&heard), Touched::Nothing, "it comes often, and costs nothing");
        // The same number is another route from now on, and what does not fit is refused.
        apply(&mut router, watch(1, "10.8.0.0/15", 1)).expect("room");
        assert_eq!(told(&mut router), [(1, false)]);
        assert_eq!(apply(&mut router, watch(3, "10.0.0.0/8", 2)), Err(Refusal::NotFound));
        for number in 3..WATCHED_MAX as u32 {
            apply(&mut router, watch(number, "10.0.0.0/8", 0)).expect("room");
        }
        let more = watch(WATCHED_MAX as u32, "10.0.0.0/8", 0);
        assert_eq!(apply(&mut router, more), Err(Refusal::Full));
        apply(&mut router, json!({"unwatch-routes": {}})).expect("possible");
        told(&mut router);
        apply(&mut router, remove("10.8.0.0/16", 1)).expect("it is there");
        assert_eq!(told(&mut router), []);
    }
}
