//! Random walks of what zebra tells, against a map that is worked out anew after each step.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use controller_frr::Config;
use function_l3_router::config as l3;
use protocol_kit::Random;

use crate::support::*;

/// What a number of zebra's stands for.
#[derive(Clone)]
enum Object {
    Hop(Hop),
    Blackhole,
    Group(Vec<(u32, u8)>),
}

/// A gateway of [`GATEWAYS`] by its place, and the kernel's interface.
type Hop = (usize, u32);

#[derive(Clone)]
enum To {
    Object(u32),
    Hops(Vec<(Hop, u8)>),
    Nowhere,
}

/// What zebra has told.
#[derive(Default)]
struct Model {
    objects: BTreeMap<u32, Object>,
    routes: BTreeMap<&'static str, To>,
    /// The kernel's interfaces that there are.
    links: BTreeSet<u32>,
}

impl Model {
    /// The gateway of a hop whose interface is there.
    fn gateway(&self, (gateway, interface): Hop) -> Option<&'static str> {
        self.links.contains(&interface).then_some(GATEWAYS[gateway].0)
    }

    fn object(&self, id: u32) -> Option<String> {
        match self.objects.get(&id)? {
            Object::Hop(hop) => self.gateway(*hop).map(str::to_owned),
            Object::Blackhole => Some("nowhere".to_owned()),
            Object::Group(members) => {
                let hop = |id: &u32| match self.objects.get(id) {
                    Some(Object::Hop(hop)) => self.gateway(*hop),
                    _ => None,
                };
                let there = members.iter().filter_map(|(id, weight)| Some((hop(id)?, *weight)));
                let all = sums(there);
                (!all.is_empty()).then(|| text(&all))
            }
        }
    }

    /// To what a route leads.
    fn to(&self, prefix: &str) -> String {
        let own = self.neighbours().into_iter().find(|own| prefix == format!("{own}/32"));
        if let Some(own) = own {
            return own.to_owned();
        }
        let to = self.routes.get(prefix).and_then(|to| match to {
            To::Object(id) => self.object(*id),
            To::Nowhere => Some("nowhere".to_owned()),
            To::Hops(hops) => {
                let there =
                    hops.iter().filter_map(|(hop, weight)| Some((self.gateway(*hop)?, *weight)));
                let all = sums(there);
                match all.first_key_value() {
                    Some((gateway, _)) if all.len() == 1 => Some((*gateway).to_owned()),
                    found => found.map(|_| text(&all)),
                }
            }
        });
        to.unwrap_or_else(|| "-".to_owned())
    }

    /// The gateways that something names.
    fn neighbours(&self) -> BTreeSet<&'static str> {
        let objects = self.objects.values().filter_map(|object| match object {
            Object::Hop(hop) => self.gateway(*hop),
            _ => None,
        });
        let lists = self.routes.values().flat_map(|to| match to {
            To::Hops(hops) => hops.clone(),
            _ => Vec::new(),
        });
        objects.chain(lists.filter_map(|(hop, _)| self.gateway(hop))).collect()
    }

    /// Everything, as zebra tells it.
    fn messages(&self) -> Vec<Vec<u8>> {
        let objects = self.objects.iter().map(|(id, object)| message(*id, object));
        objects.chain(self.routes.iter().map(|(prefix, to)| route_to(prefix, to))).collect()
    }

    /// The same under other numbers.
    fn renumber(&mut self, by: u32) {
        let other = |id: u32| (id + by) % NUMBERS;
        let objects = std::mem::take(&mut self.objects).into_iter().map(|(id, object)| {
            let object = match object {
                Object::Group(members) => {
                    let member = |(id, weight): (u32, u8)| (other(id), weight);
                    Object::Group(members.into_iter().map(member).collect())
                }
                object => object,
            };
            (other(id), object)
        });
        self.objects = objects.collect();
        for to in self.routes.values_mut() {
            if let To::Object(id) = to {
                *id = other(*id);
            }
        }
    }
}

#[test]
fn routes_are_those_of_the_model_whatever_happens() {
    let (mut restarts, mut routes) = ([0; 3], 0);
    for seed in 0..SEEDS {
        let random = &mut Random::new(seed);
        let room = l3::Config { ecmp_capacity: 64, ..router() };
        let (mut driven, mut model) = (Driven::with(room, Config::default()), Model::default());
        driven.connect();
        for step in 0..STEPS {
            match random.below(40) {
                0 => {
                    restarts[0] += 1;
                    driven.finish().connect();
                    again(&mut driven, &mut model, random);
                }
                1 => {
                    restarts[1] += 1;
                    driven = driven.restarted(Config::default());
                    driven.connect();
                    again(&mut driven, &mut model, random);
                }
                2 => {
                    restarts[2] += 1;
                    driven.finish().pass(Duration::from_secs(300)).connect();
                    let links = std::mem::take(&mut model.links);
                    model = Model { links, ..Model::default() };
                }
                3..6 => {
                    let links = [(3, 0), (4, 1)].map(|link| (random.below(4) > 0).then_some(link));
                    let links: Vec<(u32, u16)> = links.into_iter().flatten().collect();
                    model.links = links.iter().map(|(kernel, _)| *kernel).collect();
                    driven.links(&links);
                }
                _ => {
                    let messages = change(&mut model, random);
                    driven.tell(&messages);
                }
            }
            for prefix in PREFIXES {
                let (is, wanted) = (driven.to(prefix), model.to(prefix));
                assert_eq!(is, wanted, "seed {seed}, step {step}: {prefix}");
                routes += usize::from(is != "-");
            }
            let wanted = model.neighbours().len();
            assert_eq!(driven.beyond()[0], wanted, "seed {seed}, step {step}: next hops");
            assert_eq!(driven.refused, [], "seed {seed}, step {step}");
            assert_eq!(driven.shown("/routes/stale"), 0, "seed {seed}, step {step}");
        }
    }
    assert!(restarts.iter().all(|count| *count > 10) && routes > 1000, "{restarts:?} {routes}");
}

#[test]
fn nothing_is_left_in_a_router_without_room() {
    let mut refused = 0;
    for seed in 0..SEEDS {
        let random = &mut Random::new(seed);
        // Room for three routes or so, two next hops and two groups beside the configured ones.
        let (route_capacity, next_hop_capacity) = (12, 3);
        let small = l3::Config { route_capacity, next_hop_capacity, ecmp_capacity: 3, ..router() };
        let (mut driven, mut model) = (Driven::with(small, Config::default()), Model::default());
        driven.link().connect();
        for _ in 0..STEPS {
            // Answers are late for a while, and what was refused may have changed meanwhile.
            if random.below(8) == 0 {
                driven.answers = !driven.answers;
                driven.answer();
                driven.poll();
            }
            let messages = change(&mut model, random);
            driven.tell(&messages);
        }
        driven.answers = true;
        driven.answer();
        driven.poll();
        refused += driven.refused.len();
        let is_route = |prefix: &&&str| {
            let to = driven.to(prefix);
            to != "-" && format!("{to}/32") != ***prefix
        };
        let routes = PREFIXES.iter().filter(is_route).count();
        assert_eq!(driven.shown("/routes/installed"), routes, "seed {seed}");
        let gone = (0..NUMBERS).map(next_hop_gone).chain(PREFIXES.map(withdrawn));
        driven.tell(&gone.collect::<Vec<_>>());
        assert_eq!(PREFIXES.map(|prefix| driven.to(prefix)), ["-"; 8], "seed {seed}");
        assert_eq!(driven.beyond(), [0, 0], "seed {seed}");
        assert_eq!(driven.shown("/routes/refused"), 0, "seed {seed}");
        assert_eq!(driven.shown("/changes/open"), 0, "seed {seed}");
        let raised = |cause| {
            let mut of_cause = driven.alarms.iter().rev().filter(|alarm| alarm.cause == cause);
            of_cause.next().is_some_and(|alarm| alarm.severity.is_some())
        };
        assert!(!raised("routes-full") && !raised("changes-refused"), "seed {seed}");
    }
    assert!(refused > 1000, "{refused}");
}

/// Zebra tells everything again but for what is gone meanwhile, under other numbers.
fn again(driven: &mut Driven, model: &mut Model, random: &mut Random) {
    change(model, random);
    model.renumber(random.below(3) as u32);
    let mut messages = model.messages();
    for at in (1..messages.len()).rev() {
        messages.swap(at, random.below(at as u64 + 1) as usize);
    }
    driven.tell(&messages);
    let links: Vec<(u32, u16)> =
        [(3, 0), (4, 1)].into_iter().filter(|link| model.links.contains(&link.0)).collect();
    driven.links(&links);
    driven.pass(Duration::from_secs(60));
}

/// Something changes; returns how zebra tells it.
fn change(model: &mut Model, random: &mut Random) -> Vec<Vec<u8>> {
    let id = random.below(NUMBERS.into()) as u32;
    let prefix = PREFIXES[random.below(PREFIXES.len() as u64) as usize];
    let hop = |random: &mut Random| {
        let gateway = random.below(GATEWAYS.len() as u64) as usize;
        (gateway, GATEWAYS[gateway].1)
    };
    let weight = |random: &mut Random| random.below(3) as u8 + 1;
    match random.below(10) {
        0..2 => {
            let object = Object::Hop(hop(random));
            model.objects.insert(id, object.clone());
            vec![message(id, &object)]
        }
        2 => {
            model.objects.insert(id, Object::Blackhole);
            vec![message(id, &Object::Blackhole)]
        }
        3..5 => {
            let members = 1..=random.below(4) + 1;
            let member = |_| (random.below(NUMBERS.into()) as u32, weight(random));
            let object = Object::Group(members.map(member).collect());
            model.objects.insert(id, object.clone());
            vec![message(id, &object)]
        }
        5 => {
            model.objects.remove(&id);
            vec![next_hop_gone(id)]
        }
        6 => {
            model.routes.remove(prefix);
            vec![withdrawn(prefix)]
        }
        kind => {
            let to = match kind {
                7 => {
                    To::Hops((0..=random.below(3)).map(|_| (hop(random), weight(random))).collect())
                }
                8 if random.below(4) == 0 => To::Nowhere,
                _ => To::Object(id),
            };
            model.routes.insert(prefix, to.clone());
            vec![route_to(prefix, &to)]
        }
    }
}

fn message(id: u32, object: &Object) -> Vec<u8> {
    match object {
        Object::Hop((gateway, interface)) => next_hop(id, GATEWAYS[*gateway].0, *interface),
        Object::Blackhole => blackhole(id),
        Object::Group(members) => group(id, members),
    }
}

fn route_to(prefix: &str, to: &To) -> Vec<u8> {
    match to {
        To::Object(id) => route(prefix, *id),
        To::Nowhere => dropping(prefix, 6),
        To::Hops(hops) => {
            let hop = |((gateway, interface), weight): &(Hop, u8)| {
                (GATEWAYS[*gateway].0, *interface, *weight)
            };
            route_by(prefix, &hops.iter().map(hop).collect::<Vec<_>>())
        }
    }
}

fn sums<'a>(members: impl Iterator<Item = (&'a str, u8)>) -> BTreeMap<&'a str, u32> {
    let mut all = BTreeMap::new();
    for (gateway, weight) in members {
        *all.entry(gateway).or_default() += u32::from(weight);
    }
    all
}

fn text(members: &BTreeMap<&str, u32>) -> String {
    let all = members.iter().map(|(gateway, weight)| format!("{gateway}*{weight}"));
    let mut all: Vec<String> = all.collect();
    all.sort();
    all.join(" ")
}

/// Gateways with their interfaces in the kernel.
const GATEWAYS: [(&str, u32); 5] =
    [("10.1.0.2", 4), ("10.1.0.3", 4), ("fd00::4", 4), ("10.0.0.5", 3), ("10.0.0.6", 3)];

const PREFIXES: [&str; 8] = [
    "192.0.2.0/24",
    "192.0.3.0/24",
    "198.51.100.0/22",
    "0.0.0.0/0",
    "2001:db8::/32",
    "::/0",
    "10.1.0.2/32",
    "10.0.0.5/32",
];

/// Numbers of zebra's, from 0.
const NUMBERS: u32 = 8;

const SEEDS: u64 = 60;

const STEPS: usize = 150;
