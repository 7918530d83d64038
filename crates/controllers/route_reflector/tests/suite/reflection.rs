//! Peers come, tell, are told, lag and go: what each knows in the end is what the plain reflector
//! says, and at no time is one told of its own routes.

use std::collections::{BTreeMap, VecDeque};

use controller_route_reflector::groups::Identity;
use controller_route_reflector::groups::group::Limits;
use controller_route_reflector::own::{Kind, Own, Source};
use controller_route_reflector::reflector::Reflector;
use controller_route_reflector::table::Rules;
use proptest::prelude::*;
use protocol_bgp::attributes as codes;
use protocol_bgp::builder::{Builder, Writing};
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::framing::Framing;
use protocol_bgp::message::Kind as Message;
use protocol_bgp::path;
use protocol_bgp::rules::Reading;
use protocol_bgp::update::Scan;

use crate::model::{Attributes, Is, Model, Prefix};

const ASN: u32 = 64_500;
const IDENTIFIER: u32 = 77;
const PEERS: [Is; 5] = [Is::Client, Is::Client, Is::Other, Is::Other, Is::OfOtherAs(64_501)];

#[derive(Clone, Debug)]
enum Step {
    Open(u16),
    Close(u16),
    Announce(u16, Vec<u8>, Attributes),
    Withdraw(u16, Vec<u8>),
    Refresh(u16),
    /// A peer takes this many bytes.
    Take(u16, usize),
    Work,
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let ases = prop::collection::vec(prop_oneof![9 => 1..4_u32, 1 => Just(ASN)], 0..3);
    let med = prop::option::of(0..3_u32);
    let preference = prop::option::of(99..102_u32);
    let originator =
        prop::option::weighted(0.2, prop_oneof![Just(1_u32), Just(9), Just(IDENTIFIER)]);
    let clusters = prop::collection::vec(prop_oneof![4 => 5..7_u32, 1 => Just(IDENTIFIER)], 0..2);
    let communities = prop::collection::vec(
        prop_oneof![8 => Just(1_u32), 1 => Just(0xffff_ff01), 1 => Just(0xffff_ff02)],
        0..2,
    );
    (0..3_u8, ases, med, preference, originator, clusters, communities).prop_map(
        |(hop, path, med, preference, originator, clusters, communities)| Attributes {
            next_hop: [10, 0, 0, hop],
            path,
            med,
            preference,
            originator,
            clusters,
            communities,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let peer = 0..PEERS.len() as u16;
    let prefixes = prop::collection::vec(0..14_u8, 1..5);
    prop_oneof![
        2 => peer.clone().prop_map(Step::Open),
        1 => peer.clone().prop_map(Step::Close),
        6 => (peer.clone(), prefixes.clone(), attributes())
            .prop_map(|(peer, prefixes, it)| Step::Announce(peer, prefixes, it)),
        3 => (peer.clone(), prefixes).prop_map(|(peer, prefixes)| Step::Withdraw(peer, prefixes)),
        1 => peer.clone().prop_map(Step::Refresh),
        6 => (peer, 30..400_usize).prop_map(|(peer, room)| Step::Take(peer, room)),
        4 => Just(Step::Work),
    ]
}

fn prefix(number: u8) -> Prefix {
    (24, [198, 51, number, 0])
}

fn writing() -> Writing {
    Writing {
        families: [Family::Ipv4Unicast].into_iter().collect(),
        path_ids: FamilySet::NONE,
        extended_next_hops: FamilySet::NONE,
        is_wide: true,
        len_max: 4096,
    }
}

fn reading(is_external: bool) -> Reading {
    Reading {
        families: [Family::Ipv4Unicast].into_iter().collect(),
        path_ids: FamilySet::NONE,
        extended_next_hops: FamilySet::NONE,
        is_wide: true,
        is_external,
    }
}

fn block(attributes: &Attributes, is_external: bool) -> Vec<u8> {
    let mut ases = Vec::new();
    if !attributes.path.is_empty() {
        path::push(path::SEQUENCE, attributes.path.iter().copied(), &mut ases);
    }
    let numbers = |all: &[u32]| all.iter().flat_map(|one| one.to_be_bytes()).collect::<Vec<u8>>();
    let one = |it: Option<u32>| it.map(|it| numbers(&[it]));
    let many = |all: &[u32]| (!all.is_empty()).then(|| numbers(all));
    let inner = |it: Option<Vec<u8>>| it.filter(|_| !is_external);
    let mut out = Vec::new();
    for (flags, code, value) in [
        (0x40, codes::ORIGIN, Some(vec![0])),
        (0x40, codes::AS_PATH, Some(ases)),
        (0x80, codes::MED, one(attributes.med)),
        (0x40, codes::LOCAL_PREF, inner(one(attributes.preference))),
        (0xc0, codes::COMMUNITIES, many(&attributes.communities)),
        (0x80, codes::ORIGINATOR_ID, inner(one(attributes.originator))),
        (0x80, codes::CLUSTER_LIST, inner(many(&attributes.clusters))),
    ] {
        if let Some(value) = value {
            codes::push(flags, code, &value, &mut out);
        }
    }
    out
}

/// As a reader gets it.
fn read_back(next_hop: &[u8], scan: &Scan) -> Attributes {
    let (block, it) = (scan.block(), scan.summary());
    let segments = path::Segments::new(it.path.of(block));
    Attributes {
        next_hop: next_hop.try_into().expect("four bytes"),
        path: segments.flat_map(|segment| segment.ases()).collect(),
        med: it.med,
        preference: it.local_pref,
        originator: it.originator_id,
        clusters: it.clusters.numbers(block).collect(),
        communities: it.communities.numbers(block).collect(),
    }
}

struct Trial {
    reflector: Reflector,
    model: Model,
    /// What each peer knows, while its session stands, and how much it takes.
    known: Vec<Option<BTreeMap<Prefix, Attributes>>>,
    ready: Vec<bool>,
    scan: Scan,
}

impl Trial {
    fn new(stream_bytes: usize) -> Trial {
        let own = Own {
            asn: ASN,
            identifier: IDENTIFIER,
            cluster: IDENTIFIER,
            reflects_between_clients: true,
        };
        let limits = Limits { stream_bytes, routes: 5 };
        let peers = PEERS.iter().enumerate().map(|(at, is)| (*is, (at as u32 + 1) % 4)).collect();
        let model = Model { asn: ASN, identifier: IDENTIFIER, peers, paths: BTreeMap::new() };
        Trial {
            reflector: Reflector::new(own, Rules::default(), limits, [3, 4]),
            model,
            known: vec![None; PEERS.len()],
            ready: vec![true; PEERS.len()],
            scan: Scan::default(),
        }
    }

    fn is_external(peer: u16) -> bool {
        matches!(PEERS[usize::from(peer)], Is::OfOtherAs(_))
    }

    fn open(&mut self, peer: u16) {
        if self.known[usize::from(peer)].is_some() {
            return;
        }
        while !self.reflector.is_swept(peer) {
            self.reflector.work(|_| false);
        }
        let kind = match PEERS[usize::from(peer)] {
            Is::Client => Kind::Client,
            Is::Other => Kind::Internal,
            Is::OfOtherAs(_) => Kind::External,
        };
        let identifier = self.model.peers[usize::from(peer)].1;
        let source = Source { kind, identifier, address: u128::from(peer) };
        let writing = writing();
        let identity = Identity {
            family: Family::Ipv4Unicast,
            writing,
            kind,
            next_hop: None,
            has_enhanced_refresh: false,
        };
        self.reflector.open(peer, source, [identity]);
        self.known[usize::from(peer)] = Some(BTreeMap::new());
    }

    fn tell(&mut self, peer: u16, write: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        write(&mut bytes);
        let (mut framing, mut left) = (Framing::default(), &bytes[..]);
        while let Some(message) = framing.next(&mut left, 4096).expect("messages") {
            let mut reading = reading(Trial::is_external(peer));
            self.reflector.update(peer, message.body, &mut reading).expect("it is one");
        }
    }

    /// A peer takes what has room; returns whether there was something.
    fn take(&mut self, peer: u16, room: usize) -> bool {
        let Some(known) = &mut self.known[usize::from(peer)] else { return false };
        let Some(bytes) = self.reflector.next(peer, room) else { return false };
        let mut left = &bytes[..];
        assert!(!left.is_empty() && left.len() <= room);
        let mut framing = Framing::default();
        while let Some(message) = framing.next(&mut left, 4096).expect("messages") {
            assert_eq!(message.kind, Message::Update);
            let reading = reading(Trial::is_external(peer));
            let update = self.scan.read(message.body, &reading).expect("it is sound");
            assert!(self.scan.findings().is_empty(), "{:?}", self.scan.findings());
            for field in update.withdrawn() {
                for nlri in field.nlris() {
                    let nlri = nlri.expect("routes");
                    let [len, address @ ..] = nlri.key.as_slice() else { panic!("a prefix") };
                    let mut whole = [0; 4];
                    whole[..address.len()].copy_from_slice(address);
                    known.remove(&(*len, whole));
                }
            }
            for field in update.announced() {
                let told = read_back(field.next_hop, &self.scan);
                for nlri in field.nlris() {
                    let nlri = nlri.expect("routes");
                    let [len, address @ ..] = nlri.key.as_slice() else { panic!("a prefix") };
                    let mut whole = [0; 4];
                    whole[..address.len()].copy_from_slice(address);
                    known.insert((*len, whole), told.clone());
                }
            }
        }
        true
    }

    fn step(&mut self, step: Step) {
        let is_open = |peer: u16, it: &Trial| it.known[usize::from(peer)].is_some();
        match step {
            Step::Open(peer) => self.open(peer),
            Step::Close(peer) if is_open(peer, self) => {
                self.known[usize::from(peer)] = None;
                self.reflector.close(peer, FamilySet::NONE);
                self.model.close(peer);
            }
            Step::Announce(peer, prefixes, attributes) if is_open(peer, self) => {
                let is_external = Trial::is_external(peer);
                let block = block(&attributes, is_external);
                self.tell(peer, |out| {
                    let place = (Family::Ipv4Unicast, &attributes.next_hop[..]);
                    let writing = writing();
                    let mut builder = Builder::announce(out, &writing, place, &block);
                    for number in &prefixes {
                        let (len, address) = prefix(*number);
                        let key = [&[len][..], &address[..3]].concat();
                        builder.push(0, &key, &[]).expect("it fits");
                    }
                    builder.finish();
                });
                let mut seen = attributes;
                if is_external {
                    (seen.preference, seen.originator) = (None, None);
                    seen.clusters.clear();
                }
                for number in prefixes {
                    self.model.announce(peer, prefix(number), &seen);
                }
            }
            Step::Withdraw(peer, prefixes) if is_open(peer, self) => {
                self.tell(peer, |out| {
                    let writing = writing();
                    let mut builder = Builder::withdraw(out, &writing, Family::Ipv4Unicast);
                    for number in &prefixes {
                        let (len, address) = prefix(*number);
                        let key = [&[len][..], &address[..3]].concat();
                        builder.push(0, &key, &[]).expect("it fits");
                    }
                    builder.finish();
                });
                prefixes.into_iter().for_each(|number| self.model.withdraw(peer, prefix(number)));
            }
            Step::Refresh(peer) if is_open(peer, self) => {
                self.reflector.refresh(peer, Family::Ipv4Unicast);
            }
            Step::Take(peer, room) => {
                self.ready[usize::from(peer)] = true;
                self.take(peer, room);
            }
            Step::Work => {
                let ready = self.ready.clone();
                self.reflector.work(|peer| ready[usize::from(peer)]);
                self.ready.fill(false);
            }
            _ => {}
        }
    }

    /// Until nobody has to be told anything.
    fn settle(&mut self) {
        let mut quiet = 0;
        while quiet < 3 {
            let mut did = self.reflector.work(|_| true);
            for peer in 0..PEERS.len() as u16 {
                while self.take(peer, 1 << 20) {
                    did = true;
                }
            }
            quiet = if did { 0 } else { quiet + 1 };
        }
    }

    fn check(&self) {
        for peer in 0..PEERS.len() as u16 {
            let Some(known) = &self.known[usize::from(peer)] else { continue };
            assert_eq!(*known, self.model.told(peer), "peer {peer}");
            assert!(self.reflector.is_done(peer), "peer {peer}");
        }
        let mut prefixes: Vec<Prefix> = self.model.paths.keys().map(|one| one.1).collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        let expected = (prefixes.len(), self.model.paths.len());
        assert_eq!(self.reflector.count(Family::Ipv4Unicast), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// - `route-reflector`, RFC 4456 sections 6, 8 and 9: peers know what a plain reflector tells
    #[test]
    fn peers_know_what_a_plain_reflector_tells(
        stream_bytes in prop_oneof![Just(100_usize), Just(600), Just(1 << 20)],
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let mut trial = Trial::new(stream_bytes);
        let mut queue: VecDeque<Step> = steps.into();
        let mut count = 0;
        while let Some(step) = queue.pop_front() {
            trial.step(step);
            count += 1;
            if count % 40 == 0 {
                trial.settle();
                trial.check();
            }
        }
        trial.settle();
        trial.check();
        for peer in 0..PEERS.len() as u16 {
            trial.step(Step::Close(peer));
        }
        trial.settle();
        prop_assert_eq!(trial.reflector.attributes(), 0, "nobody uses them");
    }
}
