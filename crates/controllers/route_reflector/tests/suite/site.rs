//! A reflector with speakers as its peers, in a simulated network without faults; what it is asked
//! for by operators, and the lines of its log.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use controller_kit::erased::Running;
use controller_kit::{Action, Asked, Controller, Line, Metric, Page, Setup, Unanswered};
use controller_route_reflector::RouteReflector;
use controller_route_reflector::fuzz::model::{Attributes, Prefix};
use controller_route_reflector::fuzz::wire::{self, Table};
use protocol_bgp::builder::{Writing, write_end_of_rib};
use protocol_bgp::config as bgp;
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::message::LEN_MAX;
use protocol_bgp::speaker::{Command, Report, Speaker};
use protocol_bgp::update::Scan;
use protocol_kit::Time;
use serde_json::Value;
use simulation::{Either, Quality, Said, World};

use crate::sessions::config;

/// The site.
pub struct Site {
    world: World<Either<RouteReflector, Speaker>>,
    /// Lines of the log so far.
    pub lines: Vec<Line>,
    /// What each speaker knows.
    pub known: BTreeMap<usize, Table>,
    scan: Scan,
    end: Time,
}

/// A speaker.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its AS.
    pub asn: u32,
    /// Its families.
    pub families: FamilySet,
    /// Whether it receives several paths of a route.
    pub receives_paths: bool,
}

impl Peer {
    /// A speaker of the same AS.
    pub fn own(families: &[Family]) -> Peer {
        Peer { asn: ASN, families: families.iter().copied().collect(), receives_paths: false }
    }
}

/// The address of a node: the reflector's is that of 0.
pub fn address(node: usize) -> IpAddr {
    IpAddr::from([10, 0, 0, 10 + node as u8])
}

impl Site {
    /// A reflector with these keys, and speakers from node 1 on; their sessions stand.
    pub fn new(keys: Value, peers: &[Peer]) -> Site {
        let mut world = World::new(1);
        world.add_node(move |random| {
            let mut config = config(keys.clone());
            RouteReflector::validate(&mut config).expect("it can be used");
            let setup = Setup { function: None, state: Vec::new(), seed: random.bits() };
            (Either::One(RouteReflector::new(&config, setup).expect("it may be")), Vec::new())
        });
        for (node, peer) in (1..).zip(peers.iter().cloned()) {
            world.add_node(move |random| {
                let peer = bgp::Config {
                    families: peer.families,
                    receives_paths: if peer.receives_paths {
                        peer.families
                    } else {
                        FamilySet::NONE
                    },
                    ..bgp::Config::new(peer.asn, node as u32, address(0), ASN)
                };
                let at = SocketAddr::new(address(node), bgp::PORT);
                (Either::Other(Speaker::new(at, vec![peer], random.bits())), Vec::new())
            });
            world.add_link([(0, address(0)), (node, address(node))], Quality::GOOD);
        }
        (0..=peers.len()).for_each(|node| world.revive(node));
        let (lines, known, scan) = (Vec::new(), BTreeMap::new(), Scan::default());
        let mut site = Site { world, lines, known, scan, end: Time::ZERO };
        site.pass(10);
        site
    }

    /// Lets this many seconds pass.
    pub fn pass(&mut self, seconds: u64) {
        self.end = Time(self.end.0 + seconds * 1_000_000_000);
        while self.world.pass(self.end) {
            for Said { node, report, .. } in self.world.take_said() {
                match report {
                    Either::One(Action::Line(line)) => self.lines.push(line),
                    Either::One(other) => panic!("{other:?}"),
                    Either::Other(Report::Update(_, body)) => self.learn(node, &body),
                    Either::Other(_) => {}
                }
            }
        }
    }

    /// A speaker hears an UPDATE; of families whose routes are none of the plain reflector's it
    /// learns nothing.
    fn learn(&mut self, node: usize, body: &[u8]) {
        let speaker = self.world.machine(node).and_then(Either::other).expect("it lives");
        let Some(reading) = speaker.peer(0).negotiated().map(|it| it.reading) else { return };
        let known = self.known.entry(node).or_default();
        let _ = wire::learn(&mut self.scan, body, &reading, known);
    }

    /// What a speaker knows of a prefix.
    pub fn knows(&self, node: usize, family: Family, prefix: Prefix) -> Option<&Attributes> {
        self.known.get(&node)?.get(&(family, prefix))
    }

    /// A speaker does this.
    pub fn command(&mut self, node: usize, command: Command) {
        self.world.command(node, Either::Other(command));
        self.pass(1);
    }

    /// A speaker says this, in pieces that have room.
    pub fn say(&mut self, node: usize, messages: &[u8]) {
        let mut rest = messages;
        while !rest.is_empty() {
            let mut len = 0;
            while let Some(head) = rest.get(len + 16..len + 18) {
                let next = len + usize::from(u16::from_be_bytes([head[0], head[1]]));
                if next > 60_000 && len > 0 {
                    break;
                }
                len = next;
            }
            let (some, behind) = rest.split_at(len);
            self.command(node, Command::Send(0, some.to_vec()));
            rest = behind;
        }
    }

    /// A speaker announces prefixes.
    pub fn announce(&mut self, node: usize, family: Family, prefixes: &[Prefix], it: &Attributes) {
        let mut out = Vec::new();
        // One of another AS says nothing of what counts within one.
        let speaker = self.world.machine(node).and_then(Either::other);
        let is_external = speaker.is_some_and(|it| it.peer(0).config().is_external());
        let session = (&writing(family), is_external);
        wire::announce(&mut out, session, family, it, prefixes.iter().copied());
        self.say(node, &out);
    }

    /// A speaker withdraws prefixes.
    pub fn withdraw(&mut self, node: usize, family: Family, prefixes: &[Prefix]) {
        let mut out = Vec::new();
        wire::withdraw(&mut out, &writing(family), family, prefixes.iter().copied());
        self.say(node, &out);
    }

    /// A speaker asks for route targets by numbers of [`wire::ASKED`], and for no more.
    pub fn ask_for(&mut self, node: usize, numbers: &[u8]) {
        let (mut out, family) = (Vec::new(), Family::RouteTarget);
        let all = numbers.iter().map(|number| (*number, [0; 4]));
        wire::announce(&mut out, (&writing(family), false), family, &from(node), all);
        write_end_of_rib(family, &mut out);
        self.say(node, &out);
    }

    fn reflector(&self) -> &RouteReflector {
        self.world.machine(0).and_then(Either::one).expect("it lives")
    }

    /// A page of a table.
    pub fn page(
        &self,
        table: &str,
        filters: &[(&str, &str)],
        (from, limit): (u64, usize),
    ) -> Result<Page, Unanswered> {
        let pairs = filters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let filters = pairs.collect();
        let asked = Asked { table, from, limit, filters: &filters };
        Running::table_page(self.reflector(), &asked, self.world.local(0))
    }

    /// All entries of a table, by pages of this many.
    pub fn all_by(&self, table: &str, filters: &[(&str, &str)], limit: usize) -> Vec<Value> {
        let (mut all, mut from) = (Vec::new(), Some(0));
        while let Some(place) = from {
            let page = self.page(table, filters, (place, limit));
            let page = page.unwrap_or_else(|why| panic!("{table} {filters:?}: {why:?}"));
            assert!(page.next.is_none_or(|next| next > place), "it goes on");
            all.extend(page.entries);
            from = page.next;
        }
        all
    }

    /// All entries of a table.
    pub fn all(&self, table: &str, filters: &[(&str, &str)]) -> Vec<Value> {
        self.all_by(table, filters, 1000)
    }

    /// Why there is no page.
    pub fn refused(&self, table: &str, filters: &[(&str, &str)]) -> Unanswered {
        self.page(table, filters, (0, 10)).expect_err("it cannot be answered")
    }

    /// The sizes of the tables.
    pub fn sizes(&self) -> Vec<Option<u64>> {
        Running::table_sizes(self.reflector())
    }

    /// The metrics.
    pub fn metrics(&self) -> Vec<Metric> {
        Running::metrics(self.reflector())
    }
}

/// What a node tells.
pub fn from(node: usize) -> Attributes {
    Attributes { next_hop: [10, 0, 0, 10 + node as u8], ..Attributes::default() }
}

/// A prefix of 198.51.0.0/16 by its number.
pub fn prefix(number: u32) -> Prefix {
    (24, [198, 51 + (number >> 8) as u8, number as u8, 0])
}

fn writing(family: Family) -> Writing {
    Writing {
        families: [family].into_iter().collect(),
        path_ids: FamilySet::NONE,
        extended_next_hops: FamilySet::NONE,
        is_wide: true,
        len_max: LEN_MAX,
    }
}

/// The AS of the reflector and of its clients.
pub const ASN: u32 = 64_500;
