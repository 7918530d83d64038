//! Many clients and a server, or a relay with servers behind it, in a simulated network that loses,
//! repeats and reorders, where nodes hang and die and come back: nobody has what another has,
//! whatever was up comes down, and in the end nothing is left.

mod client;

mod far;

mod owned;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;
use std::time::Duration;

use protocol_dhcp::v4::Mode;
use protocol_dhcp::v6::relay::Addresses;
use protocol_dhcp::v6::server::Identity;
use protocol_dhcp::{Command, Config, Framed, Line, Place, v4, v6};
use protocol_kit::{Input, Interface, Machine, Output, Secret, Time};
use simulation::{Quality, Said as Told, Simulation, World, simulate};
use wire::MacAddr;

use crate::lines::{SERVER, config4, config6, identity, pool};
use client::Client;
use far::Far;
use owned::{Disk, Left, Owned};

#[test]
fn nobody_has_what_another_has() {
    simulate::<Hosts>(SEEDS);
}

/// A node: a server or relay with its owner, or a client.
pub enum Node {
    Owned(Box<dyn Left>),
    Client(Box<Client>),
}

/// What a node says.
#[derive(Clone, Debug)]
pub enum Event {
    /// A client has addresses and prefixes, or has not any more.
    Has(Vec<String>),
    Lost,
}

impl Machine for Node {
    type Command = Command;
    type Report = Event;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match self {
            Node::Owned(owned) => owned.input(now, input),
            Node::Client(client) => client.input(now, input),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Event>> {
        match self {
            Node::Owned(owned) => owned.poll(now),
            Node::Client(client) => client.poll(now),
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self {
            Node::Owned(owned) => owned.deadline(),
            Node::Client(client) => client.deadline(),
        }
    }
}

/// Some clients around a server or a relay, which is the first node.
pub struct Hosts {
    clients: Vec<usize>,
    /// The server, or the relay and its servers.
    owned: Vec<usize>,
    bound: usize,
}

impl Simulation for Hosts {
    type Machine = Node;
    const NAME: &'static str = "dhcp";
    const FAULTS_BELOW: u64 = 10;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = QUIET;

    fn world(seed: u64) -> (World<Node>, Hosts) {
        let mut world = World::new(seed);
        let random = world.random();
        let is_v6 = random.below(2) == 0;
        let count = 2 + random.below(8) as u32;
        // Without any it is no relay.
        let servers = random.below(3) as u8;
        let mode = [Mode::Relay, Mode::Override, Mode::Proxy][random.below(3) as usize];
        let disk = Disk::default();
        let first = world.add_node(move |random| {
            let (disk, seed) = (Rc::clone(&disk), random.bits());
            let node = match servers {
                0 => server(is_v6, count, disk, seed),
                _ => relay(is_v6, (count, servers), mode, disk, seed),
            };
            (Node::Owned(node), vec![])
        });
        let mut clients = Vec::new();
        for number in 0..count {
            let client = world.add_node(move |random| {
                (Node::Client(Box::new(Client::new(is_v6, number, random.bits()))), vec![])
            });
            let quality = Quality::draw(world.random(), 100_000);
            let address = |last| IpAddr::from([10, 0, 1, last]);
            world.add_link([(first, address(1)), (client, address(2))], quality);
            clients.push(client);
        }
        let mut owned = vec![first];
        for number in 0..servers {
            let disk = Disk::default();
            let far = world.add_node(move |random| {
                let (disk, seed) = (Rc::clone(&disk), random.bits());
                (Node::Owned(external(is_v6, number, mode, disk, seed)), vec![])
            });
            let quality = Quality::draw(world.random(), 100_000);
            let ends = [(first, of_relay(is_v6)), (far, of_server(is_v6, number))];
            world.add_link(ends, quality);
            owned.push(far);
        }
        (world, Hosts { clients, owned, bound: 0 })
    }

    fn judge(&mut self, world: &mut World<Node>, told: Option<&Told<Event>>) -> Result<(), String> {
        let Some(Told { node, report: Event::Has(names), .. }) = told else { return Ok(()) };
        self.bound += 1;
        for other in self.clients.iter().filter(|other| *other != node) {
            let now = world.local(*other);
            let Some(Node::Client(client)) = world.machine(*other) else { continue };
            let has = client.has(now);
            if has.iter().any(|one| names.contains(one)) {
                return Err(format!("nodes {node} and {other} have {has:?}"));
            }
        }
        Ok(())
    }

    fn judge_end(&mut self, world: &mut World<Node>) -> Result<(), String> {
        for node in &self.owned {
            let Some(Node::Owned(owned)) = world.machine(*node) else {
                return Err(format!("node {node} is dead at the end"));
            };
            let [leases, held, used, up] = owned.left();
            if leases + held + used + up > 0 {
                return Err(format!(
                    "node {node} has {leases} leases, {held} units, {used} used, {up} up"
                ));
            }
        }
        if self.bound == 0 { Err("nobody had anything".to_owned()) } else { Ok(()) }
    }
}

/// Few addresses for many clients, and short times.
fn config(is_v6: bool, seed: u64) -> Config {
    let mut config = if is_v6 { config6() } else { config4() };
    let second = Duration::from_secs(1);
    (config.classes[0].valid, config.classes[0].preferred) = (VALID, VALID);
    config.quarantine = [2 * second, 5 * second];
    (config.patience.answer, config.patience.offer) = (2 * second, 3 * second);
    config.patience.start = second;
    config.seed = Secret(seed);
    config
}

/// Each line is a link, which have numbers in the order of clients.
fn places(count: u32) -> Vec<Place> {
    let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    (0..count).map(|line| Place { interface: Interface(line), line: Line(line), mac }).collect()
}

fn server(is_v6: bool, lines: u32, disk: Disk, seed: u64) -> Box<dyn Left> {
    let (config, places) = (config(is_v6, seed), places(lines));
    if is_v6 {
        let made = v6::Server::new(config, identity()).expect("a server");
        return Box::new(Owned::new(Framed::new(made, places), false, disk, seed));
    }
    let made = v4::Server::new(config, SERVER.into()).expect("a server");
    Box::new(Owned::new(Framed::new(made, places), false, disk, seed))
}

fn relay(
    is_v6: bool,
    (lines, servers): (u32, u8),
    mode: Mode,
    disk: Disk,
    seed: u64,
) -> Box<dyn Left> {
    let (mut config, places) = (config(is_v6, seed), places(lines));
    config.pools.clear();
    if is_v6 {
        let servers = (0..servers).map(server6).collect();
        let (own, link, on_lines) = (RELAY6, RELAY6, identity().address);
        let addresses = Addresses { own, link, on_lines, servers, enterprise: 9 };
        let made = v6::Relay::new(config, addresses).expect("a relay");
        return Box::new(Owned::new(Framed::new(made, places), true, disk, seed));
    }
    let servers: Vec<Ipv4Addr> = (0..servers).map(server4).collect();
    let made = v4::Relay::new(config, RELAY4, &servers, mode).expect("a relay");
    Box::new(Owned::new(Framed::new(made, places), true, disk, seed))
}

/// A server behind the relay, with pools that no other one has.
fn external(is_v6: bool, number: u8, mode: Mode, disk: Disk, seed: u64) -> Box<dyn Left> {
    let mut config = config(is_v6, seed);
    (config.trusts_access_nodes, config.is_authoritative) = (true, false);
    let (own, relay) = (of_server(is_v6, number), of_relay(is_v6));
    if is_v6 {
        let kinds = config.pools.iter().map(|pool| (pool.kind, pool.first.bits()));
        let firsts = [format!("2001:db8:1::{number}:8"), format!("2001:db8:{number}00::")];
        let pools = kinds.zip(firsts).map(|((kind, len), first)| pool(kind, &first, len, 8));
        config.pools = pools.collect();
        let mut duid = identity().duid;
        duid[9] += number;
        let made = v6::Server::new(config, Identity { duid, ..identity() }).expect("a server");
        return Box::new(Owned::new(Far::new(made, own, relay), false, disk, seed));
    }
    config.pools[0] = pool(config.pools[0].kind, &format!("10.0.{number}.8"), 32, 8);
    // By RFC 5107 it calls itself as the relay.
    let identifier = if mode == Mode::Override { RELAY4 } else { server4(number) };
    let made = v4::Server::new(config, identifier).expect("a server");
    Box::new(Owned::new(Far::new(made, own, relay), false, disk, seed))
}

fn of_relay(is_v6: bool) -> IpAddr {
    if is_v6 { RELAY6.into() } else { RELAY4.into() }
}

fn of_server(is_v6: bool, number: u8) -> IpAddr {
    if is_v6 { server6(number).into() } else { server4(number).into() }
}

fn server4(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 9, 2 + number)
}

fn server6(number: u8) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 2 + u16::from(number))
}

const RELAY4: Ipv4Addr = Ipv4Addr::new(10, 0, 9, 1);

const RELAY6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1);

/// For how long leases are valid.
const VALID: Duration = Duration::from_secs(12);

/// All faults are over after this time.
const FAULTS: Duration = Duration::from_secs(60);

/// Long enough for the last life of a client to stop, and for what it had to end.
const QUIET: Duration = Duration::from_secs(130);

/// Seeds of a run in CI.
const SEEDS: u64 = 1000;
