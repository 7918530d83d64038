//! A reflector and a few routers without faults, for what is told apart by hand.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use controller_kit::erased::Running;
use controller_kit::{Controller, Setup, Unanswered};
use controller_route_reflector::fuzz::model::Attributes;
use controller_route_reflector::fuzz::wire::Table;
use controller_route_reflector::{Config, RouteReflector};
use protocol_bgp::config as bgp;
use protocol_bgp::ended::Ended;
use protocol_bgp::families::Family;
use protocol_kit::Time;
use serde_json::{Map, Value, json};
use simulation::{Either, Quality, Said, World};

use crate::sessions::config;
use crate::simulated::router::{self, Router};
use crate::simulated::{ASN, Machine, REFLECTOR};

/// The reflector is node 0, routers follow.
pub struct Lab {
    pub world: World<Machine>,
    /// What the reflector has said.
    pub alarms: Vec<controller_kit::Alarm>,
    /// What routers have said.
    pub said: Vec<(usize, router::Said)>,
}

/// The address of a router.
pub fn address(node: usize) -> IpAddr {
    IpAddr::from([10, 0, 1, node as u8])
}

/// What a router offers by itself, as a client.
pub fn client(node: usize) -> bgp::Config {
    bgp::Config {
        connect_retry: Duration::from_secs(1),
        ..bgp::Config::new(ASN, node as u32, REFLECTOR, ASN)
    }
}

/// So many routes of a router, of IPv4.
pub fn routes(node: usize, count: u8) -> Table {
    let one = |number: u8| {
        let prefix = (24, [198, node as u8, number, 0]);
        let attributes = Attributes { next_hop: [10, 0, node as u8, 1], ..Attributes::default() };
        ((Family::Ipv4Unicast, prefix), attributes)
    };
    (0..count).map(one).collect()
}

/// What a file says, with the usual keys.
fn config_of(keys: &Value) -> Config {
    let mut all = json!({"as": ASN, "identifier": REFLECTOR, "listen": ["0.0.0.0:179"]});
    let own = all.as_object_mut().expect("keys");
    own.extend(keys.as_object().expect("keys").clone());
    let mut config = config(all);
    RouteReflector::validate(&mut config).expect("it can be used");
    config
}

impl Lab {
    /// A reflector with further keys, and routers with what they tell.
    pub fn new(keys: Value, routers: Vec<(bgp::Config, Table)>) -> Lab {
        let mut world = World::new(1);
        world.add_node(move |random| {
            let config = config_of(&keys);
            let setup = Setup { function: None, state: Vec::new(), seed: random.bits() };
            (Either::One(RouteReflector::new(&config, setup).expect("it may be")), Vec::new())
        });
        for (node, (session, own)) in (1..).zip(routers) {
            world.add_node(move |random| {
                let at = SocketAddr::new(address(node), bgp::PORT);
                let router = Router::new(at, session.clone(), own.clone(), random.bits());
                (Either::Other(router), Vec::new())
            });
            world.add_link([(0, REFLECTOR), (node, address(node))], Quality::GOOD);
        }
        let mut lab = Lab { world, alarms: Vec::new(), said: Vec::new() };
        (0..lab.world.nodes()).for_each(|node| lab.world.revive(node));
        lab
    }

    /// Lets so many seconds pass.
    pub fn pass(&mut self, seconds: u64) {
        let end = self.world.now().after(Duration::from_secs(seconds));
        while self.world.pass(Time(end.0)) {
            for Said { node, report, .. } in self.world.take_said() {
                match report {
                    Either::One(controller_kit::Action::Alarm(alarm)) => self.alarms.push(alarm),
                    Either::Other(router::Said::Wrong(what)) => panic!("{node}: {what}"),
                    Either::Other(said) => self.said.push((node, said)),
                    Either::One(controller_kit::Action::Line(_)) => {}
                    Either::One(other) => panic!("{other:?}"),
                }
            }
        }
    }

    pub fn router(&self, node: usize) -> &Router {
        self.world.machine(node).and_then(Either::other).expect("it lives")
    }

    /// An operator tells the reflector to do something.
    pub fn order(&mut self, name: &str, keys: Value) -> Result<Map<String, Value>, Unanswered> {
        let keys = keys.as_object().cloned().expect("keys");
        let done = self.world.with(0, |machine, now| match machine {
            Either::One(reflector) => Running::command(reflector, name, &keys, now),
            Either::Other(_) => panic!("it is the reflector"),
        });
        done.expect("it lives")
    }

    /// The file of the reflector is another one. Returns whether it goes on.
    pub fn reload(&mut self, keys: &Value) -> bool {
        let config = config_of(keys);
        let done = self.world.with(0, |machine, now| match machine {
            Either::One(reflector) => Controller::reload(reflector, &config, None, now),
            Either::Other(_) => panic!("it is the reflector"),
        });
        done.expect("it lives")
    }

    /// Changes a router without a word of it to anybody.
    pub fn change(&mut self, node: usize, change: impl FnOnce(&mut Router)) {
        self.world.with(node, |machine, _| match machine {
            Either::Other(router) => change(router),
            Either::One(_) => panic!("it is a router"),
        });
    }

    /// Why the last session of a router has ended.
    pub fn why(&self, node: usize) -> Option<&Ended> {
        let all = self.said.iter().rev().filter(|(of, _)| *of == node);
        all.clone().find_map(|(_, said)| match said {
            router::Said::Down { why, .. } => Some(why),
            _ => None,
        })
    }

    /// What the reflector shows.
    pub fn shown(&self) -> Value {
        Controller::show(self.world.machine(0).and_then(Either::one).expect("it lives"))
    }
}
